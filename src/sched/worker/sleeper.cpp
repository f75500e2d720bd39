#include "sched/worker/sleeper.hpp"

#include "sched/runtime/core.hpp"

#include <fairlead/detail/os/cpu.hpp>

namespace fairlead::sched {

sleeper::sleeper(core& in, slot& own, thief& thief)
    : core_{in}, slot_{own}, watch_{in, own, thief} {}

void sleeper::spin() noexcept {
    const time_point until = clock::now() + core_.options.spin;
    while (!core_.work_visible(slot_) && !core_.nobody_waits() &&
           !core_.drain_wanted.load(sync::relaxed) && !core_.halting.load(sync::relaxed)) {
        for (int i = 0; i != relaxed_between_looks; ++i) os::relax();
        if (clock::now() >= until) return;
    }
}

bool sleeper::sleep() noexcept {
    const time_point limit = watch_.begin();
    if (!sleep_in_driver(limit)) park(limit);
    core_.monitor.notice_awake();
    return limit != never && watch_.end();
}

// --- in the driver -------------------------------------------------------------------------------

// Runs a round. Then takes the driver, if it is free and the round left no task, to wait until
// `limit` at most. A worker that has entered it waits if it `stays`, and leaves it. It has the role
// until the sleep is planned: a round that adds an earlier deadline comes before, or hurries it.
sleeper::in_driver sleeper::enter_driver(time_point limit) noexcept {
    if (!core_.role.try_acquire()) return in_driver::not_entered;
    core_.role.round(slot_, occasion::sleeping);
    slot_.outbox.begin_anew();
    // The only worker may have run enough for a foreign main loop, and have posts in its deque.
    const bool found = slot_.next != nullptr || !slot_.runs.empty() || slot_.outbox.has_open();
    const bool entered = !found && core_.idle.enter_driver(slot_.index);
    // What the last wait collected must be polled before the next. Asked with the role: after the
    // release another round may have taken the wish of that wait, and not polled yet.
    const bool polled = !core_.role.has_backlog();
    if (entered) core_.role.plan_sleep(limit);
    core_.role.release();
    core_.wake_another(slot_);  // after the release [RL1]
    if (!entered) return found ? in_driver::found_task : in_driver::not_entered;
    answer_drain();
    // Once more, after the word [ID1]. acquire: pairs with stop, which wakes all after it.
    if (!polled || core_.work_visible(slot_) || core_.halting.load(sync::acquire)) {
        return in_driver::leaves;
    }
    trace("stay");
    slot_.wakeups.add(1);
    return in_driver::stays;
}

bool sleeper::sleep_in_driver(time_point limit) noexcept {
    const in_driver how = enter_driver(limit);
    if (how == in_driver::not_entered || how == in_driver::found_task) {
        return how == in_driver::found_task;
    }
    if (how == in_driver::stays) {
        core_.options.driver->wait();
        core_.role.want_round();
    }
    core_.idle.leave_driver();
    return true;
}

// The only worker stays in the driver while the loop sleeps: a thread with work for it wakes the
// driver, and that wakes the loop, by its descriptor or by a call.
time_point sleeper::wait_in_loop() noexcept {
    core_.idle.begin_search();
    const in_driver how = enter_driver(never);
    if (how == in_driver::stays) {
        in_loop_ = true;
        return core_.role.next_due();
    }
    if (how == in_driver::leaves) core_.idle.leave_driver();
    static_cast<void>(core_.idle.end_search());
    core_.options.driver->wake();  // for a loop that goes by the descriptor or by calls
    return immediately;
}

// The wait takes what has woken the loop, and does not sleep. The release wakes no worker [RL1]:
// the only worker looks next.
void sleeper::return_from_loop() noexcept {
    in_loop_ = false;
    while (!core_.role.try_acquire()) os::yield();
    core_.role.plan_sleep(immediately);
    core_.role.release();
    core_.options.driver->wait();
    core_.role.want_round();
    core_.idle.leave_driver();
    static_cast<void>(core_.idle.end_search());
}

// On the way to sleep: tells the threads that wait in drain if everything is done.
void sleeper::answer_drain() noexcept {
    // acquire: pairs with drain, which wakes all after it.
    if (!core_.drain_wanted.load(sync::acquire)) return;
    core_.tell_if_drained();
    core_.wake_another(slot_);  // it has held the role [RL1]
}

void sleeper::park(time_point limit) noexcept {
    slot_.outbox.open_posts();  // published below
    core_.idle.prepare_park(slot_.index);
    // Once more, after the word [ID1].
    bool stay = !core_.tasks_visible(slot_) && !core_.halting.load(sync::acquire);
    // What only the role can do: a round, and sleeping in the driver as long as it must. If the
    // role is not free, its holder finds this worker parked after the release [RL1]; to go on
    // looking would be to spin until then.
    const bool wants_role = core_.arrivals_visible(slot_) || !core_.idle.driver_taken();
    if (stay && wants_role && core_.role.try_acquire()) {
        core_.role.release();
        stay = false;
    } else if (stay && core_.idle.all_asleep() && core_.role.try_acquire()) {
        core_.role.put_off_sleeper();
        core_.role.release();
        core_.wake_another(slot_);  // after the release [RL1]
    }
    answer_drain();
    if (!stay) {
        core_.idle.cancel_park(slot_.index);
        return;
    }
    trace("stay");
    slot_.wakeups.add(1);
    if (!core_.idle.park_until(slot_.index, limit)) core_.idle.cancel_park(slot_.index);
}

}  // namespace fairlead::sched
