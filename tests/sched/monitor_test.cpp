// Slices: a long step is asked to yield to other tasks. In simulated time, and on threads by the
// monitor.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/with_scope.hpp>

#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace fairlead::monitor_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;
using test::simulation;

TEST(Slice, RefusesWrongOptions) {
    const auto refusal = [](duration slice) -> std::string {
        try {
            const scheduler made{{.workers = 1, .slice = slice}};
            return "accepted";
        } catch (const std::invalid_argument& refused) {
            return refused.what();
        }
    };
    EXPECT_EQ(refusal(0s), "accepted");
    EXPECT_EQ(refusal(100us), "accepted");
    EXPECT_NE(refusal(99us).find("slice must be 100 us to 10 s, or 0"), std::string::npos);
    EXPECT_NE(refusal(11s).find("slice"), std::string::npos);
    EXPECT_NE(refusal(-1s).find("slice"), std::string::npos);
}

TEST(Slice, NobodyIsAskedOutsideAStep) { EXPECT_FALSE(scheduler::should_yield()); }

// The slice is a millisecond, and begins with the first question.
TEST(Slice, IsMeasuredFromTheFirstQuestionOfAStep) {
    simulation sim;
    std::string log;
    scripted steps{[&](scripted& self) {
        for (int i = 0; i != 3; ++i) {
            log += scheduler::should_yield() ? 'y' : 'n';
            sim.clock.advance(500us);
        }
        if (self.runs == 1) sim.scheduler.post(self);
    }};
    sim.scheduler.post(steps);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, "nnynny");
}

task<> computes(test::manual_clock& clock, std::string& log, char name, int parts) {
    for (int i = 0; i != parts; ++i) {
        log += name;
        clock.advance(500us);
        co_await checkpoint();
    }
}

TEST(Slice, CheckpointsTakeTurnsWhenItIsUsedUp) {
    simulation sim;
    std::string log;
    auto first = spawn(sim.scheduler, computes(sim.clock, log, 'a', 6));
    auto second = spawn(sim.scheduler, computes(sim.clock, log, 'b', 6));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, "aaabbbaaabbb");
}

task<> tree(test::manual_clock& clock, std::string& log, int depth) {
    if (depth != 0) {
        co_await fork_join(tree(clock, log, depth - 1), tree(clock, log, depth - 1));
    } else {
        log += 'f';
        clock.advance(100us);
    }
}

// A tree of forks computes in one step. Its joins yield to other tasks after the slice, and the
// forks go on after that.
TEST(Slice, JoinsOfForksTakeTurnsWhenItIsUsedUp) {
    simulation sim;
    std::string log;
    auto computes_for_long = spawn(sim.scheduler, tree(sim.clock, log, 8));
    sim.scheduler.post([&] { log += '|'; });
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(computes_for_long.ended());
    EXPECT_EQ(std::ranges::count(log, 'f'), 256);
    EXPECT_LT(log.find('|'), 60U) << "it waits for a slice, and some joins";
    EXPECT_GT(log.find('|'), 9U);
}

// Repeats an await that need not wait.
template <class Await>
task<> goes_on(Await each, const std::atomic<bool>& over) {
    while (!over) co_await each();
}

task<> nothing() { co_return; }

// A task that never waits yields after a number of operations, so a task posted behind it has its
// turn.
TEST(Budget, WhoNeedNotWaitLetsOthersHaveTheirTurn) {
    const auto ends = [](auto each) {
        simulation sim;
        std::atomic<bool> over{false};
        auto loop = spawn(sim.scheduler, goes_on(each, over));
        sim.scheduler.post([&] { over = true; });
        sim.scheduler.run_until_idle();
        return loop.ended();
    };
    EXPECT_TRUE(ends([] { return for_each_index(3, [](std::size_t) {}); }));
    EXPECT_TRUE(ends([] { return with_scope([](scope&) { return nothing(); }); }));
}

TEST(Budget, WhoAwaitsWhatHasEndedLetsOthersHaveTheirTurn) {
    simulation sim;
    std::atomic<bool> over{false};
    std::vector<join_handle<void>> ended;
    for (int i = 0; i != 2 * coro::budget_of_step; ++i) {
        ended.push_back(spawn(sim.scheduler, nothing()));
    }
    sim.scheduler.run_until_idle();
    int joined = 0;
    const auto joins = [&]() -> task<> {
        for (join_handle<void>& each : ended) {
            if (over) co_return;
            co_await each;
            ++joined;
        }
    };
    auto loop = spawn(sim.scheduler, joins());
    sim.scheduler.post([&] { over = true; });
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(loop.ended());
    EXPECT_LE(joined, coro::budget_of_step + 1);
}

// --- on threads ----------------------------------------------------------------------------------

// A task computes for ever on the only worker. Without the monitor no other task would run.
TEST(Monitor, AsksWhoHasUsedUpItsSlice) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    std::atomic<bool> over{false};
    const auto computes = [&]() -> task<> {
        while (!over) co_await checkpoint();
    };
    auto busy = spawn(scheduler, computes());
    scheduler.post([&] { over = true; });
    busy.get();
}

TEST(Monitor, AsksCallbacks) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    std::atomic<bool> over{false};
    scripted busy{[&](scripted& self) {
        while (!over && !scheduler::should_yield()) {
        }
        if (!over) scheduler.post(self);
    }};
    scheduler.post(busy);
    scheduler.post([&] { over = true; });
    scheduler.drain();
}

TEST(Monitor, WakesUpForEachStepThatIsLong) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int i = 0; i != 20; ++i) {
        std::this_thread::sleep_for(i % 2 == 0 ? 60ms : 1ms);  // it sleeps as well, now and then
        std::atomic<int> asked{0};
        for (int k = 0; k != 2; ++k) {
            scheduler.post([&] {
                while (!scheduler::should_yield()) {
                }
                ++asked;
            });
        }
        scheduler.drain();
        EXPECT_EQ(asked, 2);
    }
}

// The slice begins with the step, however long the worker has slept before.
TEST(Monitor, DoesNotAskWhoHasOnlyJustBegun) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1, .slice = 100ms}};
    bool asked_early = false;
    for (int i = 0; i != 6; ++i) {
        std::this_thread::sleep_for(150ms);  // more than a slice passes without a step
        scheduler.post([&] {
            for (const time_point begin = clock::now(); clock::now() - begin < 20ms;) {
                const bool asked = scheduler::should_yield();
                if (clock::now() - begin < 50ms) asked_early |= asked;
            }
        });
        scheduler.drain();
    }
    EXPECT_FALSE(asked_early);
}

// The monitor asks a step to yield for a sleeper that is due, before the end of the slice.
TEST(Monitor, AsksSomebodyForWhoIsDue) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2, .slice = 10s}};
    for (int i = 0; i != 20; ++i) {
        std::atomic<bool> over{false};
        scripted sleeper{[&](scripted&) { over = true; }};
        scheduler.post_delay(sleeper, 2ms);
        const auto computes = [&]() -> task<> {
            while (!over) co_await checkpoint();
        };
        spawn(scheduler, computes()).detach();
        spawn(scheduler, computes()).detach();
        scheduler.drain();
    }
}

}  // namespace
}  // namespace fairlead::monitor_tests
