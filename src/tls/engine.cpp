#include <fairlead/detail/tls/tls_engine.hpp>

#include "tls/bio.hpp"
#include "tls/errors.hpp"
#include "tls/settings.hpp"

#include <fairlead/detail/base/assert.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

namespace fairlead::io::detail {
namespace {

// One record with its head, and what TLS may add to it: RFC 8446, section 5.2.
constexpr std::size_t record_max = 5 + 16384 + 256;
constexpr std::size_t input_while_idle = 1024;
constexpr std::size_t input_while_flowing = 2 * record_max;
constexpr std::size_t host_size_max = 253;  // of a name in the DNS

std::string subject_of(const X509& certificate) {
    const owned_bio text{BIO_new(BIO_s_mem())};
    if (!text) throw std::bad_alloc{};
    X509_NAME_print_ex(text.get(), X509_get_subject_name(&certificate), 0, XN_FLAG_RFC2253);
    char* data = nullptr;
    const long size = BIO_get_mem_data(text.get(), &data);
    return {data, static_cast<std::size_t>(std::max(size, 0L))};
}

std::string text_or_nothing(const char* text) { return text != nullptr ? text : ""; }

bool is_address(const std::string& host) noexcept {
    ASN1_OCTET_STRING* const octets = a2i_IPADDRESS(host.c_str());
    ERR_clear_error();
    ASN1_OCTET_STRING_free(octets);
    return octets != nullptr;
}

}  // namespace

// --- making --------------------------------------------------------------------------------------

std::expected<std::unique_ptr<tls_engine>, std::error_code> tls_engine::client(
    const tls_context& context, const std::string& host) {
    FAIRLEAD_ASSERT(!context.is_server(), "a client needs a context for clients");
    std::unique_ptr<tls_engine> made{new tls_engine{context.settings()}};
    if (!made->make_connection()) {
        return std::unexpected{std::make_error_code(std::errc::not_enough_memory)};
    }
    if (const std::error_code wrong = made->expect_host(host)) return std::unexpected{wrong};
    SSL_set_connect_state(made->ssl_);
    const owned_session earlier = context.settings()->sessions().take(made->host_);
    if (earlier) SSL_set_session(made->ssl_, earlier.get());
    ERR_clear_error();
    return made;
}

std::expected<std::unique_ptr<tls_engine>, std::error_code> tls_engine::server(
    const tls_context& context) {
    FAIRLEAD_ASSERT(context.is_server(), "a server needs a context for servers");
    std::unique_ptr<tls_engine> made{new tls_engine{context.settings()}};
    if (!made->make_connection()) {
        return std::unexpected{std::make_error_code(std::errc::not_enough_memory)};
    }
    SSL_set_accept_state(made->ssl_);
    return made;
}

bool tls_engine::make_connection() {
    ERR_clear_error();
    ssl_ = SSL_new(&settings_->main());
    owned_bio bio{tls_bio::make(*this)};
    if (ssl_ == nullptr || !bio) return false;
    SSL_set_app_data(ssl_, this);
    BIO* const both = bio.release();
    SSL_set_bio(ssl_, both, both);
    return true;
}

std::error_code tls_engine::expect_host(const std::string& host) {
    const auto invalid = std::make_error_code(std::errc::invalid_argument);
    if (host.size() > host_size_max + 1 || host.find('\0') != std::string::npos) return invalid;
    // OpenSSL would accept a certificate for whatever name ends so.
    if (host.starts_with('.')) return invalid;
    host_ = host;
    if (host_.ends_with('.')) host_.pop_back();  // of a name that is complete
    if (host_.empty()) return settings_->verifies() ? invalid : std::error_code{};
    if (is_address(host_)) {
        if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host_.c_str()) != 1) {
            return take_error(tls_errc::protocol);
        }
        return {};  // RFC 6066: an address is no name to ask for
    }
    SSL_set_hostflags(ssl_,
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (SSL_set1_host(ssl_, host_.c_str()) != 1 ||
        SSL_set_tlsext_host_name(ssl_, host_.c_str()) != 1) {
        return take_error(tls_errc::protocol);
    }
    return {};
}

tls_engine::~tls_engine() {
    // Without a close_notify OpenSSL would not let the session be resumed: SSL 3 forbade it. RFC
    // 5246, section 7.2.1, does not.
    if (ssl_ != nullptr && !error_) {
        SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    }
    SSL_free(ssl_);
    ERR_clear_error();
}

// --- calls of OpenSSL ----------------------------------------------------------------------------

tls_outcome tls_engine::outcome_of(int result) noexcept {
    if (result > 0) return tls_outcome::done;
    switch (SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ:
            return tls_outcome::wants_input;
        case SSL_ERROR_ZERO_RETURN:
            return tls_outcome::ended;
        default:
            break;
    }
    error_ = take_error_of(*ssl_);
    if (out_of_memory_) error_ = std::make_error_code(std::errc::not_enough_memory);
    return tls_outcome::failed;
}

tls_outcome tls_engine::handshake() {
    if (error_) return tls_outcome::failed;
    ERR_clear_error();
    const tls_outcome made = outcome_of(SSL_do_handshake(ssl_));
    // The peer may end before the handshake has: that is no end of what it sends.
    if (made == tls_outcome::ended) {
        error_ = code_of(tls_errc::truncated);
        return tls_outcome::failed;
    }
    try {
        if (made == tls_outcome::done) describe_peer();
    } catch (const std::bad_alloc&) {
        error_ = std::make_error_code(std::errc::not_enough_memory);
        return tls_outcome::failed;
    }
    return made;
}

tls_outcome tls_engine::read(std::span<std::byte> buffer, std::size_t& count) {
    count = 0;
    if (error_) return tls_outcome::failed;
    ERR_clear_error();
    const tls_outcome made = outcome_of(SSL_read_ex(ssl_, buffer.data(), buffer.size(), &count));
    // A message after the handshake, such as a ticket, makes buffers that OpenSSL keeps although
    // they are empty: 16 KB.
    if (made == tls_outcome::wants_input) SSL_free_buffers(ssl_);
    return made;
}

tls_outcome tls_engine::write(std::span<const std::byte> data, std::size_t& count) {
    count = 0;
    if (error_) return tls_outcome::failed;
    ERR_clear_error();
    return outcome_of(SSL_write_ex(ssl_, data.data(), data.size(), &count));
}

tls_outcome tls_engine::end_sending() {
    if (error_) return tls_outcome::failed;
    if (sends_no_more_) return tls_outcome::done;
    ERR_clear_error();
    // 0: sent, and the peer has not answered. It need not.
    const int result = SSL_shutdown(ssl_);
    const tls_outcome made = result >= 0 ? tls_outcome::done : outcome_of(result);
    if (made == tls_outcome::done) sends_no_more_ = true;
    return made;
}

void tls_engine::describe_peer() {
    if (std::exchange(connected_, true)) return;
    peer_.version = SSL_get_version(ssl_);
    peer_.cipher = SSL_get_cipher_name(ssl_);
    peer_.resumed = SSL_session_reused(ssl_) == 1;
    peer_.server_name = text_or_nothing(SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name));
    const unsigned char* protocol = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_, &protocol, &size);
    peer_.alpn.assign(reinterpret_cast<const char*>(protocol), size);
    if (const X509* const certificate = SSL_get0_peer_certificate(ssl_)) {
        peer_.subject = subject_of(*certificate);
    }
    ERR_clear_error();
}

// --- bytes of the network ------------------------------------------------------------------------

std::span<std::byte> tls_engine::room_for_input() {
    std::size_t wanted = input_while_idle;
    // The rest of a record that has begun to come.
    if (!input_.empty()) wanted = record_max;
    if (flows_) wanted = input_while_flowing;
    if (wanted == input_while_idle && input_.capacity() > wanted) input_.release();
    const std::span<std::byte> room = input_.room(wanted);
    room_ = room.size();
    return room;
}

void tls_engine::input_came(std::size_t size) noexcept {
    input_.added(size);
    flows_ = size == room_;
}

}  // namespace fairlead::io::detail
