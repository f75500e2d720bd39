#include <fairlead/io/unix_datagram.hpp>

#include "io/socket_calls.hpp"
#include "io/socket_file.hpp"

#include <sys/socket.h>

#include <utility>

namespace fairlead::io {

unix_datagram::unix_datagram(socket_handle socket, detail::owned_socket_file file) noexcept
    : datagram_socket{std::move(socket), {.tells_of_room = false}}, file_{std::move(file)} {}

std::expected<unix_datagram, std::error_code> unix_datagram::bind(scheduler& home,
                                                                  const unix_address& where,
                                                                  unix_file_options options) {
    os::unique_fd fd = make_socket(AF_UNIX, SOCK_DGRAM);
    if (!fd.valid()) return detail::last_failure();
    auto bound = bind_to_file(fd.get(), SOCK_DGRAM, where.as_address(), options);
    if (!bound) return std::unexpected{bound.error()};
    const auto socket = epoll_driver::of(home).add(std::move(fd), AF_UNIX);
    if (!socket) return std::unexpected{socket.error()};
    return unix_datagram{socket_handle{**socket}, std::move(bound->file)};
}

std::expected<unix_datagram, std::error_code> unix_datagram::connect(scheduler& home,
                                                                     const unix_address& peer) {
    os::unique_fd fd = make_socket(AF_UNIX, SOCK_DGRAM);
    if (!fd.valid()) return detail::last_failure();
    const address& where = peer.as_address();
    if (::connect(fd.get(), where.data(), where.size()) != 0) return detail::last_failure();
    const auto socket = epoll_driver::of(home).add(std::move(fd), AF_UNIX);
    if (!socket) return std::unexpected{socket.error()};
    return unix_datagram{socket_handle{**socket}, {}};
}

std::expected<std::pair<unix_datagram, unix_datagram>, std::error_code> unix_datagram::pair(
    epoll_driver& driver) {
    auto ends = make_pair(driver, SOCK_DGRAM);
    if (!ends) return std::unexpected{ends.error()};
    return std::pair{unix_datagram{std::move(ends->first), {}},
                     unix_datagram{std::move(ends->second), {}}};
}

std::expected<unix_address, std::error_code> unix_datagram::local_address() const noexcept {
    const auto where = socket_->local_address();
    if (!where) return std::unexpected{where.error()};
    return unix_address{*where};
}

}  // namespace fairlead::io
