// Groups that are bound to a worker: which worker is woken for them, and on which thread they run.
//
// A test with a whole scheduler checks the same as in scheduler_test.cpp: no task is lost, and no
// wake-up needs a time-out.
#include "model/interruption.hpp"
#include "model/reliefs.hpp"
#include "model/tasks.hpp"

#include "sched/runtime/core.hpp"
#include "sched/worker/worker.hpp"

#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/futex_driver.hpp>
#include <fairlead/sched/group.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>

namespace fairlead::bound_groups_tests {
namespace {

using namespace std::chrono_literals;
using model::counter;
using model::interruption;
using model::plain;
using model::relieved;
using model::require;
using model::require_before;
using model::require_no_time_out;
using model::stops;
using model::task_of;
using model::thread;

// The worker that runs the step. A spare worker has the number of its slot.
unsigned here() { return sched::worker::current()->index(); }

// --- the protocol --------------------------------------------------------------------------------

// [ID1] A task that only worker 1 can run arrives while worker 1 falls asleep, in one of the two
// ways. Another worker may search, or be woken by another thread: that makes no difference.
TEST(ModelBoundGroups, TheWorkerIsWokenOrSeesIt) {
    for (const bool in_driver : {false, true}) {
        for (const bool another_wakes : {false, true}) {
            model::expect_passes({.preemptions = 2, .stale_reads = 1}, [=] {
                futex_driver driver;
                sched::idle idle{2, driver};
                sync::atomic<bool> for_it{false};
                idle.begin_search();  // worker 0 searches all the time
                {
                    const thread worker{[&] {
                        idle.begin_search();
                        while (!for_it.load(sync::relaxed)) {
                            if (in_driver) {
                                require(idle.enter_driver(1), "nobody is there");
                                static_cast<void>(driver.set_deadline(never));
                                if (!for_it.load(sync::relaxed)) driver.wait();
                                idle.leave_driver();
                            } else {
                                idle.prepare_park(1);
                                if (for_it.load(sync::relaxed) || !idle.park_until(1, never)) {
                                    idle.cancel_park(1);
                                }
                            }
                        }
                        static_cast<void>(idle.end_search());
                    }};
                    std::optional<thread> other;
                    if (another_wakes) other.emplace([&] { idle.wake(1); });
                    for_it.store(true, sync::relaxed);
                    idle.wake(1);
                }
                require(idle.end_search(), "it is the last searcher");
                require(!idle.seems_asleep(), "nobody counts as asleep");
            });
        }
    }
}

// A bind comes while a round gives turns. The bound worker gets the task from this round or the
// next.
TEST(ModelBoundGroups, ABindIsSeenByThisRoundOrTheNext) {
    model::expect_passes({.preemptions = 2}, [] {
        callback_task task;
        scheduler owner{{.run_on_caller = true}};
        sched::core core{owner, {.workers = 2}};
        sched::group_state* const group = core.make_group({});
        const auto round = [&](std::size_t own) {
            if (!core.role.try_acquire()) return;
            core.role.round(*core.slots[own]);
            core.role.release();
        };
        sched::access::executor_of(*group).post(task);
        model::in_threads([&] { round(0); }, [&] { core.bind(*group, 1); });
        if (core.slots[0]->next == nullptr) {
            require(core.role.has_backlog() || core.slots[1]->bound_wait.load(sync::relaxed),
                    "a round is wanted");
            round(0);
            require(core.slots[0]->next == nullptr, "it is not for this worker");
            require(core.slots[1]->bound_wait.load(sync::relaxed), "its own is to be woken");
            round(1);
            require(core.slots[1]->next == &task, "it is dealt");
            require(!core.slots[1]->bound_wait.load(sync::relaxed), "nothing else waits");
        }
        group->let_go();
        require(core.role.try_acquire(), "nobody has it");
        core.abandon_all();
        core.role.turns().let_all_go(core.slots);
    });
}

// --- as a whole ----------------------------------------------------------------------------------

// All workers sleep or are about to: the workers that can admit the post, and the worker that the
// group is bound to.
TEST(ModelBoundGroups, NoTimeOutIsNeededForAPost) {
    for (const unsigned worker : {0U, 1U}) {
        model::expect_passes_by_priorities([=] {
            scheduler scheduler{{.workers = 2}};
            group bound{scheduler};
            bound.bind(worker);
            std::array<sync::signal, 2> ran;
            task_of first{[&] {
                require(here() == worker, "it is there");
                ran[0].send();
            }};
            task_of second{[&] {
                require(here() == worker, "it is there");
                ran[1].send();
            }};
            {
                const thread poster{[&] { bound.post(first); }};
                bound.post(second);
            }
            for (sync::signal& each : ran) each.receive();
            require_no_time_out();
            scheduler.drain();
        });
    }
}

// The bound tasks run beside tasks for any worker. Steps of the group and of other groups post
// them. A stop may come.
TEST(ModelBoundGroups, NothingIsLost) {
    for (const unsigned workers : {1U, 2U, 3U}) {
        model::expect_passes_though_stopped([=](stops how) {
            scheduler scheduler{{.workers = workers}};
            group bound{scheduler};
            bound.bind(workers - 1);
            plain<int> steps{0};  // two at once would be a race
            counter other;
            const auto step = [&] {
                require(here() == workers - 1, "it is there");
                steps = steps + 1;
            };
            task_of last{step};
            task_of first{[&] {
                step();
                bound.post(last);
            }};
            task_of posted{step};
            task_of posts{[&] { bound.post(posted); }};
            {
                const interruption stop{scheduler, how};
                thread poster{[&] { scheduler.post(posts); }};
                bound.post(first);
                scheduler.post(other.task);
            }
            scheduler.drain();
            require_before(1s);
            require(steps == 3 && other.steps == 1, "each ran once");
        });
    }
}

// The group moves and is released while it has tasks. Tasks that are posted after the call run
// where the call says, one after the other.
TEST(ModelBoundGroups, MovesAndIsReleasedAtAnyMoment) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        group moved{scheduler};
        counter before;
        counter between;
        counter afterwards;
        task_of there{[&] { require(here() == 1, "it is there"); }};
        {
            const interruption stop{scheduler, how};
            thread user{[&] {
                moved.post(before.task);
                moved.bind(0);
                moved.release();
                moved.post(between.task);
            }};
            moved.bind(1);
        }
        moved.bind(1);
        moved.post(there);
        scheduler.drain();
        moved.release();
        moved.post(afterwards.task);
        scheduler.drain();
        require_before(1s);
        require(before.steps == 1 && between.steps == 1 && afterwards.steps == 1, "each ran once");
    });
}

// The only step on the bound worker waits for a step that can run only after a release.
TEST(ModelBoundGroups, NoTimeOutIsNeededForARelease) {
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 2}};
        group first{scheduler};
        group second{scheduler};
        first.bind(1);
        second.bind(1);
        sync::signal begun;
        sync::signal go;
        sync::signal ended;
        task_of waits{[&] {
            begun.send();
            go.receive();
            ended.send();
        }};
        task_of goes{[&] { go.send(); }};
        first.post(waits);
        begun.receive();
        second.post(goes);
        second.release();
        ended.receive();
        require_no_time_out();
        scheduler.drain();
    });
}

// The monitor takes slots from workers, but not from a worker with a bound group.
TEST(ModelBoundGroups, ItsWorkerKeepsItsThread) {
    const relieved twice{2};
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            scheduler scheduler{{.workers = workers, .blocked_after = 5ms}};
            group bound{scheduler};
            counter other;
            scheduler.post(other.task);  // it may lose its slot at any time
            bound.bind(0);
            plain<const void*> where{nullptr};
            plain<int> steps{0};
            const auto step = [&] {
                require(here() == 0, "it is there");
                require(!sched::access::about_to_block(), "it does not give up its slot");
                const void* const self = sched::worker::current();
                require(where == nullptr || where == self, "on the same thread as before");
                where = self;
                steps = steps + 1;
            };
            task_of first{step};
            task_of second{step};
            task_of third{step};
            bound.post(first);
            bound.post(second);
            scheduler.drain();
            bound.post(third);
            scheduler.drain();
            require_before(1s);
            require(steps == 3 && other.steps == 1, "each ran once");
        });
    }
}

// A bind or a release against a hand-over: a slot changes hands before the bind, or after the
// release.
TEST(ModelBoundGroups, ABindMeetsAHandOver) {
    const relieved once{1};
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 2, .blocked_after = 5ms}};
        group bound{scheduler};
        plain<const void*> where{nullptr};
        task_of blocks{[&] { static_cast<void>(sched::access::about_to_block()); }};
        task_of first{[&] { where = sched::worker::current(); }};
        task_of second{[&] { require(where == sched::worker::current(), "as before"); }};
        {
            thread poster{[&] { scheduler.post(blocks); }};
            bound.bind(0);
            bound.post(first);
            bound.post(second);
        }
        scheduler.drain();
        bound.release();
        require_before(1s);
    });
}

TEST(ModelBoundGroups, ItsHandleMayGoAsItsLastTaskEnds) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        std::optional<group> dropped;
        dropped.emplace(scheduler, group_options{.bound = true});
        counter first;
        counter second;
        dropped->post(first.task);
        dropped->post(second.task);
        {
            const interruption stop{scheduler, how};
            thread drops{[&] { dropped.reset(); }};
        }
        scheduler.drain();
        require_before(1s);
        require(first.steps == 1 && second.steps == 1, "each ran once");
    });
}

}  // namespace
}  // namespace fairlead::bound_groups_tests
