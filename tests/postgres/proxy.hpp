// A proxy in front of the server, which cuts its first connection after so many bytes of the
// server.
#pragma once

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/tcp.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace fairlead::postgres::test {

class cutting_proxy {
public:
    cutting_proxy(scheduler& home, std::uint16_t to, std::size_t bytes)
        : listener_{*io::tcp_listener::bind(home, io::address::loopback(0))},
          port_{listener_.local_address()->port()},
          serving_{spawn(home, serve(listener_, to, bytes))} {}
    ~cutting_proxy() {
        serving_.request_stop();
        serving_.get();
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    static task<> serve(io::tcp_listener& listener, std::uint16_t to, std::size_t bytes) {
        const executor where = co_await current_executor();
        scope sessions{where};
        for (;;) {
            auto from = co_await listener.accept();
            if (!from) break;
            sessions.spawn(session(std::move(*from), to, std::exchange(bytes, SIZE_MAX)));
        }
        sessions.request_stop();
        static_cast<void>(co_await as_result(sessions.join()));
    }
    static task<> session(io::tcp_stream from, std::uint16_t to, std::size_t bytes) {
        auto server = co_await io::tcp_stream::connect(io::address::loopback(to));
        if (!server) co_return;
        const executor where = co_await current_executor();
        scope both{where};
        both.spawn(pump(both, from, *server, SIZE_MAX));
        both.spawn(pump(both, *server, from, bytes));
        static_cast<void>(co_await as_result(both.join()));
    }
    // Ends the other direction, too.
    static task<> pump(scope& both, io::tcp_stream& from, io::tcp_stream& to, std::size_t left) {
        std::array<std::byte, 4096> buffer;
        while (left != 0) {
            const std::span<std::byte> room{buffer.data(), std::min(buffer.size(), left)};
            const auto count = co_await from.read_some(room);
            if (!count || *count == 0) break;
            left -= *count;
            const auto sent = co_await to.write_all(room.first(*count));
            if (!sent) break;
        }
        both.request_stop();
    }

    io::tcp_listener listener_;
    const std::uint16_t port_;
    join_handle<void> serving_;
};

}  // namespace fairlead::postgres::test
