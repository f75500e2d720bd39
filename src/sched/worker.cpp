#include "sched/worker.hpp"

#include "sched/core.hpp"
#include "sched/task_access.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace fairlead::sched {

// --- the loop -----------------------------------------------------------------------------------------

void worker::run() noexcept {
    of_thread::set(this);
    thread_id_.store(os::thread_id(), sync::relaxed);  // a hint
    if (is_spare_) begin_at_slot_of_another();
    // acquire: pairs with the store in stop, so that everything before the stop is visible.
    while (!core_.halting.load(sync::acquire)) {
        basic_task* task = next();
        if (task == nullptr) task = search();
        if (task != nullptr && !execute(*task)) break;
    }
    if (!away_) end_lease();
    of_thread::set(nullptr);
    if (!away_) slot_.held.store(false, sync::release);  // pairs with workers_ended()
    ended_.store(true, sync::release);                   // pairs with ended()
    if (!away_) core_.worker_left();
    if (is_spare_) core_.handover.rest(*this);  // the last touch
}

// False: the step has lost the slot of its worker.
[[gnu::always_inline]] inline bool worker::execute(basic_task& task) noexcept {
    // acquire: pairs with stop.
    if (core_.steps_need_more.load(sync::acquire)) [[unlikely]]
        return execute_with_more(task);
    begin_step(task);
    task_access::run(task);  // the last touch of the task
    if (!is_back()) [[unlikely]]
        return end_away(core_);
    end_step();
    return true;
}

// It may have to be told of a stop, and its group to be charged.
[[gnu::noinline]] bool worker::execute_with_more(basic_task& task) noexcept {
    home& of = task_access::home_of(task);
    const bool leased = begin_in_lease(of);
    if (!leased && (of.grouped() || core_.role.turns().are_given())) begin_measuring();
    // acquire: pairs with stop.
    const bool stopping = core_.stopping.load(sync::acquire);
    begin_step(task, stopping);
    if (!task_access::has_permit(task) || leave_queue(task, of)) task_access::run(task);
    if (!is_back()) return end_away(of);
    if (leased) {
        end_in_lease();
    } else if (of.grouped() || core_.role.turns().are_given()) {
        account(core_.role.turns().group_of(of));
    }
    end_step();
    return true;
}

// The first step of a task that was posted with a permit. False: it has been dropped, and is its owner's again.
[[gnu::noinline]] bool worker::leave_queue(basic_task& task, home& of) noexcept {
    const bool dropped = task_access::is_dropped(task);
    task_access::leave_queue(task);
    if (dropped) {
        task_access::abandon(task);
        return false;
    }
    static_cast<group_state&>(of).permits.give_back();  // within the step: who waits may be posted
    return true;
}

[[gnu::always_inline]] inline void worker::begin_step(basic_task& task, bool stopping) noexcept {
    FAIRLEAD_ASSERT(slot_.next == nullptr, "a task is hidden behind a step");
    const char* const name = task.name();  // the task can be gone when it is asked for
    slot_.offers.begin_step(task.depth());
    running_ = &task;
    task_access::begin_step(task);
    if (stopping) task_access::tell_stop(task, core_.role.stop_number());
    trace("step", &task);
    // Last: from now on the slot can be taken. Pairs with step_name.
    step_name_.store(name, sync::release);
}

// Its step has ended: whether it holds its slot still.
[[gnu::always_inline]] inline bool worker::is_back() noexcept {
    step_name_.store(nullptr, sync::relaxed);
    sync::light_barrier();  // [HO1]
    return !relieved_.load(sync::acquire) || still_has_slot();
}

[[gnu::always_inline]] inline void worker::end_step() noexcept {
    slot_.finished.add(1);  // after what the step posted: see role::drained
    if (slot_.overtakes_since != never) [[unlikely]]
        core_.role.end_overtaking(slot_);
    trace("finished");
}

// What lies between two steps is counted with the second; but not what this worker did before it knew of these turns.
void worker::begin_measuring() noexcept {
    const std::uint32_t number = core_.role.turns().number();
    if (slot_.measured_in == number) return;
    slot_.measured_in = number;
    slot_.measured_from = core_.now();
}

// The time since it was read last, to be charged.
duration worker::time_used() noexcept {
    const std::uint32_t number = core_.role.turns().number();
    const time_point now = core_.now();
    const bool measured = lease_.is_open() || slot_.measured_in == number;
    const duration used = measured ? now - slot_.measured_from : duration::zero();
    slot_.measured_in = number;
    slot_.measured_from = now;
    return used;
}

// Of a group, or while turns are given.
void worker::account(group_state& group) noexcept {
    group.charge(time_used());
    const std::uint32_t number = slot_.measured_in;
    const time_point now = slot_.measured_from;
    if (slot_.turn.number != number || slot_.turn.until <= now) steps_to_look_ = 1;
    // Who takes one of its forks holds the group and counts a step of it before this one ends.
    if (group.grouped()) slot_.offers.end_forking();
    const bool waited_for = group.end_step();
    if (!group.grouped()) return;
    if (waited_for) core_.notice(group);
    group.let_task_go();
}

// What the last steps posted, as far as the lease lets it run without a round: only so many in a row.
[[gnu::noinline]] basic_task* worker::take_leased_posts() noexcept {
    const bool of_group = lease_.is_of_group();
    const lane from = of_group ? lane::groups : lane::everyone;
    basic_task* task = nullptr;
    while (task == nullptr && direct_left_ != 0 && slot_.outbox.posts(from) <= direct_left_ &&
           slot_.outbox.has_leased(lease_.tasks()) && lease_goes_on()) {
        if (!slot_.outbox.is_leased_due(lease_.tasks())) {
            if (!core_.role.try_acquire()) return nullptr;
            task = admit_leased_posts(from);
            continue;
        }
        const std::uint64_t before = slot_.direct.value();
        task = alone_ ? take_due_posts(false, from) : take_due_posts(true, from);
        if (task == nullptr) return nullptr;
        if (alone_) --direct_left_;
        if (of_group) lease_.begin_steps(slot_.direct.value() - before);
    }
    return task;
}

// What the role puts to sleep, or takes from the sleepers. With the role, which it gives back.
basic_task* worker::admit_leased_posts(lane from) noexcept {
    trace("begin_own");
    const basic_task::chain taken = slot_.outbox.take(from);
    direct_left_ -= std::min(direct_left_, static_cast<unsigned>(taken.size()));
    const admitted run = admit_into_run(taken);
    trace("deal_own", std::size_t{0});
    if (lease_.is_of_group() && run.first != nullptr) lease_.begin_steps(1 + run.behind);
    release_after_own_posts();
    return run.first;
}

// The next task without sleeping, or null.
[[gnu::always_inline]] inline basic_task* worker::next() noexcept {
    if (core_.role.wants_attention() && --steps_to_look_ == 0) look_at_clock();
    return look();
}

// Looks everywhere for a task, in order of age: the own run, ready, the front, others' runs. With
// policy::stealing what its own steps posted comes first.
[[gnu::always_inline]] inline basic_task* worker::look() noexcept {
    if (slot_.next != nullptr) return std::exchange(slot_.next, nullptr);
    if (slot_.outbox.steals()) {
        if (basic_task* const task = take_open()) return task;
    }
    if (basic_task* const task = slot_.runs.pop()) return task;
    if (lease_.is_open()) [[unlikely]] {
        if (basic_task* const task = take_leased_posts()) return task;
    }
    if (!alone_) return look_beside_others();
    basic_task* const own = take_own_posts(false);
    return own != nullptr ? own : look_elsewhere();
}

[[gnu::noinline]] basic_task* worker::look_beside_others() noexcept {
    basic_task* task = time_to_look_for_stuck() ? take_over_stuck() : nullptr;
    if (task == nullptr) {
        if (basic_task* const own = take_own_posts(true)) return own;
        task = look_elsewhere();
    }
    // It turns to something else than the post that it has kept.
    if (task != nullptr && !slot_.outbox.empty()) core_.see_to(wake_duty::watch);
    return task;
}

basic_task* worker::look_elsewhere() noexcept {
    if (basic_task* const task = claim()) return task;
    if (core_.arrivals_visible(slot_) &&
        round_if_free(searches_ ? occasion::searching : occasion::working)) {
        if (slot_.next != nullptr) return std::exchange(slot_.next, nullptr);
        if (basic_task* const task = claim()) return task;
    }
    return alone_ ? nullptr : steal();
}

// Nothing to do: looks again as a searcher, and sleeps. Null: the scheduler halts.
basic_task* worker::search() noexcept {
    end_lease();
    core_.idle.begin_search();
    searches_ = true;
    slot_.measured_in = 0;
    basic_task* task = look();
    if (task == nullptr && core_.options.spin != duration::zero()) spin();
    while (task == nullptr && !core_.halting.load(sync::acquire)) {
        task = look();
        if (task == nullptr) sleep();
    }
    searches_ = false;
    // Others relied on this searcher. If it was the last one, what is left needs another.
    if (core_.idle.end_search()) wake_another();
    return task;
}

// --- where tasks come from --------------------------------------------------------------------------

// Of what the last steps posted: whether it needs no round, and nothing that is known to wait is older.
bool worker::own_posts_are_next() const noexcept {
    return slot_.outbox.kind() <= post_kind::sleeps && slot_.ready_consumer.empty() &&
           core_.inbox.empty(lane::everyone) && !core_.role.has_backlog();
}

// What the last steps posted, if nothing older is known to wait: it needs no round then, unless it has a
// deadline or a source. Null also if a round of another worker was faster.
//
// It is compiled for an outbox that is shared and for one that is not: between two steps every
// instruction counts.
[[gnu::always_inline]] inline basic_task* worker::take_own_posts(bool shared) noexcept {
    slot_.outbox.assume_shared(shared);
    if (slot_.outbox.empty(lane::everyone) || !own_posts_are_next()) return nullptr;
    if (shared && older_posts_come_first()) return nullptr;
    slot_.outbox.assume_shared(shared);
    if (slot_.outbox.is_due()) return take_due_posts(shared);
    return shared ? admit_own_posts<true>() : admit_own_posts<false>();
}

// A worker takes only so many of its own in a row, so that what others posted meanwhile has its
// turn. While steps are long what another worker keeps since an earlier step is older, by much: then
// a round takes all of it, of this worker or of the holder of the role.
bool worker::older_posts_come_first() const noexcept {
    return slot_.outbox.posts() > direct_left_ || (steps_are_long() && others_keep_older_posts());
}

bool worker::others_keep_older_posts() const noexcept {
    return std::any_of(core_.slots.begin(), core_.slots.end(), [this](const auto& each) {
        return each.get() != &slot_ && each->outbox.has_older_posts(each->finished);
    });
}

[[gnu::always_inline]] inline basic_task* worker::take_due_posts(bool shared, lane from) noexcept {
    slot_.direct.add(1);  // before they disappear: see role::drained
    slot_.outbox.assume_shared(shared);
    basic_task::chain taken = slot_.outbox.take(from);
    trace(shared ? "take_own" : "take_one", taken);
    basic_task* const first = taken.pop_front();
    if (first == nullptr) {
        slot_.direct.publish(slot_.direct.value() - 1);
        return nullptr;
    }
    task_access::set_expired(*first, true);
    if (shared) --direct_left_;
    if (!taken.empty()) put_due_into_run(taken);
    return first;
}

void worker::put_due_into_run(basic_task::chain tasks) noexcept {
    slot_.direct.add(tasks.size());  // before they can run
    direct_left_ -= static_cast<unsigned>(tasks.size());
    std::array<basic_task*, run_queue::capacity> rest;
    std::size_t count = 0;
    while (basic_task* const task = tasks.pop_front()) {
        task_access::set_expired(*task, true);
        rest[count++] = task;
    }
    put_into_run({rest.data(), count});
}

// The first that is to run; what else is to run goes to the run.
[[gnu::always_inline]] inline worker::admitted worker::admit_into_run(
    basic_task::chain tasks) noexcept {
    basic_task* first = nullptr;
    std::array<basic_task*, run_queue::capacity> behind;
    std::size_t count = 0;
    while (basic_task* const task = tasks.pop_front()) {
        if (!core_.role.admit_one(*task)) continue;
        if (first == nullptr) {
            first = task;
        } else {
            behind[count++] = task;
        }
    }
    if (count != 0) slot_.runs.push({behind.data(), count});
    return {first, count};
}

// Up to the first that is to run, and what `take` gives with it. The tasks behind it in a list may be
// woken before it is their turn to sleep.
template <bool Shared>
[[gnu::noinline]] basic_task* worker::admit_own_posts() noexcept {
    if (!core_.role.try_acquire()) return nullptr;
    // The worker that had it before may have left something older.
    if (Shared && (core_.role.has_backlog() || !slot_.ready_consumer.empty())) {
        release_after_own_posts();
        return nullptr;
    }
    trace("begin_own");
    basic_task* first = nullptr;
    for (unsigned left = Shared ? 1 : direct_max; left != 0 && first == nullptr; --left) {
        slot_.outbox.assume_shared(Shared);
        basic_task::chain taken = slot_.outbox.take();
        if (taken.empty()) break;
        if (Shared) direct_left_ -= static_cast<unsigned>(taken.size());
        if constexpr (Shared) {
            first = admit_into_run(taken).first;
        } else {
            basic_task* const task = taken.pop_front();
            if (core_.role.admit_one(*task)) first = task;
        }
    }
    trace("deal_own", std::size_t{0});
    release_after_own_posts();
    return first;
}

// While turns are given it is the role that takes tasks from ready.
basic_task* worker::claim() noexcept {
    if (core_.role.turns().are_given()) return nullptr;
    std::array<basic_task*, claim_max> out;
    const std::size_t visible = slot_.ready_consumer.visible();
    const std::size_t share = std::max<std::size_t>(core_.share_of(visible), 1);
    const std::size_t wanted = std::min<std::size_t>(share, claim_max);
    const std::size_t count = slot_.ready_consumer.claim({out.data(), wanted});
    if (count == 0) return nullptr;
    trace("claim", std::span{out.data(), count});
    put_into_run({out.data() + 1, count - 1});
    return out[0];
}

// Puts tasks that this worker took into its run. In between nobody saw them: who went to sleep because
// of that is woken.
void worker::put_into_run(std::span<basic_task* const> tasks) noexcept {
    if (tasks.empty()) return;
    slot_.runs.push(tasks);
    core_.see_to(wake_duty::wake);
}

// --- the role -----------------------------------------------------------------------------------------

// Events are served within `round_interval` even when no run ever empties; deadlines at once, as it is known when they
// have come.
void worker::look_at_clock() noexcept {
    const time_point now = core_.now();
    // Steps are short: look less often, up to every stride_max steps. One is long: look at each, and after one that is
    // short among these.
    const bool were_short =
        std::exchange(short_steps_, now - last_look_ <= core_.options.round_interval / 64);
    const bool short_steps = were_short && short_steps_;
    stride_ = short_steps ? std::min(stride_ * 2, stride_max) : 1;
    steps_to_look_ = stride_;
    last_look_ = now;
    // Turns are short: between two of them groups have no wish that could not wait.
    const bool groups_want = core_.role.turns().are_given()
                                 ? slot_.turn.until <= now
                                 : core_.has_groups() && (core_.inbox.has_grouped() ||
                                                          core_.role.turns().has_noticed() ||
                                                          !slot_.outbox.empty(lane::groups));
    // Nobody else knows of their deadlines, which may come before the run is empty.
    const bool posts_want = !short_steps && has_timed_posts();
    if (!groups_want && !posts_want && !core_.role.wants_round_for_deadlines(now) &&
        now - core_.role.last_timed_round() < core_.options.round_interval) {
        return;
    }
    round_if_free();
    if (slot_.overtakes_since != never) return;
    open_turn_ = open_turns;  // for what it has found, at once
    size_at_turn_ = SIZE_MAX;
}

bool worker::has_timed_posts() const noexcept {
    return !slot_.outbox.empty(lane::everyone) && slot_.outbox.kind() > post_kind::sleeps;
}

bool worker::round_if_free(occasion why) noexcept {
    if (!core_.role.seems_free() || !core_.role.try_acquire()) return false;
    end_lease();
    core_.role.round(slot_, why);
    direct_left_ = direct_max;
    release_role();
    return true;
}

// Wakes after the release, always: another worker may have failed to get the role a moment before,
// and gone to sleep [RL1].
inline void worker::release_role() noexcept {
    if (alone_) return core_.role.release_alone();
    core_.role.release();
    wake_another();
}

// No round: nothing has gone to ready, and what has gone to the run is ordered by [ID2]. So the look for
// sleepers is a load; a worker that has failed to get the role is seen [RL1].
inline void worker::release_after_own_posts() noexcept {
    if (alone_) return core_.role.release_alone();
    core_.role.release();
    if (core_.idle.has_sleepers()) wake_another();
}

// Wakes another worker if there is more to do than this one will: tasks for it, or the duty to sleep
// on deadlines and events.
void worker::wake_another() noexcept {
    if (alone_) return;
    if (core_.nobody_waits() || core_.work_visible(slot_, done_by::anybody)) core_.idle.wake_one();
    if (core_.role.turns().some_wait_bound()) wake_bound();
}

// Each of those for whom groups wait that nobody else may serve. It may have failed to get the role a moment ago [RL1].
[[gnu::noinline]] void worker::wake_bound() noexcept {
    for (const auto& each : core_.slots) {
        if (each.get() != &slot_ && each->has_bound_work()) core_.idle.wake(each->index);
    }
}

// --- running without a thread ---------------------------------------------------------------------------

// A round admits only so many: what is ready may stand behind thousands that go to sleep.
basic_task* worker::next_behind_arrivals() noexcept {
    basic_task* task = next();
    // Who is due may have been left for later, as others stood in line.
    const auto is_due = [this] {
        return core_.role.next_due() != never && core_.role.next_due() <= core_.now();
    };
    while (task == nullptr && (core_.arrivals_visible(slot_) || (is_due() && round_if_free()))) {
        task = next();
    }
    return task;
}

bool worker::should_yield() noexcept {
    if (relieved_.load(sync::relaxed)) return true;
    const std::uint64_t step = slot_.finished.value();
    if (!core_.options.run_on_caller) return slot_.asked_to_yield.load(sync::relaxed) == step;
    if (core_.options.slice == duration::zero()) return false;
    const time_point now = core_.now();
    if (std::exchange(asked_in_step_, step) != step) asked_first_ = now;
    return now - asked_first_ >= core_.options.slice;
}

[[gnu::noinline]] std::size_t worker::run_ready(time_point limit, std::size_t steps_max) noexcept {
    worker* const outer = current();
    FAIRLEAD_ASSERT(outer != this, "a scheduler was run from a task of its own");
    of_thread::set(this);
    slot_.measured_in = 0;
    if (in_loop_) return_from_loop();
    basic_task* task = next_behind_arrivals();
    if (task == nullptr) {
        core_.idle.begin_search();
        static_cast<void>(sleep_in_driver(limit));
        static_cast<void>(core_.idle.end_search());
        slot_.measured_in = 0;
        task = next_behind_arrivals();
    }
    std::size_t steps = 0;
    while (task != nullptr) {
        static_cast<void>(execute(*task));  // nobody takes its slot
        if (++steps == steps_max) break;
        task = next_behind_arrivals();
    }
    end_lease();
    of_thread::set(outer);
    return steps;
}

}  // namespace fairlead::sched
