// Tasks and threads that wait for a number of arrivals. The tests of races are in races_test.cpp.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/latch.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace fairlead::latch_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

task<> waits(latch& all, std::vector<int>& log, int number, time_point deadline = never) {
    const waited<void> came = co_await all.wait(deadline);
    log.push_back(came ? number : -number);
}

TEST(Latch, OpensAtTheLastArrivalForGood) {
    simulation sim;
    latch all{4};
    std::vector<int> log;
    for (int i = 1; i != 4; ++i) spawn(sim.scheduler, waits(all, log, i)).detach();
    sim.scheduler.run_until_idle();
    for (std::uint32_t left = 4; left != 1; --left) {
        EXPECT_EQ(all.left(), left);
        all.arrive();
        sim.scheduler.run_until_idle();
        EXPECT_TRUE(log.empty());
        EXPECT_FALSE(all.is_open());
    }
    all.arrive();
    EXPECT_TRUE(all.is_open());
    EXPECT_EQ(all.left(), 0U);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
    block_on(sim.scheduler, waits(all, log, 4));
    EXPECT_EQ(log, (std::vector{1, 2, 3, 4}));
}

TEST(Latch, SeveralArriveAtOnce) {
    simulation sim;
    latch all{10};
    std::vector<int> log;
    spawn(sim.scheduler, waits(all, log, 1)).detach();
    all.arrive(3);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.left(), 7U);
    all.arrive(7);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{1}));
}

TEST(Latch, OfNoArrivalsIsOpen) {
    simulation sim;
    latch none{0};
    EXPECT_TRUE(none.is_open());
    std::vector<int> log;
    block_on(sim.scheduler, waits(none, log, 1));
    EXPECT_EQ(log, (std::vector{1}));
    EXPECT_TRUE(none.wait_blocking());
}

TEST(Latch, TasksArriveAndWait) {
    simulation sim;
    latch all{3};
    int together = 0;
    const auto arrives = [&](duration after) -> task<> {
        co_await sleep_for(after);
        EXPECT_TRUE(co_await all.arrive_and_wait());
        EXPECT_TRUE(all.is_open());
        ++together;
    };
    for (const duration after : {1ms, 5ms, 9ms}) spawn(sim.scheduler, arrives(after)).detach();
    const time_point begin = sim.clock.now();
    sim.scheduler.run_until(begin + 8ms);
    EXPECT_EQ(together, 0);
    EXPECT_TRUE(sim.scheduler.drain_for(1s));
    EXPECT_EQ(together, 3);
    EXPECT_EQ(sim.clock.now(), begin + 9ms);
}

TEST(Latch, AnArrivalCountsThoughItsWaitEndsEarly) {
    simulation sim;
    latch all{3};
    const time_point begin = sim.clock.now();
    const auto arrives = [&](time_point deadline, wait_error why) -> task<> {
        const waited<void> came = co_await all.arrive_and_wait(deadline);
        EXPECT_FALSE(came.has_value());
        EXPECT_EQ(came.error(), why);
    };
    spawn(sim.scheduler, arrives(begin + 1s, wait_error::expired)).detach();
    auto stopped = spawn(sim.scheduler, arrives(never, wait_error::stopped));
    stopped.request_stop();
    sim.scheduler.run_until_idle();
    sim.scheduler.run_until(begin + 1s);
    EXPECT_EQ(all.left(), 1U);
    all.arrive();
    EXPECT_TRUE(all.is_open());
}

TEST(Latch, ADeadlineThatIsPastIsOneLook) {
    simulation sim;
    latch all{1};
    std::vector<int> log;
    const time_point past = sim.clock.now() - 1s;
    block_on(sim.scheduler, waits(all, log, 1, past));
    all.arrive();
    block_on(sim.scheduler, waits(all, log, 2, past));
    EXPECT_EQ(log, (std::vector{-1, 2}));
}

TEST(LatchDeathTest, MisuseIsAnError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    latch all{2};
    EXPECT_DEATH(all.arrive(3), "more arrived at a latch than it was made for");
    all.arrive(2);
    EXPECT_DEATH(all.arrive(), "more arrived at a latch than it was made for");
    const auto blocks = [] {
        simulation sim;
        latch one{1};
        sim.scheduler.post([&] { static_cast<void>(one.wait_blocking()); });
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(blocks(), "a wait that blocks its thread was called on a worker");
    const auto destroys = [] {
        simulation sim;
        std::vector<int> log;
        auto one = std::make_unique<latch>(1);
        spawn(sim.scheduler, waits(*one, log, 1)).detach();
        sim.scheduler.run_until_idle();
        one.reset();
    };
    EXPECT_DEATH(destroys(), "destroyed while a task or a thread waits for it");
}

}  // namespace
}  // namespace fairlead::latch_tests
