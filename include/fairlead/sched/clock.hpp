// The clock as a value that is passed in: the real one, or that of a simulation.
#pragma once

#include <fairlead/base/time.hpp>

namespace fairlead {

/// Tells the time. Any thread.
class clock_source {
public:
    virtual ~clock_source() = default;
    [[nodiscard]] virtual time_point now() const noexcept = 0;
};

/// The monotonic clock of the system.
class steady_clock_source final : public clock_source {
public:
    [[nodiscard]] time_point now() const noexcept override { return clock::now(); }
};

}  // namespace fairlead
