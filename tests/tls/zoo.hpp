// Certificates of all kinds, made by the tests themselves: no network, no files, nothing expires.
#pragma once

#include "tls/owned.hpp"

#include <fairlead/tls/tls_context.hpp>

#include <memory>
#include <string>
#include <vector>

namespace fairlead::test {

/// A certificate with its key.
struct issued {
    std::shared_ptr<X509> certificate;
    std::shared_ptr<EVP_PKEY> key;

    [[nodiscard]] std::string pem() const;
    [[nodiscard]] std::string key_pem() const;
};

/// What a certificate says.
struct wanted {
    std::string common_name = "localhost";
    std::string alternatives = "DNS:localhost";  // in the words of OpenSSL; empty: none
    std::string purpose = "serverAuth";          // empty: for everything
    int from_days = -1;                          // relative to now
    int to_days = 30;
    bool is_authority = false;
    bool with_rsa = false;
};

/// Signed by `issuer`; without one by itself.
[[nodiscard]] issued issue(const wanted& what, const issued* issuer = nullptr);
/// An authority, self-signed or by another one.
[[nodiscard]] issued authority(const std::string& name, const issued* issuer = nullptr);
/// A list of `issuer` that revokes one certificate.
[[nodiscard]] std::string revoking(const issued& revoked, const issued& issuer);

/// Shows `own`, and the certificates between it and the root.
[[nodiscard]] io::tls_identity identity_of(const issued& own,
                                           const std::vector<issued>& between = {});
[[nodiscard]] io::tls_pem trusting(const issued& root);

/// An authority, which most tests trust, and a certificate of it for localhost.
struct harbour {
    issued root = authority("Harbour Root");
    issued localhost = issue({.alternatives = "DNS:localhost,IP:127.0.0.1"}, &root);

    /// Contexts that fit each other; the options may add to them.
    [[nodiscard]] io::tls_context server(io::tls_server_options options = {}) const;
    [[nodiscard]] io::tls_context client(io::tls_client_options options = {}) const;
};

}  // namespace fairlead::test
