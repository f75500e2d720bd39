// A chat room over TCP. Each client has a channel of lines that it has still to be sent; a client
// that does not read falls behind, and is dropped. The program is the server and its clients.
#include <fairlead/fairlead.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

// [room]
using line = std::shared_ptr<const std::string>;  // one text for all clients

// The lines that a client has still to be sent. A client that is 64 lines behind is too slow.
struct client {
    fl::channel<line> outbox{64};
};

class room {
public:
    // No step waits inside, and any worker may run it: a mutex for some instructions is enough.
    std::list<client>::iterator enter() {
        const std::lock_guard lock{mutex_};
        return clients_.emplace(clients_.end());
    }
    void leave(std::list<client>::iterator who) {
        const std::lock_guard lock{mutex_};
        clients_.erase(who);
    }

    // Never waits for a client.
    void say(std::string text) {
        const auto shared = std::make_shared<const std::string>(std::move(text));
        const std::lock_guard lock{mutex_};
        for (client& each : clients_) {
            const auto sent = each.outbox.try_send(line{shared});
            if (!sent) each.outbox.close();  // its writer ends when it has sent the rest
        }
    }

private:
    std::mutex mutex_;
    std::list<client> clients_;
};
// [/room]

// [session]
// Sends a client what is said, until its channel is closed.
fl::task<> write(io::tcp_stream& peer, fl::channel<line>& outbox) {
    while (const auto next = co_await outbox.receive()) {
        if (!co_await peer.write_all(std::as_bytes(std::span{**next}), fl::clock::now() + 5s))
            break;
    }
    static_cast<void>(peer.shutdown_send());
}

// Says what a client sends, until the client ends or is dropped.
fl::task<> read(io::tcp_stream& peer, room& in, fl::channel<line>& outbox) {
    std::array<char, 512> buffer;
    std::string begun;  // a line that has not ended
    for (;;) {
        const auto size = co_await peer.read_some(std::as_writable_bytes(std::span{buffer}));
        if (!size || *size == 0) break;
        begun.append(buffer.data(), *size);
        for (std::size_t end; (end = begun.find('\n')) != std::string::npos;) {
            in.say(begun.substr(0, end + 1));
            begun.erase(0, end + 1);
        }
    }
    outbox.close();  // the writer ends
}

fl::task<> session(io::tcp_stream peer, room& in) {
    const auto me = in.enter();
    co_await fl::with_scope([&](fl::scope& both) -> fl::task<> {
        both.spawn(read(peer, in, me->outbox), {.name = "read"});
        co_await write(peer, me->outbox);
        both.request_stop();  // ends the read of a client that was dropped
    });
    in.leave(me);
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
