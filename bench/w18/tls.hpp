// W18, TLS: a server on the loopback interface sends what it is asked for, by TLS 1.3 with AES-256
// and a certificate of the curve P-256. The cases:
//
//     bulk       `count` connections, each for a body of `size` bytes
//     full       `count` connections, each for a body of a few bytes, with a full handshake
//     resumed    the same, and each goes on with the session of an earlier connection
//
// `connections` of them are open at once. `value` is nanoseconds of CPU time of the server, for a
// KiB in `bulk` and for a connection otherwise: the client of a handshake computes as long as the
// server, so the time on the clock would tell of the client. It is beside, as a rate.
//
// A request is a line of HTTP/1.0, which nginx and OpenSSL's s_server know, too. The client is the
// same for all servers, in a process of its own: see client.hpp. It checks the body, the version,
// and whether the session was resumed. A tenth of the connections come before the measurement.
#pragma once

#include "support/client_process.hpp"
#include "w18/client.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bench::w18 {

/// A folder with a key and its certificate, and with what clients ask for as files.
class site {
public:
    explicit site(const options& asked) {
        server_process makes{
            {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-subj", "/CN=localhost", "-days", "30", "-keyout", key(), "-out", chain()},
            folder_.path_of("openssl.out")};
        if (makes.wait() != 0) {
            throw std::runtime_error{"no certificate: " + text_of(folder_.path_of("openssl.out"))};
        }
        folder_.put("body", body(asked));
    }

    [[nodiscard]] const temporary_folder& folder() const { return folder_; }
    [[nodiscard]] std::string key() const { return folder_.path_of("key.pem"); }
    [[nodiscard]] std::string chain() const { return folder_.path_of("chain.pem"); }

private:
    temporary_folder folder_;
};

/// A server in this process, or the object of another process. It is made of the site and the
/// options, and has a port.
template <class Server>
std::optional<measurement> measure(const options& asked) {
    const std::string_view name = asked.name;
    if (name != "bulk" && name != "full" && name != "resumed") return std::nullopt;
    if (asked.connections == 0 || asked.size == 0) usage_error("nobody would ask");
    if (!Server::offers(asked)) return std::nullopt;
    const site from{asked};
    client_process<client> peer{asked};
    Server server{from, asked};
    peer.connect(server.port());
    measurement found;
    if constexpr (requires { server.process(); }) {
        found = peer.measure("connections/s", &server.process());
    } else {
        found = peer.measure("connections/s");
    }
    if (name == "bulk") {
        found.items = asked.count * asked.size / 1024;
        const double seconds = found.value * static_cast<double>(asked.count) * 1e-9;
        const double megabytes = static_cast<double>(asked.count * asked.size) * 1e-6;
        found.beside = {{"rate", megabytes / seconds, "MB/s"}};
    }
    found.value = found.cpu_seconds * 1e9 / static_cast<double>(found.items);
    return found;
}

template <class Server>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W18", Server::name, measure<Server>);
}

}  // namespace bench::w18
