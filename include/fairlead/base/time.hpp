// The time types of the library: a monotonic clock with nanoseconds.
#pragma once

#include <fairlead/base/language.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <ratio>
#include <utility>

namespace fairlead {

/// The clock of every deadline: monotonic, nanoseconds, unaffected by changes of the wall clock.
using clock = std::chrono::steady_clock;
/// Lengths of time: nanoseconds in 64 bits.
using duration = std::chrono::nanoseconds;
/// Points in time of `clock`. A default-constructed one is the start of the clock, not "now".
using time_point = std::chrono::time_point<clock, duration>;

/// A deadline that has always passed: "now". The default of a post.
inline constexpr time_point immediately = time_point::min();

/// A deadline that never comes: wait until woken.
inline constexpr time_point never = time_point::max();

/// A length of time as an argument: any `std::chrono::duration`, with an integer or a
/// floating-point count, converts by itself. A fraction of a nanosecond is rounded up: no wait is
/// too short. A length beyond the range of `duration`, such as `hours::max()`, becomes its largest
/// or smallest value. Not-a-number becomes zero.
class time_span {
public:
    /// Converts from any duration. Constant time, no allocation.
    template <class Rep, class Period>
    constexpr time_span(std::chrono::duration<Rep, Period> span) noexcept
        : length_{saturated(span)} {}

    /// The length in nanoseconds.
    constexpr operator duration() const noexcept { return length_; }

private:
    template <class Rep, class Period>
    [[nodiscard]] static constexpr duration saturated(
        std::chrono::duration<Rep, Period> span) noexcept {
        using to_nano = std::ratio_divide<Period, std::nano>;
        if constexpr (std::integral<Rep> && to_nano::den == 1) {
            constexpr std::int64_t most = INT64_MAX / to_nano::num;
            if (std::cmp_greater(span.count(), most)) {
                return duration::max();
            }
            if (std::cmp_less(span.count(), -most)) return duration::min();
            return duration{static_cast<std::int64_t>(span.count()) * to_nano::num};
        } else {
            const std::chrono::duration<long double, std::nano> exact{span};
            // 2^63 is exact in every floating-point type; INT64_MAX is not.
            if (exact.count() >= 0x1p63L) return duration::max();
            if (exact.count() <= -0x1p63L) return duration::min();
            if (!(exact.count() == exact.count())) return duration::zero();
            return std::chrono::ceil<duration>(exact);
        }
    }

    duration length_;
};

/// `now + delay` without overflow: a delay past the end of time gives `never`.
[[nodiscard]] constexpr time_point after(time_point now, time_span delay) noexcept {
    const duration length = delay;
    if (length > duration::zero() && now > time_point::max() - length) return never;
    if (length < duration::zero() && now < time_point::min() - length) return immediately;
    return now + length;
}

}  // namespace fairlead
