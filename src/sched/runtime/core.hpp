// The parts of a scheduler, and the few operations that span them.
#pragma once

#include "sched/block/blocking_pool.hpp"
#include "sched/block/handover.hpp"
#include "sched/block/monitor.hpp"
#include "sched/entry/inbox.hpp"
#include "sched/entry/wake_duty.hpp"
#include "sched/groups/group_list.hpp"
#include "sched/round/role.hpp"
#include "sched/sleep/idle.hpp"
#include "sched/slot/slot.hpp"
#include "sched/task/trace.hpp"

#include <fairlead/detail/os/process.hpp>
#include <fairlead/detail/sched/halt_watch.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace fairlead::sched {

class worker;

// A thread that waits in drain.
struct drainer {
    sync::signal told;
    bool drained = false;     // written before `told` is sent
    drainer* next = nullptr;  // guarded by drain_mutex
};

// Which work counts: what any worker may do, or also what only the worker of one slot may do.
enum class done_by : bool { anybody, owner };

class core : public home {
    // Whether a worker must look at the posts that owners keep, because no sleeper watches them.
    [[nodiscard]] bool unwatched() const noexcept { return width() != 1 && !idle.is_watched(); }
    template <class Predicate>
    [[nodiscard]] bool any_slot(Predicate predicate) const noexcept {
        for (const auto& each : slots) {
            if (predicate(*each)) return true;
        }
        return false;
    }
    // Whether something waits in the inbox, in the outbox of `own`, or for the next round.
    [[nodiscard]] bool entries_visible(const slot& own, done_by whom) const noexcept {
        if (inbox.has_ungrouped() || role.has_backlog()) return true;
        if (has_groups() && (inbox.has_grouped() || !own.outbox.empty(lane::groups) ||
                             (whom == done_by::owner && own.has_bound_work()))) {
            return true;
        }
        return !own.outbox.empty(lane::everyone);
    }
    void wake_bound(const slot& own) noexcept;
    [[nodiscard]] static basic_task::chain deepest_first(basic_task::chain tasks) noexcept;
    [[nodiscard]] basic_task::chain take_all_that_is_left() noexcept;

public:
    core(scheduler& owner, scheduler_options options);
    core(const core&) = delete;
    core& operator=(const core&) = delete;
    ~core();

    // --- posts: any thread -----------------------------------------------------------------------

    // Moves newest -> ... -> oldest to the inbox. If the lane was empty and no worker searches,
    // wakes a sleeper: `rather`, if it sleeps. Busy workers look soon at the lanes of groups.
    void push(lane to, basic_task& newest, basic_task& oldest,
              unsigned rather = idle::anybody) noexcept {
        const wake_duty duty = inbox.push(to, newest, oldest);
        if (duty == wake_duty::none) return;  // the last touch
        if (to != lane::everyone) role.call_attention();
        see_to(duty, rather);
    }

    // Pushes posts of a step behind those of other threads. An only worker would run its own posts
    // for as long as there are some, before it looks there: its steps post to the lane itself.
    void push_behind(basic_task& newest, basic_task& oldest) noexcept {
        if (width() == 1) return push(lane::everyone, newest, oldest);
        see_to(inbox.push_behind(newest, oldest));
    }

    // Pushes tasks with a deadline or a source, at which busy workers are to look soon. If another
    // push comes just before this one, only the first of the two hints is given, and may be lost.
    void push_timed(basic_task& newest, basic_task& oldest) noexcept {
        role.call_attention();
        const wake_duty duty = inbox.push(lane::everyone, newest, oldest);
        if (duty == wake_duty::none) return;  // the last touch
        role.call_attention();
        see_to(duty);
    }

    void push_to_group(const group_state& group, basic_task& newest, basic_task& oldest) noexcept {
        push(group.enters_by, newest, oldest, group.bound_to.load(sync::relaxed));
    }

    // Carries out the duty that a push has returned. The last touch of the scheduler.
    void see_to(wake_duty duty, unsigned rather = idle::anybody) noexcept {
        if (duty == wake_duty::none) return;
        if (duty == wake_duty::announce) return announce(rather);
        const bool needed = duty == wake_duty::watch ? idle.needs_watcher() : idle.seems_asleep();
        trace("decide", needed);
        if (needed) idle.wake_one();
    }

    // Whether a group was ever made; until then no code looks at groups. seq_cst: set before a post
    // to a group, so what orders the post with a worker that goes to sleep [ID1] [ID2] orders this.
    [[nodiscard]] bool has_groups() const noexcept { return groups_exist.load(sync::seq_cst); }

    // --- what there is to do: any thread ---------------------------------------------------------
    //
    // Each answer is a hint, unless it is ordered by [ID1] or [ID2], or by [GR2] for groups.

    // Whether there is something for a round by the worker of `own`.
    [[nodiscard]] bool arrivals_visible(const slot& own,
                                        done_by whom = done_by::owner) const noexcept {
        return entries_visible(own, whom) || (width() != 1 && any_slot([](const slot& each) {
                                                  return each.outbox.wants_round(false);
                                              }));
    }

    // Whether there is something that a worker can do without the role. While turns are given, what
    // is in ready needs the role. The worker that ends the turns wakes the workers that have not
    // seen the end [ID1].
    [[nodiscard]] bool tasks_visible(const slot& own) const noexcept {
        if (!own.ready_consumer.empty() && !role.turns().are_given()) return true;
        const bool kept_too = unwatched();
        return any_slot([kept_too](const slot& each) {
            return each.has_tasks(kept_too) || (kept_too && each.outbox.keeps_post());
        });
    }

    // Whether the worker of `own` would miss a round or a task if it went to sleep.
    [[nodiscard]] bool work_visible(const slot& own, done_by whom = done_by::owner) const noexcept {
        if (entries_visible(own, whom) || !own.ready_consumer.empty()) return true;
        const bool kept_too = unwatched();
        return any_slot([kept_too](const slot& each) {
            return each.outbox.wants_round(kept_too) || each.has_tasks(kept_too);
        });
    }

    // Whether an owner keeps a post that no sleeper watches.
    [[nodiscard]] bool watcher_wanted() const noexcept {
        return unwatched() && any_slot([](const slot& each) { return each.outbox.keeps_some(); });
    }

    // Whether deadlines or events may come, but no worker is in the driver. Asked after a round,
    // and by the last searcher, which may have been there: one sees what the other did [ID2].
    [[nodiscard]] bool nobody_waits() const noexcept {
        return role.timed() && !idle.driver_taken();
    }

    // A push found a front empty. The last touch.
    void announce(unsigned rather = idle::anybody) noexcept {
        if (os::fork_depth() != fork_depth) [[unlikely]]
            check_process();
        idle.announce(rather);
    }
    void check_process() const noexcept;

    // The number of workers among which tasks are dealt.
    [[nodiscard]] std::size_t width() const noexcept { return slots.size(); }

    // What one worker may take of `count` tasks, so that there is something for each.
    [[nodiscard]] std::size_t share_of(std::size_t count) const noexcept {
        return (count + width() - 1) / width();
    }

    [[nodiscard]] time_point now() const noexcept { return clock::now(); }

    // With one worker: whether the calling thread may touch what only the worker may touch.
    [[nodiscard]] bool single_worker_is_here() const noexcept;

    // A worker claims or steals no more tasks at once.
    static constexpr std::size_t claim_max = 128;

    // Puts tasks that the worker of this slot has taken into its run. Until then no other worker
    // could see them: a worker that went to sleep meanwhile is woken.
    void put_into_run(slot& of, std::span<basic_task* const> tasks) noexcept {
        if (tasks.empty()) return;
        of.runs.push(tasks);
        see_to(wake_duty::wake);
    }

    // Wakes another worker if there is more to do than the worker of this slot does next: tasks, or
    // the sleep in the driver until deadlines and events come.
    void wake_another(const slot& own) noexcept;

    // Takes the tasks that are ready, in a run, in `next` or in a local deque. The caller holds the
    // role, and no worker takes tasks any more.
    [[nodiscard]] basic_task::chain take_queued();

    // --- groups: any thread ----------------------------------------------------------------------

    // Throws std::bad_alloc.
    [[nodiscard]] group_state* make_group(group_options options);

    // Something has changed that the next turn of the group depends on.
    void notice(group_state& group) noexcept;

    // As in handover.hpp; then a round looks at the group.
    void bind(group_state& group, unsigned worker) noexcept {
        handover.bind(group, worker);
        notice(group);
    }
    void bind_somewhere(group_state& group) noexcept {
        handover.bind_somewhere(group);
        notice(group);
    }

    // Visits each group, the default group too. The caller holds the role.
    template <class Visit>
    void for_each_group(Visit&& visit) {
        visit(role.turns().everyone());
        groups.for_each(visit);
    }

    // The report of a stop, on the tasks that are left. Takes the role. Counts all tasks, and names
    // the first 100 for which there is memory.
    [[nodiscard]] stop_report report() noexcept;

    // Gives every task that is left back to its owner. With the role held and all workers ended.
    void abandon_all() noexcept;

    // Whether no task is queued, runs or waits. Takes the role.
    [[nodiscard]] bool is_drained() noexcept;
    [[nodiscard]] bool workers_ended() const noexcept;

    // A worker has left its loop, as the scheduler halts. The last worker sends `all_ended`.
    void worker_left() noexcept;

    // Tells all drainers that all is done, or that the workers have ended. Requires drain_mutex.
    void tell_drainers(bool drained) noexcept;

    // Forgets a thread that waits no longer. False: it has been told. Requires drain_mutex.
    [[nodiscard]] bool forget_drainer(drainer& self) noexcept;

    // Tells the drainers if everything is done. For workers that go to sleep. Takes the role: the
    // caller must look afterwards whether a worker is to be woken [RL1].
    void tell_if_drained() noexcept;

    // Waits until every push has been taken and every thread that posts has left the scheduler.
    void await_posters() noexcept;

    // Constant after construction.
    const duration report_after;  // how long a step may block unreported; 0: for ever
    scheduler_options options;
    const unsigned fork_depth;  // of the process that has made the scheduler
    unhandled_reporter reporter;

    // Any thread.
    sched::inbox inbox;
    sched::idle idle;
    sync::atomic<bool> groups_exist{false};  // a group was made
    // A group was ever made, or stop called. Set before either is known; steps look at it alone.
    sync::atomic<bool> steps_need_more{false};
    sync::atomic<bool> stopping{false};      // stop was called
    sync::atomic<bool> halting{false};       // workers end after their step
    sync::atomic<bool> drain_wanted{false};  // a thread waits in drain

    group_list groups;

    // Open until a stop begins.
    sleeper_gate gate{options.workers != 1};

    // The holder of the role pushes, workers claim.
    ready_queue ready;
    sched::role role;
    std::vector<std::unique_ptr<slot>> slots;

    // The thread that controls the life cycle starts and ends these; steps and workers use them.
    std::vector<std::unique_ptr<worker>> workers;
    sched::handover handover;
    sched::monitor monitor;
    blocking_pool blocking;  // its threads may be spare workers

    // Slots whose worker is in its loop. The last worker to leave its loop sends `all_ended`.
    sync::atomic<unsigned> running_workers{0};
    sync::signal all_ended;
    sync::mutex end_mutex;  // held by the stop that waits for the workers and joins them
    halt_watch_owner halted = halt_watch_owner::make();

    // Also held while the workers are started, so that a drain does not take them for ended.
    sync::mutex drain_mutex;
    drainer* drainers = nullptr;  // guarded by drain_mutex
};

inline core& home::in() noexcept {
    return grouped() ? static_cast<group_state*>(this)->in : static_cast<core&>(*this);
}

}  // namespace fairlead::sched
