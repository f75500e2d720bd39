#include <fairlead/io/file.hpp>

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/detail/io/system_turn.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include "io/file_calls.hpp"
#include "io/file_ring.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace fairlead::io {

using detail::code_of;
using detail::system_error;

namespace {

constexpr std::size_t piece_max = 256 * 1024;  // within a step: some 25 us, from the page cache

// Read or written without waiting: how many bytes, or an error.
struct piece_done {
    std::size_t count = 0;
    int error = 0;
};

piece_done done_with(ssize_t count) noexcept {
    return count < 0 ? piece_done{.error = errno}
                     : piece_done{.count = static_cast<std::size_t>(count)};
}

// Not inlined, both: errno is the thread's, and a coroutine may change its thread.
[[gnu::noinline]] piece_done read_piece(int fd, std::span<std::byte> buffer, std::uint64_t offset) {
    const iovec piece{buffer.data(), std::min(buffer.size(), piece_max)};
    return done_with(::preadv2(fd, &piece, 1, static_cast<off_t>(offset), RWF_NOWAIT));
}
[[gnu::noinline]] piece_done write_piece(int fd, std::span<const std::byte> data,
                                         std::uint64_t offset) {
    const iovec piece{const_cast<std::byte*>(data.data()), std::min(data.size(), piece_max)};
    return done_with(::pwritev2(fd, &piece, 1, static_cast<off_t>(offset), RWF_NOWAIT));
}

bool knows_no_nowait(int error) noexcept {
    return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

// Linux 5.9 and 5.10 say sometimes that the file ends where a read would have to wait.
bool may_end_too_early() noexcept {
    utsname system{};
    if (::uname(&system) != 0) return true;
    const std::string_view release{system.release};
    return release.starts_with("5.9.") || release.starts_with("5.10.");
}

// The system takes -1 for the position of the descriptor, which is none of ours.
bool is_offset(std::uint64_t offset) noexcept {
    return offset <= static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
}

// Whether the system may have forgotten what was written.
bool loses_data(int error) noexcept { return error != EINVAL && error != EROFS && error != EBADF; }

}  // namespace

// --- open files ----------------------------------------------------------------------------------

struct file::state {
    // With O_DIRECT a call waits for the disk, with RWF_NOWAIT too.
    explicit state(os::unique_fd opened) noexcept
        : fd{std::move(opened)},
          reads_at_once{(::fcntl(fd.get(), F_GETFL) & O_DIRECT) == 0},
          writes_at_once{reads_at_once.load(sync::relaxed)},
          asks_for_end_again{may_end_too_early()} {}

    [[nodiscard]] std::error_code lost_by_sync() const noexcept {
        const int error = lost.load(sync::relaxed);
        return error != 0 ? system_error(error) : std::error_code{};
    }

    os::unique_fd fd;
    // Relaxed, all three: each is one word, and says nothing about another.
    // Whether a read or a write is tried in the step: many file systems know only the one.
    sync::atomic<bool> reads_at_once;
    sync::atomic<bool> writes_at_once;
    sync::atomic<int> lost{0};  // the error of a sync that has failed
    const bool asks_for_end_again;
    // One sync at a time: of several under way, the system tells a failure to the first, success
    // to the rest.
    sync::mutex syncs;
};

file::file(std::unique_ptr<state> opened) noexcept : state_{std::move(opened)} {}
file::file(file&&) noexcept = default;
file& file::operator=(file&&) noexcept = default;
file::~file() = default;

bool file::is_open() const noexcept { return native_handle() >= 0; }
int file::native_handle() const noexcept { return state_ != nullptr ? state_->fd.get() : -1; }

file file::adopt(os::unique_fd opened) { return file{std::make_unique<state>(std::move(opened))}; }

task<std::expected<file, std::error_code>> file::open(std::string path, open_options options) {
    const int flags = file_calls::flags_of(options);
    auto opened = co_await as_result(
        blocking([&] { return file_calls::open_now(path, flags, options.permissions); }));
    if (!opened) co_return std::unexpected{code_of(opened.error())};
    if (!*opened) co_return std::unexpected{system_error(opened->error())};
    co_return adopt(std::move(**opened));
}

task<std::expected<std::size_t, std::error_code>> file::read_at(std::span<std::byte> buffer,
                                                                std::uint64_t offset) {
    if (!is_offset(offset)) co_return std::unexpected{system_error(EINVAL)};
    state& of = *state_;
    std::size_t done = 0;
    while (of.reads_at_once.load(sync::relaxed)) {
        if (const auto ended = co_await detail::system_turn{}) {
            co_return std::unexpected{code_of(*ended)};
        }
        const auto [count, error] = read_piece(of.fd.get(), buffer.subspan(done), offset + done);
        done += count;
        if (error == EAGAIN) break;
        if (knows_no_nowait(error)) {
            of.reads_at_once.store(false, sync::relaxed);
        } else if (error == 0) {
            if (done == buffer.size()) co_return done;
            if (count == 0 && of.asks_for_end_again) break;
            if (count == 0) co_return done;
        } else if (error != EINTR) {
            co_return std::unexpected{system_error(error)};
        }
    }
    while (done != buffer.size()) {
        detail::ring_transfer transfer{of.fd.get(), buffer.subspan(done), offset + done};
        const std::int32_t count = co_await transfer;
        if (count < 0) break;
        done += static_cast<std::size_t>(count);
        if (count == 0 || done == buffer.size()) co_return done;
    }
    const auto rest = co_await as_result(blocking(
        [&] { return file_calls::read_now(of.fd.get(), buffer.subspan(done), offset + done); }));
    if (!rest) co_return std::unexpected{code_of(rest.error())};
    if (rest->error != 0) co_return std::unexpected{system_error(rest->error)};
    co_return done + rest->count;
}

task<std::expected<void, std::error_code>> file::write_at(std::span<const std::byte> data,
                                                          std::uint64_t offset) {
    if (!is_offset(offset)) co_return std::unexpected{system_error(EINVAL)};
    state& of = *state_;
    while (of.writes_at_once.load(sync::relaxed) && !data.empty()) {
        if (const auto ended = co_await detail::system_turn{}) {
            co_return std::unexpected{code_of(*ended)};
        }
        if (const std::error_code lost = of.lost_by_sync()) co_return std::unexpected{lost};
        const auto [count, error] = write_piece(of.fd.get(), data, offset);
        data = data.subspan(count);
        offset += count;
        if (error == EAGAIN || (error == 0 && count == 0)) break;
        if (knows_no_nowait(error)) {
            of.writes_at_once.store(false, sync::relaxed);
        } else if (error != 0 && error != EINTR) {
            co_return std::unexpected{system_error(error)};
        }
    }
    if (const std::error_code lost = of.lost_by_sync()) co_return std::unexpected{lost};
    while (!data.empty()) {
        detail::ring_transfer transfer{of.fd.get(), data, offset};
        const std::int32_t count = co_await transfer;
        if (count <= 0) break;
        data = data.subspan(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    if (data.empty()) co_return std::expected<void, std::error_code>{};
    const auto error = co_await as_result(
        blocking([&] { return file_calls::write_now(of.fd.get(), data, offset); }));
    if (!error) co_return std::unexpected{code_of(error.error())};
    co_return file_calls::done_or(*error);
}

task<std::expected<void, std::error_code>> file::sync(sync_kind kind) {
    state& of = *state_;
    const auto call = [&] {
        const std::lock_guard alone{of.syncs};
        if (const int lost = of.lost.load(sync::relaxed)) return lost;
        const int fd = of.fd.get();
        const int error = file_calls::without_interrupts(
            [&] { return kind == sync_kind::data ? ::fdatasync(fd) : ::fsync(fd); });
        if (error != 0 && loses_data(error)) of.lost.store(error, sync::relaxed);
        return error;
    };
    const auto error = co_await as_result(blocking(std::ref(call)));
    if (!error) co_return std::unexpected{code_of(error.error())};
    co_return file_calls::done_or(*error);
}

task<std::expected<file_status, std::error_code>> file::status() {
    state& of = *state_;
    struct stat known {};
    const auto error = co_await as_result(blocking([&] {
        return file_calls::without_interrupts([&] { return ::fstat(of.fd.get(), &known); });
    }));
    if (!error) co_return std::unexpected{code_of(error.error())};
    if (*error != 0) co_return std::unexpected{system_error(*error)};
    const auto modified = std::chrono::seconds{known.st_mtim.tv_sec} +
                          std::chrono::nanoseconds{known.st_mtim.tv_nsec};
    co_return file_status{.size = static_cast<std::uint64_t>(known.st_size),
                          .modified = std::chrono::sys_time<std::chrono::nanoseconds>{modified},
                          .permissions = known.st_mode & 07777U};
}

task<std::expected<void, std::error_code>> file::truncate(std::uint64_t size) {
    state& of = *state_;
    const auto length = static_cast<off_t>(size);
    const auto error = co_await as_result(blocking([&] {
        return file_calls::without_interrupts([&] { return ::ftruncate(of.fd.get(), length); });
    }));
    if (!error) co_return std::unexpected{code_of(error.error())};
    co_return file_calls::done_or(*error);
}

task<std::expected<void, std::error_code>> file::advise(file_advice advice, std::uint64_t offset,
                                                        std::uint64_t size) {
    static constexpr int advices[] = {POSIX_FADV_NORMAL, POSIX_FADV_SEQUENTIAL, POSIX_FADV_RANDOM,
                                      POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED};
    state& of = *state_;
    const auto error = co_await as_result(blocking([&] {
        return ::posix_fadvise(of.fd.get(), static_cast<off_t>(offset), static_cast<off_t>(size),
                               advices[static_cast<std::size_t>(advice)]);
    }));
    if (!error) co_return std::unexpected{code_of(error.error())};
    co_return file_calls::done_or(*error);
}

// The number is gone whatever close says, so it is not tried again.
task<std::expected<void, std::error_code>> file::close() {
    state& of = *state_;
    const auto error = co_await as_result(blocking([&] {
        const int fd = of.fd.release();
        return ::close(fd) == 0 || errno == EINTR ? 0 : errno;
    }));
    if (!error) co_return std::unexpected{code_of(error.error())};
    co_return file_calls::done_or(*error);
}

}  // namespace fairlead::io
