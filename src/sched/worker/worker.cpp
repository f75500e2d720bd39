#include "sched/worker/worker.hpp"

#include "sched/runtime/core.hpp"
#include "sched/task/task_access.hpp"

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/os/thread.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::sched {

worker::worker(core& owner, slot& own, bool is_spare)
    : seat_{*this,
            owner,
            own,
            charges_,
            looks_,
            !own.outbox.is_shared() && !own.outbox.steals() &&
                *owner.options.blocked_after == duration::zero()},
      core_{owner},
      slot_{own},
      is_spare_{is_spare},
      alone_{owner.options.workers == 1},
      claim_min_{std::max<std::size_t>(owner.options.workers / 8, 1)},
      stuck_{owner.options.workers, own.index, own.outbox.steals()} {
    seat_.set_home(owner);
}

// --- the thread ----------------------------------------------------------------------------------

void worker::start() {
    // Relaxed: the thread does not run yet.
    ended_.store(false, sync::relaxed);
    slot_.in_loop.store(true, sync::relaxed);
    core_.running_workers.fetch_add(1, sync::relaxed);
    try {
        auto started =
            os::start_thread(core_.options.name + "/" + std::to_string(index()), [this] { run(); });
        if (!started) {
            throw std::system_error{started.error(), "fairlead: cannot start a worker thread"};
        }
        thread_ = std::move(*started);
    } catch (...) {
        ended_.store(true, sync::relaxed);
        slot_.in_loop.store(false, sync::relaxed);
        core_.running_workers.fetch_sub(1, sync::relaxed);  // the caller joins the other workers
        throw;
    }
}

[[gnu::hot]] void worker::run() noexcept {
    of_thread::set(this);
    seat_.set_thread_id(os::thread_id());
    if (is_spare_) begin_at_slot_of_another();
    // acquire: pairs with the store in stop, so that everything before the stop is visible.
    while (!core_.halting.load(sync::acquire)) {
        basic_task* task = next();
        if (task == nullptr) task = search();
        if (task != nullptr && !execute(*task)) break;
    }
    const bool had_slot = seat_.has_slot();
    if (had_slot) charges_.end_lease();
    of_thread::set(nullptr);
    if (had_slot) slot_.in_loop.store(false, sync::release);  // pairs with workers_ended()
    ended_.store(true, sync::release);                        // pairs with ended()
    if (had_slot) core_.worker_left();
    if (is_spare_) core_.handover.rest(*this);  // the last touch
}

// Where another was in the middle of a step.
void worker::begin_at_slot_of_another() noexcept {
    const bool has_it = core_.handover.keeps_slot(seat_);  // after the thread that passes it on
    FAIRLEAD_ASSERT(has_it, "a spare worker began without a slot");
    charges_.forget_time();
    slot_.has_open_lease.store(false, sync::release);  // the lease is the other worker's
    slot_.asked_to_yield.store(~std::uint64_t{0}, sync::relaxed);  // a hint
    if (slot_.overtakes_since != never) core_.role.overtaking().end(slot_, core_.now());
}

// --- a step --------------------------------------------------------------------------------------

// False: the step has lost the slot of its worker.
[[gnu::always_inline]] inline bool worker::execute(basic_task& task) noexcept {
    // acquire: pairs with stop.
    if (core_.steps_need_more.load(sync::acquire)) [[unlikely]]
        return execute_with_more(task);
    begin_step(task);
    task_access::run(task);  // the last touch of the task
    if (!seat_.is_back()) [[unlikely]]
        return end_away(core_);
    end_step();
    return true;
}

// It may have to be told of a stop, and its group to be charged.
[[gnu::noinline, gnu::hot]] bool worker::execute_with_more(basic_task& task) noexcept {
    home& of = task_access::home_of(task);
    seat_.set_home(of);
    const bool leased = charges_.begin_step(of);
    const bool stopping = core_.stopping.load(sync::acquire);  // pairs with stop
    begin_step(task, stopping);
    if (!task_access::has_permit(task) || leave_queue(task, of)) task_access::run(task);
    if (!seat_.is_back()) return end_away(of);
    charges_.end_step(of, leased);
    end_step();
    return true;
}

// The first step of a task that was posted with a permit. False: it has been dropped, and is its
// owner's again.
[[gnu::noinline]] bool worker::leave_queue(basic_task& task, home& of) noexcept {
    const bool dropped = task_access::is_dropped(task);
    task_access::leave_queue(task);
    if (dropped) {
        task_access::abandon(task);
        return false;
    }
    // Within the step: this may post a waiting task.
    static_cast<group_state&>(of).permits.give_back();
    return true;
}

[[gnu::always_inline]] inline void worker::begin_step(basic_task& task, bool stopping) noexcept {
    const char* const name = task.name();  // the task can be gone when it is asked for
    seat_.begin_step(task);
    task_access::begin_step(task);
    if (stopping) task_access::tell_stop(task, core_.role.stop_number());
    trace("step", &task);
    seat_.show(name);  // last: from now on the slot can be taken
}

[[gnu::always_inline]] inline void worker::end_step() noexcept {
    slot_.finished.add(1);  // after what the step posted: see role::drained
    if (slot_.overtakes_since != never) [[unlikely]]
        core_.role.overtaking().end(slot_, core_.now());
    trace("finished");
}

// The step has ended, and another worker has the slot.
[[gnu::noinline]] bool worker::end_away(home& of) noexcept {
    if (of.grouped()) seat_.end_away();
    charges_.end_away(of);
    core_.handover.end_step(*this);
    return false;
}

bool worker::should_yield() noexcept {
    if (!seat_.is_sure()) return true;
    const std::uint64_t step = slot_.finished.value();
    if (!core_.options.run_on_caller) return slot_.asked_to_yield.load(sync::relaxed) == step;
    if (core_.options.slice == duration::zero()) return false;
    const time_point now = core_.now();
    if (std::exchange(asked_in_step_, step) != step) asked_first_ = now;
    return now - asked_first_ >= core_.options.slice;
}

// --- the next task -------------------------------------------------------------------------------

// The next task without sleeping, or null.
[[gnu::always_inline]] inline basic_task* worker::next() noexcept {
    if (core_.role.wants_attention() && looks_.is_due()) look_at_clock();
    return look();
}

// Looks everywhere for a task: `next`; with policy::stealing its deque; its run; its own posts, if
// nothing older is known to wait; ready; by a round; at the slots of other workers.
[[gnu::always_inline]] inline basic_task* worker::look() noexcept {
    if (slot_.next != nullptr) return std::exchange(slot_.next, nullptr);
    if (basic_task* const task = slot_.outbox.steals() ? take_open() : nullptr) return task;
    if (basic_task* const task = slot_.runs.pop()) return task;
    if (charges_.turn_lease().is_open()) [[unlikely]] {
        basic_task* const task = alone_ ? own_.take_leased<false>() : own_.take_leased<true>();
        if (task != nullptr) return task;
    }
    if (!alone_) return look_beside_others();
    basic_task* const own = own_.take(false);
    return own != nullptr ? own : look_elsewhere();
}

[[gnu::noinline, gnu::hot]] basic_task* worker::look_beside_others() noexcept {
    basic_task* task = stuck_.is_due(slot_.finished.value()) ? take_over_stuck() : nullptr;
    if (task == nullptr) {
        if (basic_task* const own = own_.take(true)) return own;
        task = claim();
        // What was in ready, and older, other workers have claimed meanwhile.
        if (task == nullptr) {
            if (basic_task* const own = own_.take(true)) return own;
            task = look_elsewhere();
        }
    }
    // It turns to something else than the post that it has kept.
    if (task != nullptr && !slot_.outbox.empty()) core_.see_to(wake_duty::watch);
    return task;
}

[[gnu::noinline]] basic_task* worker::look_elsewhere() noexcept {
    if (basic_task* const task = claim()) return task;
    if (core_.arrivals_visible(slot_) &&
        round_if_free(searches_ ? occasion::searching : occasion::working)) {
        if (slot_.next != nullptr) return std::exchange(slot_.next, nullptr);
        if (basic_task* const task = claim()) return task;
    }
    return alone_ ? nullptr : thief_.steal();
}

// Nothing to do: looks again as a searcher, and sleeps. Null: the scheduler halts.
basic_task* worker::search() noexcept {
    charges_.end_lease();
    core_.idle.begin_search();
    searches_ = true;
    charges_.forget_time();
    basic_task* task = look();
    if (task == nullptr && core_.options.spin != duration::zero()) sleeper_.spin();
    while (task == nullptr && !core_.halting.load(sync::acquire)) {
        task = look();
        if (task == nullptr && sleeper_.sleep())
            round_if_free(occasion::rescuing);  // if it is not free, after the next watch
    }
    searches_ = false;
    // Threads that post relied on this searcher. If it was the last, what is left needs another.
    if (core_.idle.end_search()) core_.wake_another(slot_);
    return task;
}

// While turns are given the role takes the tasks from ready. A claim waits for the cache line that
// the last claim has, so many workers take more than a small share; thieves take the excess.
[[gnu::noinline]] basic_task* worker::claim() noexcept {
    if (core_.role.turns().are_given()) return nullptr;
    std::array<basic_task*, core::claim_max> out;
    const std::size_t visible = slot_.ready_consumer.visible();
    const std::size_t share = std::max(core_.share_of(visible), claim_min_);
    const std::size_t count = slot_.ready_consumer.claim({out.data(), std::min(share, out.size())});
    if (count == 0) return nullptr;
    trace("claim", std::span{out.data(), count});
    core_.put_into_run(slot_, {out.data() + 1, count - 1});
    return out[0];
}

// With policy::stealing: what steps here posted.
[[gnu::noinline]] basic_task* worker::take_open() noexcept {
    if (!slot_.outbox.has_open()) return nullptr;
    local_posts& posts = slot_.outbox.local();
    if (turns_.is_due()) {
        basic_task* task = nullptr;
        switch (turns_.next(core_.now(), core_.options.round_interval, posts.size())) {
            case deque_turns::turn::newest:
                break;
            case deque_turns::turn::oldest:
                task = posts.steal(1).front();
                break;
            case deque_turns::turn::elsewhere:
                task = take_from_elsewhere();
                break;
        }
        if (task != nullptr) return task;
    }
    if (basic_task* const task = posts.pop()) return task;
    if (core_.role.turns().are_given()) {
        own_.give_oldest_to_role(local_posts::chunk_size);
        return nullptr;
    }
    basic_task* const task = posts.take_back();
    if (task != nullptr) core_.see_to(wake_duty::wake);
    return task;
}

basic_task* worker::take_from_elsewhere() noexcept {
    // Before the run, which may be long.
    if (!alone_ && stuck_.is_due(slot_.finished.value())) {
        if (basic_task* const task = take_over_stuck()) return task;
    }
    if (core_.arrivals_visible(slot_)) round_if_free(occasion::in_turn);
    if (slot_.next != nullptr) return std::exchange(slot_.next, nullptr);
    if (basic_task* const task = slot_.runs.pop()) return task;
    return claim();
}

[[gnu::noinline]] basic_task* worker::take_over_stuck() noexcept {
    const auto [victim, some_keep_posts] = stuck_.find(core_.slots, slot_);
    // If the role is not free, or the round gives a task, the next look sees to what is left.
    const bool wants_round = some_keep_posts || core_.inbox.has_behind();
    const bool steals = victim != nullptr && stuck_.stands_back(found_by::round);
    basic_task* task = nullptr;
    if (wants_round && !steals && round_if_free(occasion::rescuing)) {
        task = std::exchange(slot_.next, nullptr);
        if (task != nullptr) stuck_.had_turn(found_by::round);
    }
    if (task == nullptr && victim != nullptr) task = thief_.steal_from(*victim);
    if (task != nullptr) stuck_.had_turn();
    return task;
}

// --- the role ------------------------------------------------------------------------------------

// Events are served within `round_interval` even if no run ever empties; deadlines mostly at once.
void worker::look_at_clock() noexcept {
    if (slot_.next != nullptr) return looks_.be_due_next();  // of a round before: it runs first
    const time_point now = core_.now();
    const bool short_steps = looks_.look(now, core_.options.round_interval / 64);
    // No other worker knows of their deadlines, which may come before the run is empty.
    const bool posts_want = !short_steps && !slot_.outbox.empty(lane::everyone) &&
                            slot_.outbox.kind() > post_kind::sleeps;
    if (!groups_want_round(now) && !posts_want && !core_.role.wants_round_for_deadlines(now) &&
        now - core_.role.last_timed_round() < core_.options.round_interval) {
        return;
    }
    FAIRLEAD_ASSERT(slot_.next == nullptr, "a worker looks for a task although it has one");
    const std::uint64_t step = slot_.finished.value();
    const bool gives = looks_.may_give(step);
    const duration interval = core_.options.round_interval;
    if (gives && !alone_ && stuck_.is_due(now, interval)) slot_.next = take_over_stuck();
    const bool found = slot_.next != nullptr;
    if (!found) {
        if (slot_.outbox.has_open() && core_.role.turns().are_given()) own_.give_oldest_to_role(1);
        round_if_free(gives ? occasion::working : occasion::in_turn);
    } else if (!slot_.outbox.empty()) {
        core_.see_to(wake_duty::watch);
    }
    if (found || slot_.overtakes_since != never) looks_.gave(step);
    if (slot_.overtakes_since == never) turns_.hurry();  // for what the round may have found
}

// Turns are short: between two of them groups have no wish that could not wait.
bool worker::groups_want_round(time_point now) const noexcept {
    if (core_.role.turns().are_given()) return slot_.turn.until <= now;
    return core_.has_groups() && (core_.inbox.has_grouped() || core_.role.turns().has_noticed() ||
                                  !slot_.outbox.empty(lane::groups));
}

// Wakes after the release: another worker may have failed to get the role, and gone to sleep [RL1].
bool worker::round_if_free(occasion why) noexcept {
    if (!core_.role.seems_free() || !core_.role.try_acquire()) return false;
    charges_.end_lease();
    core_.role.round(slot_, why);
    own_.begin_anew();
    if (alone_) {
        core_.role.release_alone();
    } else {
        core_.role.release();
        core_.wake_another(slot_);
    }
    return true;
}

// --- running without a thread --------------------------------------------------------------------

// A round admits only so many: what is ready may stand behind thousands that go to sleep.
[[gnu::hot]] basic_task* worker::next_behind_arrivals() noexcept {
    basic_task* task = next();
    // A sleeper that is due may have been left for later, as tasks stood in line.
    const auto is_due = [this] {
        return core_.role.next_due() != never && core_.role.next_due() <= core_.now();
    };
    while (task == nullptr && (core_.arrivals_visible(slot_) || (is_due() && round_if_free()))) {
        task = next();
    }
    return task;
}

[[gnu::noinline, gnu::hot]] std::size_t worker::run_ready(time_point limit,
                                                          std::size_t steps_max) noexcept {
    worker* const outer = current();
    FAIRLEAD_ASSERT(outer != this, "a scheduler was run from a task of its own");
    of_thread::set(this);
    charges_.forget_time();
    if (sleeper_.is_in_loop()) sleeper_.return_from_loop();
    basic_task* task = next_behind_arrivals();
    if (task == nullptr) {
        core_.idle.begin_search();
        static_cast<void>(sleeper_.sleep_in_driver(limit));
        static_cast<void>(core_.idle.end_search());
        charges_.forget_time();
        task = next_behind_arrivals();
    }
    std::size_t steps = 0;
    while (task != nullptr) {
        static_cast<void>(execute(*task));  // no thread takes its slot
        if (++steps == steps_max) break;
        task = next_behind_arrivals();
    }
    if (slot_.outbox.has_open() && core_.role.turns().are_given()) own_.give_oldest_to_role(1);
    charges_.end_lease();
    of_thread::set(outer);
    return steps;
}

}  // namespace fairlead::sched
