// A small service: names and values over TCP, one line a request. With a port it serves until
// SIGTERM; without one it is its own client, as a test.
//
//     $ printf 'set ship Fram\nget ship\n' | nc -N 127.0.0.1 7000
//     ok
//     Fram
#include <fairlead/fairlead.hpp>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
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

// [store]
// The values. Any thread. The mutex is held for a short time, and never over an await.
class store {
public:
    void set(std::string name, std::string value) {
        const std::lock_guard lock{mutex_};
        values_[std::move(name)] = std::move(value);
    }
    [[nodiscard]] std::string get(const std::string& name) const {
        const std::lock_guard lock{mutex_};
        const auto found = values_.find(name);
        return found == values_.end() ? "none" : found->second;
    }
    // Blocks: writes a file.
    [[nodiscard]] bool save(const std::string& path) const {
        const std::lock_guard lock{mutex_};
        std::ofstream file{path};
        for (const auto& [name, value] : values_) file << name << ' ' << value << '\n';
        return static_cast<bool>(file.flush());
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::string> values_;  // guarded by mutex_
};
// [/store]

// [answer]
// "set NAME VALUE", "get NAME" or "save".
fl::task<std::string> answer(store& values, const std::string& path, std::string_view line) {
    const auto word = [&line] {
        const std::string_view first = line.substr(0, line.find(' '));
        line.remove_prefix(std::min(line.size(), first.size() + 1));
        return std::string{first};
    };
    const std::string verb = word();
    if (verb == "get") co_return values.get(word());
    if (verb == "set") {
        std::string name = word();
        values.set(std::move(name), std::string{line});
        co_return "ok";
    }
    if (verb == "save") {
        // Another thread waits for the disk; this worker goes on with other tasks.
        const bool saved = co_await fl::blocking([&] { return values.save(path); });
        co_return saved ? "ok" : "cannot save";
    }
    co_return "what?";
}
// [/answer]

// [session]
constexpr std::size_t line_max = 4096;

// Answers line by line, until the peer has sent all, an error, 30 s of silence, or a stop.
fl::task<> session(io::tcp_stream peer, store& values, const std::string& path) {
    std::array<char, 512> buffer;
    std::string received;
    while (received.size() <= line_max) {
        const auto size = co_await peer.read_some(std::as_writable_bytes(std::span{buffer}),
                                                  fl::clock::now() + 30s);
        if (!size || *size == 0) co_return;
        received.append(buffer.data(), *size);
        for (std::size_t end = 0; (end = received.find('\n')) != std::string::npos;) {
            const std::string line = received.substr(0, end);
            received.erase(0, end + 1);
            const std::string reply = co_await answer(values, path, line) + "\n";
            const auto sent =
                co_await peer.write_all(std::as_bytes(std::span{reply}), fl::clock::now() + 30s);
            if (!sent) co_return;
        }
    }
}
// [/session]

// [serve]
// A session for each connection. A stop ends the accept, and then the sessions, for which the scope
// waits.
fl::task<> serve(io::tcp_listener listener, store& values, const std::string& path) {
    co_await fl::with_scope([&](fl::scope& sessions) -> fl::task<> {
        for (;;) {
            auto peer = co_await listener.accept();
            if (!peer) co_return;  // a stop
            const bool begun =
                sessions.spawn(session(std::move(*peer), values, path), {.name = "session"});
            if (!begun) co_return;
        }
    });
}
// [/serve]

// [client]
fl::task<std::string> ask(io::address server, std::string text) {
    const fl::time_point deadline = fl::clock::now() + 5s;  // for the whole exchange
    auto stream = co_await io::tcp_stream::connect(server, deadline);
    if (!stream) co_return stream.error().message();
    const auto sent = co_await stream->write_all(std::as_bytes(std::span{text}), deadline);
    if (!sent) co_return sent.error().message();
    static_cast<void>(stream->shutdown_send());
    std::string reply;
    std::array<char, 512> buffer;
    for (;;) {
        const auto size =
            co_await stream->read_some(std::as_writable_bytes(std::span{buffer}), deadline);
        if (!size) co_return size.error().message();
        if (*size == 0) co_return reply;
        reply.append(buffer.data(), *size);
    }
}
// [/client]

}  // namespace

int main(int count, char** arguments) {
    // [main]
    sigset_t awaited{};  // blocked before there are other threads, which inherit that
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &awaited, nullptr);

    store values;
    const std::string path = count > 2 ? arguments[2] : "/dev/null";
    const auto port = static_cast<std::uint16_t>(count > 1 ? std::atoi(arguments[1]) : 0);
    fl::scheduler scheduler{{.driver = std::make_unique<io::epoll_driver>()}};
    auto listener = io::tcp_listener::bind(scheduler, io::address::loopback(port));
    if (!listener) {
        std::fprintf(stderr, "cannot listen: %s\n", listener.error().message().c_str());
        return 1;
    }
    const io::address where = listener->local_address().value();
    std::printf("listening on %s\n", where.to_string().c_str());
    auto server =
        fl::spawn(scheduler, serve(std::move(*listener), values, path), {.name = "server"});
    // [/main]

    std::string replies;
    if (count == 1) {
        replies =
            fl::block_on(scheduler, ask(where, "set ship Fram\nget ship\nsave\nfly\nget none\n"));
        std::printf("%s", replies.c_str());
        kill(getpid(), SIGTERM);
    }

    // [end]
    int number = 0;
    sigwait(&awaited, &number);
    server.request_stop();  // ends the accept loop, and asks the sessions to stop
    server.get();           // every session has ended
    const fl::stop_report left = scheduler.stop(5s);
    std::printf("stopped: %s\n", left.to_string().c_str());
    // [/end]
    const bool answered = count > 1 || replies == "ok\nFram\nok\nwhat?\nnone\n";
    return answered && left.clean() ? 0 : 1;
}
