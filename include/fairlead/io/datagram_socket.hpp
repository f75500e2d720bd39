// What udp_socket and unix_datagram have in common: datagrams are sent and received, one by one or
// in batches.
//
// Results are `std::expected`. The errors are those of the system, and those of a stream's waits:
// see socket_stream.hpp. One task may receive while another one sends, both on the scheduler that
// has the driver of the socket. Operations allocate nothing.
#pragma once

#include <fairlead/detail/io/datagram_operations.hpp>
#include <fairlead/io/datagram.hpp>
#include <fairlead/io/network.hpp>

#include <cstddef>
#include <expected>
#include <span>
#include <system_error>
#include <utility>

namespace fairlead::io {

/// A socket of datagrams. Closed when destroyed.
class datagram_socket {
public:
    /// The most datagrams of one call of the system.
    static constexpr std::size_t batch_max = 32;

    /// Receives one datagram, or waits for it. Error: `message_size` if it is longer than `buffer`;
    /// it is lost. `buffer` must stay until the await ends.
    [[nodiscard]] detail::single_receive_operation receive_from(
        std::span<std::byte> buffer, time_point deadline = never) noexcept {
        return {socket_, abilities_, buffer, deadline};
    }

    /// Receives the datagrams that there are, in one call of the system: at least one, at most
    /// `batch_max` and `into.size()`. Gives how many; 0 if `into` is empty. A datagram that is
    /// longer than its buffer is marked with `is_cut`.
    [[nodiscard]] detail::batch_receive_operation receive(std::span<arrived_datagram> into,
                                                          time_point deadline = never) noexcept {
        return {socket_, abilities_, into, deadline};
    }

    /// Sends one datagram. Error: `message_size` if it is too long for one.
    [[nodiscard]] detail::single_send_operation send_to(std::span<const std::byte> data,
                                                        const address& to,
                                                        time_point deadline = never) noexcept {
        return {socket_, abilities_, data, to, deadline};
    }

    /// Sends one datagram to the peer of a connected socket. Error: `destination_address_required`
    /// or `not_connected` for a socket without one.
    [[nodiscard]] detail::single_send_operation send(std::span<const std::byte> data,
                                                     time_point deadline = never) noexcept {
        return {socket_, abilities_, data, deadline};
    }

    /// Sends all of several datagrams, up to `batch_max` in one call of the system. After an error
    /// it tells how many were sent. `all` must stay, too.
    [[nodiscard]] detail::batch_send_operation send(std::span<const datagram> all,
                                                    time_point deadline = never) noexcept {
        return {socket_, abilities_, all, deadline};
    }

    /// Whether it has a socket: not after `close`, nor after it was moved from.
    [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
    /// The descriptor, for options of the system; -1 when it is closed.
    [[nodiscard]] int native_handle() const noexcept { return socket_->native_handle(); }

protected:
    /// Takes over a socket, with what its kernel can do.
    datagram_socket(socket_handle socket, detail::datagram_abilities abilities) noexcept
        : socket_{std::move(socket)}, abilities_{abilities} {}
    /// `other` is closed afterwards. No task may wait on it.
    datagram_socket(datagram_socket&& other) noexcept = default;
    /// The same; closes its own socket first.
    datagram_socket& operator=(datagram_socket&& other) noexcept = default;
    ~datagram_socket() = default;

    socket_handle socket_;                  ///< of the kernel
    detail::datagram_abilities abilities_;  ///< which a send may find out
};

}  // namespace fairlead::io
