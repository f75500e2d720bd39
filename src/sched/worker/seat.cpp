#include "sched/worker/seat.hpp"

#include "sched/runtime/core.hpp"
#include "sched/worker/charging.hpp"
#include "sched/worker/clock_looks.hpp"

namespace fairlead::sched {

// A post goes to the outbox while the lane of the inbox is empty, so that what is in an outbox is
// older than what is there. A post that comes after a post from outside stands behind it, and so do
// the later posts of the step.
[[gnu::always_inline]] inline bool seat::goes_to_inbox(lane to, std::uint64_t step) const noexcept {
    return !core_.inbox.empty(to) || slot_.outbox.follows_inbox(step);
}

// A plain post; but a task that posts itself again stands behind other tasks, as a task that yields
// must.
inline bool seat::goes_to_thieves(const basic_task& task, posted how) const noexcept {
    return slot_.outbox.steals() && how.kind == post_kind::plain &&
           !core_.role.turns().are_given() && &task != running_;
}

// The worker looks at its posts when the step and its run are done; another worker can take them
// before, in a round. No worker is woken for what is kept if a sleeper watches in case the step
// takes long, or if the step ends with this post.
[[gnu::always_inline]] inline void seat::post_at_slot(lane to, basic_task& newest,
                                                      basic_task& oldest, posted how,
                                                      std::uint64_t step, bool leased) noexcept {
    wake_duty duty = slot_.outbox.push(to, newest, oldest, how.kind, step, leased);
    if (duty == wake_duty::watch) {
        if (how.last && slot_.runs.empty() && !slot_.outbox.has_open()) {
            duty = wake_duty::none;  // the worker looks at once
        } else {
            slot_.kept_posts.add(1);
        }
    }
    step_.leave_slot();
    core_.see_to(duty);
}

void seat::post_to_inbox(lane to, basic_task& newest, basic_task& oldest, std::uint64_t step,
                         unsigned rather) noexcept {
    slot_.outbox.follow_inbox(step);
    step_.leave_slot();
    core_.push(to, newest, oldest, rather);
}

[[gnu::hot]] void seat::post(basic_task& newest, basic_task& oldest, posted how) noexcept {
    if (!keeps_slot_) return post_from_slot(newest, oldest, how);
    const bool has_slot = is_sure();
    const std::uint64_t step = slot_.finished.value();
    if (!has_slot || goes_to_inbox(lane::everyone, step)) [[unlikely]] {
        return post_with_care(newest, oldest, how);
    }
    slot_.outbox.assume_shared(false);  // keeps_slot_ says so
    core_.see_to(slot_.outbox.push(lane::everyone, newest, oldest, how.kind, step));
}

// Not inline, so that a post of the only worker need not save registers for it.
[[gnu::noinline, gnu::hot]] void seat::post_from_slot(basic_task& newest, basic_task& oldest,
                                                      posted how) noexcept {
    const bool has_slot = enter_at_once();
    const std::uint64_t step = slot_.finished.value();
    if (!has_slot || goes_to_inbox(lane::everyone, step) || slot_.outbox.steals()) [[unlikely]] {
        return post_with_care(newest, oldest, how);
    }
    post_at_slot(lane::everyone, newest, oldest, how, step);
}

// The slot may have gone, another thread has posted, or thieves come.
[[gnu::noinline]] void seat::post_with_care(basic_task& newest, basic_task& oldest,
                                            posted how) noexcept {
    if (!enter()) return core_.push_behind(newest, oldest);
    if (goes_to_thieves(newest, how)) {
        if (const auto duty = slot_.outbox.push_open(newest, slot_.direct)) {
            if (*duty == wake_duty::watch) slot_.kept_posts.add(1);
            step_.leave_slot();
            return core_.see_to(*duty);
        }
    }
    const std::uint64_t step = slot_.finished.value();
    if (goes_to_inbox(lane::everyone, step)) {
        slot_.outbox.follow_inbox(step);
        step_.leave_slot();
        return core_.push_behind(newest, oldest);
    }
    post_at_slot(lane::everyone, newest, oldest, how, step);
}

// Within the turn of the group the post goes to its lease.
[[gnu::noinline, gnu::hot]] void seat::post_to_group(const group_state& group, basic_task& newest,
                                                     basic_task& oldest, posted how) noexcept {
    const bool has_slot = enter_at_once();
    const std::uint64_t step = slot_.finished.value();
    if (!has_slot || !charges_.turn_lease().is_of(group) || how.kind > post_kind::sleeps ||
        task_access::has_permit(newest) || group.has_limit() ||
        goes_to_inbox(group.enters_by, step)) [[unlikely]] {
        return post_without_lease(group, newest, oldest, how);
    }
    if (slot_.outbox.is_shared()) return post_to_lease(newest, oldest, how, step);
    slot_.outbox.assume_shared(false);
    post_at_slot(lane::groups, newest, oldest, how, step, true);
}

[[gnu::noinline, gnu::hot]] void seat::post_to_lease(basic_task& newest, basic_task& oldest,
                                                     posted how, std::uint64_t step) noexcept {
    slot_.outbox.assume_shared(true);
    post_at_slot(lane::groups, newest, oldest, how, step, true);
}

// A round takes the post. The posts to a strand go to the inbox: through one front they are in
// order, whatever threads they come from.
[[gnu::noinline]] void seat::post_without_lease(const group_state& group, basic_task& newest,
                                                basic_task& oldest, posted how) noexcept {
    if (!enter()) return core_.push_to_group(group, newest, oldest);
    const std::uint64_t step = slot_.finished.value();
    const lane to = group.enters_by;
    if (!slot_.outbox.takes(to) || group.is_strand() || goes_to_inbox(to, step)) {
        post_to_inbox(to, newest, oldest, step, group.bound_to.load(sync::relaxed));
    } else {
        post_at_slot(lane::groups, newest, oldest, how, step);
    }
    core_.role.call_attention();  // to what may stand behind a line of the default group
    if (!core_.role.turns().are_given()) looks_.be_due_next();
}

[[gnu::noinline, gnu::hot]] std::optional<post_kind> seat::put_to_sleep(basic_task& task) noexcept {
    if (task_access::stays_awake(task)) {
        task_access::make_due(task);
        return post_kind::again;
    }
    const bool has_slot = enter_at_once();
    sleeper_place* const place = has_slot ? slot_.sleepers.insert(task) : nullptr;
    if (place == nullptr) {
        step_.leave_slot();
        return post_kind::sleeps;
    }
    if (!core_.gate.is_open()) {  // [SL1]
        sleeper_table::erase(*place);
        step_.leave_slot();
        return post_kind::sleeps;
    }
    task_access::mark_in_table(task, *place);
    slot_.direct.add(1);
    // The last touch of the task: from then on a waker may post it.
    if (task_access::park(task)) {
        trace("asleep", &task);
        step_.leave_slot();
        return std::nullopt;
    }
    slot_.roused.add(1);
    sleeper_table::erase(task_access::leave_table(task));
    step_.leave_slot();
    // Not without the role if a stop looks at the task.
    if (!core_.gate.is_open()) return post_kind::sleeps;  // [SL1]
    task_access::make_due(task);
    return post_kind::again;
}

// The sleep counts as begun, and the step of the task will count, too: so the sleep ends here. The
// step that runs has not ended, so it does not matter that the task is not posted yet. Between two
// steps, where a driver may wake a task, it would matter.
[[gnu::noinline, gnu::hot]] post_kind seat::take_woken(basic_task& task) noexcept {
    if (!enter_at_once() || step_.name() == nullptr) {
        step_.leave_slot();
        return post_kind::woken;
    }
    slot_.roused.add(1);
    step_.leave_slot();
    sleeper_table::erase(task_access::leave_table(task));
    task_access::make_due(task);
    return core_.gate.is_open() ? post_kind::again : post_kind::woken;  // [SL1]
}

// Where another worker takes the forks of the step, the slot stays with the step.
offered_forks& seat::offers() noexcept {
    const bool has_slot = enter();
    if (has_slot) step_.fork(slot_.finished.value());
    step_.leave_slot();
    return has_slot ? slot_.offers : offers_away_;
}

std::uint32_t seat::running_depth() noexcept {
    const std::uint32_t depth = enter() ? slot_.offers.depth() : offers_away_.depth();
    step_.leave_slot();
    return depth;
}

// The slot is lost or in doubt: the thread that has the doubt decides it under the mutex.
[[gnu::noinline]] bool seat::still_has_slot() noexcept {
    return has_slot() && core_.handover.keeps_slot(*this);
}

}  // namespace fairlead::sched
