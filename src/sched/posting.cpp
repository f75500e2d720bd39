// What a step posts.
#include "sched/core.hpp"
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
    if (!core_.front.empty() || front_step_ == slot_.finished.value()) {
        front_step_ = slot_.finished.value();
        core_.push(newest, oldest);
        return;
    }
    if (alone_) {
        if (slot_.posted_alone.empty()) own_kind_ = post_kind::plain;
        own_kind_ = std::max(own_kind_, how.kind);
        slot_.posted_alone.append(front_queue::turn_over(&newest));
        trace("keep", &newest);
        return;
    }
    if (slot_.posted.empty()) {  // this worker alone adds to it
        own_kind_ = post_kind::plain;
        own_posts_ = 0;
        if (slot_.posted_to_groups.empty()) begin_posts();
    }
    own_kind_ = std::max(own_kind_, how.kind);
    ++own_posts_;
    const bool kept = count_post(how.kind, due_in_local);
    trace("post", &newest, kept);
    slot_.posted.push_reversed(newest, oldest);
    trace("keep", &newest);
    if (kept && how.last && slot_.runs.empty() && due_in_local == 0) return;
    core_.wake_one_if(kept ? core_.idle.needs_watcher() : core_.idle.seems_asleep());
}

// Nothing of them is in the slot.
[[gnu::always_inline]] inline void worker::begin_posts() noexcept {
    own_due_ = 0;
    slot_.kept_after.publish(slot_.finished.value());
}

// Whether the worker keeps what it posts now. Before the push, which publishes it.
[[gnu::always_inline]] inline bool worker::count_post(post_kind kind,
                                                      unsigned due_in_local) noexcept {
    own_due_ += due_of(kind);
    const bool kept = own_due_ + due_in_local <= 1;
    if (slot_.keeps_post.load(sync::relaxed) != kept) {
        slot_.keeps_post.store(kept, sync::relaxed);
    }
    return kept;
}

// What goes before all others, the posts of the only worker, and those to a strand enter from outside: through one
// front, so that they are in order, whoever posts them.
[[gnu::noinline]] void worker::post_to_group(const group_state& group, basic_task& newest,
                                             basic_task& oldest, posted how) noexcept {
    const lane by = group.enters_by;
    if (alone_ || by == lane::control || group.is_strand() || !core_.front_of_groups.empty() ||
        front_step_ == slot_.finished.value()) {
        front_step_ = slot_.finished.value();
        core_.push_grouped(by, newest, oldest);
    } else {
        if (slot_.nothing_posted()) begin_posts();
        const bool kept = count_post(how.kind, stealing_ && !slot_.local.empty() ? 2 : 0);
        trace("post", &newest, kept);
        slot_.posted_to_groups.push_reversed(newest, oldest);
        trace("keep", &newest);
        const bool looks_at_once = kept && how.last && slot_.runs.empty();
        if (!looks_at_once) {
            core_.wake_one_if(kept ? core_.idle.needs_watcher() : core_.idle.seems_asleep());
        }
    }
    core_.role.call_attention();  // to what may stand behind a line of others
    if (!core_.role.turns().are_given()) steps_to_look_ = 1;
}

void worker::post(basic_task& newest, basic_task& oldest, posted how) noexcept {
    if (stealing_) return post_stealing(newest, oldest, how);
    post_to_slot(newest, oldest, how, 0);
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
        return post_to_slot(newest, oldest, how, due_in_local);
    }
    const bool kept = nothing_local && (slot_.nothing_posted() || own_due_ == 0);
    newest.expired_ = true;
    slot_.direct.add(1);  // before others can take it: see role::drained
    if (slot_.keeps_post.load(sync::relaxed) != kept) {
        slot_.keeps_post.store(kept, sync::relaxed);  // published below
    }
    static_cast<void>(slot_.local.open_all());
    if (!alone_) core_.wake_one_if(kept ? core_.idle.needs_watcher() : core_.idle.seems_asleep());
}

void worker::wake_thief() noexcept {
    if (core_.idle.seems_asleep()) core_.idle.wake_one();
}

[[gnu::noinline]] void offered_forks::wake_thief() noexcept { worker::current()->wake_thief(); }

}  // namespace fairlead::sched
