#include "sched/block/monitor.hpp"

#include "sched/block/stack_reader.hpp"
#include "sched/runtime/core.hpp"
#include "sched/worker/seat.hpp"

#include <fairlead/detail/os/barrier.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <system_error>
#include <utility>

namespace fairlead::sched {

void monitor::start() {
    const duration slice = core_.options.slice;
    const duration blocked = core_.report_after;
    reports_ = blocked != duration::zero();
    relieves_ = *core_.options.blocked_after != duration::zero() && os::has_heavy_barrier();
    if (slice == duration::zero() && !relieves_) return;
    pause_min_ =
        std::min((slice != duration::zero() ? slice : blocked) / looks_of_slice, pause_max);
    pause_ = pause_min_;
    seen_.assign(core_.width(), {});
    reported_.reserve(reported_max);
    ending_.store(false, sync::relaxed);  // the thread does not run yet
    auto started = os::start_thread(core_.options.name + "/monitor", [this] { run(); });
    if (!started) {
        throw std::system_error{started.error(), "fairlead: cannot start the monitor thread"};
    }
    thread_ = std::move(*started);
    watches_ = true;
}

void monitor::stop() noexcept {
    if (!thread_.joinable()) return;
    ending_.store(true, sync::relaxed);  // published by the signal
    wake_.send();
    thread_.join();
}

void monitor::run() noexcept {
    int idle = 0;
    while (!ending_.load(sync::relaxed)) {
        const time_point now = clock::now();
        idle = look(now) ? 0 : idle + 1;
        if (idle < idle_looks) {
            static_cast<void>(wake_.receive_until(next_look(now)));
        } else {
            sleep_if_all_do();
            idle = 0;
        }
    }
}

void monitor::sleep_if_all_do() noexcept {
    asleep_.exchange(true, sync::acq_rel);  // [MO1]
    const time_point limit = core_.idle.all_asleep() ? never : clock::now() + pause_max;
    static_cast<void>(wake_.receive_until(limit));
    asleep_.exchange(false, sync::acq_rel);
    pause_ = pause_max / 2;  // most steps are short
}

// Whether a worker runs a step.
bool monitor::look(time_point now) noexcept {
    bool some_run = false;
    bool some_are_long = false;
    sight* longest = nullptr;
    for (std::size_t i = 0; i != seen_.size(); ++i) {
        const slot& each = *core_.slots[i];
        sight& seen = seen_[i];
        const bool runs = each.owner.holder().step().name() != nullptr;
        const std::uint64_t step = each.finished.read();
        const std::uint64_t times_passed = each.owner.times_passed();
        some_run |= runs;
        if (!seen.look(runs, step, times_passed, now, core_.report_after)) continue;
        some_are_long = true;
        if (longest == nullptr || seen.since() < longest->since()) longest = &seen;
    }
    const bool somebody_is_due = core_.role.next_due() <= core_.now();
    pause_ = some_are_long || somebody_is_due ? pause_min_ : std::min(2 * pause_, pause_max);
    if (longest == nullptr) return some_run;
    if (core_.options.slice != duration::zero()) {
        // A sleeper that is due waits for the next safepoint, not for the end of the slice.
        if (somebody_is_due) ask(*longest);
        for (const sight& each : seen_) {
            if (now - each.since() >= core_.options.slice) ask(each);
        }
    }
    if (!reports_) return true;
    for (sight& each : seen_) {
        if (each.wants_answer(now)) look_at_long(each, now);
    }
    return true;
}

// A step that the kernel has preempted does not block: it could run, and a spare worker would not
// help. The kernel is asked twice, because a step may block for a moment.
void monitor::look_at_long(sight& step, time_point now) noexcept {
    const slot& of = slot_of(step);
    const bool blocked = os::is_blocked(of.owner.holder().thread_id());
    if (!step.answer(blocked, now, core_.report_after)) return;
    if (relieves_) {
        relieve(step);
    } else {
        report_in_place(step);
    }
}

// The stack is copied before the hand-over: if the step loses its slot, its worker has been in this
// step all the while, so the copy is of this step. The copy is unwound after the hand-over, when no
// task waits for the slot any more.
void monitor::relieve(sight& step) noexcept {
    slot& of = slot_of(step);
    if (!core_.handover.may_relieve(of)) return;
    const seat& stuck = of.owner.holder();
    const int thread = stuck.thread_id();
    const stack_reader* const reader = current_stack_reader();
    stack_copy stack;
    if (reader != nullptr && is_to_be_reported(stuck.step().name())) reader->copy(thread, stack);
    const char* const name = core_.handover.relieve(of, step.number(), step.times_passed());
    if (name == nullptr) return;
    step.forget();
    if (!is_to_be_reported(name)) return;
    std::array<void*, frames_max> frames;
    const std::size_t count = reader != nullptr ? reader->unwind(stack, frames) : 0;
    report({.name = name,
            .thread_id = thread,
            .keeps_slot = false,
            .stack = std::span{frames}.first(count)});
}

// The step keeps its slot: there is only one worker, or the system has no heavy barrier. The name
// and the stack are those of the step if the number is the same after the copy.
void monitor::report_in_place(const sight& step) noexcept {
    const slot& of = slot_of(step);
    const seat& stuck = of.owner.holder();
    const int thread = stuck.thread_id();
    const char* const name = stuck.step().name();
    if (name == nullptr || !is_to_be_reported(name)) return;
    const stack_reader* const reader = current_stack_reader();
    stack_copy stack;
    if (reader != nullptr) reader->copy(thread, stack);
    if (of.finished.read() != step.number()) return;
    std::array<void*, frames_max> frames;
    const std::size_t count = reader != nullptr ? reader->unwind(stack, frames) : 0;
    report({.name = name,
            .thread_id = thread,
            .keeps_slot = true,
            .stack = std::span{frames}.first(count)});
}

// Each name is reported once, and `reported_max` names at most.
bool monitor::is_to_be_reported(const char* name) const noexcept {
    return reported_.size() != reported_.capacity() &&
           std::ranges::find(reported_, name) == reported_.end();
}

void monitor::report(const blocked_step& step) noexcept {
    reported_.push_back(step.name);
    if (core_.options.on_blocked != nullptr) return core_.options.on_blocked(step);
    step.print(stderr);
}

slot& monitor::slot_of(const sight& step) const noexcept {
    return *core_.slots[static_cast<std::size_t>(&step - seen_.data())];
}

void monitor::ask(const sight& step) noexcept {
    slot_of(step).asked_to_yield.store(step.number(), sync::relaxed);  // a hint
}

// At the next deadline, as far as the limits of the pause allow: while all workers are in steps, no
// other thread looks at deadlines.
time_point monitor::next_look(time_point now) const noexcept {
    const time_point due = core_.role.next_due();
    if (due == never) return now + pause_;
    const duration until_due = due - core_.now();
    return now + std::clamp(until_due, std::min(pause_min_, pause_), pause_);
}

}  // namespace fairlead::sched
