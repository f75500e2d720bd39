// Which worker holds a slot: one word, the seat of the worker that holds the slot or held it last,
// and whether that is in doubt.
//
//     a worker --- doubt: a thread tries to take the slot ---> the worker, in doubt
//         ^                                                     |            |
//         +----------------- settle: it keeps the slot ---------+            | pass_to
//         +------------------------------------------------ another worker <-+
//
// Question it answers: may the step that runs touch the slot of its worker?
//
// The worker that holds the slot compares the word with itself. Equal: the slot is its own. Another
// worker: the slot is lost. In doubt: it asks under the mutex of the hand-over, where the doubt
// ends. So the only path that is taken often is one load and one comparison; handover.hpp [HO1] has
// the protocol around it.
//
// The word changes under the mutex of the hand-over alone, or while no worker runs. Any thread
// reads it.
//
// Spec: Handover in spec/MAP.md. Model test: ModelHandover.TheStepOrTheTakerHasTheSlot.
#pragma once

#include "sched/task/counter.hpp"

#include <fairlead/detail/sync/atomic.hpp>

#include <cstdint>

namespace fairlead::sched {

template <class Seat>
class slot_owner {
public:
    // --- any thread ------------------------------------------------------------------------------

    // Whether `self` has the slot, without a doubt. Relaxed: a thread that had a doubt, and did not
    // take the slot, has not touched it.
    [[nodiscard]] bool is(const Seat& self) const noexcept {
        return word_.load(sync::relaxed) == word_of(self);
    }

    // Whether `self` has the slot, or it is in doubt whether it has it still. Under the mutex there
    // is no doubt.
    [[nodiscard]] bool may_be(const Seat& self) const noexcept { return &holder() == &self; }

    // The worker that holds the slot, or did last. acquire: it may have just been made.
    [[nodiscard]] Seat& holder() const noexcept {
        return *reinterpret_cast<Seat*>(word_.load(sync::acquire) & ~in_doubt);
    }

    // How often a step that still ran has lost the slot to another worker: a step is known by this
    // number and the number of steps that have ended at the slot.
    [[nodiscard]] std::uint64_t times_passed() const noexcept { return times_passed_.read(); }

    // --- under the mutex of the hand-over --------------------------------------------------------

    // A thread is about to look whether the holder is at the slot. The heavy barrier that follows
    // publishes it [HO1]. release: a worker that has lost the slot before reads this word, too.
    void doubt() noexcept { word_.store(word_of(holder()) | in_doubt, sync::release); }

    // The holder keeps the slot.
    void settle() noexcept { take(holder()); }

    // The step of the holder has lost the slot to another worker.
    void pass_to(Seat& next) noexcept {
        times_passed_.add(1);
        take(next);
    }

    // --- while no worker runs --------------------------------------------------------------------

    // The slot is the worker's from now on. release: what the caller did to the slot.
    void take(Seat& next) noexcept { word_.store(word_of(next), sync::release); }

private:
    static constexpr std::uintptr_t in_doubt = 1;
    static std::uintptr_t word_of(const Seat& of) noexcept {
        return reinterpret_cast<std::uintptr_t>(&of);
    }

    sync::atomic<std::uintptr_t> word_{0};
    counter times_passed_;
};

}  // namespace fairlead::sched
