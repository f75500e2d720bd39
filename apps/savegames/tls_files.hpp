// The certificate of the service and its key. A build without OpenSSL has no TLS.
#pragma once

#include <expected>
#include <memory>
#include <string>

#ifdef SAVEGAMES_TLS
#include <fairlead/tls/tls_context.hpp>
#endif

namespace savegames {

#ifdef SAVEGAMES_TLS
using tls_context = fairlead::io::tls_context;
#else
struct tls_context {};
#endif

// PEM files: the certificate and those between it and the root; the private key, without a
// password. Both paths are empty for a service without TLS.
struct tls_files {
    std::string certificate;
    std::string key;
};

// Reads the files; null without files. The error is a sentence for a person.
[[nodiscard]] std::expected<std::shared_ptr<const tls_context>, std::string> load_tls(
    const tls_files& files);

}  // namespace savegames
