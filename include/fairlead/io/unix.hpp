// Connections between processes of one machine, as coroutines: by a file or an abstract name.
//
//     const auto where = fl::io::unix_address::path("/run/service/control");
//     auto listener = fl::io::unix_listener::bind(scheduler, *where);
//     auto peer = co_await listener->accept();
//     if (peer->peer_credentials()->user != ::getuid()) peer->close();
//
// Reads and writes, and their errors, are those of socket_stream.hpp. Beside the data of a stream
// descriptors can be passed, of which the receiver gets copies of its own.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/io/descriptor_operations.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/network.hpp>
#include <fairlead/io/socket_listener.hpp>
#include <fairlead/io/socket_stream.hpp>
#include <fairlead/io/unix_address.hpp>

#include <sys/types.h>

#include <cstddef>
#include <expected>
#include <span>
#include <system_error>
#include <utility>

namespace fairlead::io {

/// The process at the other end, as it was when it connected or listened.
struct credentials {
    pid_t process;  ///< which may have ended since: the number may be of another process by now
    uid_t user;     ///< its effective user
    gid_t group;    ///< its effective group
};

/// A connection by a Unix socket. Closed when destroyed.
class unix_stream : public socket_stream {
public:
    /// The most descriptors in one message of the system.
    static constexpr std::size_t descriptors_max = 253;

    /// Takes over a connected socket of a network.
    explicit unix_stream(socket_handle connected) noexcept : socket_stream{std::move(connected)} {}

    /// Takes over a connected Unix socket; it may be a blocking one. Errors: those of the system,
    /// `address_family_not_supported` for other sockets, `not_a_socket` for a pipe.
    [[nodiscard]] static std::expected<unix_stream, std::error_code> adopt(epoll_driver& driver,
                                                                           os::unique_fd connected);

    /// Connects to `peer`, on the scheduler of the task. While the backlog of the listener is full,
    /// it tries again every `socket_listener::starved_retry`, as the system does not tell of room.
    [[nodiscard]] static task<std::expected<unix_stream, std::error_code>> connect(
        unix_address peer, time_point deadline = never);

    /// Both ends of a connection without a name. Errors: those of the system.
    [[nodiscard]] static std::expected<std::pair<unix_stream, unix_stream>, std::error_code> pair(
        epoll_driver& driver);

    /// Writes all of `data`, as `write_all`, and passes copies of `descriptors` with its first
    /// byte. They must be open until the await ends, and stay the caller's. Errors:
    /// `invalid_argument` for more than `descriptors_max`, or without data; `bad_file_descriptor`;
    /// `too_many_files_open` (ETOOMANYREFS) when too many are on their way;
    /// `operation_not_supported` on a network that is not the kernel's. After an error the
    /// descriptors, too, may have been sent.
    [[nodiscard]] detail::descriptor_write_operation write_with_descriptors(
        std::span<const std::byte> data, std::span<const int> descriptors,
        time_point deadline = never) noexcept {
        return {socket_, data, descriptors, deadline};
    }

    /// Reads what there is, as `read_some`, and takes the descriptors that come with it into the
    /// first elements of `into`, which close what they had. They are closed by an `exec`. A read
    /// ends behind data with descriptors, so no two sets of them come at once.
    ///
    /// When more come than `into` has room for, or than the process may have open, then all of the
    /// set are closed: the error is `message_size`, with the number of bytes that came. A
    /// `read_some` closes descriptors without a word, as the system does.
    [[nodiscard]] detail::descriptor_read_operation read_with_descriptors(
        std::span<std::byte> buffer, std::span<os::unique_fd> into,
        time_point deadline = never) noexcept {
        return {socket_, drained_, buffer, into, deadline};
    }

    /// The process at the other end, as the kernel knows it. Errors: those of getsockopt;
    /// `operation_not_supported` on a network that is not the kernel's.
    [[nodiscard]] std::expected<credentials, std::error_code> peer_credentials() const noexcept;

    /// The address of this end: no name at the end that has connected. Errors: those of
    /// getsockname.
    [[nodiscard]] std::expected<unix_address, std::error_code> local_address() const noexcept;
    /// The address of the other end. Errors: those of getpeername.
    [[nodiscard]] std::expected<unix_address, std::error_code> peer_address() const noexcept;
};

/// A listening Unix socket.
class unix_listener : public socket_listener {
public:
    /// Binds and listens; the permissions of the file are in `options.file`. `home` must have an
    /// `epoll_driver`, or another driver with a network, which has no files. Errors: those of the
    /// system; `address_in_use` if there is a file already, which may be that of a program that was
    /// killed: see `unix_file_options::replace_stale`.
    [[nodiscard]] static std::expected<unix_listener, std::error_code> bind(
        scheduler& home, const unix_address& where, listener_options options = {});

    /// The next connection, as `tcp_listener::accept`.
    [[nodiscard]] task<std::expected<unix_stream, std::error_code>> accept(
        time_point deadline = never);

    /// Where it is bound. Errors: those of getsockname.
    [[nodiscard]] std::expected<unix_address, std::error_code> local_address() const noexcept;

private:
    using socket_listener::socket_listener;
};

}  // namespace fairlead::io
