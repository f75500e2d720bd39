// What a worker takes from others; and of its own posts, where thieves are at them too.
#include "sched/core.hpp"
#include "sched/task_access.hpp"
#include "sched/worker.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace fairlead::sched {

// With policy::stealing: the newest of what steps here posted, but once in local_turns steps.
[[gnu::noinline]] basic_task* worker::take_local() noexcept {
    if (slot_.local.empty()) return nullptr;
    if (++local_turn_ >= local_turns) {
        local_turn_ = 0;
        if (basic_task* const task = take_older()) return task;
    }
    return slot_.local.pop();
}

// So that all have their turn, though `local` may never be empty: what came from elsewhere, and, taking turns with
// it, the oldest of `local`. That not more often than every round_interval: each time the whole of what it divides
// into lies on the rest of what the others do.
basic_task* worker::take_older() noexcept {
    oldest_next_ = !oldest_next_;
    const time_point now = oldest_next_ ? core_.now() : immediately;
    if (oldest_next_ && now - took_oldest_ >= core_.options.round_interval) {
        took_oldest_ = now;
        return slot_.local.steal();
    }
    if (core_.arrivals_visible(slot_)) round_if_free();
    if (slot_.next != nullptr) return std::exchange(slot_.next, nullptr);
    if (basic_task* const task = slot_.runs.pop()) return task;
    if (!alone_ && time_to_look_for_stuck()) {
        if (basic_task* const task = take_over_stuck()) return task;
    }
    return claim();
}

basic_task* worker::take_over_stuck() noexcept {
    slot* stuck_slot = nullptr;
    bool posts_are_stuck = false;
    for (unsigned i = 0; i != core_.width(); ++i) {
        slot& other = *core_.slots[i];
        if (i == index_) continue;
        const std::uint64_t finished = other.finished.read();
        const bool stuck = seen_finished_[i] == finished;
        seen_finished_[i] = finished;
        if (stuck && (!other.runs.empty() || (stealing_ && !other.local.empty()))) {
            stuck_slot = &other;
        }
        posts_are_stuck |= stuck && !other.nothing_posted();
    }
    // The round may leave a task in `next`, which must run before any other. If the role is not free,
    // the next look sees to them.
    if (posts_are_stuck && round_if_free() && slot_.next != nullptr) {
        return std::exchange(slot_.next, nullptr);
    }
    if (stuck_slot == nullptr) return nullptr;
    if (basic_task* const task = take_from(*stuck_slot)) return task;
    return steal_local(*stuck_slot);
}

basic_task* worker::steal() noexcept {
    for (unsigned i = 0; i != core_.width(); ++i) {
        if (++victim_ >= core_.width()) victim_ = 0;
        if (victim_ == index_) continue;
        slot& victim = *core_.slots[victim_];
        if (basic_task* const task = take_from(victim)) return task;
        if (stealing_ && victim.has_open_local()) {
            if (basic_task* const task = steal_local(victim)) return task;
        }
        if (basic_task* const task = steal_fork(victim)) return task;
    }
    return nullptr;
}

// The oldest fork of the step that runs there, which waits for it.
basic_task* worker::steal_fork(slot& victim) noexcept {
    if (victim.offers.empty()) return nullptr;
    const bool groups = core_.has_groups();
    if (groups) victim.offers.thief_comes();
    slot_.direct.add(1);  // before it disappears: see role::drained
    forked* const work = victim.offers.steal();
    home* const of = work == nullptr ? nullptr : &access::home_of(work->target());
    if (of != nullptr && of->grouped()) {
        static_cast<group_state*>(of)->hold_for_task();
        static_cast<group_state*>(of)->begin_stolen_step();
    }
    if (groups) victim.offers.thief_goes();
    if (work == nullptr) {  // another was faster, or the step itself
        slot_.direct.publish(slot_.direct.value() - 1);
        return nullptr;
    }
    slot_.stolen.add(1);
    basic_task& task = work->detach();
    task_access::enter_running(task, *of);
    return &task;
}

// The oldest post of the steps there.
basic_task* worker::steal_local(slot& victim) noexcept {
    basic_task* const task = victim.local.steal();
    if (task != nullptr) slot_.stolen.add(1);
    return task;
}

basic_task* worker::take_from(slot& victim) noexcept {
    std::array<basic_task*, claim_max> out;
    const std::size_t room = std::min<std::size_t>(slot_.runs.room() + 1, claim_max);
    const std::size_t count = victim.runs.steal({out.data(), room});
    if (count == 0) return nullptr;
    trace("steal", std::span{out.data(), count});
    slot_.stolen.add(count);
    put_into_run({out.data() + 1, count - 1});
    return out[0];
}

}  // namespace fairlead::sched
