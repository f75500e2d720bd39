#include "sched/round/sleepers.hpp"

#include "sched/task/trace.hpp"

#include <utility>

namespace fairlead::sched {

sleepers::outcome sleepers::put_to_sleep(basic_task& task) noexcept {
    if (task_access::stays_awake(task)) {
        task_access::forget_source(task);
        return outcome::is_ready;
    }
    if (!list(task)) return sleep_without_index(task);
    const bool armed = task_access::arm_source(task);
    // Parked last: from then on a waker may push it to the front.
    if (armed && task_access::park(task)) {
        trace("asleep", &task);
        return outcome::sleeps;
    }
    remove(task);
    return outcome::is_ready;
}

// False: there is no memory for it.
bool sleepers::list(basic_task& task) noexcept {
    if (task_access::deadline_of(task) != never)
        return deadlines_.push(task, task_access::deadline_of(task));
    sleeper_place* const place = table_.insert(task);
    if (place == nullptr) return false;
    task_access::mark_in_table(task, *place);
    return true;
}

// It sleeps for a moment only, to learn whether something happened that it listens to.
sleepers::outcome sleepers::sleep_without_index(basic_task& task) noexcept {
    const bool armed = task_access::arm_source(task);
    const bool parked = armed && task_access::park(task);
    const bool ours = !parked || task_access::unpark(task);
    task_access::disarm_source(task);
    if (parked && ours) {
        if (unindexed_.empty()) retry_at_ = after(clock::now(), retry_interval);
        unindexed_.push_back(task);
        return outcome::sleeps;
    }
    task_access::forget_source(task);
    if (ours) return outcome::is_ready;
    send_through_front(task);
    return outcome::sleeps;
}

basic_task::chain sleepers::take_unindexed() noexcept {
    retry_at_ = never;
    return std::exchange(unindexed_, {});
}

void sleepers::remove(basic_task& task) noexcept {
    if (task_access::is_in_table(task)) {
        sleeper_table::erase(task_access::leave_table(task));
    } else {
        deadlines_.erase(task);
        task_access::mark_fresh(task);
    }
    task_access::leave_source(task);
}

// Its waker was faster than the deadline or the event, and brings it.
void sleepers::send_through_front(basic_task& task) noexcept {
    trace("in_transit", &task);
    task_access::mark_in_transit(task);
    ++in_transit_;
}

void sleepers::leave(basic_task& task) noexcept {
    if (task_access::is_listed(task)) remove(task);
    if (task_access::is_in_transit(task)) --in_transit_;
    task_access::mark_fresh(task);
}

basic_task* sleepers::take_due() noexcept {
    basic_task& task = deadlines_.top();
    const bool ours = task_access::unpark(task);
    remove(task);
    if (ours) {
        task_access::set_expired(task, true);
        return &task;
    }
    send_through_front(task);
    return nullptr;
}

bool sleepers::take_fired(basic_task& task) noexcept {
    const bool ours = task_access::unpark(task);
    remove(task);
    if (!ours) send_through_front(task);
    return ours;
}

// A task that the request wakes becomes ready here, in the role, and not through the front.
basic_task::chain sleepers::take_told() noexcept {
    basic_task::chain woken;
    for_each([&](basic_task& task) {
        const bool ours = task_access::request_stop(task);
        trace("tell", &task, ours);
        if (ours) woken.push_back(task);
    });
    trace("told");
    for (basic_task* task = woken.front(); task != nullptr; task = task->*basic_task::link) {
        remove(*task);
    }
    return woken;
}

basic_task::chain sleepers::take_all() noexcept {
    basic_task::chain all = take_unindexed();
    basic_task::chain asleep;
    for_each([&](basic_task& task) {
        const bool ours = task_access::unpark(task);
        trace("unpark", &task, ours);
        if (ours) asleep.push_back(task);
    });
    for (basic_task* task = asleep.front(); task != nullptr; task = task->*basic_task::link) {
        remove(*task);
    }
    all.append(std::move(asleep));
    return all;
}

}  // namespace fairlead::sched
