// Which process this is, as far as fork is concerned.
#pragma once

#include <fairlead/base/language.hpp>

namespace fairlead::os {

/// From now on forks are counted. Any thread; what is counted already stays. Does nothing without
/// memory for it.
void count_forks() noexcept;

/// How many forks lie between the process that has called `count_forks` first and this one. Any
/// thread. A load.
[[nodiscard]] unsigned fork_depth() noexcept;

}  // namespace fairlead::os
