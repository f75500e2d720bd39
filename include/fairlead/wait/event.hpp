// Events: tasks and threads wait until something has happened.
//
//     fl::event ready;                       fl::auto_event more;
//     co_await ready.wait();                 co_await more.wait();
//     ready.set();    // all go on           more.set();    // one goes on
//
// Any thread. No allocation. A `set` that wakes nothing, a `reset`, and a wait for an event that is
// set, are one exchange of a word. A `set` is linear in the number of waits that it ends.
#pragma once

#include <fairlead/detail/wait/line_operations.hpp>

#include <expected>

namespace fairlead {

// An event is a line of one permit, which is free while the event is set.

/// Stays set until `reset`. A wait begins after `set` and before `reset`: it ends at once.
class event {
public:
    event() = default;

    /// Sets it, and wakes all that wait now, even if the first one of them resets it. False: it was
    /// set before. What was done before is seen by what goes on. The last task that goes on may
    /// destroy the event at once, before this returns; another `set` must not run then.
    bool set() noexcept { return line_.give_back_if_taken(); }

    /// Ends that it is set. False: it was not.
    bool reset() noexcept { return line_.try_take(); }

    /// Whether it is set. If so, what was done before the `set` is seen.
    [[nodiscard]] bool is_set() const noexcept { return line_.has_free(); }

    /// Waits until it is set, until `deadline` at the latest: `waited<void>`, which may be
    /// `stopped` or `expired`.
    [[nodiscard]] wait::signal_wait wait(time_point deadline = never) noexcept {
        return wait::signal_wait{deadline, line_, 1U, 0U};
    }

    /// The same on this thread, which must not be a worker's. The deadline is by the clock of the
    /// system.
    [[nodiscard]] waited<void> wait_blocking(time_point deadline = never) {
        return coro::wait_on_thread<wait::signal_operation>(deadline, line_, 1U, 0U);
    }

private:
    sync::line line_{1, 1};
};

/// Wakes one wait for each `set`, in the order of their beginning. A `set` that finds no wait is
/// kept for the next wait; further ones are the same `set`.
class auto_event {
public:
    auto_event() = default;

    /// Ends the oldest wait, or the next one. False: a `set` was kept already. What was done before
    /// is seen by what goes on. The last task that goes on may destroy the event at once, before
    /// this returns; another `set` must not run then.
    bool set() noexcept { return line_.give_back_if_taken(); }

    /// Takes a `set` that was kept. False: there is none.
    bool try_wait() noexcept { return line_.try_take(); }

    /// Waits for a `set`, until `deadline` at the latest: `waited<void>`, which may be `stopped` or
    /// `expired`.
    [[nodiscard]] wait::signal_wait wait(time_point deadline = never) noexcept {
        return wait::signal_wait{deadline, line_, 1U, 1U};
    }

    /// The same on this thread, which must not be a worker's. The deadline is by the clock of the
    /// system.
    [[nodiscard]] waited<void> wait_blocking(time_point deadline = never) {
        return coro::wait_on_thread<wait::signal_operation>(deadline, line_, 1U, 1U);
    }

private:
    sync::line line_{1, 1};
};

}  // namespace fairlead
