#include <fairlead/detail/io/descriptor_operations.hpp>

#include "io/socket_calls.hpp"

#include <fairlead/io/unix.hpp>

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace fairlead::io::detail {
namespace {

constexpr std::size_t most = unix_stream::descriptors_max;

// One message of data with descriptors beside it.
struct message_with_descriptors {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(most * sizeof(int))> beside;
    iovec data;
    msghdr message{};

    // With room for `descriptors` of them. CMSG_LEN, not CMSG_SPACE: in the padding behind an odd
    // number there would be room for one more.
    message_with_descriptors(void* begin, std::size_t size, std::size_t descriptors) noexcept
        : data{.iov_base = begin, .iov_len = size} {
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        if (descriptors == 0) return;
        message.msg_control = beside.data();
        message.msg_controllen = CMSG_LEN(descriptors * sizeof(int));
    }
    message_with_descriptors(const message_with_descriptors&) = delete;
    message_with_descriptors& operator=(const message_with_descriptors&) = delete;
};

// Takes the descriptors of a message; there is room for all. Gives how many.
std::size_t take_descriptors(msghdr& from, std::span<os::unique_fd> into) noexcept {
    std::size_t taken = 0;
    for (cmsghdr* each = CMSG_FIRSTHDR(&from); each != nullptr; each = CMSG_NXTHDR(&from, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i != count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(each) + i * sizeof(int), sizeof(int));
            into[taken++] = os::unique_fd{fd};
        }
    }
    return taken;
}

}  // namespace

bool descriptor_read_operation::attempt() noexcept {
    if (buffer_.empty()) return ended(0);
    const int fd = on_->native_handle();
    if (fd < 0) return ended(on_.is_open() ? -EOPNOTSUPP : -EBADF);
    message_with_descriptors to{buffer_.data(), buffer_.size(), std::min(into_.size(), most)};
    const std::ptrdiff_t count =
        repeated([&] { return ::recvmsg(fd, &to.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); });
    const bool has_ended = took(count, buffer_.size());
    if (count < 0) return has_ended;
    taken_ = take_descriptors(to.message, into_);
    has_lost_some_ = (to.message.msg_flags & MSG_CTRUNC) != 0;
    // The read has ended behind the descriptors: there may be more data, of which no edge tells.
    if (taken_ != 0 || has_lost_some_) drained_ = false;
    if (has_lost_some_) {
        for (os::unique_fd& each : into_.first(taken_)) each.reset();
    }
    return has_ended;
}

std::expected<data_and_descriptors, unfinished_read> descriptor_read_operation::await_resume()
    const noexcept {
    const auto size = reading_operation::await_resume();
    if (!size) return std::unexpected{unfinished_read{0, size.error()}};
    if (has_lost_some_) return std::unexpected{unfinished_read{*size, system_error(EMSGSIZE)}};
    return data_and_descriptors{.size = *size, .descriptors = taken_};
}

bool descriptor_write_operation::attempt() noexcept {
    if (!descriptors_.empty()) {
        if (rest_.empty() || descriptors_.size() > most) return ended(-EINVAL);
        const int fd = on_->native_handle();
        if (fd < 0) return ended(on_.is_open() ? -EOPNOTSUPP : -EBADF);
        void* const begin = const_cast<std::byte*>(rest_.data());
        message_with_descriptors from{begin, rest_.size(), descriptors_.size()};
        cmsghdr* const beside = CMSG_FIRSTHDR(&from.message);
        beside->cmsg_level = SOL_SOCKET;
        beside->cmsg_type = SCM_RIGHTS;
        beside->cmsg_len = CMSG_LEN(descriptors_.size_bytes());
        std::memcpy(CMSG_DATA(beside), descriptors_.data(), descriptors_.size_bytes());
        const std::ptrdiff_t count =
            repeated([&] { return ::sendmsg(fd, &from.message, MSG_NOSIGNAL | MSG_DONTWAIT); });
        if (count < 0) return ended(count);
        descriptors_ = {};
        rest_ = rest_.subspan(static_cast<std::size_t>(count));
    }
    while (!rest_.empty()) {
        const std::ptrdiff_t count = on_->send(rest_);
        if (count < 0) return ended(count);
        rest_ = rest_.subspan(static_cast<std::size_t>(count));
    }
    return ended(0);
}

std::expected<void, std::error_code> descriptor_write_operation::await_resume() const noexcept {
    return ended_with(error_);
}

}  // namespace fairlead::io::detail
