// Virtual time: what replaces the clock of the system on one thread.
//
// There is one way to tell the time, `clock::now()`, and one way to change what it tells, the
// override of the calling thread. A simulation therefore runs on one thread: schedulers with
// `run_on_caller`, their tasks and the code around them see the same time. A scheduler with threads
// of its own sleeps in the kernel, by the clock of the system: the constructor refuses it on a
// thread with an override.
//
// Rejected: a clock in the options of each scheduler. A task that computes a deadline from
// `clock::now()` would mix two clocks.
#pragma once

#include <fairlead/base/time.hpp>

namespace fairlead {

/// Tells the time of a simulation. `test::manual_clock` is moved by hand.
class clock_source {
public:
    /// For derived classes.
    virtual ~clock_source() = default;

    /// Must not go backwards. Called by the thread that has the override.
    [[nodiscard]] virtual time_point now() const noexcept = 0;
};

/// As long as it lives, `clock::now()` on the thread that made it is `source.now()`. Overrides
/// nest: the newest counts, and they end in the opposite order, on the same thread.
class clock_override {
public:
    /// Begins: `source` must outlive it.
    explicit clock_override(const clock_source& source) noexcept;
    /// Ends: the clock is what it was before.
    ~clock_override();
    clock_override(const clock_override&) = delete;
    clock_override& operator=(const clock_override&) = delete;

    /// Whether the calling thread has one.
    [[nodiscard]] static bool is_active() noexcept;

private:
    const clock_source& source_;
    const clock_source* const outer_;
};

}  // namespace fairlead
