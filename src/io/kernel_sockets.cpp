// The network of the kernel: what an epoll_driver does for streams.
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/io/epoll_driver.hpp>

#include "io/socket_calls.hpp"
#include "io/socket_file.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace fairlead::io {

using detail::last_failure;

namespace {

// accept4 also reports errors of the connection that it would have returned: those of the peer.
bool peers_fault(int error) noexcept {
    switch (error) {
        case ECONNABORTED:
        case EPROTO:
        case ENETDOWN:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH:
        case ETIMEDOUT:
        case ECONNRESET:
            return true;
        default:
            return false;
    }
}

// A socket without the option works all the same.
void set_flag(int fd, int level, int option, bool on) noexcept {
    const int value = on ? 1 : 0;
    ::setsockopt(fd, level, option, &value, sizeof(value));
}

void set_options(int fd, const stream_options& options) noexcept {
    set_flag(fd, IPPROTO_TCP, TCP_NODELAY, options.no_delay);
    set_flag(fd, SOL_SOCKET, SO_KEEPALIVE, options.keep_alive);
}

template <int (*Get)(int, sockaddr*, socklen_t*)>
std::expected<address, std::error_code> address_of(int fd) noexcept {
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    if (Get(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return last_failure();
    return address{reinterpret_cast<const sockaddr*>(&storage), size};
}

int local_name(int fd, sockaddr* to, socklen_t* size) noexcept {
    return ::getsockname(fd, to, size);
}
int peer_name(int fd, sockaddr* to, socklen_t* size) noexcept {
    return ::getpeername(fd, to, size);
}

}  // namespace

// --- one socket ----------------------------------------------------------------------------------

registration::registration(epoll_driver& of) noexcept
    : socket{&of, readable_, writable_}, driver_{of} {}

std::ptrdiff_t registration::receive(std::span<std::byte> into) noexcept {
    if (is_unix_) return receive_into({&into, 1});
    return repeated([&] { return ::recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT); });
}

std::ptrdiff_t registration::receive_into(std::span<const std::span<std::byte>> parts) noexcept {
    gathered to{parts, 0};
    const std::ptrdiff_t count =
        repeated([&] { return ::recvmsg(fd_.get(), &to.message, MSG_DONTWAIT); });
    // A read ends behind data with descriptors, which the system drops here, though there may be
    // more data, of which no edge tells.
    if ((to.message.msg_flags & MSG_CTRUNC) != 0) set_short_reads(true);
    return count;
}

std::ptrdiff_t registration::send(std::span<const std::byte> data) noexcept {
    return repeated(
        [&] { return ::send(fd_.get(), data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT); });
}

std::ptrdiff_t registration::send_from(std::span<const std::span<const std::byte>> parts,
                                       std::size_t skipped) noexcept {
    const gathered from{parts, skipped};
    return repeated(
        [&] { return ::sendmsg(fd_.get(), &from.message, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

int registration::accept(socket*& made, const stream_options& options) noexcept {
    for (;;) {
        os::unique_fd fd{::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
        if (!fd.valid()) {
            if (errno == EINTR || peers_fault(errno)) continue;
            return -errno;
        }
        if (!is_unix_) set_options(fd.get(), options);
        const auto accepted = driver_.add(std::move(fd), is_unix_ ? AF_UNIX : AF_UNSPEC);
        if (!accepted) return -accepted.error().value();
        made = *accepted;
        return 0;
    }
}

int registration::connected() noexcept {
    // Writable, or failed: SO_ERROR is 0 in the first case, but also while it still connects.
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return -error;
    const auto peer = peer_address();
    if (peer) return 0;
    // If not, the state of the connection is unknown, and no further edge need come to ask again.
    return peer.error().value() == ENOTCONN ? -EAGAIN : -peer.error().value();
}

int registration::shutdown_send() noexcept {
    return ::shutdown(fd_.get(), SHUT_WR) == 0 ? 0 : -errno;
}

int registration::shutdown_receive() noexcept {
    return ::shutdown(fd_.get(), SHUT_RD) == 0 ? 0 : -errno;
}

void registration::close() noexcept {
    readable_.close();
    writable_.close();
    // The descriptor leaves first: another thread may take the registration as soon as it is free.
    const os::unique_fd fd{std::move(fd_)};
    driver_.remove(fd.get(), *this);
}

void registration::reset() noexcept {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close();
}

std::expected<address, std::error_code> registration::local_address() const noexcept {
    return address_of<local_name>(fd_.get());
}

std::expected<address, std::error_code> registration::peer_address() const noexcept {
    return address_of<peer_name>(fd_.get());
}

// --- the network ---------------------------------------------------------------------------------

std::expected<network::socket*, std::error_code> epoll_driver::adopt(
    os::unique_fd connected, const stream_options& options) {
    const auto family = family_of(connected.get());
    if (!family) return std::unexpected{family.error()};
    if (*family != AF_UNIX) set_options(connected.get(), options);
    return add(std::move(connected), *family);
}

std::expected<network::begun_connect, std::error_code> epoll_driver::connect(
    const address& peer, const stream_options& options) {
    os::unique_fd fd = make_socket(peer.data()->sa_family, SOCK_STREAM);
    if (!fd.valid()) return last_failure();
    // An interrupted connect goes on in the kernel, as a connect in progress does.
    const int started = ::connect(fd.get(), peer.data(), peer.size());
    const bool in_progress = started != 0 && (errno == EINPROGRESS || errno == EINTR);
    if (started != 0 && !in_progress) return last_failure();
    if (!peer.is_unix()) set_options(fd.get(), options);
    const auto made = add(std::move(fd), peer.data()->sa_family);
    if (!made) return std::unexpected{made.error()};
    return begun_connect{*made, in_progress};
}

std::expected<network::socket*, std::error_code> epoll_driver::listen(
    const address& where, const listener_options& options) {
    os::unique_fd fd = make_socket(where.data()->sa_family, SOCK_STREAM);
    if (!fd.valid()) return last_failure();
    bound_file own;
    if (where.is_unix()) {
        auto bound = bind_to_file(fd.get(), SOCK_STREAM, where, options.file);
        if (!bound) return std::unexpected{bound.error()};
        own = std::move(*bound);
    } else {
        set_flag(fd.get(), SOL_SOCKET, SO_REUSEADDR, options.reuse_address);
        if (where.is_v6()) set_flag(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only);
        if (::bind(fd.get(), where.data(), where.size()) != 0) return last_failure();
    }
    if (::listen(fd.get(), options.backlog) != 0) return last_failure();
    const auto made = add(std::move(fd), where.data()->sa_family);
    if (made) own.file.release();
    return made;
}

}  // namespace fairlead::io
