// The network that a client comes from: the first bits of its address.
#pragma once

#include <fairlead/io/address.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace savegames {

// How many bits of an address name a network. An owner of IPv6 addresses has 2^64 of them at least.
struct network_bits {
    unsigned v4 = 32;
    unsigned v6 = 64;
};

// Two addresses are of one network if these are equal. IPv4 has its place in IPv6, ::ffff:0:0/96.
struct network {
    std::array<std::uint8_t, 16> bytes{};

    friend auto operator<=>(const network&, const network&) = default;
};

[[nodiscard]] network network_of(const fairlead::io::address& client, const network_bits& bits);

}  // namespace savegames
