// Datagrams: those to send, and those that have come.
#pragma once

#include <fairlead/io/address.hpp>
#include <fairlead/io/ecn_mark.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>

namespace fairlead::io {

/// A datagram to send, or several in a row to the same address.
struct datagram {
    std::span<const std::byte> data;  ///< which must stay until the await ends; may be empty
    const address* to = nullptr;      ///< must stay, too; null: the peer of a connected socket
    /// Not 0: `data` leaves as datagrams of so many bytes each, of which the last may be shorter.
    std::uint16_t segment = 0;
    /// UDP: not null: the address of this machine from which it is sent, which must stay, too. Its
    /// port does not count. Null: the system chooses, unless the socket is bound to an address. The
    /// error for one of another machine: `invalid_argument`, or `network_unreachable` for IPv4.
    const address* from = nullptr;
    /// UDP: how it is marked, with the other bits of the traffic class at 0; `not_ect`: as the
    /// socket is set.
    ecn_mark mark = ecn_mark::not_ect;
};

/// Why a `send` of several datagrams has ended early.
struct unfinished_send {
    std::size_t count = 0;  ///< how many were sent; of the next one, some segments may have been
    std::error_code error;  ///< what ended it
};

/// A datagram that has come. With `udp_options::gro` it may be several in a row from one sender.
struct arrived_datagram {
    std::span<std::byte> buffer{};  ///< where it goes: set by the caller
    std::size_t size = 0;           ///< how many bytes of `buffer` it has taken
    /// How long each of several datagrams is, but for the last, which may be shorter; else `size`.
    std::size_t segment = 0;
    bool is_cut = false;  ///< `buffer` was too small: the rest is lost
    address from{};       ///< its sender
    /// With `udp_options::destinations`: the address that it was sent to, with port 0. It may be a
    /// multicast address, from which no answer can be sent.
    std::optional<address> to{};
    unsigned interface = 0;             ///< the same: the index of the interface by which it came
    ecn_mark mark = ecn_mark::not_ect;  ///< with `udp_options::marks`
    /// With `udp_options::drops`: how many datagrams for this socket the kernel had dropped when it
    /// took this one, because the receive buffer was full. It counts up to 2^32, and goes on at 0.
    std::uint32_t dropped = 0;

    /// What came.
    [[nodiscard]] std::span<const std::byte> data() const noexcept { return buffer.first(size); }
};

}  // namespace fairlead::io
