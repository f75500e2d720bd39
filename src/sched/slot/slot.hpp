// A slot: the right to run tasks, with what belongs to it. A worker (a thread) holds one while it
// runs; the slot stays when the thread blocks or ends, and goes to another worker: see
// handover.hpp.
#pragma once

#include "sched/entry/outbox.hpp"
#include "sched/slot/sleeper_gate.hpp"
#include "sched/slot/sleeper_table.hpp"
#include "sched/slot/slot_owner.hpp"
#include "sched/task/counter.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>
#include <fairlead/detail/lockfree/run_queue.hpp>
#include <fairlead/detail/sched/forks.hpp>
#include <fairlead/sched/task.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::sched {

using ready_queue = lockfree::block_queue<basic_task>;
using run_queue = lockfree::run_queue<basic_task>;

class group_state;
class seat;
class worker;

// What the worker does that runs a round.
enum class occasion : std::uint8_t {
    rescuing,   // it has found that a step lasts long: the round takes all posts
    working,    // it runs tasks: what other workers keep for the leases of their turns stays
    in_turn,    // the same, and no sleeper overtakes, as other tasks are to have their turn now
    searching,  // it has no task: the post that a step keeps for its own worker stays as well
    sleeping,   // and it waits in the driver next: a round that finds nothing skips the poll
};

struct alignas(base::cache_line) slot {
    // Of `width` slots.
    slot(ready_queue& ready, const sleeper_gate& gate, unsigned its_index, std::size_t width,
         bool steals)
        : ready_consumer{ready},
          offers{width - 1},
          index{its_index},
          sleepers{&gate},
          outbox{width != 1, steals} {}

    run_queue runs;
    ready_queue::consumer ready_consumer;

    // What the step forks that runs now; empty between two steps.
    offered_forks offers;

    // The owner's alone: what it runs next, before its run. A round sets it, or a theft from a slot
    // whose step lasts long; it is gone before the next step.
    basic_task* next = nullptr;

    const unsigned index;

    // The owner's alone, too: since when `next`, or the step that runs, is a late sleeper that has
    // overtaken the run. Otherwise `never`.
    time_point overtakes_since = never;

    // The owner's alone, too, while turns are given: see turns.hpp. The turn of its worker, which
    // holds the group; since when the time of the step that runs is measured, and in which turns.
    struct {
        group_state* of = nullptr;
        duration expected{};  // the time of use that was charged in advance
        time_point until{};
        std::uint32_t number = 0;
        unsigned steps_to_look = 1;  // under its lease: after so many the clock is looked at
        bool has_lease = false;      // which the worker has not opened yet
        bool took_all = false;       // the turn began with all tasks of its group
    } turn;
    time_point measured_from{};
    std::uint32_t measured_in = 0;

    // Tasks that have gone to sleep here until they are woken. The owner puts them in.
    sleeper_table sleepers;

    // What steps on this slot post or wake.
    sched::outbox outbox;

    // Whether it has tasks that another worker can take without the role. A hint.
    [[nodiscard]] bool has_tasks(bool kept_too) const noexcept {
        return !runs.empty() || !offers.empty() || outbox.wants_thief(kept_too);
    }

    // Whether its worker is to run a round for a group that is bound to it.
    [[nodiscard]] bool has_bound_work() const noexcept { return bound_wait.load(sync::relaxed); }

    // Written by the owner if no comment names another thread; read by any. On lines of its own.
    alignas(base::cache_line) counter finished;  // steps, each counted after what it posted
    // Tasks that need no round, counted before the owner takes them, opens them to thieves, or puts
    // them to sleep.
    counter direct;
    // Sleeps that steps here have ended. Each was counted as begun: see role::drained.
    counter roused;
    // How many posts its worker has kept, ever, but for those with which a step ends.
    counter kept_posts;
    counter rounds;
    counter wakeups;
    counter stolen;
    // Whether its worker has counted steps that it has not told their group. release: what it has
    // told; acquire: drain.
    sync::atomic<bool> has_open_lease{false};
    // The number of the step that is to let other tasks have their turn: how many were before it. A
    // hint, by the monitor.
    sync::atomic<std::uint64_t> asked_to_yield{~std::uint64_t{0}};
    slot_owner<seat> owner;
    // How many groups are bound to it: its thread keeps it then. Under the mutex of the hand-over.
    std::size_t bound_groups = 0;
    // Whether a group that is bound to the slot waits for a turn. The holder of the role writes it.
    // A reader of `true` is the worker of the slot, or a thread that wakes this worker. Relaxed:
    // ordered by [ID1], [RL1].
    sync::atomic<bool> bound_wait{false};
    sync::atomic<bool> in_loop{false};  // its worker, whichever that is, runs its loop
};

}  // namespace fairlead::sched
