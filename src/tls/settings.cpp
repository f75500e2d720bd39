#include "tls/settings.hpp"

#include "tls/callbacks.hpp"
#include "tls/credentials.hpp"
#include "tls/errors.hpp"

#include <openssl/err.h>

#include <array>
#include <cctype>
#include <string>

namespace fairlead::io {
namespace detail {
namespace {

// With forward secrecy and authenticated encryption, for TLS 1.2. TLS 1.3 has no other ciphers.
constexpr const char* server_ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

// Without finite fields, in which a client makes the server compute for milliseconds.
constexpr const char* server_groups = "X25519:P-256:P-384";

// A resumed session keeps what the client has shown, so it must not pass to a server that asks for
// other certificates. Contexts share no ticket keys, so one value does.
constexpr std::array<unsigned char, 8> session_scope{'f', 'a', 'i', 'r', 'l', 'e', 'a', 'd'};

std::unexpected<tls_setup_error> openssl_failed(std::string_view what) {
    const std::error_code why = take_error(tls_errc::bad_credentials);
    return std::unexpected{
        tls_setup_error{.code = why, .text = std::string{what} + ": " + why.message()}};
}

int number_of(tls_version version) noexcept {
    return version == tls_version::v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
}

std::expected<owned_context, tls_setup_error> make_context(const SSL_METHOD* method,
                                                           tls_version version_min,
                                                           tls_version version_max) {
    if (version_min > version_max) return bad_credentials("no version is left");
    ERR_clear_error();
    owned_context made{SSL_CTX_new(method)};
    if (!made || SSL_CTX_set_min_proto_version(made.get(), number_of(version_min)) != 1 ||
        SSL_CTX_set_max_proto_version(made.get(), number_of(version_max)) != 1) {
        return openssl_failed("OpenSSL cannot make a context");
    }
    SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    // The buffers of an idle connection are 34 KB. A write that is tried again may come from
    // another place, and one record at a time is enough.
    SSL_CTX_set_mode(made.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return made;
}

std::expected<std::string, tls_setup_error> with_lengths(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) {
        if (name.empty() || name.size() > 255) {
            return bad_credentials("ALPN: the name of a protocol has 1 to 255 bytes");
        }
        all += static_cast<char>(name.size());
        all += name;
    }
    return all;
}

std::string in_lower_case(std::string_view name) {
    std::string lower{name};
    if (!lower.empty() && lower.back() == '.') lower.pop_back();
    for (char& each : lower) {
        if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
    }
    return lower;
}

// The names of the authorities, which a server sends when it asks for a certificate.
void name_authorities(SSL_CTX& context, X509_STORE& roots) {
    STACK_OF(X509_NAME)* const names = sk_X509_NAME_new_null();
    const auto* const objects = X509_STORE_get0_objects(&roots);
    for (int i = 0; i != sk_X509_OBJECT_num(objects); ++i) {
        X509* const root = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
        if (root == nullptr) continue;
        X509_NAME* const name = X509_NAME_dup(X509_get_subject_name(root));
        if (name != nullptr && sk_X509_NAME_push(names, name) == 0) X509_NAME_free(name);
    }
    SSL_CTX_set_client_CA_list(&context, names);
}

}  // namespace

setup_result tls_settings::set_up(const tls_client_options& options) {
    auto made = make_context(TLS_client_method(), options.version_min, options.version_max);
    if (!made) return std::unexpected{made.error()};
    main_ = std::move(*made);
    SSL_CTX& context = *main_;

    verifies_ = !options.accept_any_certificate;
    SSL_CTX_set_verify(&context, verifies_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (verifies_) {
        auto roots = read_roots(options.roots.empty() ? system_roots() : options.roots);
        if (!roots) return std::unexpected{roots.error()};
        SSL_CTX_set1_cert_store(&context, roots->get());
    }
    const bool has_identity = !options.identity.chain.empty() || !options.identity.key.empty();
    if (has_identity) {
        if (auto used = use_identity(context, options.identity); !used) return used;
    }
    auto protocols = with_lengths(options.alpn);
    if (!protocols) return std::unexpected{protocols.error()};
    protocols_ = std::move(*protocols);
    const auto* const names = reinterpret_cast<const unsigned char*>(protocols_.data());
    const auto size = static_cast<unsigned>(protocols_.size());
    // It gives 0 for success.
    if (size != 0 && SSL_CTX_set_alpn_protos(&context, names, size) != 0) {
        return openssl_failed("ALPN");
    }
    const bool keeps_sessions = options.sessions_max != 0;
    SSL_CTX_set_session_cache_mode(
        &context,
        keeps_sessions ? SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL : SSL_SESS_CACHE_OFF);
    SSL_CTX_sess_set_new_cb(&context, &tls_callbacks::keep_session);
    return {};
}

std::expected<owned_context, tls_setup_error> tls_settings::server_context(
    const tls_server_options& options, const tls_identity& identity, X509_STORE* client_roots) {
    auto made = make_context(TLS_server_method(), options.version_min, options.version_max);
    if (!made) return made;
    SSL_CTX& context = **made;
    if (auto used = use_identity(context, identity); !used) return std::unexpected{used.error()};

    SSL_CTX_set_options(&context, SSL_OP_CIPHER_SERVER_PREFERENCE);
    if (SSL_CTX_set_cipher_list(&context, server_ciphers) != 1 ||
        SSL_CTX_set1_groups_list(&context, server_groups) != 1) {
        return openssl_failed("ciphers");
    }
    if (client_roots != nullptr) {
        SSL_CTX_set1_cert_store(&context, client_roots);
        name_authorities(context, *client_roots);
        const int required = options.client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
        SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | required, nullptr);
    }
    if (!protocols_.empty())
        SSL_CTX_set_alpn_select_cb(&context, &tls_callbacks::choose_protocol, nullptr);
    // Tickets keep the sessions at the clients: a table here would be a lock for all connections.
    SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(&context, 2);
    SSL_CTX_set_session_id_context(&context, session_scope.data(), session_scope.size());
    return made;
}

setup_result tls_settings::set_up(const tls_server_options& options) {
    auto protocols = with_lengths(options.alpn);
    if (!protocols) return std::unexpected{protocols.error()};
    protocols_ = std::move(*protocols);

    owned_store client_roots;
    if (!options.client_roots.empty()) {
        auto roots = read_roots(options.client_roots);
        if (!roots) return std::unexpected{roots.error()};
        client_roots = std::move(*roots);
    }
    auto made = server_context(options, options.identity, client_roots.get());
    if (!made) return std::unexpected{made.error()};
    main_ = std::move(*made);
    for (const tls_host& host : options.hosts) {
        auto its = server_context(options, host.identity, client_roots.get());
        if (!its) {
            its.error().text.insert(0, "for " + host.name + ": ");
            return std::unexpected{its.error()};
        }
        hosts_.insert_or_assign(in_lower_case(host.name), std::move(*its));
    }
    if (!hosts_.empty())
        SSL_CTX_set_tlsext_servername_callback(main_.get(), &tls_callbacks::choose_host);
    return {};
}

SSL_CTX* tls_settings::for_host(std::string_view host) const {
    std::string name = in_lower_case(host);
    if (const auto exact = hosts_.find(name); exact != hosts_.end()) return exact->second.get();
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos || dot == 0) return nullptr;
    name.replace(0, dot, "*");
    const auto wild = hosts_.find(name);
    return wild != hosts_.end() ? wild->second.get() : nullptr;
}

}  // namespace detail

std::expected<tls_context, tls_setup_error> tls_context::client(tls_client_options options) {
    auto settings = std::make_shared<detail::tls_settings>(false, options.sessions_max);
    if (auto made = settings->set_up(options); !made) return std::unexpected{made.error()};
    return tls_context{std::move(settings)};
}

std::expected<tls_context, tls_setup_error> tls_context::server(tls_server_options options) {
    auto settings = std::make_shared<detail::tls_settings>(true, std::size_t{0});
    if (auto made = settings->set_up(options); !made) return std::unexpected{made.error()};
    return tls_context{std::move(settings)};
}

bool tls_context::is_server() const noexcept { return settings_->is_server(); }

}  // namespace fairlead::io
