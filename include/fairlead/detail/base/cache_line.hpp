// The size by which data of different writers is kept apart.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstddef>

namespace fairlead::base {

/// Bytes of a cache line on x86-64 and aarch64. A constant of the ABI, so not taken from
/// `std::hardware_destructive_interference_size`, which changes with compiler flags.
inline constexpr std::size_t cache_line = 64;

}  // namespace fairlead::base
