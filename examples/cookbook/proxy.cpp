// A proxy: each connection of a client becomes one to a server, and bytes go both ways.
#include <fairlead/fairlead.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

// [session]
fl::task<> session(io::tcp_stream client, io::address behind) {
    auto server = co_await io::tcp_stream::connect(behind, fl::clock::now() + 5s);
    if (!server) co_return;  // the client's connection is closed
    const io::relay_options options{.idle = 1min};
    const auto ended = co_await io::relay(client, *server, options);
    const io::relayed& moved = ended ? *ended : ended.error().moved;
    std::printf("%llu bytes to the server, %llu back%s%s\n",
                static_cast<unsigned long long>(moved.from_first),
                static_cast<unsigned long long>(moved.from_second), ended ? "" : ": ",
                ended ? "" : ended.error().error.message().c_str());
}
// [/session]

// [accept]
fl::task<> serve(io::tcp_listener listener, io::address behind) {
    co_await fl::with_scope([&](fl::scope& sessions) -> fl::task<> {
        for (;;) {
            auto client = co_await listener.accept();
            if (!client) co_return;  // asked to stop
            sessions.spawn(session(std::move(*client), behind), {.name = "session"});
        }
    });
}
// [/accept]

// The server behind: counts what comes up to the end, and answers.
fl::task<> count_bytes(io::tcp_stream peer) {
    std::array<std::byte, 4096> buffer;
    std::size_t count = 0;
    for (;;) {
        const auto size = co_await peer.read_some(buffer, fl::clock::now() + 10s);
        if (!size) co_return;
        if (*size == 0) break;
        count += *size;
    }
    const std::string answer = std::to_string(count) + " bytes have come";
    static_cast<void>(co_await peer.write_all(std::as_bytes(std::span{answer})));
}

fl::task<> serve_behind(io::tcp_listener listener) {
    for (;;) {
        auto peer = co_await listener.accept();
        if (!peer) co_return;
        co_await count_bytes(std::move(*peer));
    }
}

using text = std::expected<std::string, std::error_code>;

fl::task<text> ask(io::address proxy, std::size_t size) {
    const fl::time_point deadline = fl::clock::now() + 10s;
    auto stream = co_await io::tcp_stream::connect(proxy, deadline);
    if (!stream) co_return std::unexpected{stream.error()};
    const std::string question(size, 'q');
    const auto sent = co_await stream->write_all(std::as_bytes(std::span{question}), deadline);
    if (!sent) co_return std::unexpected{sent.error()};
    static_cast<void>(stream->shutdown_send());  // the proxy passes it on, and the answer back
    std::string answer(100, '\0');
    const auto all =
        co_await stream->read_exactly(std::as_writable_bytes(std::span{answer}), deadline);
    if (!all && all.error().error) co_return std::unexpected{all.error().error};
    answer.resize(all ? answer.size() : all.error().size);
    co_return answer;
}

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    auto behind = io::tcp_listener::bind(scheduler, io::address::loopback(0));
    auto front = io::tcp_listener::bind(scheduler, io::address::loopback(0));
    if (!behind || !front) return EXIT_FAILURE;
    const io::address server_address = behind->local_address().value();
    const io::address proxy_address = front->local_address().value();
    auto server = fl::spawn(scheduler, serve_behind(std::move(*behind)));
    auto proxy = fl::spawn(scheduler, serve(std::move(*front), server_address));

    const text answer = fl::block_on(scheduler, ask(proxy_address, 3'000'000));
    std::printf("%s\n", answer ? answer->c_str() : answer.error().message().c_str());
    proxy.request_stop();
    proxy.get();
    server.request_stop();
    server.get();
    return answer == "3000000 bytes have come" ? EXIT_SUCCESS : EXIT_FAILURE;
}
