#include <fairlead/io/udp.hpp>

#include "io/socket_calls.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace fairlead::io {
namespace {

bool set_number(int fd, int level, int option, int value) noexcept {
    return ::setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

void set_buffer(int fd, int option, std::size_t size) noexcept {
    constexpr std::size_t most = std::numeric_limits<int>::max() / 2;  // the system doubles it
    if (size != 0) set_number(fd, SOL_SOCKET, option, static_cast<int>(std::min(size, most)));
}

void set_options(int fd, const address& of, const udp_options& options) noexcept {
    if (options.reuse_address) set_number(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (options.reuse_port) set_number(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (options.broadcast) set_number(fd, SOL_SOCKET, SO_BROADCAST, 1);
    if (of.is_v6()) set_number(fd, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only ? 1 : 0);
    set_buffer(fd, SO_RCVBUF, options.receive_buffer);
    set_buffer(fd, SO_SNDBUF, options.send_buffer);
}

// Asks for what comes beside each datagram. An IPv6 socket gets the datagrams of IPv4, too, and of
// these the mark alone as IPv4 tells it. Whether something will come.
bool ask_for_details(int fd, const address& of, const udp_options& options) noexcept {
    bool is_told = false;
    const auto ask = [&](bool wanted, int level, int option) {
        if (wanted && set_number(fd, level, option, 1)) is_told = true;
    };
    if (of.is_v6()) {
        ask(options.destinations, IPPROTO_IPV6, IPV6_RECVPKTINFO);
        ask(options.marks, IPPROTO_IPV6, IPV6_RECVTCLASS);
    } else {
        ask(options.destinations, IPPROTO_IP, IP_PKTINFO);
    }
    ask(options.marks, IPPROTO_IP, IP_RECVTOS);
    ask(options.drops, SOL_SOCKET, SO_RXQ_OVFL);
    return is_told;
}

int change_group(int fd, int option, const address& group, unsigned interface) noexcept {
    group_req wanted{};
    wanted.gr_interface = interface;
    std::memcpy(&wanted.gr_group, group.data(), group.size());
    const int level = group.is_v6() ? IPPROTO_IPV6 : IPPROTO_IP;
    return ::setsockopt(fd, level, option, &wanted, sizeof(wanted));
}

// Names a socket by `name`, which is bind or connect.
std::expected<std::pair<network::socket*, detail::datagram_abilities>, std::error_code> made_with(
    scheduler& home, const address& where, const udp_options& options,
    int (&name)(int, const sockaddr*, socklen_t)) {
    os::unique_fd fd = make_socket(where.data()->sa_family, SOCK_DGRAM);
    if (!fd.valid()) return detail::last_failure();
    set_options(fd.get(), where, options);
    detail::datagram_abilities abilities;
    abilities.segments = detail::datagram_abilities::cutting::unknown;
    abilities.is_joined = options.gro && set_number(fd.get(), IPPROTO_UDP, UDP_GRO, 1);
    abilities.is_detailed = ask_for_details(fd.get(), where, options) || abilities.is_joined;
    abilities.is_v6 = where.is_v6();
    if (name(fd.get(), where.data(), where.size()) != 0) return detail::last_failure();
    const auto socket = epoll_driver::of(home).add(std::move(fd), where.data()->sa_family);
    if (!socket) return std::unexpected{socket.error()};
    return std::pair{*socket, abilities};
}

}  // namespace

std::expected<udp_socket, std::error_code> udp_socket::bind(scheduler& home, const address& where,
                                                            udp_options options) {
    const auto made = made_with(home, where, options, ::bind);
    if (!made) return std::unexpected{made.error()};
    return udp_socket{socket_handle{*made->first}, made->second};
}

std::expected<udp_socket, std::error_code> udp_socket::connect(scheduler& home, const address& peer,
                                                               udp_options options) {
    const auto made = made_with(home, peer, options, ::connect);
    if (!made) return std::unexpected{made.error()};
    return udp_socket{socket_handle{*made->first}, made->second};
}

std::expected<void, std::error_code> udp_socket::join(const address& group,
                                                      unsigned interface) noexcept {
    if (change_group(native_handle(), MCAST_JOIN_GROUP, group, interface) == 0) return {};
    return detail::last_failure();
}

std::expected<void, std::error_code> udp_socket::leave(const address& group,
                                                       unsigned interface) noexcept {
    if (change_group(native_handle(), MCAST_LEAVE_GROUP, group, interface) == 0) return {};
    return detail::last_failure();
}

}  // namespace fairlead::io
