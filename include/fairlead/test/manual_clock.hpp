// A clock that moves only when it is told to.
#pragma once

#include <fairlead/base/clock_override.hpp>

#include <chrono>

namespace fairlead::test {

/// As long as it lives, `clock::now()` on the thread that made it is the time of this clock. It
/// begins at one hour, so that a little before the beginning is a time, too. For that thread alone.
class manual_clock final : public clock_source {
public:
    /// Puts the calling thread into virtual time.
    manual_clock() noexcept : override_{*this} {}

    /// The time that was set last.
    [[nodiscard]] time_point now() const noexcept override { return now_; }
    /// Moves the clock on by `by`.
    void advance(time_span by) noexcept { now_ = after(now_, by); }
    /// Moves the clock to `to`, which should not lie before `now`.
    void set(time_point to) noexcept { now_ = to; }

private:
    time_point now_{std::chrono::hours{1}};
    clock_override override_;
};

}  // namespace fairlead::test
