// Waits for a descriptor that another library reads, writes and closes: libpq, c-ares.
//
//     auto socket = fl::io::watch::make(fl::io::epoll_driver::of(scheduler), PQsocket(connection));
//     const auto there = co_await socket->until(POLLIN | POLLOUT, fl::clock::now() + 5s);
//     if (there && (*there & POLLIN) != 0) PQconsumeInput(connection);
//
// Such a library reads until its own buffer has enough, not until the system has no more. So a
// watch tells what is there, like `poll` of the system, and not what has come since.
//
//     until -> poll: nothing -> the kernel is asked to tell once -> the role arms the source and
//     parks the task -> the kernel tells -> the role fires the task -> poll
//
// What comes between the poll and the request is told at the request. While no task waits, the
// kernel tells at most once, so nothing runs for data that no task asks for.
#pragma once

#include <fairlead/detail/io/waiting_operation.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <expected>
#include <system_error>

namespace fairlead::io {

namespace detail {

class ready_operation final : public waiting_operation {
public:
    using as_branch = operation_branch<ready_operation>;

    ready_operation(epoll_driver& of, registration& entry, int fd, short events,
                    time_point deadline) noexcept
        : waiting_operation{&of, entry.to_read(), deadline, true},
          driver_{of},
          entry_{entry},
          fd_{fd},
          events_{events} {}

    [[nodiscard]] std::expected<short, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;
    static void leave() noexcept {}  // each wait tries first

private:
    epoll_driver& driver_;
    registration& entry_;
    const int fd_;
    const short events_;
    short found_ = 0;
    int error_ = -1;  // -1: not ended; 0: `found_` are there
};

}  // namespace detail

/// A descriptor of another library: what can be done with it. Level triggered. One task at a time
/// waits with it. Each wait that does not find its events costs a system call more than a wait of a
/// `tcp_stream`.
///
/// It has a duplicate of the descriptor, so the library may close its own at any time, and the
/// number may be used again: the watch goes on with what was opened, and never touches the number.
/// But a socket stays open, and its peer sees no end, until the watch has ended, too. Libraries
/// that connect by themselves may change descriptors in any call: compare the number after each,
/// or make a watch for each wait.
///
/// In a child of fork a watch may be ended, and that of the parent goes on; see `epoll_driver`.
class watch {
public:
    /// Watches nothing.
    watch() = default;
    /// `other` watches nothing afterwards. No task may wait with either.
    watch(watch&& other) noexcept;
    /// The same; what this one watched has ended.
    watch& operator=(watch&& other) noexcept;
    /// Ends it.
    ~watch() { end(); }

    /// A watch of a duplicate of `fd`, which may be a blocking one. Errors:
    /// `operation_not_permitted` for regular files and directories, which are always ready;
    /// `bad_file_descriptor`; `too_many_files_open`; `not_enough_memory`, `no_space_on_device`
    /// (fs.epoll.max_user_watches). Allocates one object, or uses one again. Any thread.
    [[nodiscard]] static std::expected<watch, std::error_code> make(epoll_driver& of, int fd);

    /// A watch that owns `opened`, and closes it at its end. Errors: the same.
    [[nodiscard]] static std::expected<watch, std::error_code> make(epoll_driver& of,
                                                                    os::unique_fd opened);

    /// Waits until one of `events` is there: POLLIN, POLLOUT, POLLPRI, POLLRDHUP of <poll.h>. Gives
    /// those that are, and POLLERR and POLLHUP, for which it always waits. Errors: those of a
    /// stream's waits (see tcp.hpp), of poll and of epoll_ctl. On the scheduler of the driver.
    /// Allocates nothing.
    [[nodiscard]] detail::ready_operation until(short events,
                                                time_point deadline = never) noexcept {
        return {*driver_, *registration_, own_.get(), events, deadline};
    }

    /// Watches no longer, and closes what it owns. No task may wait: that is asserted.
    void end() noexcept;

    /// Whether it watches a descriptor.
    [[nodiscard]] bool valid() const noexcept { return registration_ != nullptr; }
    /// The descriptor that it was made for; -1: none.
    [[nodiscard]] int fd() const noexcept { return fd_; }

private:
    epoll_driver* driver_ = nullptr;
    registration* registration_ = nullptr;
    os::unique_fd own_;  // what is watched
    int fd_ = -1;
};

}  // namespace fairlead::io
