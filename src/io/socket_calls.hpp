// Calls of the system on sockets and pipes.
#pragma once

#include <fairlead/detail/io/errors.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <expected>
#include <span>
#include <system_error>
#include <utility>

namespace fairlead::io {

// The result of `call`, which is repeated when it was interrupted; an error is negated.
template <class Call>
std::ptrdiff_t repeated(Call call) noexcept {
    for (;;) {
        const std::ptrdiff_t count = call();
        if (count >= 0) return count;
        if (errno != EINTR) return -errno;
    }
}

inline constexpr std::size_t parts_max = 16;  // of one call; the caller comes again with the rest

// The buffers of one message. Empty ones are left out.
struct gathered {
    std::array<iovec, parts_max> parts;
    msghdr message{};

    template <class Byte>
    gathered(std::span<const std::span<Byte>> from, std::size_t skipped) noexcept {
        for (std::span<Byte> each : from) {
            each = each.subspan(std::exchange(skipped, 0));
            if (each.empty()) continue;
            void* const begin = const_cast<std::byte*>(each.data());
            parts[message.msg_iovlen++] = {.iov_base = begin, .iov_len = each.size()};
            if (message.msg_iovlen == parts_max) break;
        }
        message.msg_iov = parts.data();
    }
};

// Not valid, with errno: there is none.
inline os::unique_fd make_socket(int family, int type) noexcept {
    return os::unique_fd{::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
}

// Whether no call on it waits. False after an error, too.
inline bool is_non_blocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

// The address family of a socket.
inline std::expected<int, std::error_code> family_of(int fd) noexcept {
    int family = 0;
    socklen_t size = sizeof(family);
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) return detail::last_failure();
    return family;
}

// Both ends of a pair of Unix sockets, registered with `driver`.
using two_sockets = std::pair<socket_handle, socket_handle>;
inline std::expected<two_sockets, std::error_code> make_pair(epoll_driver& driver, int type) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return detail::last_failure();
    }
    os::unique_fd other{ends[1]};
    const auto first = driver.add(os::unique_fd{ends[0]}, AF_UNIX);
    if (!first) return std::unexpected{first.error()};
    two_sockets made{socket_handle{**first}, socket_handle{}};
    const auto second = driver.add(std::move(other), AF_UNIX);
    if (!second) return std::unexpected{second.error()};
    made.second = socket_handle{**second};
    return made;
}

}  // namespace fairlead::io
