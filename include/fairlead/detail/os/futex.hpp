// Sleeping on a word until another thread changes it: the futex of the kernel.
#pragma once

#include <fairlead/base/time.hpp>

#include <cstdint>

namespace fairlead::os {

/// Sleeps while `*word == expected`, until woken, until `deadline`, or for no reason at all: the
/// caller looks at the word again. `deadline == never` sleeps without a limit. Any thread.
void futex_wait(const std::uint32_t* word, std::uint32_t expected, time_point deadline) noexcept;

/// Wakes at most `count` threads that sleep on `word`. The word is not read or written, so it may
/// already be gone: at worst some other sleeper wakes for no reason. Any thread.
void futex_wake(const std::uint32_t* word, int count) noexcept;

}  // namespace fairlead::os
