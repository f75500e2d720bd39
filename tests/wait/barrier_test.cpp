// Tasks and threads that go on together.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/barrier.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace fairlead::barrier_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

TEST(Barrier, AllGoOnAfterTheLastArrivalAndTheCompletion) {
    simulation sim;
    std::vector<int> log;
    barrier meet{3, [&]() noexcept { log.push_back(0); }};
    const auto arrives = [&](int number) -> task<> {
        log.push_back(number);
        EXPECT_TRUE((co_await meet.arrive_and_wait()).has_value());
        log.push_back(-number);
    };
    spawn(sim.scheduler, arrives(1)).detach();
    spawn(sim.scheduler, arrives(2)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(meet.arrived(), 2U);
    EXPECT_EQ(log, (std::vector{1, 2}));
    spawn(sim.scheduler, arrives(3)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2, 3, 0, -3, -1, -2})) << "in the order of arrival";
    EXPECT_EQ(meet.arrived(), 0U);
}

TEST(Barrier, IsUsedPhaseAfterPhase) {
    simulation sim;
    int phases = 0;
    barrier meet{4, [&]() noexcept { ++phases; }};
    const auto steps = [&](duration each) -> task<> {
        for (int phase = 1; phase != 100; ++phase) {
            co_await sleep_for(each);
            EXPECT_TRUE((co_await meet.arrive_and_wait()).has_value());
            EXPECT_EQ(phases, phase);
        }
    };
    std::vector<join_handle<void>> all;
    for (const duration each : {1ms, 2ms, 3ms, 0ms})
        all.push_back(spawn(sim.scheduler, steps(each)));
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    for (auto& each : all) each.get();
    EXPECT_EQ(phases, 99);
}

// tokio#6494, tokio#8370.
TEST(Barrier, AnArrivalThatExpiresDoesNotCount) {
    simulation sim;
    const time_point begin = sim.clock.now();
    barrier meet{2};
    std::vector<wait_error> errors;
    const auto gives_up = [&](duration patience) -> task<> {
        const waited<void> met = co_await meet.arrive_and_wait(begin + patience);
        if (!met) errors.push_back(met.error());
    };
    auto early = spawn(sim.scheduler, gives_up(-1s));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(errors.size(), 1U) << "one look, then its deadline";
    auto first = spawn(sim.scheduler, gives_up(5ms));
    sim.scheduler.run_until_idle();
    sim.scheduler.run_until(begin + 5ms);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(errors, (std::vector{wait_error::expired, wait_error::expired}));
    EXPECT_EQ(meet.arrived(), 0U);
    auto second = spawn(sim.scheduler, gives_up(10s));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(second.ended()) << "the arrival that has expired does not count";
    auto third = spawn(sim.scheduler, gives_up(10s));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(second.ended() && third.ended());
    EXPECT_EQ(errors.size(), 2U);
}

TEST(Barrier, AnArrivalThatIsStoppedDoesNotCount) {
    simulation sim;
    barrier meet{2};
    std::vector<wait_error> errors;
    const auto arrives = [&]() -> task<> {
        const waited<void> met = co_await meet.arrive_and_wait();
        if (!met) errors.push_back(met.error());
    };
    auto before = spawn(sim.scheduler, arrives());
    before.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(errors, (std::vector{wait_error::stopped}));
    EXPECT_EQ(meet.arrived(), 0U) << "a task that was stopped before does not arrive";
    auto first = spawn(sim.scheduler, arrives());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(meet.arrived(), 1U);
    first.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(errors.size(), 2U);
    EXPECT_EQ(meet.arrived(), 0U);
}

// The phase has ended before the stop: the arrival was used.
TEST(Barrier, AStopAfterTheEndOfThePhaseComesTooLate) {
    simulation sim;
    barrier meet{2};
    int met = 0;
    const auto arrives = [&]() -> task<> {
        if (co_await meet.arrive_and_wait()) ++met;
        EXPECT_EQ((co_await meet.arrive_and_wait()).error(), wait_error::stopped);
    };
    auto first = spawn(sim.scheduler, arrives());
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(meet.try_arrive());
    first.request_stop();
    sim.scheduler.run_until_idle();
    first.get();
    EXPECT_EQ(met, 1);
}

TEST(Barrier, ADropMakesTheArrivalsEnough) {
    simulation sim;
    int phases = 0;
    barrier meet{3, [&]() noexcept { ++phases; }};
    int met = 0;
    const auto arrives = [&]() -> task<> {
        for (int i = 0; i != 2; ++i) {
            if (co_await meet.arrive_and_wait()) ++met;
        }
    };
    auto first = spawn(sim.scheduler, arrives());
    auto second = spawn(sim.scheduler, arrives());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(met, 0);
    meet.drop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(phases, 2) << "the next phase needs two";
    EXPECT_EQ(met, 4);
    EXPECT_EQ(meet.parties(), 2U);
    meet.drop();
    meet.drop();
    EXPECT_EQ(meet.parties(), 0U);
    EXPECT_EQ(phases, 2) << "a phase without arrivals does not end";
}

TEST(Barrier, TryArriveArrivesOnlyAsTheLastOne) {
    simulation sim;
    int phases = 0;
    barrier meet{2, [&]() noexcept { ++phases; }};
    EXPECT_FALSE(meet.try_arrive());
    EXPECT_EQ(meet.arrived(), 0U);
    const auto arrives = [&]() -> task<> {
        EXPECT_TRUE((co_await meet.arrive_and_wait()).has_value());
    };
    auto first = spawn(sim.scheduler, arrives());
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(meet.try_arrive());
    EXPECT_EQ(phases, 1);
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(first.ended());
    barrier alone{1};
    EXPECT_TRUE(alone.try_arrive());
}

// A barrier of one never waits. The loop lets other tasks have their turn.
TEST(Barrier, ALoopThatNeverWaitsDoesNotKeepItsWorker) {
    simulation sim;
    barrier alone{1};
    int steps = 0;
    const auto arrives = [&]() -> task<> {
        for (; steps != 10'000; ++steps)
            EXPECT_TRUE((co_await alone.arrive_and_wait()).has_value());
    };
    auto handle = spawn(sim.scheduler, arrives());
    int steps_before = -1;
    sim.scheduler.post([&] { steps_before = steps; });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(steps, 10'000);
    EXPECT_LT(steps_before, 10'000);
    handle.get();
}

TEST(Barrier, WhatWaitsLeavesWithItsScheduler) {
    for (const duration limit : {0ms, 1'000ms}) {
        barrier meet{2};
        const auto arrives = [&]() -> task<> {
            EXPECT_EQ((co_await meet.arrive_and_wait()).error(), wait_error::stopped);
        };
        {
            scheduler home{{.stop_limit = limit, .run_on_caller = true}};
            spawn(home, arrives()).detach();
            home.run_until_idle();
            EXPECT_EQ(meet.arrived(), 1U);
        }
        EXPECT_EQ(meet.arrived(), 0U);
    }
}

// onnxruntime#29700, stdexec#1777: the first act of what goes on is to destroy it.
TEST(Barrier, ATaskThatGoesOnMayDestroyIt) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int i = 0; i != 2'000; ++i) {
        auto meet = std::make_unique<barrier<>>(2U);
        std::atomic<int> left{2};
        const auto arrives = [&]() -> task<> {
            EXPECT_TRUE((co_await meet->arrive_and_wait()).has_value());
            if (--left == 1) meet.reset();
        };
        auto first = spawn(scheduler, arrives());
        auto second = spawn(scheduler, arrives());
        first.get();
        second.get();
    }
}

TEST(Barrier, TasksAndThreadsMeet) {
    test::watchdog guard;
    constexpr int phases = 500;
    scheduler scheduler{{.workers = 2}};
    int ended = 0;  // written by completions only
    barrier meet{6, [&]() noexcept { ++ended; }};
    const auto steps = [&]() -> task<> {
        for (int phase = 1; phase <= phases; ++phase) {
            EXPECT_TRUE((co_await meet.arrive_and_wait()).has_value());
            EXPECT_EQ(ended, phase);
        }
    };
    std::vector<join_handle<void>> all;
    for (int i = 0; i != 3; ++i) all.push_back(spawn(scheduler, steps()));
    test::run_together(3, [&](std::size_t) {
        for (int phase = 1; phase <= phases; ++phase) {
            EXPECT_TRUE(meet.arrive_and_wait_blocking().has_value());
            EXPECT_EQ(ended, phase);
        }
    });
    for (auto& each : all) each.get();
    EXPECT_EQ(ended, phases);
}

// Deadlines of threads race with ends of phases: as many arrivals are used as phases need.
TEST(Barrier, DeadlinesRaceWithTheEndOfAPhase) {
    test::watchdog guard;
    constexpr int wanted = 500;
    std::atomic<int> ended{0};
    std::atomic<int> met{0};
    barrier meet{2, [&]() noexcept { ++ended; }};
    test::run_together(2, [&](std::size_t) {
        for (int i = 0; ended < wanted; ++i) {
            if (meet.arrive_and_wait_blocking(clock::now() + i % 7 * 20us)) ++met;
        }
    });
    EXPECT_EQ(met, 2 * ended);
    EXPECT_EQ(meet.arrived(), 0U);
}

}  // namespace
}  // namespace fairlead::barrier_tests
