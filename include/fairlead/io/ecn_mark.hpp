// Explicit congestion notification: how a datagram is marked on its way.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>

namespace fairlead::io {

/// The two bits of an IP header that tell of congestion (RFC 3168), by their values there.
enum class ecn_mark : std::uint8_t {
    not_ect = 0,  ///< a router that is congested drops it
    ect_1 = 1,    ///< a router may mark it instead; of a sender for L4S (RFC 9331)
    ect_0 = 2,    ///< a router may mark it instead
    ce = 3        ///< a router was congested, and has marked it
};

}  // namespace fairlead::io
