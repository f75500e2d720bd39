// Pipes, fifos and terminals as coroutines: what is read and written but is no socket.
//
//     auto both = fl::io::make_pipe(fl::io::epoll_driver::of(scheduler));
//     co_await both->writer.write_all(bytes);
//     auto n = co_await both->reader.read_some(buffer, fl::clock::now() + 5s);
//
// Reads and writes, and their errors, are those of socket_stream.hpp; the other end of a pipe is
// its peer. A write to a pipe that has no reader gives `broken_pipe`, and never raises SIGPIPE: the
// kernel is told so with each write (RWF_NOSIGNAL, Linux 6.18). Before that, the thread blocks the
// signal during the write and takes it back, which costs two calls of the system more.
#pragma once

#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/socket_stream.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <expected>
#include <system_error>
#include <utility>

namespace fairlead::io {

/// One end of a pipe, a fifo, a terminal, or another descriptor that epoll watches and that is read
/// and written by plain calls. Closed when destroyed. `shutdown_send` and `shutdown_receive` give
/// `not_a_socket`: close the stream instead.
class pipe_stream : public socket_stream {
public:
    /// Has none: every operation gives `bad_file_descriptor`.
    pipe_stream() noexcept : socket_stream{socket_handle{}} {}

    /// Takes over a descriptor, and makes it non-blocking. That is a property of what was opened:
    /// it holds also for the processes that have inherited it, or have passed it on, so take
    /// `adopt_again` for a terminal. Errors: `operation_not_permitted` for regular files,
    /// directories and devices that are always ready; those of fcntl and of `descriptor::make`.
    /// Allocates. Any thread. Throws `std::bad_alloc`.
    [[nodiscard]] static std::expected<pipe_stream, std::error_code> adopt(epoll_driver& driver,
                                                                           os::unique_fd opened);

    /// Opens what `fd` refers to once more, for the same use, through /proc/self/fd. So the
    /// descriptor stays as it is for everything that shares it: standard input of a program that
    /// was started by a shell. Errors: those of open, among them `no_such_device_or_address` for
    /// sockets; those of `adopt`.
    [[nodiscard]] static std::expected<pipe_stream, std::error_code> adopt_again(
        epoll_driver& driver, int fd);

private:
    explicit pipe_stream(socket_handle opened) noexcept : socket_stream{std::move(opened)} {}
};

/// Both ends of a pipe.
struct pipe_ends {
    pipe_stream reader;  ///< gives 0 when the writer is closed and all is read
    pipe_stream writer;  ///< gives `broken_pipe` when the reader is closed
};

/// A pipe within the process. Errors: those of pipe2 and `adopt`. Any thread. Throws
/// `std::bad_alloc`.
[[nodiscard]] std::expected<pipe_ends, std::error_code> make_pipe(epoll_driver& driver);

}  // namespace fairlead::io
