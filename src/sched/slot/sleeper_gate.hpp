// Whether workers may put tasks to sleep, and run tasks that they have woken, without the role.
//
// A stop looks at the tasks that sleep, and touches them, while workers run. So it closes the gate
// first, and from then on only the holder of the role puts tasks to sleep and lets them run. A
// worker must not pay for that at each sleep, and so the closing makes all workers see it, by a
// heavy barrier [SL1]:
//
//     a worker that takes a task out         the thread that stops
//     1. clears the place of the task        1. closes the gate
//     2. light barrier                       2. heavy barrier
//     3. looks at the gate                   3. looks at the place
//
// If the gate is open in 3, the light barrier comes before the heavy barrier, and the look finds
// the place empty. Else the task goes to the holder of the role, which is the thread that looks, or
// comes after it. A worker that puts a task to sleep does the same: it fills the place, and then
// looks at the gate. If the gate is open the look finds the task.
//
// After the gate is closed a worker may still fill and clear a place. But the task runs, and is
// freed, with the role alone.
//
// Where the system has no heavy barrier the gate never opens, and neither does it where there is
// only one worker: other threads visit its sleepers only when it begins no more steps.
//
// Spec SleeperGate in spec/MAP.md.
#pragma once

#include <fairlead/detail/os/barrier.hpp>
#include <fairlead/detail/sync/atomic.hpp>

namespace fairlead::sched {

class sleeper_gate {
public:
    explicit sleeper_gate(bool may_open) noexcept
        : may_open_{may_open && os::has_heavy_barrier()} {}

    // A worker: whether it may go on without the role, after what it has written. [SL1]
    [[nodiscard]] bool is_open() const noexcept {
        sync::light_barrier();
        return open_.load(sync::relaxed);
    }

    // While no worker runs.
    void open() noexcept { open_.store(may_open_, sync::relaxed); }

    // Before a look at the sleepers. Takes some microseconds. Several threads may stop at once:
    // each of them passes the barrier.
    void close() noexcept;

private:
    const bool may_open_;
    sync::atomic<bool> open_{false};
};

}  // namespace fairlead::sched
