// Sleepers of which the deadline has passed.
#include "sched/core.hpp"
#include "sched/role.hpp"
#include "sched/task_access.hpp"

#include <algorithm>
#include <chrono>

namespace fairlead::sched {

// Sleepers whose deadline has passed become ready, before anything that arrived later. If others stand in line, the
// first overtakes them, as it is late already, and the rest stays for a later round of whoever is free to run it or
// may overtake; but who has been due for `overtaking_max` stands in line as well. A group's sleepers wait for its turn.
void role::expire(slot& own, time_point now, occasion why) noexcept {
    if (deadlines_.empty() || deadlines_.next() > now) return;
    const bool others_in_line = why != occasion::sleeping && has_line(own);
    trace("in_line", others_in_line);
    if (others_in_line) return expire_in_line(own, now);
    while (!deadlines_.empty() && deadlines_.next() <= now) {
        if (basic_task* const task = take_due()) add_to_batch(*task);
    }
}

void role::expire_in_line(slot& own, time_point now) noexcept {
    const time_point limit = after(now, -overtaking_max);
    bool may = own.next == nullptr && may_overtake(now);
    while (!deadlines_.empty() && deadlines_.next() <= now) {
        const bool grouped = task_access::home_of(deadlines_.top()).grouped();
        if (!grouped && !may && deadlines_.next() > limit) return;
        basic_task* const task = take_due();
        if (task == nullptr) continue;
        if (may && !grouped) {
            overtake(own, *task, now);
            may = false;
        } else {
            add_to_batch(*task);
        }
    }
}

// Whether its worker has others to run, of any group.
bool role::has_line(const slot& own) const noexcept {
    return !own.runs.empty() || !own.ready_consumer.empty() ||
           (groups_ && (turns_.wanted() || own.has_bound_work())) || own.outbox.has_open();
}

// Goes before the run of the holder, at once. Until its step has ended it is the only one.
void role::overtake(slot& own, basic_task& task, time_point now) noexcept {
    trace("overtake", &task);
    own.next = &task;
    own.overtakes_since = now;
    overtakes_again_.store(never, sync::relaxed);  // a hint
}

void role::end_overtaking(slot& own) noexcept {
    using namespace std::chrono_literals;
    const time_point now = core_.now();
    const duration took = std::min<duration>(now - own.overtakes_since, 1h);
    own.overtakes_since = never;
    overtakes_again_.store(after(now, (overtaking_share - 1) * took), sync::relaxed);  // a hint
}

void role::forget_overtaking() noexcept {
    for (const auto& each : core_.slots) each->overtakes_since = never;
    overtakes_again_.store(immediately, sync::relaxed);  // no worker runs
}

bool role::wants_round_for_deadlines(time_point now) const noexcept {
    const time_point due = next_due_.load(sync::relaxed);
    return due <= now && (may_overtake(now) || now - due >= overtaking_max);
}

// The first sleeper that is due. Null: its waker was faster, and brings it.
basic_task* role::take_due() noexcept {
    basic_task& task = deadlines_.top();
    const bool ours = task_access::unpark(task);
    remove_sleeper(task);
    if (ours) {
        task_access::set_expired(task, true);
        return &task;
    }
    send_through_front(task);
    return nullptr;
}

}  // namespace fairlead::sched
