// How an operation of a channel has gone.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>

namespace fairlead::channels {

/// How an operation has gone so far.
enum class [[nodiscard]] progress : std::uint8_t {
    done,
    waits,   // its wait has begun
    closed,  // the channel is; for a receive: and drained
    full,    // or empty: it would have to wait
    left,    // it is a branch of a select that has ended by another branch
};

}  // namespace fairlead::channels
