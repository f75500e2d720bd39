// An echo server over TCP and its clients, in one program: sessions in a scope, deadlines, a stop.
#include <fairlead/fairlead.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

// [server]
// Sends back what comes, until the peer has sent all, an error, 5 s of silence, or a stop.
fl::task<> session(io::tcp_stream peer) {
    std::array<std::byte, 4096> buffer;
    for (;;) {
        const auto size = co_await peer.read_some(buffer, fl::clock::now() + 5s);
        if (!size || *size == 0) co_return;
        const std::span<const std::byte> received{buffer.data(), *size};
        if (!co_await peer.write_all(received, fl::clock::now() + 5s)) co_return;
    }
}

// A stop ends the accept with an error, and then the sessions, for which the scope waits.
fl::task<> serve(io::tcp_listener listener) {
    co_await fl::with_scope([&listener](fl::scope& sessions) -> fl::task<> {
        for (;;) {
            auto peer = co_await listener.accept();
            if (!peer) co_return;
            sessions.spawn(session(std::move(*peer)), {.name = "session"});
        }
    });
}
// [/server]

// [client]
fl::task<std::expected<std::string, std::error_code>> ask(io::address server, std::string text) {
    const fl::time_point deadline = fl::clock::now() + 5s;  // for the whole exchange
    auto stream = co_await io::tcp_stream::connect(server, deadline);
    if (!stream) co_return std::unexpected{stream.error()};

    const auto sent = co_await stream->write_all(std::as_bytes(std::span{text}), deadline);
    if (!sent) co_return std::unexpected{sent.error()};
    static_cast<void>(stream->shutdown_send());  // the server sees the end, and closes in turn

    std::string answer;
    std::array<char, 512> buffer;
    for (;;) {
        const auto size =
            co_await stream->read_some(std::as_writable_bytes(std::span{buffer}), deadline);
        if (!size) co_return std::unexpected{size.error()};
        if (*size == 0) co_return answer;
        answer.append(buffer.data(), *size);
    }
}
// [/client]

// [deadline]
// Sends nothing, so nothing comes back: the deadline ends the read.
fl::task<std::error_code> listen_in_vain(io::address server) {
    auto stream = co_await io::tcp_stream::connect(server);
    if (!stream) co_return stream.error();
    std::array<std::byte, 16> buffer;
    const auto size = co_await stream->read_some(buffer, fl::clock::now() + 30ms);
    co_return size ? std::error_code{} : size.error();
}
// [/deadline]

// [stop]
// Stops the server in the middle of a conversation: the session ends too, and so does the stream.
fl::task<bool> hears_the_end(io::address where, fl::join_handle<void>& server) {
    auto stream = co_await io::tcp_stream::connect(where);
    if (!stream) co_return false;
    std::array<std::byte, 1> buffer{};
    if (!co_await stream->write_all(buffer)) co_return false;
    if (!co_await stream->read_some(buffer)) co_return false;
    server.request_stop();
    const auto size = co_await stream->read_some(buffer);
    co_return size == 0U;  // the end of the stream
}
// [/stop]

}  // namespace

int main() {
    // [main]
    fl::scheduler scheduler{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};

    auto listener = io::tcp_listener::bind(scheduler, io::address::loopback(0));
    if (!listener) {
        std::printf("cannot listen: %s\n", listener.error().message().c_str());
        return 1;
    }
    const io::address where = listener->local_address().value();  // with the port that it got
    std::printf("listening on %s\n", where.to_string().c_str());
    fl::join_handle<void> server =
        fl::spawn(scheduler, serve(std::move(*listener)), {.name = "server"});
    // [/main]

    const auto answer = fl::block_on(scheduler, ask(where, "hello, harbour"));
    std::printf("the answer: %s\n", answer ? answer->c_str() : answer.error().message().c_str());

    const std::error_code late = fl::block_on(scheduler, listen_in_vain(where));
    std::printf("a read with a deadline: %s\n", late.message().c_str());

    const bool heard = fl::block_on(scheduler, hears_the_end(where, server));
    server.get();
    std::printf("the server was stopped%s\n", heard ? ", and its client saw it" : "");

    // [shutdown]
    const fl::stop_report left = scheduler.stop(5s);  // asks every task to end, and waits
    std::printf("left over: %s\n", left.to_string().c_str());
    // [/shutdown]

    const bool as_expected =
        answer == "hello, harbour" && late == std::errc::timed_out && heard && left.clean();
    return as_expected ? 0 : 1;
}
