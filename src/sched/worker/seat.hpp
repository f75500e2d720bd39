// The place of a worker at its slot: what the step that runs does there. It posts, and it forks.
//
//     post, post_to_group ---> a step without a slot -----------------------> inbox
//                         ---> goes_to_thieves ---> the deque of the outbox
//                         ---> goes_to_inbox -------------------------------> inbox
//                         ---> post_at_slot ---> a front or the list of the outbox
//
// What a step posts to the group of its turn goes the way of the default group: see lease.hpp.
// Each push returns a duty, which the worker sees to after it has left the slot: `core::see_to`.
//
// A step that blocks may lose its slot to another worker. So before it touches the slot it says so,
// and looks whether it has the slot still: `enter`. The protocol is in handover.hpp [HO1].
//
// On the thread of its worker alone, but for `of`, `step`, `thread_id`, and calls of a hand-over.
#pragma once

#include "sched/slot/slot.hpp"
#include "sched/slot/visible_step.hpp"

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/sched/step_context.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/sched/task.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace fairlead::sched {

class charging;
class clock_looks;
class core;

class seat {
public:
    // `keeps_slot`: only the step gives up the slot, which is the only one, without a local deque.
    seat(worker& of, core& in, slot& own, charging& charges, clock_looks& looks,
         bool keeps_slot) noexcept
        : worker_{of},
          core_{in},
          slot_{own},
          charges_{charges},
          looks_{looks},
          keeps_slot_{keeps_slot} {}
    seat(const seat&) = delete;
    seat& operator=(const seat&) = delete;

    // --- any thread ------------------------------------------------------------------------------

    [[nodiscard]] worker& of() const noexcept { return worker_; }

    // The step that runs, as other threads see it.
    [[nodiscard]] const visible_step& step() const noexcept { return step_; }

    // The thread of the worker, or 0. Relaxed: a hint.
    [[nodiscard]] int thread_id() const noexcept { return thread_id_.load(sync::relaxed); }

    // --- the step that runs ----------------------------------------------------------------------

    // Posts what a step posts or wakes: newest -> ... -> oldest.
    void post(basic_task& newest, basic_task& oldest, posted how) noexcept;

    // Posts to a group that is not the default one.
    void post_to_group(const group_state& group, basic_task& newest, basic_task& oldest,
                       posted how) noexcept;

    // Whether the step may put a task to sleep without the role. The task of an only worker waits
    // in the list: mostly it is woken before its turn, and does not go to sleep at all.
    [[nodiscard]] bool may_put_to_sleep() const noexcept { return slot_.outbox.is_shared(); }

    // Then: puts a task without a deadline and a source to sleep, in the table of the slot. Else it
    // is to be posted, and the post is of this kind: it was woken before, or needs the role.
    [[nodiscard]] std::optional<post_kind> put_to_sleep(basic_task& task) noexcept;

    // The step has woken this task, which was only to be woken: takes it out of its table, if it
    // has its slot, and says of which kind its post is.
    [[nodiscard]] post_kind take_woken(basic_task& task) noexcept;

    // Where the step may offer forks; it keeps the slot until it ends or forgets them.
    [[nodiscard]] offered_forks& offers() noexcept;

    // Null: the step has not asked for them yet.
    [[nodiscard]] offered_forks* offers_if_forked() noexcept {
        return step_.has_forked(slot_.finished.value()) ? &slot_.offers : nullptr;
    }

    // The step has no forks any more. From now on it can lose its slot when it blocks.
    void forget_forks() noexcept {
        static_cast<void>(enter());
        step_.forget_forks();
        step_.leave_slot();
    }

    // Of the step, or of a call of another step that runs within it.
    [[nodiscard]] step_context& context() const noexcept { return *context_; }
    // Gives what was there.
    step_context* exchange_context(step_context& of_call) noexcept {
        return std::exchange(context_, &of_call);
    }

    // The depth of the task that runs.
    [[nodiscard]] std::uint32_t running_depth() noexcept;

    // Whether the worker has its slot, for sure.
    [[nodiscard]] bool is_sure() const noexcept { return slot_.owner.is(*this); }

    // Whether the worker has its slot, or a thread that tries to take it has not decided.
    [[nodiscard]] bool has_slot() const noexcept { return slot_.owner.may_be(*this); }

    // --- the loop of the worker ------------------------------------------------------------------

    // Before the loop, while no thread can take the slot.
    void take() noexcept {
        prepare();
        slot_.owner.take(*this);
    }
    // Before another thread gives it the slot.
    void prepare() noexcept { step_.reset(); }
    // Of the task of the step, if groups exist.
    void set_home(home& of) noexcept { of_step_.of = &of; }
    void set_thread_id(int id) noexcept { thread_id_.store(id, sync::relaxed); }

    // A step begins. From `show` on its slot can be taken.
    void begin_step(const basic_task& task) noexcept {
        FAIRLEAD_ASSERT(slot_.next == nullptr, "a task is hidden behind a step");
        slot_.offers.begin_step(task.depth());
        running_ = &task;
    }
    void show(const char* name) noexcept { step_.begin(name); }

    // The step has ended. False: another worker has the slot.
    [[nodiscard]] bool is_back() noexcept {
        step_.end();
        if (is_sure()) [[likely]]
            return true;
        return still_has_slot();
    }

    // --- the hand-over ---------------------------------------------------------------------------

    // Before another worker may use the slot.
    void begin_away() noexcept { offers_away_.begin_step(slot_.offers.depth()); }
    void end_away() noexcept { offers_away_.end_forking(); }

private:
    // The step is at its slot, until it leaves it. False: it has none any more.
    [[nodiscard]] bool enter() noexcept { return enter_at_once() || still_has_slot(); }
    // Says that the step is at its slot. False: the slot is lost or in doubt.
    [[nodiscard]] bool enter_at_once() noexcept {
        step_.enter_slot();
        return is_sure();
    }
    [[nodiscard]] bool still_has_slot() noexcept;

    void post_from_slot(basic_task& newest, basic_task& oldest, posted how) noexcept;
    void post_with_care(basic_task& newest, basic_task& oldest, posted how) noexcept;
    inline void post_at_slot(lane to, basic_task& newest, basic_task& oldest, posted how,
                             std::uint64_t step, bool leased = false) noexcept;
    void post_to_lease(basic_task& newest, basic_task& oldest, posted how,
                       std::uint64_t step) noexcept;
    void post_without_lease(const group_state& group, basic_task& newest, basic_task& oldest,
                            posted how) noexcept;
    void post_to_inbox(lane to, basic_task& newest, basic_task& oldest, std::uint64_t step,
                       unsigned rather) noexcept;
    [[nodiscard]] inline bool goes_to_inbox(lane to, std::uint64_t step) const noexcept;
    [[nodiscard]] inline bool goes_to_thieves(const basic_task& task, posted how) const noexcept;

    worker& worker_;
    core& core_;
    slot& slot_;
    charging& charges_;
    clock_looks& looks_;
    const bool keeps_slot_;
    visible_step step_;
    const basic_task* running_ = nullptr;  // may be gone already
    step_context of_step_;
    step_context* context_ = &of_step_;
    sync::atomic<int> thread_id_{0};
    offered_forks offers_away_{0};  // of a step that has lost its slot: no worker takes these
};

}  // namespace fairlead::sched
