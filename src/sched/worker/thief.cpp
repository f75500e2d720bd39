#include "sched/worker/thief.hpp"

#include "sched/runtime/core.hpp"
#include "sched/task/task_access.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace fairlead::sched {

basic_task* thief::steal() noexcept {
    for (std::size_t i = 0; i != core_.width(); ++i) {
        if (++victim_ >= core_.width()) victim_ = 0;
        if (victim_ == slot_.index) continue;
        slot& victim = *core_.slots[victim_];
        if (basic_task* const task = steal_run(victim)) return task;
        if (victim.outbox.wants_thief(false)) {
            if (basic_task* const task = steal_posts(victim)) return task;
        }
        if (basic_task* const task = steal_fork(victim)) return task;
    }
    return nullptr;
}

basic_task* thief::steal_from(slot& victim) noexcept {
    basic_task* const task = steal_run(victim);
    return task != nullptr ? task : steal_posts(victim);
}

basic_task* thief::steal_run(slot& victim) noexcept {
    std::array<basic_task*, core::claim_max> out;
    const std::size_t room = std::min<std::size_t>(slot_.runs.room() + 1, out.size());
    const std::size_t count = victim.runs.steal({out.data(), room});
    if (count == 0) return nullptr;
    trace("steal", std::span{out.data(), count});
    slot_.stolen.add(count);
    core_.put_into_run(slot_, {out.data() + 1, count - 1});
    return out[0];
}

basic_task* thief::steal_posts(slot& victim) noexcept {
    if (!victim.outbox.steals()) return nullptr;
    // Not many while older tasks wait: a run that thefts fill again and again is never empty, and
    // the worker would not get to what is in ready.
    const bool has_none = slot_.runs.empty() && slot_.ready_consumer.empty();
    basic_task::chain taken = victim.outbox.local().steal(has_none ? local_posts::chunk_size : 1);
    basic_task* const first = taken.pop_front();
    if (first == nullptr) return nullptr;
    slot_.stolen.add(1 + taken.size());
    std::array<basic_task*, local_posts::chunk_size> rest;
    std::size_t count = 0;
    while (basic_task* const task = taken.pop_front()) rest[count++] = task;
    core_.put_into_run(slot_, {rest.data(), count});
    return first;
}

basic_task* thief::steal_fork(slot& victim) noexcept {
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

}  // namespace fairlead::sched
