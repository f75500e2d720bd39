// Groups: the messages between the role and other threads, with every order of steps; and the whole
// scheduler, by priorities.
//
// A test with a whole scheduler checks the same as in scheduler_test.cpp: no task is lost, and no
// wake-up needs a time-out.
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include "sched/runtime/core.hpp"

#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/group.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace fairlead::groups_tests {
namespace {

using namespace std::chrono_literals;
using model::counter;
using model::interruption;
using model::plain;
using model::require;
using model::require_before;
using model::require_no_time_out;
using model::stops;
using model::task_of;
using model::thread;

// --- messages between the role and other threads -------------------------------------------------

// The parts of a scheduler with a group, without workers.
struct parts {
    explicit parts(group_options options) : group{core.make_group(std::move(options))} {}
    ~parts() {
        group->let_go();
        require(core.role.try_acquire(), "nobody has it");
        core.abandon_all();
        core.role.turns().let_all_go(core.slots);
    }

    void post(callback_task& task) { sched::access::executor_of(*group).post(task); }

    void round(std::size_t own = 0) {
        if (!core.role.try_acquire()) return;
        core.role.round(*core.slots[own]);
        core.role.release();
    }

    scheduler owner{{.run_on_caller = true}};
    sched::core core{owner, {.workers = 2}};
    sched::group_state* const group;
};

// [GR1] A step ends while the role holds a group back: the role learns of the end.
TEST(ModelGroups, TheEndOfAStepIsToldToWhoWaitsForIt) {
    model::expect_passes([] {
        parts all{{.max_concurrency = 1}};
        all.group->begin_steps(1);
        bool is_held = false;
        bool told = false;
        model::in_threads([&] { told = all.group->end_step(); },
                          [&] { is_held = all.group->room() == 0 && all.group->hold_back(); });
        require(told || !is_held, "it is told");
    });
}

TEST(ModelGroups, OfTwoStepsThatEndOneIsTold) {
    model::expect_passes([] {
        parts all{{.max_concurrency = 2}};
        all.group->begin_steps(2);
        bool is_held = false;
        std::array<bool, 2> told{};
        model::in_threads([&] { told[0] = all.group->end_step(); },
                          [&] { told[1] = all.group->end_step(); },
                          [&] { is_held = all.group->room() == 0 && all.group->hold_back(); });
        require(told[0] || told[1] || !is_held, "it is told");
        require(!(told[0] && told[1]), "once");
    });
}

// A wish that comes too late for a round is seen by the next.
TEST(ModelGroups, AResumeIsSeenByThisRoundOrTheNext) {
    model::expect_passes({.preemptions = 2}, [] {
        callback_task task;
        parts all{{}};
        all.group->paused.store(true, sync::relaxed);
        all.post(task);
        all.round();
        require(all.core.slots[0]->next == nullptr, "it is paused");
        model::in_threads([&] { all.round(); },
                          [&] {
                              all.group->paused.store(false, sync::relaxed);
                              all.core.notice(*all.group);
                          });
        if (all.core.slots[0]->next == nullptr) {
            require(all.core.role.has_backlog(), "a round is wanted");
            all.round();
        }
        require(all.core.slots[0]->next == &task, "it is dealt");
    });
}

// Two threads notice the same group. One of them puts it into the list; the role sees the wishes of
// both.
TEST(ModelGroups, TwoWishesAreSeen) {
    model::expect_passes({.preemptions = 1, .stale_reads = 1}, [] {
        parts all{{}};
        model::in_threads([&] { all.round(); },
                          [&] {
                              all.group->weight_wanted.store(7, sync::relaxed);
                              all.core.notice(*all.group);
                          },
                          [&] { all.core.notice(*all.group); });
        if (all.group->weight != 7) {
            require(all.core.role.has_backlog(), "a round is wanted");
            all.round();
        }
        require(all.group->weight == 7, "it is seen");
    });
}

// A worker that runs a line of another group looks at a pushed task, unless a round has taken it.
TEST(ModelGroups, AttentionIsCalledToWhatWasPushed) {
    model::expect_passes({.preemptions = 2}, [] {
        callback_task task;
        parts all{{}};
        all.core.role.call_attention();  // then a round sees that it need not regard the time
        model::in_threads([&] { all.round(); }, [&] { all.post(task); });
        require(!all.core.inbox.has_grouped() || all.core.role.wants_attention(), "somebody looks");
    });
}

// A task that was dealt to a worker and is taken back frees its place in the limit, though no step
// has ended.
TEST(ModelGroups, WhatIsTakenBackMakesRoom) {
    model::expect_passes([] {
        std::array<callback_task, 2> tasks;
        parts all{{.max_concurrency = 1}};
        for (callback_task& each : tasks) all.post(each);
        all.round(0);
        all.round(1);
        require(all.core.slots[0]->next == &tasks[0] && all.core.slots[1]->next == nullptr,
                "one at a time");
        static_cast<void>(all.core.report());  // as a stop does
        all.round(1);
        require(all.core.slots[1]->next == &tasks[0], "it goes on");
    });
}

// [GR1] A limit was set while a lease was open: the role learns of the end of the lease.
TEST(ModelGroups, TheEndOfALeaseIsToldToWhoWaitsForIt) {
    model::expect_passes([] {
        parts all{{}};
        all.group->begin_steps(1);
        all.group->begin_lease();
        all.group->running_max.store(1, sync::relaxed);
        bool is_held = false;
        bool told = false;
        model::in_threads([&] { told = all.group->end_lease(2, 3); },
                          [&] { is_held = all.group->room() == 0 && all.group->hold_back(); });
        require(told || !is_held, "it is told");
    });
}

// One of the steps that the lease has counted runs on, on another worker.
TEST(ModelGroups, UnderALeaseNothingBeginsBeyondTheLimit) {
    model::expect_passes([] {
        parts all{{}};
        all.group->begin_steps(1);
        all.group->begin_lease();
        all.group->running_max.store(1, sync::relaxed);
        std::size_t room = 0;
        model::in_threads([&] { static_cast<void>(all.group->end_lease(2, 2)); },
                          [&] { room = all.group->room(); });
        require(room == 0, "one of three runs");
    });
}

// --- as a whole ----------------------------------------------------------------------------------

TEST(ModelGroups, ALimitedGroupNeverRunsTwoSteps) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        group strand{scheduler, {.max_concurrency = 1}};
        plain<int> steps{0};  // two at once would be a race
        const auto step = [&] { steps = steps + 1; };
        std::array<task_of, 3> tasks{task_of{step}, task_of{step}, task_of{step}};
        {
            const interruption stop{scheduler, how};
            thread poster{[&] { strand.post(tasks[0]); }};
            strand.post(tasks[1]);
            strand.post(tasks[2]);
        }
        scheduler.drain();
        require_before(1s);
        require(steps == 3, "each ran once");
    });
}

// The same for tasks that post themselves again, beside tasks of other groups.
TEST(ModelGroups, NoTimeOutIsNeededAtALimit) {
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 2}};
        group strand{scheduler, {.max_concurrency = 1}};
        plain<int> steps{0};
        std::array<sync::signal, 2> ended;
        std::array<int, 2> left{2, 2};
        const auto step_of = [&](std::size_t i) {
            return [&, i](callback_task& self) {
                steps = steps + 1;
                if (--left[i] == 0) return ended[i].send();
                strand.post(self);
            };
        };
        task_of first{step_of(0)};
        task_of second{step_of(1)};
        counter other;
        strand.post(first);
        scheduler.post(other.task);
        strand.post(second);
        for (sync::signal& each : ended) each.receive();
        require_no_time_out();
        require(steps == 4, "each ran twice");
        scheduler.drain();
    });
}

// A task that posts itself again under a lease, and a limit that another thread sets meanwhile.
TEST(ModelGroups, NoTimeOutIsNeededForALimitUnderALease) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            scheduler scheduler{{.workers = workers}};
            group one{scheduler};
            std::array<sync::signal, 2> ended;
            std::array<int, 2> left{3, 2};
            const auto step_of = [&](std::size_t i) {
                return [&, i](callback_task& self) {
                    if (--left[i] == 0) return ended[i].send();
                    one.post(self);
                };
            };
            task_of first{step_of(0)};
            task_of second{step_of(1)};
            one.post(first);
            {
                thread user{[&] { one.set_max_concurrency(1); }};
                one.post(second);
            }
            for (sync::signal& each : ended) each.receive();
            require_no_time_out();
            scheduler.drain();
            require(one.stats().steps == 5, "each step is counted");
            require(one.stats().tasks == 0, "and each task let go");
        });
    }
}

// A worker is about to sleep, because all remaining tasks are in a paused group.
TEST(ModelGroups, AResumeIsNotLost) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_though_stopped([=](stops how) {
            scheduler scheduler{{.workers = workers}};
            group paused{scheduler};
            counter task;
            paused.pause();
            {
                const interruption stop{scheduler, how == stops::patient ? stops::none : how};
                thread user{[&] {
                    paused.resume();
                    paused.pause();
                    paused.resume();
                }};
                paused.post(task.task);
            }
            scheduler.drain();
            require_before(1s);
            require(task.steps == 1, "it ran once");
        });
    }
}

TEST(ModelGroups, NoTimeOutIsNeededForAResume) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            scheduler scheduler{{.workers = workers}};
            group paused{scheduler};
            sync::signal ran;
            task_of task{[&] { ran.send(); }};
            paused.pause();
            paused.post(task);
            {
                thread user{[&] { paused.resume(); }};
            }
            ran.receive();
            require_no_time_out();
            scheduler.drain();
        });
    }
}

// A limit is raised while the only step that may run waits for the next step.
TEST(ModelGroups, ARaisedLimitIsSeen) {
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 2}};
        group limited{scheduler, {.max_concurrency = 1}};
        sync::signal second_ran;
        sync::signal first_ran;
        task_of first{[&] {
            second_ran.receive();
            first_ran.send();
        }};
        task_of second{[&] { second_ran.send(); }};
        limited.post(first);
        limited.post(second);
        limited.set_max_concurrency(2);
        first_ran.receive();
        require_no_time_out();
        scheduler.drain();
    });
}

// A worker has a line of another group, and posts of its own.
TEST(ModelGroups, APostBesideALineOfOthersIsDrained) {
    for (const priority by : {priority::normal, priority::highest}) {
        for (const unsigned workers : {1U, 2U}) {
            model::expect_passes_though_stopped([=](stops how) {
                scheduler scheduler{{.workers = workers}};
                group other{scheduler, {.priority = by}};
                counter from_outside;
                counter from_a_step;
                std::array<counter, 2> line;
                task_of posts{[&] {
                    for (counter& each : line) scheduler.post(each.task);
                    other.post(from_a_step.task);
                }};
                {
                    const interruption stop{scheduler, how};
                    thread poster{[&] { other.post(from_outside.task); }};
                    scheduler.post(posts);
                }
                scheduler.drain();
                require_before(1s);
                for (const counter* each : {&from_outside, &from_a_step, &line[0], &line[1]}) {
                    require(each->steps == 1, "each ran once");
                }
            });
        }
    }
}

// --- how long a group lives ----------------------------------------------------------------------

TEST(ModelGroups, ItsHandleMayGoAsItsLastTaskEnds) {
    for (const bool paused : {false, true}) {
        for (const unsigned limit : {0U, 1U}) {
            model::expect_passes_though_stopped([=](stops how) {
                scheduler scheduler{{.workers = 2}};
                std::optional<group> dropped;
                dropped.emplace(scheduler, group_options{.max_concurrency = limit});
                counter first;
                counter second;
                if (paused) dropped->pause();
                dropped->post(first.task);
                dropped->post(second.task);
                {
                    const interruption stop{scheduler,
                                            paused && how == stops::patient ? stops::none : how};
                    thread drops{[&] { dropped.reset(); }};
                }
                scheduler.drain();
                require_before(1s);
                require(first.steps == 1 && second.steps == 1, "each ran once");
            });
        }
    }
}

// A destroyed scheduler gives back the tasks that are left in a group.
TEST(ModelGroups, AGroupGoesWithItsScheduler) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            counter first;
            counter second;
            {
                scheduler scheduler{{.workers = workers, .stop_limit = duration{0}}};
                std::optional<group> own;
                own.emplace(scheduler, group_options{.max_concurrency = 1});
                own->post(first.task);
                thread drops{[&] {
                    own->set_weight(7);
                    own.reset();
                }};
                scheduler.post(second.task);
            }
            require(first.steps <= 1 && second.steps <= 1, "at most once");
        });
    }
}

}  // namespace
}  // namespace fairlead::groups_tests
