// The clock as a value that is passed in: the real one, or that of a simulation.
#pragma once

#include <fairlead/base/time.hpp>

namespace fairlead {

/// Tells the time. Any thread.
class clock_source {
public:
    virtual ~clock_source() = default;
    /// The time. Never earlier than an answer before. Any thread.
    [[nodiscard]] virtual time_point now() const noexcept = 0;
};

/// The monotonic clock of the system.
class steady_clock_source final : public clock_source {
public:
    /// The time of `CLOCK_MONOTONIC`. Any thread.
    [[nodiscard]] time_point now() const noexcept override { return clock::now(); }
};

}  // namespace fairlead
