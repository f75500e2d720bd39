// Steps that lose their slot: [HO1] with every order of steps, and the whole scheduler by
// priorities.
//
// The checker's monitor takes the slot of any worker, at any moment.
#include "model/interruption.hpp"
#include "model/reliefs.hpp"
#include "model/tasks.hpp"
#include "sched/slot/slot_owner.hpp"
#include "sched/slot/visible_step.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/os/barrier.hpp>
#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/block_in_place.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/parallel_invoke.hpp>

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace fairlead::handover_tests {
namespace {

using namespace std::chrono_literals;
using model::counter;
using model::interruption;
using model::plain;
using model::policies;
using model::relieved;
using model::require;
using model::require_before;
using model::require_no_time_out;
using model::stops;
using model::task_of;
using model::thread;

// The protocol alone: one thread at a time has the slot.
TEST(ModelHandover, TheStepOrTheTakerHasTheSlot) {
    model::expect_passes([] {
        plain<int> slot{0};
        sched::slot_owner<int> owner;
        sched::visible_step step;
        int first = 0;
        int second = 0;
        sync::mutex mutex;
        owner.take(first);
        model::in_threads(
            [&] {
                for (int i = 0; i != 2; ++i) {
                    step.enter_slot();
                    bool has = owner.is(first);
                    if (!has && owner.may_be(first)) {
                        std::lock_guard lock{mutex};
                        has = owner.may_be(first);
                    }
                    if (has) slot = slot + 1;
                    step.leave_slot();
                }
            },
            [&] {
                std::lock_guard lock{mutex};
                owner.doubt();
                static_cast<void>(os::heavy_barrier());
                if (step.is_at_slot()) return owner.settle();
                owner.pass_to(second);
                slot = slot + 1;
            });
    });
}

// Each step posts another, before and after the moment in which it may lose its slot.
TEST(ModelHandover, NothingIsLostOfWhatTheStepPosts) {
    const relieved once{1};
    for (const policy policy : policies) {
        for (const unsigned workers : {1U, 2U}) {
            model::expect_passes_though_stopped([=](stops how) {
                scheduler scheduler{{.workers = workers, .policy = policy, .blocked_after = 5ms}};
                counter second;
                counter third;
                task_of first{[&] {
                    scheduler.post(second.task);
                    scheduler.post(third.task);
                }};
                counter other;
                {
                    const interruption stop{scheduler, how};
                    scheduler.post(first);
                    scheduler.post(other.task);
                }
                scheduler.drain();
                require_before(1s);
                require(second.steps == 1 && third.steps == 1 && other.steps == 1, "each ran once");
            });
        }
    }
}

// The tasks that the step waits for can run only after its slot is passed on. That must need no
// time-out.
TEST(ModelHandover, AStepThatBlocksInPlaceWaitsForOthers) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_though_stopped_patiently([=](stops how) {
            scheduler scheduler{{.workers = workers, .blocked_after = 5ms}};
            sync::signal go;
            sync::signal after;
            task_of second{[&] { go.send(); }};
            task_of third{[&] { after.send(); }};
            task_of first{[&] {
                scheduler.post(second);
                block_in_place([&] { go.receive(); });
                scheduler.post(third);
            }};
            {
                scheduler.post(first);
                const interruption stop{scheduler, how};
            }
            after.receive();
            require_no_time_out();
            scheduler.drain();
        });
    }
}

// A drain that comes meanwhile returns after the last step, which ends without a slot.
TEST(ModelHandover, ADrainIsToldAfterAStepWithoutASlot) {
    const relieved twice{2};
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            scheduler scheduler{{.workers = workers, .blocked_after = 5ms}};
            plain<int> done{0};
            task_of task{[&] {
                static_cast<void>(sched::access::about_to_block());
                done = 1;
            }};
            scheduler.post(task);
            scheduler.drain();
            require_before(1s);
            require(done == 1, "it has ended");
        });
    }
}

TEST(ModelHandover, AStepOfAStrandKeepsItsPlace) {
    const relieved twice{2};
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        {
            group strand{scheduler, {.max_concurrency = 1}};
            plain<int> value{0};  // the tasks share it without a lock
            task_of second{[&] { value = value + 1; }};
            task_of first{[&] {
                value = value + 1;
                strand.post(second);
                value = value + 1;
            }};
            {
                const interruption stop{scheduler, how};
                strand.post(first);
            }
            scheduler.drain();
            require_before(1s);
            require(value == 3, "both ran");
        }
    });
}

// Each step keeps its slot while it calls in parallel, and loses it then: both wait for a third.
TEST(ModelHandover, AStepThatHasCalledInParallelGivesItsSlotAway) {
    const relieved once{1};
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 2, .blocked_after = 5ms}};
        sync::signal go[2];
        plain<int> ran[2]{{0}, {0}};
        sync::signal after;
        const auto body = [&](int i) {
            const auto [left, right] = parallel_invoke([] { return 1; }, [] { return 2; });
            ran[i] = left + right;
            block_in_place([&] { go[i].receive(); });
        };
        task_of first{[&] { body(0); }};
        task_of second{[&] { body(1); }};
        task_of third{[&] {
            go[0].send();
            go[1].send();
            after.send();
        }};
        for (task_of* const each : {&first, &second, &third}) scheduler.post(*each);
        after.receive();
        scheduler.drain();
        require(ran[0] == 3 && ran[1] == 3, "all calls have returned");
    });
}

// A step that has forked keeps its slot. A step without a slot runs its forks itself.
TEST(ModelHandover, ForksAreRunOnce) {
    const relieved twice{2};
    model::expect_passes_though_stopped([](stops how) {
        plain<int> ran{0};
        scheduler scheduler{{.workers = 2}};
        const auto child = []() -> task<int> { co_return 1; };
        const auto parent = [&]() -> task<> {
            auto [a, b] = co_await fork_join(child(), child());
            co_await shielded(yield());
            ran = ran + a + b;
        };
        {
            const interruption stop{scheduler, how};
            model::result_of(spawn(scheduler, parent()));
        }
        require(ran == 2, "each ran once");
    });
}

// The spare worker runs steps that fork, too.
TEST(ModelHandover, ForksOfTwoAreRunOnce) {
    const relieved twice{2};
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_though_stopped([=](stops how) {
            plain<int> first{0};
            plain<int> second{0};
            scheduler scheduler{{.workers = workers, .blocked_after = 5ms}};
            const auto child = []() -> task<int> { co_return 1; };
            const auto parent = [&](plain<int>& sum) -> task<> {
                auto [a, b] = co_await fork_join(child(), child());
                sum = a + b;
            };
            {
                const interruption stop{scheduler, how};
                spawn(scheduler, parent(first)).detach();
                spawn(scheduler, parent(second)).detach();
            }
            scheduler.drain();
            require_before(1s);
            require(first == 2 && second == 2, "each ran once");
        });
    }
}

// A worker without a slot has posted. It gets a slot again, and loses it again. No wake-up needs a
// time-out.
TEST(ModelHandover, AWorkerIsUsedAgain) {
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 1}};
        std::array<sync::signal, 3> ended;
        counter posted;
        counter other;
        std::array<std::optional<task_of>, 3> steps;
        for (std::size_t i = 0; i != steps.size(); ++i) {
            steps[i].emplace([&, i] {
                require(sched::access::about_to_block(), "it has a slot to give up");
                if (i == 0) scheduler.post(posted.task);
                if (i == 1) scheduler.post(other.task);
                ended[i].send();
            });
        }
        for (std::size_t i = 0; i != steps.size(); ++i) {
            scheduler.post(*steps[i]);
            ended[i].receive();
        }
        require_no_time_out();
        scheduler.drain();
        require(posted.steps == 1 && other.steps == 1, "each ran once");
    });
}

// A thread that posts with a deadline from outside may be the last to leave a scheduler that is
// destroyed.
TEST(ModelHandover, APostWithADeadlineTouchesNothingAfterItsTaskMayHaveRun) {
    model::expect_passes_by_priorities([] {
        std::optional<scheduler> scheduler{std::in_place, scheduler_options{.workers = 1}};
        sync::signal ran;
        task_of task{[&] { ran.send(); }};
        thread poster{[&] { scheduler->post_deadline(task, time_point{}); }};
        ran.receive();
        scheduler.reset();
    });
}

}  // namespace
}  // namespace fairlead::handover_tests
