#include <fairlead/io/relay.hpp>

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/detail/io/splice_operation.hpp>
#include <fairlead/os/unique_fd.hpp>

#include "io/quiet_write.hpp"
#include "io/socket_calls.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace fairlead::io {
namespace detail {

namespace {

constexpr std::size_t moved_at_once_max = 256 * 1024;  // then other tasks have their turn

// The system does not splice these two.
bool knows_no_splice(const std::error_code& error) noexcept {
    return error == system_error(EINVAL) || error == system_error(ENOSYS) ||
           error == system_error(EOPNOTSUPP);
}

// Not inlined: errno is the thread's, and a coroutine may change its thread.
[[gnu::noinline]] std::ptrdiff_t read_pipe(int fd, std::span<std::byte> into) noexcept {
    return repeated([&] { return ::read(fd, into.data(), into.size()); });
}

}  // namespace

bool splice_operation::attempt() noexcept {
    const int fd = on_->native_handle();
    constexpr unsigned flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
    std::ptrdiff_t count = 0;
    if (way_ == way::to_pipe) {
        // Urgent data stop a splice for good, and a read skips them.
        if (!on_->short_read_is_last()) return ended(-EINVAL);
        count = repeated([&] { return ::splice(fd, nullptr, pipe_, nullptr, size_, flags); });
    } else {
        count =
            without_sigpipe([&] { return ::splice(pipe_, nullptr, fd, nullptr, size_, flags); });
    }
    if (count > 0) moved_ = static_cast<std::size_t>(count);
    return ended(count);
}

std::expected<std::size_t, std::error_code> splice_operation::await_resume() const noexcept {
    if (error_ == 0) return moved_;
    return std::unexpected{ended_with(error_).error()};
}

// One direction between two sockets: by reads and writes while little comes at once, else by
// splices.
class socket_mover {
public:
    socket_mover(socket_stream& from, socket_stream& to, relay_direction& direction)
        : from_{from},
          to_{to},
          direction_{direction},
          buffer_{std::make_unique_for_overwrite<std::byte[]>(relay_buffer)},
          may_splice_{is_spliceable(from) && is_spliceable(to)} {}

    // Moves what comes at once. False: the end has come. An error, if it has failed.
    [[nodiscard]] task<std::expected<bool, std::error_code>> move_some() {
        return splices_ ? splice_some() : copy_some();
    }

private:
    // A blocking socket would keep the worker.
    static bool is_spliceable(const socket_stream& stream) noexcept {
        return stream.native_handle() >= 0 && is_non_blocking(stream.native_handle());
    }

    bool make_pipe() noexcept {
        if (to_read_.valid()) return true;
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return false;
        to_read_ = os::unique_fd{ends[0]};
        to_write_ = os::unique_fd{ends[1]};
        return true;
    }

    task<std::expected<bool, std::error_code>> copy_some() {
        const std::span<std::byte> room{buffer_.get(), relay_buffer};
        const auto size = co_await from_.read_some(room, direction_.limit());
        if (!size) {
            if (direction_.goes_on_after(size.error())) co_return true;
            co_return std::unexpected{size.error()};
        }
        if (*size == 0) co_return false;
        const std::error_code failed = co_await write_counted(to_, room.first(*size), direction_);
        if (failed) co_return std::unexpected{failed};
        if (may_splice_ && *size == relay_buffer) splices_ = may_splice_ = make_pipe();
        co_return true;
    }

    task<std::expected<bool, std::error_code>> splice_some() {
        const auto size = co_await splice_operation{from_.socket_, to_write_.get(),
                                                    splice_operation::way::to_pipe,
                                                    moved_at_once_max, direction_.limit()};
        // The next read must try: a splice may have used up the edge.
        from_.drained_ = false;
        if (!size) {
            if (direction_.goes_on_after(size.error())) co_return true;
            if (!knows_no_splice(size.error())) co_return std::unexpected{size.error()};
            splices_ = may_splice_ = false;
            co_return true;
        }
        if (*size == 0) co_return false;
        const std::error_code failed = co_await empty_pipe(*size);
        if (failed) co_return std::unexpected{failed};
        if (*size < relay_buffer) splices_ = false;
        co_return true;
    }

    task<std::error_code> empty_pipe(std::size_t rest) {
        while (rest != 0) {
            if (!may_splice_) {
                const std::ptrdiff_t count =
                    read_pipe(to_read_.get(), {buffer_.get(), std::min(rest, relay_buffer)});
                if (count < 0) co_return system_error(static_cast<int>(-count));
                const auto size = static_cast<std::size_t>(count);
                const std::error_code failed =
                    co_await write_counted(to_, {buffer_.get(), size}, direction_);
                if (failed) co_return failed;
                rest -= size;
                continue;
            }
            const auto size = co_await splice_operation{to_.socket_, to_read_.get(),
                                                        splice_operation::way::from_pipe, rest,
                                                        direction_.limit()};
            if (size) {
                direction_.has_moved(*size);
                rest -= *size;
            } else if (knows_no_splice(size.error())) {
                splices_ = may_splice_ = false;
            } else if (!direction_.goes_on_after(size.error())) {
                co_return size.error();
            }
        }
        co_return std::error_code{};
    }

    socket_stream& from_;
    socket_stream& to_;
    relay_direction& direction_;
    const std::unique_ptr<std::byte[]> buffer_;
    os::unique_fd to_read_;  // the pipe, empty but within `splice_some`
    os::unique_fd to_write_;
    bool may_splice_;
    bool splices_ = false;
};

namespace {

task<> move_one_way(socket_stream& from, socket_stream& to, relay_direction& direction) {
    socket_mover mover{from, to, direction};
    std::error_code failed;
    while (!failed) {
        const auto goes_on = co_await mover.move_some();
        if (!goes_on) {
            failed = goes_on.error();
        } else if (!*goes_on) {
            failed = co_await pass_end_to(to, direction.limit());
            if (!failed) co_return;
        }
    }
    end_by(direction, to, failed);
}

}  // namespace

task<> run_both(task<> forth, task<> back, relay_run& run) {
    try {
        const auto ended = co_await as_result(when_all(std::move(forth), std::move(back)));
        if (!ended && !run.failure()) run.fail(run.forth, code_of(ended.error()));
    } catch (const relay_stopped&) {
        // Its direction has said why.
    }
}

}  // namespace detail

task<std::expected<relayed, unfinished_relay>> relay(socket_stream& first, socket_stream& second,
                                                     relay_options options) {
    scheduler& home = co_await current_scheduler();
    detail::relay_run run{home, options.deadline, options.idle};
    co_await detail::run_both(detail::move_one_way(first, second, run.forth),
                              detail::move_one_way(second, first, run.back), run);
    const relayed moved{run.forth.moved, run.back.moved};
    if (!run.failure()) co_return moved;
    co_return std::unexpected{unfinished_relay{moved, run.failure()}};
}

}  // namespace fairlead::io
