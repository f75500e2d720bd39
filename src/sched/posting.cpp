// What a step posts.
#include "sched/core.hpp"
#include "sched/task_access.hpp"
#include "sched/worker.hpp"

#include <algorithm>

namespace fairlead::sched {
namespace {

// How many tasks of the post are to run now, as far as is known; two: or more.
unsigned due_of(post_kind kind) noexcept {
    return kind == post_kind::batch ? 2 : kind <= post_kind::woken;
}

}  // namespace

// From a step. To the slot while the shared front is empty, so that what is in a slot is older than
// what is in the front; a post that comes after one from outside stands behind it, and so do those that
// follow in the step: a round that has taken the first may not have dealt it yet. The worker looks at
// what it posted when the step and its run are done; others can take it in a round before that, but a
// single worker keeps it in a plain list.
//
// Whether to wake another for it: not for one task to run, which this worker will take itself, nor for
// those that go to sleep, if somebody watches in case the step takes long, or the step ends with this
// post. For a second one to run, yes.
[[gnu::always_inline]] inline void worker::post_to_slot(basic_task& newest, basic_task& oldest,
                                                        posted how,
                                                        unsigned due_in_local) noexcept {
    if (slot_.posted.empty()) {  // this worker alone adds to it
        slot_.tally.kind = post_kind::plain;
        slot_.tally.posts = 0;
        if (slot_.posted_to_groups.empty()) begin_posts();
    }
    slot_.tally.kind = std::max(slot_.tally.kind, how.kind);
    ++slot_.tally.posts;
    push_to(slot_.posted, newest, oldest, how, due_in_local);
}

// The last touch of the slot.
[[gnu::always_inline]] inline void worker::push_to(front_queue& own, basic_task& newest,
                                                   basic_task& oldest, posted how,
                                                   unsigned due_in_local) noexcept {
    const bool kept = count_post(how.kind, due_in_local);
    trace("post", &newest, kept);
    own.push_reversed(newest, oldest);
    trace("keep", &newest);
    const bool looks_at_once = kept && how.last && slot_.runs.empty() && due_in_local == 0;
    leave_slot();
    if (looks_at_once) return;
    core_.wake_one_if(kept ? core_.idle.needs_watcher() : core_.idle.seems_asleep());
}

[[gnu::always_inline]] inline bool worker::goes_to_front() const noexcept {
    return !core_.front.empty() || slot_.tally.front_step == slot_.finished.value();
}

[[gnu::always_inline]] inline void worker::keep_alone(basic_task& newest, post_kind kind) noexcept {
    if (slot_.posted_alone.empty()) slot_.tally.kind = post_kind::plain;
    slot_.tally.kind = std::max(slot_.tally.kind, kind);
    if (kind == post_kind::batch) [[unlikely]] {
        slot_.posted_alone.append(front_queue::turn_over(&newest));
    } else {
        slot_.posted_alone.push_back(newest);
    }
    trace("keep", &newest);
}

// Nothing of them is in the slot.
[[gnu::always_inline]] inline void worker::begin_posts() noexcept {
    slot_.tally.due = 0;
    slot_.kept_after.publish(slot_.finished.value());
}

// Whether the worker keeps what it posts now. Before the push, which publishes it.
[[gnu::always_inline]] inline bool worker::count_post(post_kind kind,
                                                      unsigned due_in_local) noexcept {
    slot_.tally.due += due_of(kind);
    const bool kept = slot_.tally.due + due_in_local <= 1;
    if (slot_.keeps_post.load(sync::relaxed) != kept) {
        slot_.keeps_post.store(kept, sync::relaxed);
    }
    return kept;
}

// What goes before all others, the posts of the only worker, and those to a strand enter from outside: through one
// front, so that they are in order, whoever posts them.
[[gnu::noinline]] void worker::post_to_group(const group_state& group, basic_task& newest,
                                             basic_task& oldest, posted how) noexcept {
    if (!enter_slot()) return core_.push_grouped(group, newest, oldest);
    if (alone_ || group.enters_by == lane::control || group.is_strand() ||
        !core_.front_of_groups.empty() || slot_.tally.front_step == slot_.finished.value()) {
        slot_.tally.front_step = slot_.finished.value();
        leave_slot();
        core_.push_grouped(group, newest, oldest);
    } else {
        if (slot_.nothing_posted()) begin_posts();
        const unsigned due_in_local = stealing_ && !slot_.local.empty() ? 2 : 0;
        push_to(slot_.posted_to_groups, newest, oldest, how, due_in_local);
    }
    core_.role.call_attention();  // to what may stand behind a line of others
    if (!core_.role.turns().are_given()) steps_to_look_ = 1;
}

void worker::post(basic_task& newest, basic_task& oldest, posted how) noexcept {
    if (!keeps_alone_) return post_beside_others(newest, oldest, how);
    // Relaxed: it was this thread that gave up the slot.
    if (relieved_.load(sync::relaxed) || goes_to_front()) [[unlikely]] {
        return post_with_care(newest, oldest, how);
    }
    keep_alone(newest, how.kind);
}

[[gnu::noinline]] void worker::post_beside_others(basic_task& newest, basic_task& oldest,
                                                  posted how) noexcept {
    if (!enter_slot_at_once() || goes_to_front() || alone_ || stealing_) [[unlikely]] {
        return post_with_care(newest, oldest, how);
    }
    post_to_slot(newest, oldest, how, 0);
}

// The slot may have gone, somebody else has posted, or thieves come.
[[gnu::noinline]] void worker::post_with_care(basic_task& newest, basic_task& oldest,
                                              posted how) noexcept {
    if (!enter_slot()) return core_.push(newest, oldest);
    if (stealing_) return post_stealing(newest, oldest, how);
    post_in_order(newest, oldest, how, 0);
}

void worker::post_in_order(basic_task& newest, basic_task& oldest, posted how,
                           unsigned due_in_local) noexcept {
    if (goes_to_front()) {
        slot_.tally.front_step = slot_.finished.value();
        leave_slot();
        return core_.push(newest, oldest);
    }
    if (!alone_) return post_to_slot(newest, oldest, how, due_in_local);
    keep_alone(newest, how.kind);
    leave_slot();
}

// A plain post goes to `local`, unless there is no room; but a task that posts itself again stands behind
// others, as one that yields must.
[[gnu::noinline]] void worker::post_stealing(basic_task& newest, basic_task& oldest,
                                             posted how) noexcept {
    const bool nothing_local = slot_.local.empty();
    const bool local = how.kind == post_kind::plain && !core_.role.turns().are_given() &&
                       &newest != running_ && slot_.local.push(newest);
    if (!local) {
        // Not empty: one that is kept, or more.
        const unsigned due_in_local = nothing_local                          ? 0
                                      : slot_.keeps_post.load(sync::relaxed) ? 1
                                                                             : 2;
        return post_in_order(newest, oldest, how, due_in_local);
    }
    const bool kept = nothing_local && (slot_.nothing_posted() || slot_.tally.due == 0);
    task_access::set_expired(newest, true);
    slot_.direct.add(1);  // before others can take it: see role::drained
    if (slot_.keeps_post.load(sync::relaxed) != kept) {
        slot_.keeps_post.store(kept, sync::relaxed);  // published below
    }
    static_cast<void>(slot_.local.open_all());
    leave_slot();
    if (!alone_) core_.wake_one_if(kept ? core_.idle.needs_watcher() : core_.idle.seems_asleep());
}

void worker::wake_thief() noexcept {
    if (core_.idle.seems_asleep()) core_.idle.wake_one();
}

[[gnu::noinline]] void offered_forks::wake_thief() noexcept { worker::current()->wake_thief(); }

}  // namespace fairlead::sched
