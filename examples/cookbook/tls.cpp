// A server and a client with TLS over loopback: certificates, deadlines, ends.
#include <fairlead/fairlead.hpp>
#include <fairlead/tls/tls_stream.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

// [server]
// Sends back what comes, until the client has ended.
fl::task<> session(io::tcp_stream below, io::tls_context context) {
    auto peer = co_await io::tls_stream<>::accept(std::move(below), context, fl::clock::now() + 5s);
    if (!peer) {
        std::printf("a client was refused: %s\n", peer.error().message().c_str());
        co_return;
    }
    std::array<std::byte, 4096> buffer;
    for (;;) {
        const auto size = co_await peer->read_some(buffer, fl::clock::now() + 5s);
        if (!size) co_return;  // perhaps tls_errc::truncated
        if (*size == 0) break;
        const std::span<const std::byte> received{buffer.data(), *size};
        const auto sent = co_await peer->write_all(received, fl::clock::now() + 5s);
        if (!sent) co_return;
    }
    static_cast<void>(co_await peer->send_end(fl::clock::now() + 5s));
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

using answer = std::expected<std::string, std::error_code>;

// [client]
// Sends a text, ends, and reads up to the end. `host` is what the certificate must be for.
fl::task<answer> ask(io::address server, io::tls_context context, std::string host,
                     std::string text) {
    const fl::time_point deadline = fl::clock::now() + 5s;  // for the whole exchange
    auto below = co_await io::tcp_stream::connect(server, deadline);
    if (!below) co_return std::unexpected{below.error()};
    auto stream = co_await io::tls_stream<>::connect(std::move(*below), context, host, deadline);
    if (!stream) co_return std::unexpected{stream.error()};

    const auto sent = co_await stream->write_all(std::as_bytes(std::span{text}), deadline);
    if (!sent) co_return std::unexpected{sent.error()};
    const auto ended = co_await stream->send_end(deadline);
    if (!ended) co_return std::unexpected{ended.error()};

    std::string got;
    std::array<char, 512> buffer;
    for (;;) {
        const auto size =
            co_await stream->read_some(std::as_writable_bytes(std::span{buffer}), deadline);
        if (!size) co_return std::unexpected{size.error()};
        if (*size == 0) co_return got;  // all of it: the server has said so
        got.append(buffer.data(), *size);
    }
}
// [/client]

// A certificate for localhost, signed by itself, and its key.
bool make_certificate(const std::filesystem::path& folder) {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
        " -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout " +
        (folder / "key.pem").string() + " -out " + (folder / "chain.pem").string() + " 2>/dev/null";
    return std::system(command.c_str()) == 0;
}

std::string text_of(const answer& got) { return got ? *got : got.error().message(); }

}  // namespace

int main() {
    std::string place = (std::filesystem::temp_directory_path() / "fairlead_tls_XXXXXX").string();
    if (mkdtemp(place.data()) == nullptr || !make_certificate(place)) {
        std::puts("cannot make a certificate: is openssl installed?");
        return 1;
    }

    // [contexts]
    const auto of_server =
        io::tls_context::server({.identity = {.chain = io::tls_pem::file(place + "/chain.pem"),
                                              .key = io::tls_pem::file(place + "/key.pem")}});
    // Most clients trust the authorities of the system, which is the default.
    const auto of_client =
        io::tls_context::client({.roots = io::tls_pem::file(place + "/chain.pem")});
    if (!of_server || !of_client) {
        std::puts((of_server ? of_client : of_server).error().text.c_str());
        return 1;
    }
    // [/contexts]
    std::filesystem::remove_all(place);  // the contexts have read the files

    fl::scheduler scheduler{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    auto listener = io::tcp_listener::bind(scheduler, io::address::loopback(0));
    if (!listener) {
        std::printf("cannot listen: %s\n", listener.error().message().c_str());
        return 1;
    }
    const io::address where = listener->local_address().value();
    auto server = fl::spawn(scheduler, serve(std::move(*listener), *of_server));

    // [calls]
    const answer bad = fl::block_on(scheduler, ask(where, *of_client, "example.org", "hello"));
    if (!bad && bad.error() == io::tls_errc::certificate_wrong_host) {
        std::printf("as another host: %s\n", bad.error().message().c_str());
    }
    const answer good =
        fl::block_on(scheduler, ask(where, *of_client, "localhost", "hello, harbour"));
    std::printf("the answer: %s\n", text_of(good).c_str());
    // [/calls]

    server.request_stop();
    server.get();
    const bool as_expected =
        good == "hello, harbour" && !bad && bad.error() == io::tls_errc::certificate_wrong_host;
    return as_expected ? 0 : 1;
}
