// A chat room over TCP: each line is broadcast to all clients. A client that does not read falls
// behind, and is dropped. The program is the server and its clients.
#include <fairlead/fairlead.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

// [room]
// All clients get the same lines. A client that is 64 lines behind is too slow, and is dropped.
struct room {
    fl::broadcast<std::string> lines{64, fl::lag::close};
};
// [/room]

// [session]
// Sends a client what is said, until it has fallen behind or does not take a line for some seconds.
fl::task<> write(io::tcp_stream& peer, fl::subscription<std::string>& lines, fl::scope& both) {
    while (const auto next = co_await lines.receive()) {
        if (!co_await peer.write_all(std::as_bytes(std::span{**next}), fl::clock::now() + 5s))
            break;
    }
    static_cast<void>(peer.shutdown_send());
    both.request_stop();
}

// Says what a client sends, until the client ends. Never waits for the other clients.
fl::task<> read(io::tcp_stream& peer, room& in, fl::scope& both) {
    std::array<char, 512> buffer;
    std::string begun;  // a line that has not ended
    for (;;) {
        const auto size = co_await peer.read_some(std::as_writable_bytes(std::span{buffer}));
        if (!size || *size == 0) break;
        begun.append(buffer.data(), *size);
        for (std::size_t end; (end = begun.find('\n')) != std::string::npos;) {
            in.lines.try_send(begun.substr(0, end + 1));
            begun.erase(0, end + 1);
        }
    }
    both.request_stop();
}

// When one of the two has ended, it stops the other.
fl::task<> session(io::tcp_stream peer, room& in) {
    auto lines = in.lines.subscribe();
    co_await fl::with_scope([&](fl::scope& both) -> fl::task<> {
        both.spawn(read(peer, in, both), {.name = "read"});
        both.spawn(write(peer, lines, both), {.name = "write"});
        co_return;
    });
}

fl::task<> serve(io::tcp_listener listener, room& in) {
    co_await fl::with_scope([&](fl::scope& sessions) -> fl::task<> {
        for (;;) {
            auto peer = co_await listener.accept();
            if (!peer) co_return;  // a stop
            sessions.spawn(session(std::move(*peer), in), {.name = "session"});
        }
    });
}
// [/session]

// --- the clients ---------------------------------------------------------------------------------

// Reads up to `lines` lines. Fewer: the server has ended the connection.
fl::task<int> reads_lines(io::tcp_stream& from, int lines) {
    std::array<char, 4096> buffer;
    int seen = 0;
    while (seen < lines) {
        const auto size = co_await from.read_some(std::as_writable_bytes(std::span{buffer}),
                                                  fl::clock::now() + 10s);
        if (!size || *size == 0) break;
        for (const char each : std::string_view{buffer.data(), *size}) seen += each == '\n' ? 1 : 0;
    }
    co_return seen;
}

fl::task<bool> says(io::tcp_stream& to, std::string text) {
    co_return (co_await to.write_all(std::as_bytes(std::span{text}))).has_value();
}

// Two clients talk; a third one never reads, and is dropped.
fl::task<bool> converse(io::address server) {
    auto first = co_await io::tcp_stream::connect(server);
    auto second = co_await io::tcp_stream::connect(server);
    auto slow = co_await io::tcp_stream::connect(server);
    if (!first || !second || !slow) co_return false;

    // All three are in the room when each has seen a line of its own.
    for (auto* each : {&*first, &*second, &*slow}) {
        if (!co_await says(*each, "hello\n")) co_return false;
        if (co_await reads_lines(*each, 1) < 1) co_return false;
    }
    // The slow client's buffers in the kernel fill, and then its channel.
    const std::string text(64 << 10, '.');
    constexpr int said = 400;
    for (int i = 0; i != said; ++i) {
        if (!co_await says(*first, text + "\n")) co_return false;
        if (co_await reads_lines(*first, 1) < 1) co_return false;
        if (co_await reads_lines(*second, 1) < 1) co_return false;
    }
    const int seen = co_await reads_lines(*slow, said);
    std::printf("%d lines were said; the slow client saw %d and was dropped\n", said, seen);
    co_return seen < said;
}

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    auto listener = io::tcp_listener::bind(scheduler, io::address::loopback(0));
    if (!listener) return 1;
    const io::address where = listener->local_address().value();
    room here;
    auto server = fl::spawn(scheduler, serve(std::move(*listener), here));
    const bool passed = fl::block_on(scheduler, converse(where));
    server.request_stop();
    server.get();
    std::puts(passed ? "all as expected" : "something went wrong");
    return passed ? 0 : 1;
}
