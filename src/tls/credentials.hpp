// Certificates, keys and revocation lists from PEM into a context of OpenSSL. The errors say which
// file is wrong, and how.
#pragma once

#include "tls/owned.hpp"

#include <fairlead/tls/tls_context.hpp>

#include <expected>
#include <string>

namespace fairlead::io::detail {

using setup_result = std::expected<void, tls_setup_error>;

[[nodiscard]] std::unexpected<tls_setup_error> bad_credentials(std::string text);

// Gives the context its own certificate, the chain and the key.
[[nodiscard]] setup_result use_identity(SSL_CTX& context, const tls_identity& identity);

// Reads certificates to trust, and revocation lists.
[[nodiscard]] std::expected<owned_store, tls_setup_error> read_roots(const tls_pem& pem);

// The bundle of the system, or the first of the usual places if there is none.
[[nodiscard]] tls_pem system_roots();

}  // namespace fairlead::io::detail
