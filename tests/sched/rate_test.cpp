// A limit of the rate at which tasks of a group begin: of the bucket, in simulated time, and on threads.
#include "sched/rate_limit.hpp"

#include <fairlead/sched/group.hpp>

#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

using namespace std::chrono_literals;
using sched::rate_limit;
using test::scripted;
using test::simulation;

constexpr time_point start{1h};

int taken_at(rate_limit& from, time_point now) {
    int count = 0;
    while (from.take(now)) ++count;
    return count;
}

// --- the bucket ---------------------------------------------------------------------------------------------

TEST(RateLimit, LetsOneInAfterTheOther) {
    rate_limit one{100, 1};
    EXPECT_LE(one.next(), start);
    EXPECT_TRUE(one.take(start));
    EXPECT_FALSE(one.take(start));
    EXPECT_EQ(one.next(), start + 10ms);
    EXPECT_FALSE(one.take(start + 10ms - 1ns));
    EXPECT_TRUE(one.take(start + 10ms));
    EXPECT_TRUE(one.take(start + 25ms)) << "late";
    EXPECT_FALSE(one.take(start + 30ms)) << "that is not made up for";
}

TEST(RateLimit, SavesABurstInAPause) {
    rate_limit one{1'000, 5};
    EXPECT_EQ(taken_at(one, start), 5);
    EXPECT_EQ(taken_at(one, start + 2ms), 2);
    EXPECT_EQ(taken_at(one, start + 1h), 5) << "no more than that";
    EXPECT_EQ(one.next(), start + 1h + 1ms);
}

// Whatever the times, no more than the burst and what the rate allows.
TEST(RateLimit, NeverMoreThanTheRateInAnyTime) {
    rate_limit one{3'000, 7};
    std::deque<time_point> taken;
    time_point now = start;
    for (int i = 0; i != 100'000; ++i) {
        now += 1us * (i * 7919 % 600);
        if (one.take(now)) taken.push_back(now);
    }
    for (std::size_t first = 0; first + 1'000 < taken.size(); first += 97) {
        for (const std::size_t more : {1, 6, 7, 8, 50, 999}) {
            const std::chrono::duration<double> time = taken[first + more] - taken[first];
            EXPECT_LE(static_cast<double>(more + 1), 7 + time.count() * 3'000 + 0.01);
        }
    }
    EXPECT_NEAR(static_cast<double>(taken.size()),
                std::chrono::duration<double>(now - start).count() * 3'000, 10);
}

TEST(RateLimit, TheRateChangesAndWhatIsMissingStays) {
    rate_limit one{1.0 / 3600, 1};
    EXPECT_TRUE(one.take(start));
    one.set(100, start + 30min);
    EXPECT_EQ(one.next(), start + 30min + 5ms) << "half of one was missing";
    one.set(0, start + 30min);
    for (int i = 0; i != 1'000; ++i) EXPECT_TRUE(one.take(start + 30min));
    one.set(10, start + 31min);
    EXPECT_TRUE(one.take(start + 31min));
    EXPECT_FALSE(one.take(start + 31min));
}

// --- of a group -----------------------------------------------------------------------------------------------

TEST(RateOfAGroup, OptionsAreChecked) {
    simulation sim;
    for (const double rate :
         {-1.0, 1.0 / 3601, 1.1e9, std::nan(""), std::numeric_limits<double>::infinity()}) {
        EXPECT_THROW((group{sim.scheduler, {.rate_max = rate}}), std::invalid_argument) << rate;
        group one{sim.scheduler};
        EXPECT_THROW(one.set_rate_max(rate), std::invalid_argument) << rate;
    }
    for (const unsigned burst : {0U, 1'000'001U}) {
        EXPECT_THROW((group{sim.scheduler, {.rate_burst = burst}}), std::invalid_argument);
    }
}

// When each of so many tasks begins that are posted with places at once.
struct begins {
    begins(simulation& in, group& of, int count) : sim{in} {
        for (int i = 0; i != count; ++i) {
            EXPECT_TRUE(of.try_post([this] { at.push_back(sim.clock.now() - from); }));
        }
    }

    simulation& sim;
    const time_point from = sim.clock.now();
    std::vector<duration> at;
};

TEST(RateOfAGroup, TasksBeginOneAfterTheOther) {
    simulation sim;
    group one{sim.scheduler, {.rate_max = 100}};
    const begins all{sim, one, 50};
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.at.size(), 1U);
    EXPECT_EQ(one.stats().queued, 49U);
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    ASSERT_EQ(all.at.size(), 50U);
    for (int i = 0; i != 50; ++i) EXPECT_EQ(all.at[static_cast<std::size_t>(i)], i * 10ms);
    EXPECT_EQ(one.stats().delayed, 49U);
    EXPECT_EQ(one.stats().queued, 0U);
}

TEST(RateOfAGroup, AfterAPauseAFewBeginAtOnce) {
    simulation sim;
    group one{sim.scheduler, {.rate_max = 100, .rate_burst = 4}};
    const begins all{sim, one, 10};
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    const std::vector<duration> wanted{0ms, 0ms, 0ms, 0ms, 10ms, 20ms, 30ms, 40ms, 50ms, 60ms};
    EXPECT_EQ(all.at, wanted);
    sim.clock.advance(1h);
    const begins again{sim, one, 5};
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    EXPECT_EQ(again.at, (std::vector<duration>{0ms, 0ms, 0ms, 0ms, 10ms}));
}

// A task that has begun is not held up, nor what needs no place; both go before those that wait.
TEST(RateOfAGroup, WhatHasBegunGoesOn) {
    simulation sim;
    group one{sim.scheduler, {.rate_max = 1}};
    scripted sleeper{[&](scripted& self) {
        if (self.runs < 100) one.post_delay(self, 1ms);
    }};
    ASSERT_TRUE(one.try_post(sleeper));
    const begins later{sim, one, 2};
    int plain = 0;
    for (int i = 0; i != 10; ++i) one.post([&] { ++plain; });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(plain, 10);
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    EXPECT_EQ(sleeper.runs, 100);
    EXPECT_EQ(later.at, (std::vector<duration>{1s, 2s}));
}

// So who sends more than the rate is refused, waits, or has the oldest dropped: as the bound says.
TEST(RateOfAGroup, TheBoundOfTheQueueSaysWhatHappensToTheRest) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 3, .rate_max = 10}};
    const begins all{sim, one, 3};
    EXPECT_FALSE(one.try_post([] {}));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(one.try_post([] {})) << "one has begun";
    EXPECT_FALSE(one.try_post([] {}));
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    EXPECT_EQ(all.at, (std::vector<duration>{0ms, 100ms, 200ms}));
    EXPECT_EQ(one.stats().refused, 2U);
}

TEST(RateOfAGroup, TheOldestAreDroppedThoughTheyWaitForTheRate) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 2, .drop_oldest = true, .rate_max = 10}};
    std::vector<int> log;
    for (int i = 0; i != 10; ++i) {
        EXPECT_TRUE(one.try_post([&log, i] { log.push_back(i); }));
    }
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    EXPECT_EQ(one.stats().dropped + log.size(), 10U);
    EXPECT_GE(one.stats().dropped, 7U);
    EXPECT_EQ(log.back(), 9);
    EXPECT_EQ(log[log.size() - 2], 8);
}

TEST(RateOfAGroup, OthersAreNotHeldUp) {
    simulation sim;
    group slow{sim.scheduler, {.priority = priority::high, .rate_max = 1}};
    group other{sim.scheduler};
    const begins waits{sim, slow, 3};
    const begins all{sim, other, 1'000};
    std::optional<time_point> free;
    sim.scheduler.post([&] { free = sim.clock.now(); });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.at.size(), 1'000U);
    EXPECT_EQ(free, all.from);
    EXPECT_EQ(waits.at.size(), 1U);
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    EXPECT_EQ(waits.at, (std::vector<duration>{0s, 1s, 2s}));
}

// While it is paused or full no rate is used up.
TEST(RateOfAGroup, APauseSavesABurstAndNoMore) {
    simulation sim;
    group one{sim.scheduler, {.rate_max = 10, .rate_burst = 2}};
    one.pause();
    const begins all{sim, one, 5};
    sim.scheduler.run_until_idle();
    sim.clock.advance(10s);
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(all.at.empty());
    one.resume();
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    EXPECT_EQ(all.at, (std::vector<duration>{10s, 10s, 10'100ms, 10'200ms, 10'300ms}));
}

TEST(RateOfAGroup, OfAStrandOneRunsAfterTheOther) {
    simulation sim;
    group one{sim.scheduler, {.max_concurrency = 1, .rate_max = 100, .rate_burst = 10}};
    const begins all{sim, one, 12};
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    ASSERT_EQ(all.at.size(), 12U);
    EXPECT_EQ(all.at[9], 0ms);
    EXPECT_EQ(all.at[10], 10ms);
    EXPECT_EQ(all.at[11], 20ms);
}

TEST(RateOfAGroup, ItMayChangeAtRunTime) {
    simulation sim;
    group one{sim.scheduler, {.rate_max = 1.0 / 3600}};
    const begins all{sim, one, 6};
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.at.size(), 1U);
    one.set_rate_max(10);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.at.size(), 1U) << "the first has been taken";
    sim.clock.advance(100ms);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.at.size(), 2U);
    one.set_rate_max(0);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.at.size(), 6U);
}

TEST(RateOfAGroup, ADroppedHandleLeavesWhatWaitsToItsRate) {
    simulation sim;
    std::optional<group> one{std::in_place, sim.scheduler, group_options{.rate_max = 10}};
    const begins all{sim, *one, 4};
    one.reset();
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    EXPECT_EQ(all.at, (std::vector<duration>{0ms, 100ms, 200ms, 300ms}));
}

TEST(RateOfAGroup, WhatWaitsIsGivenBackByADestructor) {
    std::deque<scripted> tasks(5);
    {
        simulation sim;
        group one{sim.scheduler, {.rate_max = 1.0 / 3600}};
        for (scripted& each : tasks) EXPECT_TRUE(one.try_post(each));
        sim.scheduler.run_until_idle();
    }
    for (const scripted& each : tasks) EXPECT_EQ(each.owner(), nullptr);
    EXPECT_EQ(tasks.front().runs, 1);
    EXPECT_EQ(tasks.back().runs, 0);
}

// --- on threads -------------------------------------------------------------------------------------------------

// All sleep until the next may begin, and are never late for good.
TEST(RateOfAGroupOnThreads, AllBeginAndNotTooEarly) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        scheduler scheduler{{.workers = workers}};
        group one{scheduler, {.rate_max = 2'000, .rate_burst = 3}};
        group bound{scheduler, {.rate_max = 2'000, .bound = true}};
        constexpr int count = 100;
        std::atomic<int> begun{0};
        const time_point before = clock::now();
        for (int i = 0; i != count; ++i) {
            EXPECT_TRUE(one.try_post([&] { ++begun; }));
            EXPECT_TRUE(bound.try_post([&] { ++begun; }));
        }
        scheduler.drain();
        EXPECT_EQ(begun, 2 * count);
        EXPECT_GE(clock::now() - before, 500us * (count - 1));
    }
}

TEST(RateOfAGroupOnThreads, AStopLeavesWhatWaitsAndAStartGoesOn) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler, {.rate_max = 1'000}};
    std::atomic<int> begun{0};
    for (int i = 0; i != 50; ++i) EXPECT_TRUE(one.try_post([&] { ++begun; }));
    static_cast<void>(scheduler.stop(0ms));
    scheduler.start();
    scheduler.drain();
    EXPECT_EQ(begun, 50);
}

}  // namespace
}  // namespace fairlead
