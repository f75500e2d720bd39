#include <fairlead/io/tcp.hpp>

#include "io/retry.hpp"

#include <utility>

namespace fairlead::io {

std::expected<tcp_stream, std::error_code> tcp_stream::adopt(epoll_driver& driver,
                                                             os::unique_fd connected,
                                                             stream_options options) {
    const auto socket = driver.adopt(std::move(connected), options);
    if (!socket) return std::unexpected{socket.error()};
    return tcp_stream{socket_handle{**socket}};
}

task<std::expected<tcp_stream, std::error_code>> tcp_stream::connect(address peer,
                                                                     time_point deadline,
                                                                     stream_options options) {
    return detail::connect_as<tcp_stream>(peer, deadline, options, 0);
}

std::expected<address, std::error_code> tcp_stream::local_address() const noexcept {
    return socket_->local_address();
}

std::expected<address, std::error_code> tcp_stream::peer_address() const noexcept {
    return socket_->peer_address();
}

std::expected<tcp_listener, std::error_code> tcp_listener::bind(scheduler& home,
                                                                const address& where,
                                                                listener_options options) {
    const auto socket = network::of(home).listen(where, options);
    if (!socket) return std::unexpected{socket.error()};
    return tcp_listener{**socket, where, options};
}

task<std::expected<tcp_stream, std::error_code>> tcp_listener::accept(time_point deadline) {
    return accept_as<tcp_stream>(deadline);
}

std::expected<address, std::error_code> tcp_listener::local_address() const noexcept {
    return socket_->local_address();
}

}  // namespace fairlead::io
