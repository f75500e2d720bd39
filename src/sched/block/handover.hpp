// The hand-over: a step that blocks loses its slot to a spare worker, so that the slot goes on running tasks.
//
// There are as many slots as before, so parallelism is restored and never more than was asked for, but for what the step
// does after it has blocked: that runs beside the others, and is asked to yield at once. It posts like a thread from
// outside. When it ends, its worker has no slot and goes: a spare one rests until it is needed again.
//
// A step may say that it is about to block, or the monitor finds that it does. In the latter case the step may go on at any
// moment, and touch its slot. The step says so before, without an instruction that other processors see, and the taker of the
// slot makes all see it [HO1]:
//     the step, each time                      the taker, under the mutex
//     1. store: at the slot, or ended          1. store: the owner is in doubt
//     2. light barrier                         2. heavy barrier
//     3. load: the owner. In doubt: ask        3. load: in the same step, and not at the slot? Then another worker
//        under the mutex                          is the owner, otherwise the same one, without a doubt
// If the load of the step sees no doubt, the barrier of the taker comes after that of the step, and the taker sees the store of
// the step, and leaves it alone. A step that has forked is at its slot until it ends: others may be taking its forks.
// A slot with groups that are bound to it stays with its thread, whatever its steps do: a thread that binds a group, and a
// thread that takes a slot, do so under the mutex.
//
// The owner: slot_owner.hpp. What the step says: visible_step.hpp.
//
// A pair of barriers of which one costs nothing: J. Dice et al., "Asymmetric Dekker Synchronization", 2001; membarrier(2).
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

    // --- the worker whose step runs ------------------------------------------------------------------

    // The step is about to block. Whether its slot goes to another: not if it has forked, has no slot any more, or if no thread
    // can be had; nor between two steps.
    bool give_up_slot(worker& self) noexcept;

    // After a doubt: whether the worker has its slot still.
    [[nodiscard]] bool keeps_slot(const seat& self) noexcept;

    // Its step has ended, without a slot. After what it has posted.
    void end_step(worker& self) noexcept;

    // A spare worker has ended its loop. The last touch of it.
    void rest(worker& spare) noexcept;

    // --- the monitor -----------------------------------------------------------------------------------

    // Whether nothing forbids it now. A hint.
    [[nodiscard]] bool may_relieve(const slot& of) noexcept;

    // Takes the slot from its worker, if that still runs the step of this number, and is not at the slot, and the slot was
    // passed on as often as when the step was seen. The name of the step, or null.
    const char* relieve(slot& of, std::uint64_t step, std::uint64_t times_passed) noexcept;

    // --- any thread --------------------------------------------------------------------------------------

    // Binds the group to a slot, of this index, that stays with its thread from now on; `nobody` releases it.
    void bind(group_state& group, unsigned to) noexcept;
    // Unless it is bound: to the one with the fewest groups.
    void bind_somewhere(group_state& group) noexcept;

    // Steps that ended without a slot, ever. To be read before what they posted: see role::drained.
    [[nodiscard]] std::uint64_t ended_steps() const noexcept {
        return ended_steps_.load(sync::acquire);
    }

    // How many steps run, with and without a slot, and the names of as many as there is room for.
    [[nodiscard]] std::size_t running_steps(std::span<const char*> names) noexcept;

    // --- the thread that controls the life cycle -----------------------------------------------------------

    // Waits until all spare workers rest: those that hold slots must be about to end.
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
    worker* resting_ = nullptr;  // of these
    worker* away_ = nullptr;     // in a step, without a slot
    std::size_t active_ = 0;     // spare workers that do not rest
    bool awaited_ = false;
    sync::signal all_rest_;
};

}  // namespace fairlead::sched
