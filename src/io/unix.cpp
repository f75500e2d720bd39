#include <fairlead/io/unix.hpp>

#include "io/retry.hpp"
#include "io/socket_calls.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace fairlead::io {
namespace {

std::expected<unix_address, std::error_code> unix_address_of(
    const std::expected<address, std::error_code>& from) noexcept {
    if (!from) return std::unexpected{from.error()};
    return unix_address{*from};
}

}  // namespace

std::expected<unix_stream, std::error_code> unix_stream::adopt(epoll_driver& driver,
                                                               os::unique_fd connected) {
    const auto family = family_of(connected.get());
    if (!family) return std::unexpected{family.error()};
    if (*family != AF_UNIX) return std::unexpected{detail::system_error(EAFNOSUPPORT)};
    const auto socket = driver.add(std::move(connected), AF_UNIX);
    if (!socket) return std::unexpected{socket.error()};
    return unix_stream{socket_handle{**socket}};
}

// The system refuses a connect to a full backlog at once.
task<std::expected<unix_stream, std::error_code>> unix_stream::connect(unix_address peer,
                                                                       time_point deadline) {
    return detail::connect_as<unix_stream>(peer.as_address(), deadline, {}, EAGAIN);
}

std::expected<std::pair<unix_stream, unix_stream>, std::error_code> unix_stream::pair(
    epoll_driver& driver) {
    auto ends = make_pair(driver, SOCK_STREAM);
    if (!ends) return std::unexpected{ends.error()};
    return std::pair{unix_stream{std::move(ends->first)}, unix_stream{std::move(ends->second)}};
}

std::expected<credentials, std::error_code> unix_stream::peer_credentials() const noexcept {
    if (is_open() && native_handle() < 0) return std::unexpected{detail::system_error(EOPNOTSUPP)};
    ucred known{};
    socklen_t size = sizeof(known);
    if (::getsockopt(native_handle(), SOL_SOCKET, SO_PEERCRED, &known, &size) != 0) {
        return detail::last_failure();
    }
    return credentials{.process = known.pid, .user = known.uid, .group = known.gid};
}

std::expected<unix_address, std::error_code> unix_stream::local_address() const noexcept {
    return unix_address_of(socket_->local_address());
}

std::expected<unix_address, std::error_code> unix_stream::peer_address() const noexcept {
    return unix_address_of(socket_->peer_address());
}

std::expected<unix_listener, std::error_code> unix_listener::bind(scheduler& home,
                                                                  const unix_address& where,
                                                                  listener_options options) {
    const auto socket = network::of(home).listen(where.as_address(), options);
    if (!socket) return std::unexpected{socket.error()};
    return unix_listener{**socket, where.as_address(), options};
}

task<std::expected<unix_stream, std::error_code>> unix_listener::accept(time_point deadline) {
    return accept_as<unix_stream>(deadline);
}

std::expected<unix_address, std::error_code> unix_listener::local_address() const noexcept {
    return unix_address_of(socket_->local_address());
}

}  // namespace fairlead::io
