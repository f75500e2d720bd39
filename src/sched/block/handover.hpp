// The hand-over: a step that blocks loses its slot to a spare worker, and the slot goes on running
// tasks.
//
// The number of slots stays, so as many steps run as before, and no more than the options ask for.
// The exception is the step that has blocked: when it goes on, it runs beside the steps of the
// slots. So it is asked to yield at once. It posts to the inbox. When it ends, its
// worker has no slot and leaves its loop; a spare worker rests until a hand-over needs it again.
//
// A step loses its slot when it says that it is about to block, or when the monitor finds it
// blocked. In the second case the step may go on at any moment, and touch its slot. So before each
// touch the step stores that it is at the slot. No instruction makes other processors see this
// store: the thread that takes the slot, the taker, makes them see it, by a heavy barrier [HO1]:
//     the step, each time                  the taker, under the mutex
//     1. store: at the slot, or ended      1. store: the owner is in doubt
//     2. light barrier                     2. heavy barrier
//     3. load: the owner. In doubt: ask    3. load: does the same step run, off the slot?
//        under the mutex                      yes: a spare worker is the owner
//                                             no: the same worker, without a doubt
// If the load of the step sees no doubt, the barrier of the taker comes after the barrier of the
// step. So the taker sees the store of the step, and leaves the slot to it. A step that has forked
// counts as at its slot until it ends, or forgets its forks when none is left, because other
// workers may be taking them.
// A slot to which groups are bound stays with its thread, whatever its steps do: a thread that
// binds a group, and a thread that takes a slot, do so under the mutex.
//
// The owner: slot_owner.hpp. What the step says: visible_step.hpp.
//
// A pair of barriers of which one costs nothing: J. Dice et al., "Asymmetric Dekker
// Synchronization", 2001; membarrier(2).
//
// Spec: Handover in spec/MAP.md.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/signal.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::sched {

class core;
class group_state;
class seat;
struct slot;
class worker;

class handover {
public:
    explicit handover(core& owner) noexcept : core_{owner} {}
    handover(const handover&) = delete;
    handover& operator=(const handover&) = delete;
    // All spare workers rest.
    ~handover();

    // --- the worker whose step runs --------------------------------------------------------------

    // The running step is about to block. True: a spare worker has the slot now. False: the step
    // has forked or has no slot any more, groups are bound to the slot, or there is no thread or no
    // memory for a spare worker; also between two steps, and with `run_on_caller`.
    bool give_up_slot(worker& self) noexcept;

    // After a doubt: whether the worker still has its slot.
    [[nodiscard]] bool keeps_slot(const seat& self) noexcept;

    // The step of this worker has ended without a slot. Call it after the posts of the step.
    void end_step(worker& self) noexcept;

    // The spare worker has left its loop. The last touch of the worker by its thread.
    void rest(worker& spare) noexcept;

    // --- the monitor -----------------------------------------------------------------------------

    // Whether `relieve` may succeed: the step has no fork, and no group is bound. A hint.
    [[nodiscard]] bool may_relieve(const slot& of) noexcept;

    // Takes the slot from its worker, if the worker still runs the step of this number, off the
    // slot, and the slot was passed on as often as when the step was seen. The name of the step, or
    // null.
    const char* relieve(slot& of, std::uint64_t step, std::uint64_t times_passed) noexcept;

    // --- any thread ------------------------------------------------------------------------------

    // Binds the group to the slot of this index, which stays with its thread from now on; `nobody`
    // releases the group.
    void bind(group_state& group, unsigned to) noexcept;
    // Binds the group, unless it is bound, to the slot with the fewest bound groups.
    void bind_somewhere(group_state& group) noexcept;

    // How many steps have ended without a slot. Read it before what they posted: see role::drained.
    [[nodiscard]] std::uint64_t ended_steps() const noexcept {
        return ended_steps_.load(sync::acquire);
    }

    // How many steps run, with and without a slot. Stores as many of their names as fit.
    [[nodiscard]] std::size_t running_steps(std::span<const char*> names) noexcept;

    // --- the thread that controls the life cycle -------------------------------------------------

    // Waits until all spare workers rest: the workers that hold slots must be about to end.
    void await_spares() noexcept;

private:
    [[nodiscard]] worker* take_spare(slot& of) noexcept;
    [[nodiscard]] static bool keeps_thread(const slot& of) noexcept;
    [[nodiscard]] bool pass_on(worker& from) noexcept;
    void bind_locked(group_state& group, unsigned to) noexcept;

    core& core_;
    sync::atomic<std::uint64_t> ended_steps_{0};

    sync::mutex mutex_;
    // Guarded by mutex_.
    worker* made_ = nullptr;     // all spare workers
    worker* resting_ = nullptr;  // spare workers that rest
    worker* away_ = nullptr;     // workers in a step without a slot
    std::size_t active_ = 0;     // spare workers that do not rest
    bool awaited_ = false;       // a thread waits for `all_rest_`
    sync::signal all_rest_;
};

}  // namespace fairlead::sched
