// What the connections of a client or of a server share: certificates, keys, what is trusted.
//
//     auto context = io::tls_context::client({.alpn = {"http/1.1"}});
//     auto context = io::tls_context::server({.identity = {
//         .chain = io::tls_pem::file("chain.pem"), .key = io::tls_pem::file("key.pem")}});
//
// Files are read when the context is made, and never later: no handshake touches the disk. A server
// whose certificate was renewed makes a new context and gives it to the connections that come from
// then on; the other ones keep theirs.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/tls/tls_errc.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io {

namespace detail {
class tls_settings;
}

/// Certificates or a key in PEM: a file, or text.
class tls_pem {
public:
    /// Nothing.
    tls_pem() = default;
    /// The file at `path`. A context reads it once.
    [[nodiscard]] static tls_pem file(std::string path) { return {std::move(path), true}; }
    /// The PEM text itself.
    [[nodiscard]] static tls_pem text(std::string pem) { return {std::move(pem), false}; }

    /// Whether it is nothing.
    [[nodiscard]] bool empty() const noexcept { return content_.empty(); }
    /// Whether `content` is a path.
    [[nodiscard]] bool is_file() const noexcept { return is_file_; }
    /// The path or the text.
    [[nodiscard]] const std::string& content() const noexcept { return content_; }

private:
    tls_pem(std::string content, bool is_file) : content_{std::move(content)}, is_file_{is_file} {}

    std::string content_;
    bool is_file_ = false;
};

/// What an end shows of itself.
struct tls_identity {
    tls_pem chain = {};  ///< the own certificate, then those between it and the root
    tls_pem key = {};    ///< the private key of the own certificate, without a password
};

/// A host of a server with an identity of its own.
struct tls_host {
    std::string name;       ///< "www.example.org", or "*.example.org" for any one label
    tls_identity identity;  ///< what clients get that ask for this name
};

/// A version of the protocol.
enum class tls_version : std::uint8_t {
    v1_2,  ///< TLS 1.2
    v1_3,  ///< TLS 1.3
};

/// How the connections of a client behave.
struct tls_client_options {
    /// The certificates to trust. Nothing: the bundle of the system, such as
    /// /etc/ssl/certs/ca-certificates.crt. Revocation lists among them are respected.
    tls_pem roots = {};
    /// For clients of a server that asks for a certificate.
    tls_identity identity = {};
    /// The protocols that the client speaks, the preferred one first, each of 1 to 255 bytes.
    std::vector<std::string> alpn = {};
    tls_version version_min = tls_version::v1_2;  ///< the lowest version that the client speaks
    tls_version version_max = tls_version::v1_3;  ///< the highest one
    /// How many sessions of earlier connections are kept, to resume them. 0: none.
    std::size_t sessions_max = 128;
    /// Accepts every certificate: anybody on the way can read and change everything. For tests.
    bool accept_any_certificate = false;
};

/// How the connections of a server behave.
struct tls_server_options {
    /// For clients that ask for no host, or for a host that `hosts` lacks. Required.
    tls_identity identity = {};
    /// Hosts with an identity of their own.
    std::vector<tls_host> hosts = {};
    /// Clients must show a certificate of these authorities. Nothing: clients are not asked.
    tls_pem client_roots = {};
    /// False: a client may have no certificate; if it shows one, `client_roots` counts.
    bool client_required = true;
    /// The protocols that the server speaks, the preferred one first, each of 1 to 255 bytes. A
    /// client that names only other ones is refused.
    std::vector<std::string> alpn = {};
    tls_version version_min = tls_version::v1_2;  ///< the lowest version that the server speaks
    tls_version version_max = tls_version::v1_3;  ///< the highest one
};

/// Why a context could not be made.
struct tls_setup_error {
    std::error_code code;  ///< `tls_errc::bad_credentials`, or an error of the system
    std::string text;      ///< which file, and what is wrong with it
};

/// Shared by connections. It never changes; copies are the same context. Any thread.
class tls_context {
public:
    /// For clients. Reads the files; allocates. Reading the bundle of the system takes some
    /// milliseconds.
    [[nodiscard]] static std::expected<tls_context, tls_setup_error> client(
        tls_client_options options = {});

    /// For servers. Reads the files; allocates.
    [[nodiscard]] static std::expected<tls_context, tls_setup_error> server(
        tls_server_options options);

    /// Whether it is for servers.
    [[nodiscard]] bool is_server() const noexcept;

    /// @cond internal
    [[nodiscard]] const std::shared_ptr<detail::tls_settings>& settings() const noexcept {
        return settings_;
    }
    /// @endcond

private:
    explicit tls_context(std::shared_ptr<detail::tls_settings> settings) noexcept
        : settings_{std::move(settings)} {}

    std::shared_ptr<detail::tls_settings> settings_;
};

}  // namespace fairlead::io
