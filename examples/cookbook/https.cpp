// HTTP over TLS: a client that connects by name and checks the certificate, and a server. The
// example starts the server itself, with a certificate that it makes.
#include <fairlead/dns/connect.hpp>
#include <fairlead/dns/resolver.hpp>
#include <fairlead/fairlead.hpp>
#include <fairlead/http/client.hpp>
#include <fairlead/http/server.hpp>
#include <fairlead/tls/tls_stream.hpp>

#include <cstdio>
#include <cstdlib>
#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;
namespace dns = fairlead::dns;
namespace http = fairlead::http;
using namespace std::chrono_literals;

namespace {

// [server]
http::response hello(http::request&) { return http::response::text(200, "hello, harbour\n"); }

// The handshake is in the task of the connection: a slow client keeps no other one waiting.
fl::task<> session(io::tcp_stream below, io::tls_context context) {
    auto peer = co_await io::tls_stream<>::accept(std::move(below), context, fl::clock::now() + 5s);
    if (!peer) co_return;
    auto serving = http::serve_connection(std::move(*peer), hello);
    co_await std::move(serving);
}

fl::task<> serve(io::tcp_listener listener, io::tls_context context) {
    co_await fl::with_scope([&](fl::scope& sessions) -> fl::task<> {
        for (;;) {
            auto below = co_await listener.accept();
            if (!below) co_return;
            sessions.spawn(session(std::move(*below), context), {.name = "session"});
        }
    });
}
// [/server]

// [connector]
using connection = std::expected<std::unique_ptr<http::transport>, std::error_code>;

// The certificate must be for the host of the URL.
fl::task<connection> connect_tls(io::name_connector connects, io::tls_context context,
                                 http::origin to, fl::time_point deadline) {
    if (to.scheme != "https") {
        co_return std::unexpected{std::make_error_code(std::errc::protocol_not_supported)};
    }
    auto below = co_await connects(to.host, to.port, deadline);
    if (!below) co_return std::unexpected{below.error()};
    auto stream = co_await io::tls_stream<>::connect(std::move(*below), context, to.host, deadline);
    if (!stream) co_return std::unexpected{stream.error()};
    co_return http::make_transport(std::move(*stream));
}

http::connector tls_connector(io::name_connector connects, io::tls_context context) {
    return [connects, context](const http::origin& to, fl::time_point deadline) {
        return connect_tls(connects, context, to, deadline);
    };
}
// [/connector]

using text = std::expected<std::string, std::error_code>;

// [fetch]
// `deadline` is that of the whole: names, connection, handshake, request and answer.
fl::task<text> fetch(http::client& client, std::string url, fl::time_point deadline) {
    http::client_request asked{.url = std::move(url)};
    auto answer = co_await client.send(std::move(asked), deadline);
    if (!answer) co_return std::unexpected{answer.error()};
    co_return co_await answer->read_all(64 << 10);  // at most so many bytes
}
// [/fetch]

// A certificate for localhost, signed by itself, and its key.
bool make_certificate(const std::filesystem::path& folder) {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
        " -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout " +
        (folder / "key.pem").string() + " -out " + (folder / "chain.pem").string() + " 2>/dev/null";
    return std::system(command.c_str()) == 0;
}

std::string shown(const text& of) { return of ? *of : of.error().message() + "\n"; }

}  // namespace

int main() {
    std::string place = (std::filesystem::temp_directory_path() / "fairlead_https_XXXXXX").string();
    if (mkdtemp(place.data()) == nullptr || !make_certificate(place)) {
        std::puts("cannot make a certificate: is openssl installed?");
        return EXIT_FAILURE;
    }
    const auto of_server =
        io::tls_context::server({.identity = {.chain = io::tls_pem::file(place + "/chain.pem"),
                                              .key = io::tls_pem::file(place + "/key.pem")}});
    const auto of_client =
        io::tls_context::client({.roots = io::tls_pem::file(place + "/chain.pem")});
    std::filesystem::remove_all(place);
    if (!of_server || !of_client) return EXIT_FAILURE;

    fl::scheduler scheduler{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    auto listener = io::tcp_listener::bind(scheduler, io::address::loopback(0));
    if (!listener) return EXIT_FAILURE;
    const std::string port = std::to_string(listener->local_address()->port());
    auto server = fl::spawn(scheduler, serve(std::move(*listener), *of_server));

    // [use]
    auto resolver = dns::resolver::make(scheduler);
    if (!resolver) return EXIT_FAILURE;
    http::client client{tls_connector(dns::by_name(*resolver), *of_client)};
    const fl::time_point deadline = fl::clock::now() + 10s;
    const text page =
        fl::block_on(scheduler, fetch(client, "https://localhost:" + port + "/", deadline));
    // The same server, which has no certificate for that name.
    const text other =
        fl::block_on(scheduler, fetch(client, "https://api.localhost:" + port + "/", deadline));
    std::printf("%s%s", shown(page).c_str(), shown(other).c_str());
    // [/use]

    client.close_idle();
    server.request_stop();
    server.get();
    const bool is_right = page == "hello, harbour\n" && !other &&
                          other.error() == io::tls_errc::certificate_wrong_host;
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
