// What other threads see of the step that a worker runs: its name, whether it is at its slot, and
// whether it has forked. A thread that takes the slot looks at it: handover.hpp [HO1].
//
// Only the worker writes it, but for `reset`. Before it touches the slot it says so (`enter_slot`,
// `end`), passes a light barrier, and looks whether it has its slot still: slot_owner.hpp.
#pragma once

#include "sched/task/counter.hpp"

#include <fairlead/detail/sync/atomic.hpp>

#include <cstdint>

namespace fairlead::sched {

class visible_step {
public:
    // --- the worker ------------------------------------------------------------------------------

    // A step begins, off its slot. release: what the worker did to the slot before.
    void begin(const char* name) noexcept { name_.store(name, sync::release); }
    // It has ended; its worker is about to touch the slot.
    void end() noexcept {
        name_.store(nullptr, sync::relaxed);
        sync::light_barrier();  // [HO1]
    }

    // It is about to touch the slot.
    void enter_slot() noexcept {
        at_slot_.store(true, sync::relaxed);
        sync::light_barrier();  // [HO1]
    }
    // release: a thread that takes the slot sees what was done to it.
    void leave_slot() noexcept { at_slot_.store(false, sync::release); }

    // The step of this number stays at its slot until it ends or forgets its forks, as other
    // workers may take these.
    void fork(std::uint64_t number) noexcept { forked_in_.publish(number + 1); }

    // None of its forks is left.
    void forget_forks() noexcept { forked_in_.publish(0); }

    // Before the worker runs.
    void reset() noexcept {
        at_slot_.store(false, sync::relaxed);
        forked_in_.publish(0);
    }

    // --- any thread ------------------------------------------------------------------------------

    // Null: no step runs. acquire: what the worker did to the slot before.
    [[nodiscard]] const char* name() const noexcept { return name_.load(sync::acquire); }
    // acquire: what the step has done to the slot.
    [[nodiscard]] bool is_at_slot() const noexcept { return at_slot_.load(sync::acquire); }
    [[nodiscard]] bool has_forked(std::uint64_t number) const noexcept {
        return forked_in_.read() == number + 1;
    }

private:
    sync::atomic<const char*> name_{nullptr};
    sync::atomic<bool> at_slot_{false};
    counter forked_in_;  // the number of the last step that has forked, plus one
};

}  // namespace fairlead::sched
