// TCP as coroutines. Every wait has a deadline and ends when its task is asked to stop.
//
//     auto listener = fl::io::tcp_listener::bind(scheduler, fl::io::address::loopback(8080));
//     auto peer = co_await listener->accept();
//     auto n = co_await peer->read_some(buffer, fl::clock::now() + 5s);
//
// Reads and writes, and their errors, are those of socket_stream.hpp.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/network.hpp>
#include <fairlead/io/socket_listener.hpp>
#include <fairlead/io/socket_stream.hpp>

#include <expected>
#include <system_error>
#include <utility>

namespace fairlead::io {

/// A connection by TCP. Closed when destroyed.
class tcp_stream : public socket_stream {
public:
    /// Takes over a connected socket of a network.
    explicit tcp_stream(socket_handle connected) noexcept : socket_stream{std::move(connected)} {}

    /// Takes over a connected socket, of the internet or of Unix; it may be a blocking one. Errors:
    /// those of the system, `not_a_socket` for a pipe.
    [[nodiscard]] static std::expected<tcp_stream, std::error_code> adopt(
        epoll_driver& driver, os::unique_fd connected, stream_options options = {});

    /// Connects to `peer`, on the scheduler of the task.
    [[nodiscard]] static task<std::expected<tcp_stream, std::error_code>> connect(
        address peer, time_point deadline = never, stream_options options = {});

    /// The address of this end, with the port that the system chose. Errors: those of getsockname.
    [[nodiscard]] std::expected<address, std::error_code> local_address() const noexcept;
    /// The address of the other end. Errors: those of getpeername.
    [[nodiscard]] std::expected<address, std::error_code> peer_address() const noexcept;
};

/// A listening socket of TCP; or of a Unix socket, for programs that take either by configuration.
class tcp_listener : public socket_listener {
public:
    /// Binds and listens. `home` must have an `epoll_driver`, or another driver with a network.
    /// Errors: those of the system.
    [[nodiscard]] static std::expected<tcp_listener, std::error_code> bind(
        scheduler& home, const address& where, listener_options options = {});

    /// The next connection. When the process or the system has no descriptor left for it, the
    /// connection waits in the backlog, `starved` counts, and the accept is tried again every
    /// `starved_retry` until a descriptor is free. A connection that was reset before it was taken
    /// is skipped. A connection that cannot be registered, for lack of memory, is closed and counts
    /// as starved, and the accept goes on with the next.
    [[nodiscard]] task<std::expected<tcp_stream, std::error_code>> accept(
        time_point deadline = never);

    /// The address of this end, with the port that the system chose. Errors: those of getsockname.
    [[nodiscard]] std::expected<address, std::error_code> local_address() const noexcept;

private:
    using socket_listener::socket_listener;
};

}  // namespace fairlead::io
