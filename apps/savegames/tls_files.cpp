#include "savegames/tls_files.hpp"

#include <utility>

namespace savegames {

std::expected<std::shared_ptr<const tls_context>, std::string> load_tls(const tls_files& files) {
    if (files.certificate.empty() && files.key.empty()) return nullptr;
    if (files.certificate.empty() || files.key.empty()) {
        return std::unexpected("--certificate and --key: give both or none");
    }
#ifdef SAVEGAMES_TLS
    using fairlead::io::tls_pem;
    fairlead::io::tls_server_options options;
    options.identity = {tls_pem::file(files.certificate), tls_pem::file(files.key)};
    options.alpn = {"http/1.1"};
    auto made = tls_context::server(std::move(options));
    if (!made) return std::unexpected("--certificate, --key: " + made.error().text);
    return std::make_shared<const tls_context>(std::move(*made));
#else
    return std::unexpected("--certificate: this program was built without TLS (OpenSSL)");
#endif
}

}  // namespace savegames
