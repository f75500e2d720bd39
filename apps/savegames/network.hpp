// The network that a client comes from: the first bits of its address.
#pragma once

#include <fairlead/io/address.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace savegames {

// How many bits of an address name a network. An owner of IPv6 addresses has at least 2^64 of them.
struct network_bits {
    unsigned v4 = 32;
    unsigned v6 = 64;
};

// Addresses with equal bytes are in one network. IPv4 addresses are written as ::ffff:a.b.c.d.
struct network {
    std::array<std::uint8_t, 16> bytes{};

    friend auto operator<=>(const network&, const network&) = default;
};

// The network of the address `client`: its first `bits`.
[[nodiscard]] network network_of(const fairlead::io::address& client, const network_bits& bits);

}  // namespace savegames
