// A scheduler with IO and threads, streams that fail on purpose, and a server that says what a test
// wants.
#pragma once

#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/redis/client.hpp>
#include <fairlead/redis/parser.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::redis::test {

using namespace std::chrono_literals;

inline time_point in(duration span) { return after(clock::now(), span); }

class with_scheduler : public testing::Test {
protected:
    template <class T>
    T run(task<T> body) {
        return block_on(home, std::move(body));
    }

    const fairlead::test::watchdog guard;
    scheduler home{fairlead::test::with_epoll(2)};
};

/// A stream of which only so many bytes can be read: the end comes in place of the next one.
class cut_stream {
public:
    cut_stream(any_stream under, std::size_t left) : under_{std::move(under)}, left_{left} {}

    task<std::expected<std::size_t, std::error_code>> read_some(std::span<std::byte> buffer,
                                                                time_point deadline) {
        if (left_ == 0) {
            std::byte beyond{};
            co_await under_.read_some({&beyond, 1}, deadline);
            co_return std::size_t{0};
        }
        auto count =
            co_await under_.read_some(buffer.first(std::min(buffer.size(), left_)), deadline);
        if (count) left_ -= *count;
        co_return count;
    }
    auto write_all(std::span<const std::byte> data, time_point deadline) {
        return under_.write_all(data, deadline);
    }
    auto write_all(std::span<const std::span<const std::byte>> parts, time_point deadline) {
        return under_.write_all(parts, deadline);
    }
    void close() { under_.close(); }
    [[nodiscard]] bool is_open() const { return under_.is_open(); }

private:
    any_stream under_;
    std::size_t left_;
};

/// The words of a command, by its bytes.
inline std::vector<std::string> words_of(const value& command) {
    std::vector<std::string> words;
    for (const value& each : command.items()) words.emplace_back(each.text());
    return words;
}

/// Answers each command by a function: empty bytes are no answer.
// An empty answer closes the connection.
class scripted_server {
public:
    using answer = std::function<std::string(const std::vector<std::string>&)>;

    scripted_server(scheduler& home, answer how)
        : listener_{*io::tcp_listener::bind(home, io::address::loopback(0))},
          where_{*listener_.local_address()},
          serving_{spawn(home, serve(listener_, std::move(how)))} {}
    ~scripted_server() {
        serving_.request_stop();
        serving_.get();
    }

    [[nodiscard]] io::address address() const { return where_; }

private:
    static task<> serve(io::tcp_listener& listener, answer how) {
        const executor where = co_await current_executor();
        scope sessions{where};
        for (;;) {
            auto stream = co_await listener.accept();
            if (!stream) break;
            sessions.spawn(session(std::move(*stream), how));
        }
        sessions.request_stop();
        static_cast<void>(co_await as_result(sessions.join()));
    }
    static task<> session(io::tcp_stream stream, const answer& how) {
        parser commands;
        for (;;) {
            const auto count = co_await stream.read_some(commands.room(4096));
            if (!count || *count == 0) co_return;
            commands.filled(*count);
            std::string out;
            for (;;) {
                auto next = commands.next();
                if (!next || !*next) break;
                const std::string said = how(words_of(**next));
                if (said.empty()) co_return;
                out += said;
            }
            const auto sent = co_await stream.write_all(fairlead::test::bytes_of(out));
            if (!sent) co_return;
        }
    }

    io::tcp_listener listener_;
    const io::address where_;
    join_handle<void> serving_;
};

}  // namespace fairlead::redis::test
