// What is behind a `tls_context`: the contexts of OpenSSL, ready for connections.
//
// After `make_client` or `make_server` nothing changes but the sessions of a client, which have a
// lock of their own. Each connection keeps its settings alive.
#pragma once

#include "tls/owned.hpp"
#include "tls/session_cache.hpp"

#include <fairlead/tls/tls_context.hpp>

#include <expected>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead::io::detail {

class tls_settings {
public:
    explicit tls_settings(bool is_server, std::size_t sessions_max) noexcept
        : is_server_{is_server}, sessions_{sessions_max} {}

    [[nodiscard]] std::expected<void, tls_setup_error> set_up(const tls_client_options& options);
    [[nodiscard]] std::expected<void, tls_setup_error> set_up(const tls_server_options& options);

    [[nodiscard]] bool is_server() const noexcept { return is_server_; }
    [[nodiscard]] bool verifies() const noexcept { return verifies_; }
    [[nodiscard]] SSL_CTX& main() const noexcept { return *main_; }
    // That for the host, or null. `host` as a client has sent it.
    [[nodiscard]] SSL_CTX* for_host(std::string_view host) const;
    // The protocols as they are sent: each with its length in front.
    [[nodiscard]] const std::string& protocols() const noexcept { return protocols_; }
    [[nodiscard]] session_cache& sessions() noexcept { return sessions_; }

private:
    [[nodiscard]] std::expected<owned_context, tls_setup_error> server_context(
        const tls_server_options& options, const tls_identity& identity, X509_STORE* client_roots);

    const bool is_server_;
    bool verifies_ = true;
    owned_context main_;
    std::map<std::string, owned_context, std::less<>> hosts_;
    std::string protocols_;
    session_cache sessions_;
};

}  // namespace fairlead::io::detail
