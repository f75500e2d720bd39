#include "tls/errors.hpp"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

#include <array>
#include <string>

namespace fairlead::io {
namespace {

constexpr int openssl_min = 1 << 23;  // ERR_PACK of the library 1
constexpr int alerts_max = 255;

tls_errc condition_of_certificate(long reason) noexcept {
    switch (reason) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
        case X509_V_ERR_CRL_HAS_EXPIRED:
            return tls_errc::certificate_expired;
        case X509_V_ERR_CERT_NOT_YET_VALID:
        case X509_V_ERR_CRL_NOT_YET_VALID:
            return tls_errc::certificate_not_yet_valid;
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_UNTRUSTED:
            return tls_errc::certificate_unknown_issuer;
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return tls_errc::certificate_wrong_host;
        case X509_V_ERR_INVALID_PURPOSE:
            return tls_errc::certificate_wrong_purpose;
        case X509_V_ERR_CERT_REVOKED:
            return tls_errc::certificate_revoked;
        default:
            return tls_errc::certificate_rejected;
    }
}

tls_errc condition_of_openssl(int packed) noexcept {
    const auto code = static_cast<unsigned long>(packed);
    if (ERR_GET_LIB(code) != ERR_LIB_SSL) return tls_errc::protocol;
    const int reason = ERR_GET_REASON(code);
    if (reason >= SSL_AD_REASON_OFFSET && reason <= SSL_AD_REASON_OFFSET + alerts_max) {
        return tls_errc::alert;
    }
    switch (reason) {
        case SSL_R_NO_APPLICATION_PROTOCOL:
            return tls_errc::no_shared_protocol;
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return tls_errc::certificate_missing;
        default:
            return tls_errc::protocol;
    }
}

std::string text_of(tls_errc own) {
    switch (own) {
        case tls_errc::truncated:
            return "the connection ended without the peer's close_notify";
        case tls_errc::broken:
            return "an earlier write was cut off";
        case tls_errc::alert:
            return "the peer sent an alert";
        case tls_errc::protocol:
            return "the peer broke the protocol";
        case tls_errc::no_shared_protocol:
            return "no common application protocol";
        case tls_errc::bad_credentials:
            return "unusable certificates or keys";
        case tls_errc::certificate_missing:
            return "the peer sent no certificate";
        case tls_errc::certificate_expired:
            return "the certificate has expired";
        case tls_errc::certificate_not_yet_valid:
            return "the certificate is not yet valid";
        case tls_errc::certificate_unknown_issuer:
            return "the issuer of the certificate is unknown";
        case tls_errc::certificate_wrong_host:
            return "the certificate is for other hosts";
        case tls_errc::certificate_wrong_purpose:
            return "the certificate is not for this purpose";
        case tls_errc::certificate_revoked:
            return "the certificate is revoked";
        case tls_errc::certificate_rejected:
            return "the certificate was rejected";
    }
    return "unknown error of TLS";
}

class category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "tls"; }

    [[nodiscard]] std::string message(int value) const override {
        if (value < verification_code) return text_of(static_cast<tls_errc>(value));
        if (value < openssl_min) {
            return X509_verify_cert_error_string(value - verification_code);
        }
        const auto code = static_cast<unsigned long>(value);
        const char* const reason = ERR_reason_error_string(code);
        if (reason != nullptr) return reason;
        std::array<char, 256> text{};
        ERR_error_string_n(code, text.data(), text.size());
        return text.data();
    }

    [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
        return make_error_condition(condition(value));
    }

    [[nodiscard]] bool equivalent(int value,
                                  const std::error_condition& other) const noexcept override {
        if (default_error_condition(value) == other) return true;
        // The peer says by an alert that it shares no protocol.
        constexpr int no_protocol = SSL_AD_REASON_OFFSET + SSL_AD_NO_APPLICATION_PROTOCOL;
        return value >= openssl_min &&
               ERR_GET_REASON(static_cast<unsigned long>(value)) == no_protocol &&
               other == make_error_condition(tls_errc::no_shared_protocol);
    }

private:
    [[nodiscard]] static tls_errc condition(int value) noexcept {
        if (value < verification_code) return static_cast<tls_errc>(value);
        if (value < openssl_min) return condition_of_certificate(value - verification_code);
        return condition_of_openssl(value);
    }
};

}  // namespace

const std::error_category& tls_category() noexcept {
    static const category the_category;
    return the_category;
}

bool is_certificate_error(const std::error_code& error) noexcept {
    if (error.category() != tls_category()) return false;
    const int condition = error.default_error_condition().value();
    return condition >= static_cast<int>(tls_errc::certificate_missing) &&
           condition <= static_cast<int>(tls_errc::certificate_rejected);
}

namespace detail {

std::error_code take_error(tls_errc otherwise) noexcept {
    const unsigned long first = ERR_get_error();
    ERR_clear_error();
    if (first == 0) return code_of(otherwise);
    if (ERR_SYSTEM_ERROR(first)) {
        return {static_cast<int>(ERR_GET_REASON(first)), std::system_category()};
    }
    if (ERR_GET_REASON(first) == ERR_R_MALLOC_FAILURE) {
        return std::make_error_code(std::errc::not_enough_memory);
    }
    return {static_cast<int>(first), tls_category()};
}

std::error_code take_error_of(const SSL& connection) noexcept {
    const unsigned long first = ERR_peek_error();
    const bool rejected = ERR_GET_LIB(first) == ERR_LIB_SSL &&
                          ERR_GET_REASON(first) == SSL_R_CERTIFICATE_VERIFY_FAILED;
    const long reason = SSL_get_verify_result(&connection);
    const std::error_code taken = take_error(tls_errc::protocol);
    if (!rejected || reason == X509_V_OK) return taken;
    return {verification_code + static_cast<int>(reason), tls_category()};
}

}  // namespace detail
}  // namespace fairlead::io
