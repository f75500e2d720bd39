#include "tls/credentials.hpp"

#include "tls/errors.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <filesystem>
#include <memory>
#include <utility>

namespace fairlead::io::detail {
namespace {

std::string name_of(const tls_pem& pem, std::string_view what) {
    std::string name{what};
    if (pem.is_file()) name.append(" ").append(pem.content());
    return name;
}

// "the key /etc/x/key.pem: bad decrypt". Takes the errors of OpenSSL.
std::unexpected<tls_setup_error> failure_of(const tls_pem& pem, std::string_view what) {
    const std::error_code why = take_error(tls_errc::bad_credentials);
    const bool of_system = why.category() != tls_category();
    return std::unexpected{
        tls_setup_error{.code = of_system ? why : code_of(tls_errc::bad_credentials),
                        .text = name_of(pem, what) + ": " + why.message()}};
}

owned_bio open(const tls_pem& pem) noexcept {
    ERR_clear_error();
    const std::string& content = pem.content();
    if (pem.is_file()) return owned_bio{BIO_new_file(content.c_str(), "r")};
    return owned_bio{BIO_new_mem_buf(content.data(), static_cast<int>(content.size()))};
}

// OpenSSL's own function would ask at the terminal. `asked`: null, or a flag.
int no_password(char*, int, int, void* asked) noexcept {
    if (asked != nullptr) *static_cast<bool*>(asked) = true;
    return -1;
}

// Whether the last read ended because the PEM has no more, and not by an error.
bool ended_well() noexcept {
    const unsigned long last = ERR_peek_last_error();
    return ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
}

setup_result use_chain(SSL_CTX& context, const tls_pem& pem) {
    const owned_bio source = open(pem);
    if (!source) return failure_of(pem, "the certificate");
    const owned_certificate own{
        PEM_read_bio_X509_AUX(source.get(), nullptr, &no_password, nullptr)};
    if (!own) return failure_of(pem, "the certificate");
    if (SSL_CTX_use_certificate(&context, own.get()) != 1) {
        return failure_of(pem, "the certificate");
    }
    for (;;) {
        const owned_certificate next{
            PEM_read_bio_X509(source.get(), nullptr, &no_password, nullptr)};
        if (!next) break;
        if (SSL_CTX_add1_chain_cert(&context, next.get()) != 1) {
            return failure_of(pem, "the chain of the certificate");
        }
    }
    if (!ended_well()) return failure_of(pem, "the chain of the certificate");
    ERR_clear_error();
    return {};
}

setup_result use_key(SSL_CTX& context, const tls_pem& pem) {
    const owned_bio source = open(pem);
    if (!source) return failure_of(pem, "the key");
    bool has_password = false;
    const owned_key key{
        PEM_read_bio_PrivateKey(source.get(), nullptr, &no_password, &has_password)};
    if (!key && has_password) {
        ERR_clear_error();
        return bad_credentials(name_of(pem, "the key") + ": has a password");
    }
    if (!key) return failure_of(pem, "the key");
    // OpenSSL would drop the certificate for a key of another kind.
    if (X509_check_private_key(SSL_CTX_get0_certificate(&context), key.get()) != 1) {
        ERR_clear_error();
        return bad_credentials(name_of(pem, "the key") + ": is not that of the certificate");
    }
    if (SSL_CTX_use_PrivateKey(&context, key.get()) != 1) return failure_of(pem, "the key");
    return {};
}

void free_parts(STACK_OF(X509_INFO) * parts) noexcept {
    sk_X509_INFO_pop_free(parts, &X509_INFO_free);
}

}  // namespace

std::unexpected<tls_setup_error> bad_credentials(std::string text) {
    return std::unexpected{
        tls_setup_error{.code = code_of(tls_errc::bad_credentials), .text = std::move(text)}};
}

setup_result use_identity(SSL_CTX& context, const tls_identity& identity) {
    if (identity.chain.empty()) return bad_credentials("the identity has no certificate");
    if (identity.key.empty()) return bad_credentials("the identity has no key");
    if (auto used = use_chain(context, identity.chain); !used) return used;
    return use_key(context, identity.key);
}

std::expected<owned_store, tls_setup_error> read_roots(const tls_pem& pem) {
    const owned_bio source = open(pem);
    if (!source) return failure_of(pem, "the roots");
    const std::unique_ptr<STACK_OF(X509_INFO), freed_by<&free_parts>> parts{
        PEM_X509_INFO_read_bio(source.get(), nullptr, &no_password, nullptr)};
    owned_store store{X509_STORE_new()};
    if (!parts || !store) return failure_of(pem, "the roots");

    int certificates = 0;
    int lists = 0;
    for (int i = 0; i != sk_X509_INFO_num(parts.get()); ++i) {
        const X509_INFO& part = *sk_X509_INFO_value(parts.get(), i);
        bool added = true;
        if (part.x509 != nullptr) {
            added = X509_STORE_add_cert(store.get(), part.x509) == 1;
            ++certificates;
        }
        if (part.crl != nullptr && added) {
            added = X509_STORE_add_crl(store.get(), part.crl) == 1;
            ++lists;
        }
        if (!added) return failure_of(pem, "the roots");
    }
    if (certificates == 0) return bad_credentials(name_of(pem, "the roots") + ": no certificate");
    if (lists != 0) X509_STORE_set_flags(store.get(), X509_V_FLAG_CRL_CHECK);
    return store;
}

tls_pem system_roots() {
    // Debian, Alpine; Fedora; SUSE; BSD. No directory: OpenSSL would read it during handshakes.
    constexpr std::array places{"/etc/ssl/certs/ca-certificates.crt",
                                "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                "/etc/ssl/cert.pem"};
    for (const char* const place : places) {
        std::error_code ignored;
        if (std::filesystem::exists(place, ignored)) return tls_pem::file(place);
    }
    return tls_pem::file(places.front());
}

}  // namespace fairlead::io::detail
