#include <fairlead/io/socket_stream.hpp>

#include "io/file_calls.hpp"
#include "io/quiet_write.hpp"
#include "io/socket_calls.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/detail/io/file_send_operation.hpp>
#include <fairlead/io/file.hpp>

#include <sys/sendfile.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace fairlead::io {

using detail::code_of;
using detail::system_error;

namespace {

constexpr std::size_t sent_at_once_max = 256 * 1024;  // then other tasks have their turn
constexpr std::size_t copied_at_once = 64 * 1024;

bool is_in_memory(int fd, std::uint64_t offset) noexcept {
    std::byte one{};
    const iovec to{.iov_base = &one, .iov_len = 1};
    return ::preadv2(fd, &to, 1, static_cast<off_t>(offset), RWF_NOWAIT) >= 0;
}

// Whether the first and the last byte of a piece are in the page cache, and so, as a rule, all.
bool is_in_memory(int fd, std::uint64_t offset, std::size_t size) noexcept {
    return is_in_memory(fd, offset) && is_in_memory(fd, offset + size - 1);
}

// Brings a piece into the page cache. 0, or an error of the system.
int load(int fd, std::uint64_t offset, std::size_t size) {
    std::array<std::byte, copied_at_once> dropped;
    for (std::size_t done = 0; done < size;) {
        const std::size_t part = std::min(size - done, dropped.size());
        const auto [count, error] =
            file_calls::read_now(fd, std::span{dropped}.first(part), offset + done);
        if (error != 0) return error;
        if (count == 0) break;
        done += count;
    }
    return 0;
}

// The file, or the socket, is none for sendfile.
bool knows_no_sendfile(const std::error_code& error) noexcept {
    return error == system_error(EINVAL) || error == system_error(ENOSYS) ||
           error == system_error(EOPNOTSUPP);
}

}  // namespace

namespace detail {

bool file_send_operation::attempt() noexcept {
    auto from = static_cast<off_t>(offset_);
    const std::ptrdiff_t count =
        without_sigpipe([&] { return ::sendfile(on_->native_handle(), file_, &from, size_); });
    if (count > 0) sent_ = static_cast<std::size_t>(count);
    return ended(count);
}

std::expected<std::size_t, std::error_code> file_send_operation::await_resume() const noexcept {
    if (error_ == 0) return sent_;
    return std::unexpected{ended_with(error_).error()};
}

}  // namespace detail

task<std::expected<std::uint64_t, std::error_code>> socket_stream::send_file(file& from,
                                                                             std::uint64_t offset,
                                                                             std::uint64_t size,
                                                                             time_point deadline) {
    if (!is_open()) co_return std::unexpected{system_error(EBADF)};
    std::uint64_t sent = 0;
    // A blocking socket would keep the worker.
    bool by_system = native_handle() >= 0 && is_non_blocking(native_handle());
    while (by_system && sent != size) {
        const auto piece =
            static_cast<std::size_t>(std::min<std::uint64_t>(size - sent, sent_at_once_max));
        const int fd = from.native_handle();
        if (!is_in_memory(fd, offset + sent, piece)) {
            const auto loaded =
                co_await as_result(blocking([&] { return load(fd, offset + sent, piece); }));
            if (!loaded) co_return std::unexpected{code_of(loaded.error())};
            if (*loaded != 0) co_return std::unexpected{system_error(*loaded)};
        }
        const auto count =
            co_await detail::file_send_operation{socket_, fd, offset + sent, piece, deadline};
        if (count) {
            if (*count == 0) co_return sent;
            sent += *count;
        } else if (knows_no_sendfile(count.error())) {
            by_system = false;
        } else {
            co_return std::unexpected{count.error()};
        }
    }
    if (sent == size) co_return sent;
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(copied_at_once);
    while (sent != size) {
        const auto part =
            static_cast<std::size_t>(std::min<std::uint64_t>(size - sent, copied_at_once));
        const auto count = co_await from.read_at({buffer.get(), part}, offset + sent);
        if (!count) co_return std::unexpected{count.error()};
        if (*count == 0) break;
        const std::span<const std::byte> data{buffer.get(), *count};
        const auto written = co_await write_all(data, deadline);
        if (!written) co_return std::unexpected{written.error()};
        sent += *count;
    }
    co_return sent;
}

}  // namespace fairlead::io
