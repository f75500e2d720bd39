// The time types of the library: a monotonic clock with nanoseconds.
#pragma once

#include <fairlead/base/language.hpp>

#include <chrono>

namespace fairlead {

/// The clock of every deadline: monotonic, nanoseconds, unaffected by changes of the wall clock.
using clock = std::chrono::steady_clock;
using duration = std::chrono::nanoseconds;
using time_point = std::chrono::time_point<clock, duration>;

/// A deadline that has always passed: "now". The default of a post.
inline constexpr time_point immediately = time_point::min();

/// A deadline that never comes: wait until woken.
inline constexpr time_point never = time_point::max();

/// `now + delay` without overflow: a delay past the end of time gives `never`.
[[nodiscard]] constexpr time_point after(time_point now, duration delay) noexcept {
    if (delay > duration::zero() && now > time_point::max() - delay) return never;
    if (delay < duration::zero() && now < time_point::min() - delay) return immediately;
    return now + delay;
}

}  // namespace fairlead
