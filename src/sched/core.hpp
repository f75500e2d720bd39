// The parts of a scheduler, and the few operations that span them.
#pragma once

#include "sched/blocking_pool.hpp"
#include "sched/handover.hpp"
#include "sched/idle.hpp"
#include "sched/monitor.hpp"
#include "sched/role.hpp"
#include "sched/slot.hpp"
#include "sched/trace.hpp"

#include <fairlead/detail/os/process.hpp>
#include <fairlead/detail/sched/halt_watch.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace fairlead::sched {

class worker;

// A thread that waits in drain.
struct drainer {
    sync::signal told;
    bool drained = false;     // written before it is told
    drainer* next = nullptr;  // guarded by drain_mutex
};

class core : public home {
    // What the caller asks for: what anybody could do, or what the worker of the slot alone can do as well.
    enum class done_by : bool { anybody, owner };
    [[nodiscard]] bool shared_arrivals_visible(const slot& own, done_by whom) const noexcept {
        if (!front.empty() || role.has_backlog()) return true;
        if (has_groups() && groups_visible_to(own, whom)) return true;
        return width() == 1 ? !own.posted_alone.empty() : !own.posted.empty();
    }
    [[nodiscard]] bool groups_visible_to(const slot& own, done_by whom) const noexcept {
        return !front_of_groups.empty() || !front_of_control.empty() ||
               !own.posted_to_groups.empty() || (whom == done_by::owner && own.has_bound_work());
    }
    [[nodiscard]] bool work_visible_to(const slot& own, done_by whom) const noexcept {
        if (shared_arrivals_visible(own, whom) || !own.ready_consumer.empty()) return true;
        const bool kept_too = unwatched();
        return any_slot([this, kept_too](const slot& each) {
            if (!each.nothing_posted() && (kept_too || each.has_open_posts())) return true;
            return !each.runs.empty() || !each.offers.empty() || local_visible(each, kept_too);
        });
    }
    // Whether posts that their owners keep are to be looked for.
    [[nodiscard]] bool unwatched() const noexcept { return width() != 1 && !idle.is_watched(); }
    // Whether there is something for thieves, or, if they are looked for, a post that its owner keeps.
    [[nodiscard]] bool local_visible(const slot& each, bool kept_too) const noexcept {
        return stealing && (kept_too ? !each.local.empty() : each.has_open_local());
    }
    template <class Predicate>
    [[nodiscard]] bool any_slot(Predicate predicate) const noexcept {
        for (const auto& each : slots) {
            if (predicate(*each)) return true;
        }
        return false;
    }
    // A push to an empty front is noticed by who runs a line of others, too. Otherwise it is the last touch.
    void push_noticed(front_queue& to, basic_task& newest, basic_task& oldest,
                      unsigned rather = idle::anybody) noexcept {
        const bool was_empty = to.push_reversed(newest, oldest);
        trace("push", &newest, was_empty);
        if (!was_empty) return;
        role.call_attention();
        announce(rather);
    }
    [[nodiscard]] static basic_task::chain deepest_first(basic_task::chain tasks) noexcept;
    [[nodiscard]] basic_task::chain take_all_that_is_left() noexcept;

public:
    core(scheduler& owner, scheduler_options options);
    core(const core&) = delete;
    core& operator=(const core&) = delete;
    ~core();

    // Moves tasks of the default group to the front, and wakes a thread if it was empty and all sleep. Any thread.
    void push(basic_task& newest, basic_task& oldest) noexcept {
        const bool was_empty = front.push_reversed(newest, oldest);
        trace("push", &newest, was_empty);
        if (was_empty) announce();
    }

    // Likewise, of what has a deadline or a source. The hint may be lost if somebody pushes something else just before: then
    // they wait until the run of who takes them is empty.
    void push_timed(basic_task& newest, basic_task& oldest) noexcept {
        role.call_attention();
        push_noticed(front, newest, oldest);
    }

    // Likewise of another group, to the front of its lane. Who runs a line of others looks there soon.
    void push_grouped(const group_state& group, basic_task& newest, basic_task& oldest) noexcept {
        push_noticed(group.enters_by == lane::groups ? front_of_groups : front_of_control, newest,
                     oldest, group.bound_to.load(sync::relaxed));
    }

    // Whether a group was made, ever. Nothing about groups is looked at before that. seq_cst: whatever orders a
    // post to a group with who goes to sleep [ID1] [ID2] orders this, too, as it is set before.
    [[nodiscard]] bool has_groups() const noexcept { return groups_exist.load(sync::seq_cst); }

    // Whether something waits for admission in the fronts of groups. Any thread; a hint likewise.
    [[nodiscard]] bool groups_visible() const noexcept {
        return has_groups() && (!front_of_groups.empty() || !front_of_control.empty());
    }

    // Whether something was pushed that no round has taken. Likewise.
    [[nodiscard]] bool pushes_visible() const noexcept {
        return !front.empty() || any_slot([](const slot& each) { return !each.posted.empty(); });
    }

    // Whether a round has something to do for groups that it does not know of. Likewise, unless ordered by [GR2].
    [[nodiscard]] bool groups_want_round() const noexcept {
        return has_groups() &&
               (groups_visible() || role.turns().has_noticed() ||
                any_slot([](const slot& each) { return !each.posted_to_groups.empty(); }));
    }

    // Whether something waits for a round by the worker of `own`. Any thread; a hint unless ordered
    // by [ID1] or [ID2].
    [[nodiscard]] bool arrivals_visible(const slot& own) const noexcept {
        if (shared_arrivals_visible(own, done_by::owner)) return true;
        return width() != 1 && any_slot([](const slot& each) { return each.has_open_posts(); });
    }

    // Whether its owner has kept a post, which others should not forget. Likewise.
    [[nodiscard]] bool keeps_post(const slot& of) const noexcept {
        return of.has_kept_post() || (stealing && of.has_kept_local());
    }

    // Whether a post that its owner kept should be watched, and is not. Likewise.
    [[nodiscard]] bool watcher_wanted() const noexcept {
        return unwatched() && any_slot([this](const slot& each) { return keeps_post(each); });
    }

    // Whether there is something that a worker can do without the role. Likewise. While turns are given, what is in
    // ready needs it; who has not seen their end yet is woken by the one who has ended them [ID1].
    [[nodiscard]] bool tasks_visible(const slot& own) const noexcept {
        if (!own.ready_consumer.empty() && !role.turns().are_given()) return true;
        const bool kept_too = unwatched();
        return any_slot([this, kept_too](const slot& each) {
            return !each.runs.empty() || !each.offers.empty() ||
                   (kept_too && each.has_kept_post()) || local_visible(each, kept_too);
        });
    }

    // Whether `own`'s worker would miss something if it went to sleep. Likewise: both at once.
    [[nodiscard]] bool work_visible(const slot& own) const noexcept {
        return work_visible_to(own, done_by::owner);
    }

    // Likewise, but for what it alone can do.
    [[nodiscard]] bool others_could_work(const slot& own) const noexcept {
        return work_visible_to(own, done_by::anybody);
    }

    // Whether nobody is in the driver though deadlines or events may come. Asked after a round, and
    // by the last searcher, which may have been there: one of them sees what the other did [ID2].
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

    // By what the word of `idle` said just now.
    void wake_one_if(bool needed) noexcept {
        trace("decide", needed);
        if (needed) idle.wake_one();
    }

    // The number of workers among which tasks are dealt.
    [[nodiscard]] std::size_t width() const noexcept { return slots.size(); }

    // What one worker may take of `count` tasks, so that there is something for each.
    [[nodiscard]] std::size_t share_of(std::size_t count) const noexcept {
        return (count + width() - 1) / width();
    }

    [[nodiscard]] time_point now() const noexcept { return clock::now(); }

    // With one worker: whether the calling thread may touch what is the worker's alone.
    [[nodiscard]] bool single_worker_is_here() const noexcept;

    // Takes what is ready or in a run. With the role held, and no worker running tasks but those that
    // did not end.
    [[nodiscard]] basic_task::chain take_queued();

    // --- groups: any thread ----------------------------------------------------------------------

    // Throws std::bad_alloc.
    [[nodiscard]] group_state* make_group(group_options options);
    void forget_group(group_state& gone) noexcept;

    // Something has changed that its next turn depends on.
    void notice(group_state& group) noexcept;

    // To the worker of this index, or to `nobody`; or, unless it is bound, to the one with the fewest groups.
    void bind(group_state& group, unsigned worker) noexcept;
    void bind_somewhere(group_state& group) noexcept;

    // Of which the caller must hold the role. Also the default group.
    template <class Visit>
    void for_each_group(Visit&& visit) {
        visit(role.turns().everyone());
        std::lock_guard lock{groups_mutex};
        for (group_state* each = groups.front(); each != nullptr; each = groups.next(*each)) {
            visit(*each);
        }
    }

    // What is left, for the report of a stop. Takes the role. Counts all, names as many as there is
    // memory for.
    [[nodiscard]] stop_report report() noexcept;

    // Gives every task that is left back to its owner. With the role held and all workers ended.
    void abandon_all() noexcept;

    // Whether everything is done. Takes the role.
    [[nodiscard]] bool is_drained() noexcept;
    [[nodiscard]] bool workers_ended() const noexcept;

    // A worker has left its loop, as the scheduler halts. The last one says so.
    void worker_left() noexcept;

    // Tells all drainers that all is done, or that the workers have ended. Requires drain_mutex.
    void tell_drainers(bool drained) noexcept;

    // A thread waits no longer. False: it has been told. Requires drain_mutex.
    [[nodiscard]] bool forget_drainer(drainer& self) noexcept;

    // Tells who waits in drain if everything is done. For workers that go to sleep. Takes the role: the
    // caller must look after it whether somebody is to be woken [RL1].
    void tell_if_drained() noexcept;

    // Waits until every push has been taken and every thread has left its post.
    void await_posters() noexcept;

    // Constant after construction.
    const duration report_after;  // how long a step may block unreported; 0: for ever
    scheduler_options options;
    const unsigned fork_depth;  // of the process that has made it
    const bool stealing;        // the policy
    unhandled_reporter reporter;

    // Any thread.
    front_queue front;
    front_queue front_of_groups;
    front_queue front_of_control;
    sched::idle idle;
    sync::atomic<bool> groups_exist{false};  // a group was made
    // A group was made, or stop was called, ever. Set before anybody can know of these; steps look at it alone.
    sync::atomic<bool> steps_need_more{false};
    sync::atomic<bool> stopping{false};      // stop was called
    sync::atomic<bool> halting{false};       // workers end after their step
    sync::atomic<bool> drain_wanted{false};  // somebody waits in drain

    sync::mutex groups_mutex;
    base::list<group_state, &group_state::links> groups;  // guarded by groups_mutex
    // What others drop is given back in it, whatever else there is to do. Likewise; null until the first that may drop some.
    group_state* group_of_dropped = nullptr;

    // The holder of the role pushes, workers claim.
    ready_queue ready;
    sched::role role;
    std::vector<std::unique_ptr<slot>> slots;

    // The thread that controls the life cycle.
    std::vector<std::unique_ptr<worker>> workers;
    sched::handover handover;
    sched::monitor monitor;
    blocking_pool blocking;  // its threads may be spare workers

    // Slots whose worker is in its loop, and who is told when the last one left it.
    sync::atomic<unsigned> running_workers{0};
    sync::signal all_ended;
    sync::mutex end_mutex;  // held by the stop that waits for them and joins them
    halt_watch_owner halted = halt_watch_owner::make();

    // Also held while the workers are started, so that nobody takes them for ended and does their part.
    sync::mutex drain_mutex;
    drainer* drainers = nullptr;  // guarded by drain_mutex
};

inline core& home::in() noexcept {
    return grouped() ? static_cast<group_state*>(this)->in : static_cast<core&>(*this);
}

}  // namespace fairlead::sched
