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

// With policy::stealing: the newest of what steps here posted, but once in open_turns steps.
[[gnu::noinline]] basic_task* worker::take_open() noexcept {
    if (!slot_.outbox.has_open()) return nullptr;
    if (++open_turn_ >= open_turns) {
        open_turn_ = 0;
        if (basic_task* const task = take_older()) return task;
    }
    local_posts& posts = slot_.outbox.local();
    if (basic_task* const task = posts.pop()) return task;
    basic_task* const task = posts.take_back();
    if (task != nullptr) core_.see_to(wake_duty::wake);
    return task;
}

// So that all have their turn, though the deque may never be empty: what came from elsewhere, and, taking turns with
// it, the oldest of the deque. What such a task divides into lies on the rest of what the others do, so the oldest has
// one turn in a round_interval, and the others have only one while the deque is longer than at their last turn.
basic_task* worker::take_older() noexcept {
    const time_point now = core_.now();
    oldest_next_ = !oldest_next_;
    if (oldest_next_ && now - took_oldest_ >= core_.options.round_interval) {
        took_oldest_ = now;
        return slot_.outbox.local().steal(1).front();
    }
    const std::size_t size = slot_.outbox.local().size();
    if (size > size_at_turn_ && now - last_turn_ < core_.options.round_interval) return nullptr;
    size_at_turn_ = size;
    last_turn_ = now;
    // First, as the run may never be empty.
    if (!alone_ && time_to_look_for_stuck()) {
        if (basic_task* const task = take_over_stuck()) return task;
    }
    if (core_.arrivals_visible(slot_)) round_if_free();
    if (slot_.next != nullptr) return std::exchange(slot_.next, nullptr);
    if (basic_task* const task = slot_.runs.pop()) return task;
    return claim();
}

// Under saturation nobody is idle, so nobody steals. A run whose owner has not finished a step since
// this worker looked last is taken over, and what its steps posted, so that they do not wait for one
// long step. Looking touches the lines of all slots, so it is done every full run of short steps, or
// after a while.
bool worker::clock_says_to_look_for_stuck() noexcept {
    const std::uint64_t finished = slot_.finished.value();
    if (finished - looked_at_step_ < run_queue::capacity) {
        const time_point now = clock::now();
        look_stride_ =
            now - stuck_clock_ > stuck_after / 4 ? 1 : std::min(look_stride_ * 2, stride_max);
        looks_to_clock_ = look_stride_;
        stuck_clock_ = now;
        if (now - looked_at_ < stuck_after) return false;
        looked_at_ = now;
    }
    looked_at_step_ = finished;
    return true;
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
        if (stuck && (!other.runs.empty() || other.outbox.has_open())) {
            stuck_slot = &other;
        }
        posts_are_stuck |= stuck && !other.outbox.empty();
    }
    // The round may leave a task in `next`, which must run before any other. If the role is not free,
    // the next look sees to them.
    if (posts_are_stuck && round_if_free() && slot_.next != nullptr) {
        return std::exchange(slot_.next, nullptr);
    }
    if (stuck_slot == nullptr) return nullptr;
    if (basic_task* const task = take_from(*stuck_slot)) return task;
    return steal_open(*stuck_slot);
}

basic_task* worker::steal() noexcept {
    for (unsigned i = 0; i != core_.width(); ++i) {
        if (++victim_ >= core_.width()) victim_ = 0;
        if (victim_ == index_) continue;
        slot& victim = *core_.slots[victim_];
        if (basic_task* const task = take_from(victim)) return task;
        if (victim.outbox.wants_thief(false)) {
            if (basic_task* const task = steal_open(victim)) return task;
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

// The oldest posts of the steps there: many, if there are many.
basic_task* worker::steal_open(slot& victim) noexcept {
    if (!victim.outbox.steals()) return nullptr;
    const bool has_room = slot_.runs.room() >= local_posts::chunk_size;
    basic_task::chain taken = victim.outbox.local().steal(has_room ? local_posts::chunk_size : 1);
    basic_task* const first = taken.pop_front();
    if (first == nullptr) return nullptr;
    slot_.stolen.add(1 + taken.size());
    std::array<basic_task*, local_posts::chunk_size> rest;
    std::size_t count = 0;
    while (basic_task* const task = taken.pop_front()) rest[count++] = task;
    put_into_run({rest.data(), count});
    return first;
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
