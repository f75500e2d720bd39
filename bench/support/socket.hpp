// The few calls that the clients and the bare server of the benchmarks of sockets need.
#pragma once

#include <fairlead/os/unique_fd.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <span>
#include <system_error>
#include <utility>

namespace bench {

using fairlead::os::unique_fd;

/// The result of a system call, if it is none of an error.
template <class Result>
Result checked(Result result, const char* what) {
    if (result < 0) throw std::system_error{errno, std::system_category(), what};
    return result;
}

inline sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

inline void set_no_delay(int fd) {
    const int on = 1;
    checked(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), "TCP_NODELAY");
}

/// Watches `fd` for both directions, edge triggered: one system call for each descriptor, ever.
inline void watch(const unique_fd& epoll, int fd, void* data) {
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.ptr = data}};
    checked(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

/// epoll_wait, which a tool that looks at the process may interrupt.
inline int wait_for_events(const unique_fd& epoll, std::span<epoll_event> to, int limit_ms) {
    int count = -1;
    do {
        count = ::epoll_wait(epoll.get(), to.data(), static_cast<int>(to.size()), limit_ms);
    } while (count < 0 && errno == EINTR);
    return checked(count, "epoll_wait");
}

/// Whether this process may have `count` descriptors, now that it has asked for them.
inline bool may_have_descriptors(std::uint64_t count) {
    rlimit limit{};
    checked(::getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    if (limit.rlim_cur >= count) return true;
    limit.rlim_cur = count;
    limit.rlim_max = std::max<rlim_t>(limit.rlim_max, count);
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return true;
    std::fprintf(stderr, "no %llu descriptors for a process\n",
                 static_cast<unsigned long long>(count));
    return false;
}

}  // namespace bench
