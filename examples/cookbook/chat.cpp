// A chat server over TCP. The first line of a client is its name; each later line goes to all
// clients, in one order. A client that does not read is dropped, with a notice. The program is the
// server, and clients that drive it over sockets.
#include <fairlead/fairlead.hpp>

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

// [room]
// All clients get the same lines in the same order. The room waits for no client: a client that is
// 64 lines behind has its subscription closed.
class room {
public:
    fl::broadcast<std::string> lines{64, fl::lag::close};

    // False: the name is taken.
    bool enter(const std::string& name) {
        const std::lock_guard lock{mutex_};
        return names_.insert(name).second;
    }
    void leave(const std::string& name) {
        const std::lock_guard lock{mutex_};
        names_.erase(name);
    }

private:
    std::mutex mutex_;  // never held over an await
    std::set<std::string> names_;
};
// [/room]

// [lines]
constexpr std::size_t line_max = 1024;

// Lines of a connection, without their ends.
class line_reader {
public:
    explicit line_reader(io::tcp_stream& from) : from_{from} {}

    // Nothing: the end, an error, a line that is too long, or a stop.
    fl::task<std::optional<std::string>> next(fl::time_point deadline = fl::never) {
        for (;;) {
            if (const auto end = begun_.find('\n'); end != std::string::npos) {
                std::string line = begun_.substr(0, end);
                begun_.erase(0, end + 1);
                co_return line;
            }
            if (begun_.size() > line_max) co_return std::nullopt;
            const auto size =
                co_await from_.read_some(std::as_writable_bytes(std::span{buffer_}), deadline);
            if (!size || *size == 0) co_return std::nullopt;
            begun_.append(buffer_.data(), *size);
        }
    }

private:
    io::tcp_stream& from_;
    std::array<char, 4096> buffer_{};
    std::string begun_;
};

auto write_text(io::tcp_stream& to, std::string_view text, fl::duration limit) {
    return to.write_all(std::as_bytes(std::span{text}), fl::clock::now() + limit);
}
// [/lines]

// [session]
constexpr auto patience = 500ms;  // with a client that does not read

enum class ending { left, too_slow };

// Says what the client says, until it leaves. Never waits for the other clients.
fl::task<ending> speak(line_reader& input, const std::string& name, room& in) {
    while (const auto line = co_await input.next()) in.lines.try_send(name + ": " + *line + "\n");
    co_return ending::left;
}

// Sends the client what is said, until it does not take a line, or has fallen behind.
fl::task<ending> listen(io::tcp_stream& peer, fl::subscription<std::string>& lines) {
    while (const auto line = co_await lines.receive()) {
        const auto sent = co_await write_text(peer, **line, patience);
        if (!sent) co_return sent.error() == std::errc::timed_out ? ending::too_slow : ending::left;
    }
    co_return lines.fell_behind() ? ending::too_slow : ending::left;
}

// A client whose name is in the room. The first of its two tasks that ends stops the other one.
fl::task<> chat(io::tcp_stream& peer, line_reader& input, const std::string& name, room& in) {
    auto lines = in.lines.subscribe();
    in.lines.try_send("* " + name + " is here\n");
    const auto first = co_await fl::when_any(speak(input, name, in), listen(peer, lines));
    lines = {};
    in.leave(name);
    if (first.result != ending::too_slow) {
        in.lines.try_send("* " + name + " has left\n");
        co_return;
    }
    in.lines.try_send("* " + name + " is too slow, and was dropped\n");
    // A line may have been sent in part.
    static_cast<void>(co_await write_text(peer, "\n* you are too slow: goodbye\n", 5s));
    static_cast<void>(peer.shutdown_send());
}

fl::task<> session(io::tcp_stream peer, room& in) {
    // The kernel keeps no more for a client that does not read.
    constexpr int kept = 64 << 10;
    setsockopt(peer.native_handle(), SOL_SOCKET, SO_SNDBUF, &kept, sizeof kept);
    line_reader input{peer};
    const auto name = co_await input.next(fl::clock::now() + 30s);
    if (!name || name->empty()) co_return;
    if (in.enter(*name)) {
        co_await chat(peer, input, *name, in);
    } else {
        static_cast<void>(co_await write_text(peer, "* that name is taken\n", 5s));
    }
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

// --- clients -------------------------------------------------------------------------------------

class client {
public:
    explicit client(io::tcp_stream stream) : stream_{std::move(stream)}, lines_{stream_} {}

    fl::task<bool> say(std::string text) {
        text += '\n';
        co_return (co_await write_text(stream_, text, 20s)).has_value();
    }
    fl::task<std::optional<std::string>> hear() { return lines_.next(fl::clock::now() + 20s); }

    // Hears until a line ends so. False: the server has ended the connection.
    fl::task<bool> hears(std::string_view end) {
        while (const auto line = co_await hear()) {
            if (line->ends_with(end)) co_return true;
        }
        co_return false;
    }

private:
    io::tcp_stream stream_;
    line_reader lines_;
};

// Null: it did not get in.
fl::task<std::unique_ptr<client>> enter(io::address server, std::string name) {
    auto stream = co_await io::tcp_stream::connect(server);
    if (!stream) co_return nullptr;
    auto made = std::make_unique<client>(std::move(*stream));
    if (!co_await made->say(name)) co_return nullptr;
    if (!co_await made->hears("* " + name + " is here")) co_return nullptr;
    co_return made;
}

// What is said from now on: so many lines of clients.
fl::task<std::vector<std::string>> hear_all(client& self, std::size_t count) {
    std::vector<std::string> heard;
    while (heard.size() != count) {
        auto line = co_await self.hear();
        if (!line) break;
        if (!line->starts_with("* ")) heard.push_back(*std::move(line));
    }
    co_return heard;
}

// Ten clients say five lines each: all hear the same.
fl::task<bool> all_hear_the_same(io::address server) {
    constexpr std::size_t count = 10;
    constexpr std::size_t said = 5;
    std::vector<fl::task<std::unique_ptr<client>>> entering;
    for (std::size_t i = 0; i != count; ++i)
        entering.push_back(enter(server, "client " + std::to_string(i)));
    const auto clients = co_await fl::when_all(std::move(entering));

    std::vector<fl::task<std::vector<std::string>>> hearing;
    for (const auto& each : clients) {
        if (each == nullptr) co_return false;
        hearing.push_back(hear_all(*each, count * said));
        for (std::size_t i = 0; i != said; ++i) {
            if (!co_await each->say(std::to_string(i))) co_return false;
        }
    }
    const auto heard = co_await fl::when_all(std::move(hearing));
    for (const auto& each : heard) {
        if (each.size() != count * said || each != heard.front()) co_return false;
    }
    co_return true;
}

fl::task<bool> a_name_is_taken_once(io::address server) {
    const auto first = co_await enter(server, "eve");
    if (first == nullptr) co_return false;
    const auto second = co_await enter(server, "eve");
    co_return second == nullptr;
}

// One client never reads, while two clients talk. It is dropped, and the two learn of it. It
// finds the notice when it reads at last.
fl::task<bool> a_slow_client_is_dropped(io::address server) {
    const auto ann = co_await enter(server, "ann");
    const auto bob = co_await enter(server, "bob");
    const auto slow = co_await enter(server, "sloth");
    if (!ann || !bob || !slow) co_return false;
    const std::string text(1000, '.');
    int lines = 0;
    for (bool dropped = false; !dropped; ++lines) {
        if (!co_await ann->say(text)) co_return false;
        for (auto* const each : {ann.get(), bob.get()}) {
            auto heard = co_await each->hear();
            while (heard && heard->starts_with("* ")) {
                if (heard->ends_with("sloth is too slow, and was dropped")) dropped = true;
                heard = co_await each->hear();
            }
            if (heard != "ann: " + text) co_return false;
        }
    }
    std::printf("a client that does not read was dropped after %d lines\n", lines);
    if (!co_await slow->hears("* you are too slow: goodbye")) co_return false;
    const auto after = co_await slow->hear();
    co_return !after;
}

fl::task<bool> a_client_that_leaves_is_announced(io::address server) {
    const auto carl = co_await enter(server, "carl");
    auto dora = co_await enter(server, "dora");
    if (!carl || !dora) co_return false;
    dora = nullptr;
    co_return co_await carl->hears("* dora has left");
}

fl::task<bool> drive(io::address server) {
    const bool same = co_await all_hear_the_same(server);
    const bool once = co_await a_name_is_taken_once(server);
    const bool dropped = co_await a_slow_client_is_dropped(server);
    const bool left = co_await a_client_that_leaves_is_announced(server);
    std::printf("same: %d, once: %d, dropped: %d, left: %d\n", same, once, dropped, left);
    co_return same&& once&& dropped&& left;
}

fl::task<bool> hears_the_end(io::address server, fl::join_handle<void>& serving) {
    const auto emma = co_await enter(server, "emma");
    if (!emma) co_return false;
    serving.request_stop();
    for (;;) {
        const auto line = co_await emma->hear();
        if (!line) co_return true;
    }
}

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    auto listener = io::tcp_listener::bind(scheduler, io::address::loopback(0));
    if (!listener) return 1;
    const io::address where = listener->local_address().value();
    room here;
    auto server = fl::spawn(scheduler, serve(std::move(*listener), here), {.name = "server"});
    const bool passed = fl::block_on(scheduler, drive(where));
    const bool ended = fl::block_on(scheduler, hears_the_end(where, server));
    server.get();
    std::puts(passed && ended ? "all as expected" : "something went wrong");
    return passed && ended ? 0 : 1;
}
