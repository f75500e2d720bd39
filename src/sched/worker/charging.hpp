// What the steps of a worker cost their groups: it measures them while turns are given, and tells
// the group.
//
// Under a lease it counts the steps, and tells the group once, when the lease ends: lease.hpp.
// Without a lease it tells the group of each step.
//
// On the thread of the worker alone, but for `begin_away`: see handover.hpp.
#pragma once

#include "sched/groups/lease.hpp"
#include "sched/slot/slot.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/sched/task.hpp>

namespace fairlead::sched {

class clock_looks;
class core;

class charging {
public:
    charging(core& in, slot& own, clock_looks& looks) noexcept
        : core_{in}, slot_{own}, looks_{looks} {}
    charging(const charging&) = delete;
    charging& operator=(const charging&) = delete;

    // A step of a task of this home begins, and has ended. `leased`: what `begin_step` has
    // answered.
    [[nodiscard]] bool begin_step(home& of) noexcept {
        return lease_.is_of(of) || begin_other_step(of);
    }
    void end_step(home& of, bool leased) noexcept {
        leased ? end_in_lease() : end_step_without_lease(of);
    }

    // Of the turn that the worker has, if it has begun.
    [[nodiscard]] lease& turn_lease() noexcept { return lease_; }

    // Before a round, which gives turns by what was used; and before the worker looks for something
    // else.
    void end_lease() noexcept {
        if (lease_.is_open() || slot_.turn.has_lease) [[unlikely]]
            end_open_lease();
    }

    // The time until the next step is charged to no group.
    void forget_time() noexcept { slot_.measured_in = 0; }

    // The step loses its slot: by the thread that passes the slot on, under the mutex of the
    // hand-over. For its group the lease ends; this step still counts as running until `end_away`.
    void begin_away() noexcept;
    // That step has ended.
    void end_away(home& of) noexcept;

private:
    [[nodiscard]] bool begin_other_step(home& of) noexcept;
    void end_step_without_lease(home& of) noexcept;
    [[nodiscard]] bool begin_in_lease(home& of) noexcept;
    [[nodiscard]] bool is_measured(home& of) const noexcept;
    void take_lease() noexcept;
    void end_in_lease() noexcept;
    void end_open_lease() noexcept;
    void begin_measuring() noexcept;
    [[nodiscard]] duration time_used() noexcept;
    void account(group_state& group) noexcept;

    core& core_;
    slot& slot_;
    clock_looks& looks_;
    lease lease_;
    unsigned steps_to_look_ = 1;  // at the clock, whether the turn is over
    duration used_{};             // by the step that has lost its slot, before that
};

}  // namespace fairlead::sched
