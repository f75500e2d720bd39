// Which process this is, as far as fork is concerned.
#pragma once

#include <fairlead/detail/base/language.hpp>

namespace fairlead::os {

/// From now on forks are counted. Any thread; what is counted already stays. Does nothing without
/// memory for it.
void count_forks() noexcept;

// Written in a child only, before its fork returns: it has one thread then.
extern constinit unsigned counted_forks;

/// How many forks lie between the process that has called `count_forks` first and this one. Any
/// thread. A load.
[[nodiscard]] inline unsigned fork_depth() noexcept { return counted_forks; }

}  // namespace fairlead::os
