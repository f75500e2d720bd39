// The ways of a post to its queue: from a worker of the scheduler or from another thread, to the
// default group or to another.
#include "sched/runtime/core.hpp"
#include "sched/task/task_access.hpp"
#include "sched/worker/worker.hpp"

#include <fairlead/sched/executor.hpp>

#include <span>

namespace fairlead {

using sched::post_kind;
using sched::task_access;
using sched::worker;

namespace {

// The worker that posts; null: another thread does.
[[nodiscard]] inline worker* worker_of(const sched::core& core) noexcept {
    worker* const here = worker::current();
    return here != nullptr && &here->owner() == &core ? here : nullptr;
}

// The tasks have a deadline or a source: workers that have tasks to run are to look at them soon.
[[gnu::noinline]] void enqueue_timed(sched::core& core, basic_task& newest, basic_task& oldest,
                                     sched::posted how) noexcept {
    worker* const here = worker_of(core);
    if (here == nullptr) return core.push_timed(newest, oldest);
    here->seat().post(newest, oldest, how);
    core.role.call_attention();
}

// It reads worker::current(), so only functions that are not inline call it.
inline void enqueue_for_everyone(sched::core& core, basic_task& newest, basic_task& oldest,
                                 sched::posted how) noexcept {
    if (how.kind == post_kind::timed) return enqueue_timed(core, newest, oldest, how);
    worker* const here = worker_of(core);
    if (here == nullptr) return core.push(sched::lane::everyone, newest, oldest);
    if (how.kind != post_kind::sleeps || !here->seat().may_put_to_sleep()) {
        return here->seat().post(newest, oldest, how);
    }
    const auto kind = here->seat().put_to_sleep(newest);
    if (kind) here->seat().post(newest, oldest, {.kind = *kind, .last = how.last});
}

// Not inline, so that other posts to a group need not save registers for it.
[[gnu::noinline]] void put_to_sleep(sched::seat& here, const sched::group_state& group,
                                    basic_task& task, bool last) noexcept {
    const auto kind = here.put_to_sleep(task);
    if (kind) here.post_to_group(group, task, task, {.kind = *kind, .last = last});
}

[[gnu::noinline]] void enqueue_for_group(const sched::group_state& group, basic_task& newest,
                                         basic_task& oldest, sched::posted how) noexcept {
    worker* const here = worker_of(group.in);
    if (here == nullptr) return group.in.push_to_group(group, newest, oldest);
    if (how.kind == post_kind::sleeps && here->seat().may_put_to_sleep()) {
        return put_to_sleep(here->seat(), group, newest, how.last);
    }
    here->seat().post_to_group(group, newest, oldest, how);
}

inline void enqueue(sched::home& home, bool grouped, basic_task& newest, basic_task& oldest,
                    sched::posted how) noexcept {
    if (grouped) [[unlikely]] {
        enqueue_for_group(static_cast<sched::group_state&>(home), newest, oldest, how);
    } else {
        enqueue_for_everyone(static_cast<sched::core&>(home), newest, oldest, how);
    }
}

}  // namespace

[[gnu::noinline, gnu::hot]] void post_target::post(basic_task& task) const noexcept {
    const bool grouped = accept(task, immediately);
    enqueue(*home_, grouped, task, task, {.kind = post_kind::plain, .last = false});
}

void post_target::post_deadline(basic_task& task, time_point deadline) const noexcept {
    submit(task, deadline, false);
}

void post_target::post_last(basic_task& task, time_point deadline) const noexcept {
    submit(task, deadline, true);
}

void post_target::post_delay(basic_task& task, time_span delay) const noexcept {
    post_deadline(task, after(home_->in().now(), delay));
}

// The task enters its home, and holds its group. True: that is not the default group.
inline bool post_target::accept(basic_task& task, time_point deadline) const noexcept {
    task_access::enter(task, *home_, deadline);
    // What an earlier stop of any scheduler told the task does not count. Relaxed: a step that was
    // told posts its task again on the thread that has seen the stop.
    if (task_access::was_told_of_any(task) && !home_->in().stopping.load(sync::relaxed)) {
        task_access::forget_stops(task);
    }
    if (!home_->grouped()) [[likely]]
        return false;
    FAIRLEAD_ASSERT(home_ != &sched::nowhere,
                    "a task was posted to an executor that refers to nothing");
    worker* const here = worker::current();
    if (here == nullptr || !here->charges().turn_lease().gives_hold(*home_)) {
        static_cast<sched::group_state*>(home_)->hold_for_task();
    }
    return true;
}

[[gnu::noinline, gnu::hot]] void post_target::submit(basic_task& task, time_point deadline,
                                                     bool last) const noexcept {
    const bool grouped = accept(task, deadline);
    post_kind kind = post_kind::timed;
    if (deadline == immediately) kind = post_kind::again;
    if (deadline == never && !task_access::has_source(task)) kind = post_kind::sleeps;
    enqueue(*home_, grouped, task, task, {.kind = kind, .last = last});
}

[[gnu::noinline]] void post_target::post(std::span<basic_task* const> tasks) const noexcept {
    if (tasks.empty()) return;
    basic_task* newest = nullptr;
    bool grouped = false;
    for (basic_task* const task : tasks) {
        grouped = accept(*task, immediately);
        task->*basic_task::link = newest;
        newest = task;
    }
    const post_kind kind = tasks.size() == 1 ? post_kind::plain : post_kind::batch;
    enqueue(*home_, grouped, *newest, *tasks.front(), {.kind = kind, .last = false});
}

[[gnu::noinline, gnu::hot]] void sched::home::enqueue_woken(basic_task& task) noexcept {
    trace("duty", &task);
    post_kind kind = post_kind::woken;
    if (task_access::was_only_to_be_woken(task)) {
        if (worker* const here = worker_of(in())) kind = here->seat().take_woken(task);
    }
    enqueue(*this, grouped(), task, task, {.kind = kind, .last = false});
}

}  // namespace fairlead
