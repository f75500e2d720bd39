// Groups that are bound to one worker: on the caller, in simulated time.
#include <fairlead/sched/group.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <latch>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fairlead::bound_groups_tests {
namespace {

using namespace std::chrono_literals;
using test::numbered;
using test::scripted;
using test::simulation;

// --- what it is bound to -------------------------------------------------------------------------

TEST(BoundGroup, RefusesWorkersThatAreNotThere) {
    scheduler scheduler{{.workers = 3}};
    group one{scheduler};
    one.bind(2);
    try {
        one.bind(3);
        ADD_FAILURE() << "it was accepted";
    } catch (const std::invalid_argument& refused) {
        EXPECT_NE(std::string_view{refused.what()}.find("group::bind must be 0 to 2"),
                  std::string_view::npos)
            << refused.what();
    }
    EXPECT_EQ(one.stats().bound_to, 2U) << "as before";
}

TEST(BoundGroup, IsSpreadOverTheWorkersUnlessOneIsNamed) {
    scheduler scheduler{{.workers = 3}};
    std::deque<group> all;
    std::array<int, 3> on{};
    for (int i = 0; i != 9; ++i) {
        if (i == 0) {
            all.emplace_back(scheduler).bind(1);
        } else if (i % 2 == 0) {
            all.emplace_back(scheduler, group_options{.bound = true});
        } else {
            all.emplace_back(scheduler).bind();
        }
        ++on.at(*all.back().stats().bound_to);
    }
    EXPECT_EQ(on, (std::array{3, 3, 3}));
    EXPECT_EQ(group(scheduler).stats().bound_to, std::nullopt);
}

TEST(BoundGroup, StaysMovesAndIsReleased) {
    scheduler scheduler{{.workers = 2}};
    group one{scheduler};
    one.bind(1);
    one.bind();
    EXPECT_EQ(one.stats().bound_to, 1U);
    one.bind(0);
    EXPECT_EQ(one.stats().bound_to, 0U);
    one.release();
    one.release();
    EXPECT_EQ(one.stats().bound_to, std::nullopt);
    // An earlier binding does not count any more, nor a group that was destroyed.
    group other{scheduler};
    other.bind(1);
    { const group gone{scheduler, {.bound = true}}; }
    one.bind();
    EXPECT_EQ(one.stats().bound_to, 0U);
}

// --- one worker, on the caller -------------------------------------------------------------------

TEST(BoundGroup, IsAStrandWhateverItsLimitSays) {
    simulation sim;
    group one{sim.scheduler, {.max_concurrency = 3, .bound = true}};
    std::vector<int> log;
    std::deque<numbered> tasks;
    for (int i = 0; i != 500; ++i) one.post(tasks.emplace_back(log, i));
    EXPECT_EQ(sim.scheduler.run_until_idle(), 500U);
    std::vector<int> wanted(500);
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(log, wanted);
    EXPECT_EQ(one.stats().tasks, 0U);
}

// The share follows the weight, beside other groups that are bound or not. A higher priority goes
// first.
TEST(BoundGroup, HasItsShare) {
    simulation sim;
    const time_point end = sim.clock.now() + 2s;
    struct tenant {
        tenant(scheduler& in, unsigned its_weight)
            : weight{its_weight}, own{in, {.weight = weight, .bound = weight != 200}} {}
        const unsigned weight;
        group own;
        scripted task;
    };
    std::deque<tenant> all;
    unsigned weights = 0;
    for (const unsigned weight : {100U, 200U, 300U, 50U}) {
        weights += weight;
        tenant& added = all.emplace_back(sim.scheduler, weight);
        added.task.then([&](scripted& self) {
            if (sim.clock.now() >= end) return;
            sim.clock.advance(20us);
            added.own.post(self);
        });
        added.own.post(added.task);
    }
    sim.scheduler.run_until_idle();
    for (const tenant& each : all) {
        const std::chrono::duration<double> wanted = 2.0s * each.weight / weights;
        EXPECT_NEAR((each.own.stats().used + 0.0s) / wanted, 1, 0.02) << each.weight;
    }
}

TEST(BoundGroup, HigherPrioritiesGoFirstAndTheLowestStillMoves) {
    simulation sim;
    group low{sim.scheduler, {.priority = priority::low, .bound = true}};
    group high{sim.scheduler, {.priority = priority::high, .bound = true}};
    group control{sim.scheduler, {.priority = priority::highest, .bound = true}};
    const time_point end = sim.clock.now() + 2s;
    std::deque<scripted> tasks;
    for (group* each : {&low, &high}) {
        each->post(tasks.emplace_back([&, each](scripted& self) {
            if (sim.clock.now() >= end) return;
            sim.clock.advance(20us);
            each->post(self);
        }));
    }
    int before = 0;
    scripted message{[&](scripted&) {
        for (const scripted& each : tasks) before += each.runs;
    }};
    control.post(message);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(message.runs, 1);
    EXPECT_EQ(before, 0) << "it was admitted first";
    EXPECT_LE(low.stats().used, 20ms) << "a turn in 100 ms";
    EXPECT_GE(low.stats().used, 200us);
}

// Tasks of a bound group sleep and are woken as any, and the group may be paused.
TEST(BoundGroup, ItsTasksSleepAndItMayBePaused) {
    simulation sim;
    group one{sim.scheduler, {.bound = true}};
    scripted sleeper{[&](scripted& self) {
        if (self.runs == 1) one.post_delay(self, 10ms);
        if (self.runs == 2) one.post_wait(self);
    }};
    one.post(sleeper);
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 1U);
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 1U);
    one.pause();
    sleeper.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    one.release();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    one.bind();
    one.resume();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_EQ(one.stats().steps, 3U);
}

TEST(BoundGroup, WhatAStopLeavesIsReportedAndGoesOnAfterIt) {
    simulation sim;
    group one{sim.scheduler, {.bound = true}};
    one.pause();
    std::vector<int> log;
    std::deque<numbered> tasks;
    for (int i = 0; i != 5; ++i) one.post(tasks.emplace_back(log, i));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sim.scheduler.stop(1ms).queued, 5U);
    sim.scheduler.start();
    one.resume();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 5U);
    EXPECT_EQ(log, (std::vector{0, 1, 2, 3, 4}));
}

TEST(BoundGroup, IsGivenBackByADestructor) {
    std::vector<int> log;
    std::deque<numbered> tasks;
    {
        simulation sim;
        group one{sim.scheduler, {.bound = true}};
        one.pause();
        for (int i = 0; i != 5; ++i) one.post(tasks.emplace_back(log, i));
        one.post_wait(tasks.emplace_back(log, 5));
        sim.scheduler.run_until_idle();
    }
    for (const numbered& each : tasks) EXPECT_EQ(each.owner(), nullptr);
}

}  // namespace
}  // namespace fairlead::bound_groups_tests
