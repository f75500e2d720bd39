// A connection, whatever its addresses are: what tcp_stream and unix_stream have in common.
//
// Results are `std::expected<..., std::error_code>`. The errors are those of the system, and
//     std::errc::timed_out            the deadline has passed first
//     std::errc::operation_canceled   the task was asked to stop first
//     std::errc::stream_timeout       a deadline of the task's context has passed first
// An operation that ends before the deadline or the stop is noticed has succeeded. No try is made
// after a stop was noticed. So no byte is read and lost.
//
// One task may read a stream while another task writes it, both on the scheduler that has the
// driver of the stream. Operations allocate nothing, but for `send_file`. Writes never raise
// SIGPIPE.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/io/stream_operations.hpp>
#include <fairlead/io/network.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

namespace fairlead::io {

class file;

namespace detail {
class socket_mover;
}

/// A connection. Closed when destroyed. A function that reads and writes any connection of sockets
/// takes a reference to one.
class socket_stream {
public:
    /// Reads what there is, at least one byte, at most `buffer.size()`. 0: the peer sends no more,
    /// or `buffer` is empty. `buffer` must stay until the await ends.
    [[nodiscard]] detail::read_operation read_some(std::span<std::byte> buffer,
                                                   time_point deadline = never) noexcept {
        return {socket_, drained_, buffer, deadline};
    }

    /// Writes all of `data`. After an error some of it may have been sent.
    [[nodiscard]] detail::write_operation write_all(std::span<const std::byte> data,
                                                    time_point deadline = never) noexcept {
        return {socket_, data, deadline};
    }

    /// The same into several buffers, one after the other, in one call of the system for each 16
    /// buffers that are not empty. `parts`, too, must stay.
    [[nodiscard]] detail::scattered_read_operation read_some(
        std::span<const std::span<std::byte>> parts, time_point deadline = never) noexcept {
        return {socket_, drained_, parts, deadline};
    }

    /// Reads until `buffer` is full. After an error or the end of the peer it gives how many bytes
    /// came before. No branch of a select, which would lose that number.
    [[nodiscard]] detail::exact_read_operation read_exactly(std::span<std::byte> buffer,
                                                            time_point deadline = never) noexcept {
        return {socket_, drained_, buffer, deadline};
    }

    /// Writes all of several buffers, one after the other: head and body of an answer leave in one
    /// call of the system, as do up to 16 buffers. `parts`, too, must stay.
    ///
    ///     const std::array<std::span<const std::byte>, 2> answer{head, body};
    ///     co_await stream.write_all(answer);
    [[nodiscard]] detail::gathered_write_operation write_all(
        std::span<const std::span<const std::byte>> parts, time_point deadline = never) noexcept {
        return {socket_, parts, deadline};
    }

    /// Writes what there is room for: how many bytes, at least one; 0 if `data` is empty. After an
    /// error none were sent.
    [[nodiscard]] detail::write_some_operation write_some(std::span<const std::byte> data,
                                                          time_point deadline = never) noexcept {
        return {socket_, data, deadline};
    }

    /// Sends `size` bytes of a file, from `offset` on, or up to its end. Gives how many. After an
    /// error some may have been sent. The system moves them (sendfile) in pieces of 256 KiB, and
    /// what must come from the disk is read by a thread before: see file.hpp. Where the system
    /// cannot, the file is read and written. The file and the stream must stay. Errors: also those
    /// of `file::read_at`. Allocates a frame, and a buffer where the system cannot.
    [[nodiscard]] task<std::expected<std::uint64_t, std::error_code>> send_file(
        file& from, std::uint64_t offset = 0,
        std::uint64_t size = std::numeric_limits<std::uint64_t>::max(),
        time_point deadline = never);

    /// Tells the peer that the stream sends no more; reading goes on.
    std::expected<void, std::error_code> shutdown_send() noexcept;

    /// Ends reading: a read that waits returns 0, as every later one does when it has got what
    /// came before. Any task, while another reads.
    std::expected<void, std::error_code> shutdown_receive() noexcept;

    /// Closes it. No task may wait on it: that is asserted. `shutdown_receive` ends a read.
    void close() noexcept { socket_.close(); }

    /// Closes it so that the peer reads a failure, `connection_reset`, and cannot take what has
    /// come for the whole. What was written and has not arrived may be lost. TCP sends an RST; a
    /// Unix socket has no reset, and its peer reads an end. No task may wait on it.
    void reset() noexcept { socket_.reset(); }

    /// Whether it has a socket: not after `close`, nor after it was moved from.
    [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
    /// The descriptor, for options of the system. The stream still owns it. -1 when it is closed,
    /// and on a network that is not the kernel's.
    [[nodiscard]] int native_handle() const noexcept { return socket_->native_handle(); }

protected:
    /// Takes over a connected socket.
    explicit socket_stream(socket_handle socket) noexcept : socket_{std::move(socket)} {}
    /// `other` is closed afterwards. No task may wait on it.
    socket_stream(socket_stream&& other) noexcept = default;
    /// The same; closes its own socket first.
    socket_stream& operator=(socket_stream&& other) noexcept = default;
    ~socket_stream() = default;

    friend class detail::socket_mover;  // of `relay`

    socket_handle socket_;  ///< of a network
    bool drained_ = false;  ///< the last read has emptied the socket: an edge tells of more
};

}  // namespace fairlead::io
