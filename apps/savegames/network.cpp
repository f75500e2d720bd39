#include "savegames/network.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace savegames {

network network_of(const fairlead::io::address& client, const network_bits& bits) {
    constexpr std::array<std::uint8_t, 12> v4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    network result;
    if (client.is_v6()) {
        const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(client.data());
        std::memcpy(result.bytes.data(), &v6->sin6_addr, result.bytes.size());
    } else {
        const auto* const v4 = reinterpret_cast<const sockaddr_in*>(client.data());
        std::ranges::copy(v4_prefix, result.bytes.begin());
        std::memcpy(result.bytes.data() + v4_prefix.size(), &v4->sin_addr, 4);
    }
    const bool is_v4 = std::equal(v4_prefix.begin(), v4_prefix.end(), result.bytes.begin());
    const unsigned kept = is_v4 ? 96 + std::min(bits.v4, 32U) : std::min(bits.v6, 128U);
    for (unsigned bit = kept; bit != 128; ++bit) {
        result.bytes[bit / 8] &= static_cast<std::uint8_t>(~(0x80U >> (bit % 8)));
    }
    return result;
}

}  // namespace savegames
