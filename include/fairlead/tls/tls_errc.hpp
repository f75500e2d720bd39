// The errors of TLS, as conditions: what a `std::error_code` of TLS is compared with.
//
//     if (got.error() == io::tls_errc::truncated) ...
//     log(got.error().message());  // "certificate has expired"
//
// The code itself is more exact, and keeps the text of OpenSSL. Its value is a `tls_errc`, or
// `verification_code` and a reason of X509_verify_cert, or an error of OpenSSL as ERR_get_error
// gives it.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <system_error>
#include <type_traits>

namespace fairlead::io {

/// What has gone wrong with a TLS stream. Compare it with the error of an operation.
enum class tls_errc {
    /// The connection ended without the peer's close_notify: what came before may not be all.
    truncated = 1,
    /// A write was cut off, perhaps within a record: nothing can be written any more.
    broken,
    /// The peer has ended the connection by an alert. The message says by which.
    alert,
    /// The peer broke the protocol, or the two ends share no version or no cipher.
    protocol,
    /// The two ends name no common protocol for ALPN.
    no_shared_protocol,
    /// Loading of certificates or keys has failed, or they do not belong together.
    bad_credentials,
    /// The peer has sent no certificate, and this end requires one.
    certificate_missing,
    /// The certificate, or one of its chain, was valid until some time ago.
    certificate_expired,
    /// The certificate, or one of its chain, will be valid later. Perhaps a clock is wrong.
    certificate_not_yet_valid,
    /// No chain leads from the certificate to a root: self-signed, another authority, or the peer
    /// did not send all certificates in between.
    certificate_unknown_issuer,
    /// The certificate is for other hosts.
    certificate_wrong_host,
    /// The certificate is not for this use, such as one of a client that a server shows.
    certificate_wrong_purpose,
    /// A revocation list has the certificate.
    certificate_revoked,
    /// The certificate was rejected for another reason. The message says why.
    certificate_rejected,
};

/// The category of the errors of TLS.
[[nodiscard]] const std::error_category& tls_category() noexcept;

/// The condition.
[[nodiscard]] inline std::error_condition make_error_condition(tls_errc condition) noexcept {
    return {static_cast<int>(condition), tls_category()};
}

/// Whether the error says that the peer's certificate was rejected, or is missing.
[[nodiscard]] bool is_certificate_error(const std::error_code& error) noexcept;

/// In the category: this plus X509_V_ERR_... is an error of a certificate.
inline constexpr int verification_code = 1000;

}  // namespace fairlead::io

template <>
struct std::is_error_condition_enum<fairlead::io::tls_errc> : std::true_type {};
