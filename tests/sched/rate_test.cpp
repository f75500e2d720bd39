// A limit of the rate at which tasks of a group begin: the bucket alone, in simulated time, and on
// threads.
#include "sched/groups/rate_limit.hpp"

#include <fairlead/sched/group.hpp>

#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fairlead::rate_tests {
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

// --- the bucket ----------------------------------------------------------------------------------

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

// In any interval no more tasks begin than the burst and the rate allow.
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

TEST(RateLimit, OneThatIsNotUsedIsThereAgain) {
    rate_limit one{1, 2};
    EXPECT_EQ(taken_at(one, start), 2);
    one.give_back();
    EXPECT_EQ(taken_at(one, start), 1);
    EXPECT_EQ(one.next(), start + 1s);
}

TEST(RateLimit, RatesThatAreNotWholeNanosecondsAreNotExceeded) {
    for (const double rate : {5.01e8, 6e8, 3e8, 7e7, 3.0}) {
        rate_limit one{rate, 1};
        EXPECT_TRUE(one.take(start));
        const std::chrono::duration<double> interval = one.next() - start;
        EXPECT_GE(interval.count() * rate, 1 - 1e-9) << rate;
    }
}

TEST(RateLimit, AnyClockWillDo) {
    for (const time_point now : {time_point{-100h}, time_point{}, time_point{1'000'000h}}) {
        rate_limit slow{1.0 / 3600, 1'000'000};
        for (int i = 0; i != 1'000'000; ++i) ASSERT_TRUE(slow.take(now));
        EXPECT_EQ(slow.next(), now + 1h);
        slow.set(1e9, now);
        EXPECT_EQ(slow.next(), now + 1ns);
    }
}

// --- of a group ----------------------------------------------------------------------------------

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

// Posts a number of tasks with permits at once, and records when each begins.
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

// A dropped task has used no token: exactly as many tasks begin as the rate allows.
TEST(RateOfAGroup, DropsTakeNothingFromTheRate) {
    for (const std::size_t most : {1U, 2U, 8U}) {
        for (const unsigned burst : {1U, 5U}) {
            simulation sim;
            group one{
                sim.scheduler,
                {.queue_max = most, .drop_oldest = true, .rate_max = 10, .rate_burst = burst}};
            unsigned begun = 0;
            for (int i = 0; i != 10'000; ++i) {
                for (int j = 0; j != 1 + i % 3; ++j) EXPECT_TRUE(one.try_post([&] { ++begun; }));
                sim.scheduler.run_until_idle();
                sim.clock.advance(1ms);
            }
            EXPECT_NEAR(begun, 99 + burst, 1) << most;
            EXPECT_TRUE(sim.scheduler.drain_for(10s));
        }
    }
}

TEST(RateOfAGroup, PostsStayInOrderWhenTheLimitGoes) {
    for (const bool pauses : {false, true}) {
        simulation sim;
        group one{sim.scheduler, {.max_concurrency = 1, .rate_max = 1}};
        std::vector<int> log;
        int posted = 0;
        const auto post = [&](int count) {
            for (; count != 0; --count, ++posted) {
                EXPECT_TRUE(one.try_post([&log, number = posted] { log.push_back(number); }));
            }
        };
        post(4);
        sim.scheduler.run_until_idle();
        if (pauses) one.pause();
        one.set_rate_max(0);
        post(3);
        if (pauses) one.resume();
        sim.scheduler.run_until_idle();
        EXPECT_EQ(log, (std::vector<int>{0, 1, 2, 3, 4, 5, 6})) << pauses;
    }
}

TEST(RateOfAGroup, ALowerRateCountsAtOnce) {
    simulation sim;
    group one{sim.scheduler, {.rate_max = 1'000, .rate_burst = 1'000}};
    const begins first{sim, one, 1'000};
    sim.scheduler.run_until_idle();
    one.set_rate_max(1.0 / 3600);
    sim.scheduler.run_until_idle();
    sim.clock.advance(1s);
    const begins later{sim, one, 10};
    sim.scheduler.run_until_idle();
    EXPECT_EQ(first.at.size(), 1'000U);
    EXPECT_TRUE(later.at.empty());
    EXPECT_EQ(one.stats().delayed, 1U);
    one.set_rate_max(1.0 / 1800);
    sim.scheduler.run_until_idle();
    one.pause();
    one.resume();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.stats().delayed, 1U) << "the same still waits";
    one.set_rate_max(0);
    EXPECT_TRUE(sim.scheduler.drain_for(1s));
}

// Tasks that enter and tasks that go on do not starve each other.
TEST(RateOfAGroup, WhoEntersAndWhoGoesOnTakeTurns) {
    simulation sim;
    group one{sim.scheduler, {.max_concurrency = 1, .rate_max = 1e9, .rate_burst = 1'000'000}};
    const begins all{sim, one, 500};
    std::size_t begun_before = 0;
    scripted goes_on{[&](scripted& self) {
        if (self.runs == 1) begun_before = all.at.size();
        if (all.at.size() != 500) one.post(self);
    }};
    one.post(goes_on);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.at.size(), 500U);
    EXPECT_LE(begun_before, 10U);
    EXPECT_GE(goes_on.runs, 50);
}

// The rate holds up neither a task that has begun nor a post without a permit. Both go before tasks
// that wait for the rate.
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

// So the bound decides about posts beyond the rate: they are refused, wait, or replace the oldest.
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

// A group that is paused or at its limit uses no tokens.
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

// A group that waited behind a higher priority, for however long, makes up for one burst and no
// more.
TEST(RateOfAGroup, WhileItWaitsForItsTurnItSavesABurstAndNoMore) {
    simulation sim;
    group high{sim.scheduler, {.priority = priority::high}};
    group one{sim.scheduler, {.priority = priority::low, .rate_max = 1'000, .rate_burst = 3}};
    const time_point end = sim.clock.now() + 1s;
    scripted busy{[&](scripted& self) {
        sim.clock.advance(50us);
        if (sim.clock.now() < end) high.post(self);
    }};
    high.post(busy);
    const begins all{sim, one, 100};
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    ASSERT_EQ(all.at.size(), 100U);
    for (std::size_t first = 0; first != 100; ++first) {
        for (std::size_t last = first; last != 100; ++last) {
            const auto allowed = 3 + 1 + (all.at[last] - all.at[first]) / 1ms;
            EXPECT_LE(static_cast<std::int64_t>(last - first + 1), allowed);
        }
    }
    EXPECT_LT(std::ranges::count_if(all.at, [](duration at) { return at < 1s; }), 40);
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

// After any changes of the group no task is lost: as soon as the group may run, each task runs that
// was not dropped.
TEST(RateOfAGroup, NobodyIsForgotten) {
    for (unsigned seed = 0; seed != 300; ++seed) {
        SCOPED_TRACE(seed);
        std::minstd_rand random{seed};
        const auto any = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
        simulation sim;
        group one{sim.scheduler,
                  {.max_concurrency = any(3),
                   .queue_max = any(2) * 5,
                   .drop_oldest = any(2) == 0,
                   .rate_max = any(2) * 100.0,
                   .rate_burst = 1 + any(5)}};
        std::uint64_t posted = 0;
        std::uint64_t begun = 0;
        for (int i = 0; i != 200; ++i) {
            switch (any(9)) {
                case 0:
                    one.post([&] { ++begun; });
                    ++posted;
                    break;
                case 1:
                case 2:
                    posted += one.try_post([&] { ++begun; });
                    break;
                case 3:
                    one.set_rate_max(std::array{0.0, 1.0 / 3600, 10.0, 1e3, 1e9}[any(5)]);
                    break;
                case 4:
                    one.pause();
                    break;
                case 5:
                    one.resume();
                    break;
                case 6:
                    one.set_max_concurrency(any(3));
                    break;
                case 7:
                    sim.scheduler.run_until_idle();
                    break;
                default:
                    sim.clock.advance(1ms * any(20));
            }
        }
        one.resume();
        one.set_rate_max(1e3);
        EXPECT_TRUE(sim.scheduler.drain_for(10s));
        EXPECT_EQ(begun + one.stats().dropped, posted);
        EXPECT_EQ(one.stats().queued, 0U);
    }
}

// --- on threads ----------------------------------------------------------------------------------

// All workers sleep until the next task may begin, and each task begins in the end.
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

// The bucket fills up while the group is at its limit. It saves no more than a burst.
TEST(RateOfAGroup, AtItsLimitItSavesABurstAndNoMore) {
    simulation sim;
    group one{sim.scheduler, {.max_concurrency = 1, .rate_max = 1'000, .rate_burst = 10}};
    const begins all{sim, one, 300};
    for (int i = 0; i != 60; ++i) {
        one.post([&] { sim.clock.advance(15ms); });
    }
    sim.scheduler.run_until_idle();
    one.set_max_concurrency(0);
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    ASSERT_EQ(all.at.size(), 300U);
    for (std::size_t i = 0; i + 12 < 300; ++i) {
        EXPECT_GE(all.at[i + 12] - all.at[i], 1ms) << i;
    }
}

// A group waits for its rate. Another, dropped group no longer keeps its thread after the worker
// has had another round.
TEST(RateOfAGroupOnThreads, WhoWaitsKeepsNoOtherGroup) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    group waits{scheduler, {.rate_max = 1.0 / 3600}};
    for (int i = 0; i != 2; ++i) EXPECT_TRUE(waits.try_post([] {}));
    for (int i = 0; i != 20; ++i) group{scheduler, {.bound = true}}.post([] {});
    group lifted{scheduler, {.rate_max = 1.0 / 3600, .bound = true}};
    for (int i = 0; i != 3; ++i) EXPECT_TRUE(lifted.try_post([] {}));
    lifted.set_rate_max(0);
    lifted = group{scheduler};
    std::atomic<bool> gave_up{false};
    while (!gave_up) {
        std::atomic<bool> ran{false};
        scheduler.post([&] {
            gave_up = sched::access::about_to_block();
            ran = true;
            ran.notify_one();
        });
        ran.wait(false);
    }
    waits.set_rate_max(0);
    scheduler.drain();
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
}  // namespace fairlead::rate_tests
