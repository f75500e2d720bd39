// Groups, deterministic: one worker, on the caller, in simulated time; and on threads.
#include <fairlead/sched/group.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <latch>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace fairlead::group_tests {
namespace {

using namespace std::chrono_literals;
using test::numbered;
using test::scripted;
using test::simulation;

std::string refusal(group_options options) {
    scheduler scheduler{{.workers = 1}};
    try {
        const group made{scheduler, std::move(options)};
        return "accepted";
    } catch (const std::invalid_argument& refused) {
        return refused.what();
    }
}

TEST(Group, RefusesWrongOptionsByName) {
    EXPECT_EQ(refusal({}), "accepted");
    EXPECT_NE(refusal({.weight = 0}).find("weight must be 1 to 10000"), std::string::npos);
    EXPECT_NE(refusal({.weight = 10'001}).find("weight"), std::string::npos);
    EXPECT_EQ(refusal({.weight = 10'000}), "accepted");
    EXPECT_NE(refusal({.priority = static_cast<priority>(4)}).find("priority"), std::string::npos);
    EXPECT_NE(refusal({.slice = 9us}).find("slice must be 10 us to 1 s"), std::string::npos);
    EXPECT_NE(refusal({.slice = 2s}).find("slice"), std::string::npos);
    scheduler scheduler{{.workers = 1}};
    group made{scheduler};
    EXPECT_THROW(made.set_weight(0), std::invalid_argument);
}

TEST(Group, RunsItsTasksInTheOrderOfPosts) {
    simulation sim;
    group one{sim.scheduler};
    std::vector<int> log;
    std::deque<numbered> tasks;
    std::vector<basic_task*> batch;
    for (int i = 0; i != 1'000; ++i) {
        numbered& task = tasks.emplace_back(log, i);
        if (i < 500) {
            one.post(task);
        } else {
            batch.push_back(&task);
        }
    }
    one.post(batch);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1'000U);
    std::vector<int> wanted(1'000);
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(log, wanted);
    EXPECT_TRUE(sim.scheduler.drain_for(1s));
    EXPECT_EQ(one.stats().steps, 1'000U);
    EXPECT_EQ(one.stats().tasks, 0U);
    EXPECT_EQ(one.stats().queued, 0U);
}

// A task that waits or sleeps in a group returns to the group.
TEST(Group, ItsTasksSleepAndAreWoken) {
    simulation sim;
    group one{sim.scheduler};
    scripted sleeper{[&](scripted& self) {
        if (self.runs == 1) one.post_delay(self, 10ms);
        if (self.runs == 2) one.post_wait(self);
    }};
    one.post(sleeper);
    EXPECT_TRUE(sim.scheduler.run_until(sim.clock.now() + 1s) == 1);
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 1U);
    EXPECT_TRUE(sleeper.was_expired);
    EXPECT_EQ(one.stats().tasks, 1U);
    sleeper.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_FALSE(sleeper.was_expired);
    EXPECT_EQ(one.stats().steps, 3U);
    EXPECT_EQ(one.stats().tasks, 0U);
}

// The second group waits while the first has its turn. A group without a limit is never throttled.
TEST(Group, WaitsAreMeasuredAndThrottlesCounted) {
    simulation sim;
    group first{sim.scheduler, {.weight = 100}};
    group second{sim.scheduler, {.weight = 100}};
    const auto works = [&](duration length) {
        return [&sim, length] { sim.clock.advance(length); };
    };
    first.post(works(3ms));
    second.post(works(1ms));
    EXPECT_EQ(second.stats().turns, 0U);
    EXPECT_EQ(second.stats().waited, 0s);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(first.stats().turns, 1U);
    EXPECT_EQ(first.stats().waited, 0s);
    EXPECT_EQ(second.stats().turns, 1U);
    EXPECT_EQ(second.stats().waited, 3ms);
    second.post(works(1ms));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(second.stats().turns, 2U);
    EXPECT_EQ(second.stats().waited, 3ms);
    EXPECT_EQ(second.stats().waited_most, 3ms);
    EXPECT_EQ(second.stats().throttled, 0U);
}

// The time of a pause does not count as a wait.
TEST(Group, APauseIsNoWait) {
    simulation sim;
    group one{sim.scheduler};
    one.pause();
    one.post([] {});
    sim.scheduler.run_until_idle();
    sim.clock.advance(1s);
    one.resume();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.stats().turns, 1U);
    EXPECT_EQ(one.stats().waited, 0s);
}

// Two tasks are ready on two workers, but the limit lets one run.
TEST(GroupOnThreads, ThrottlesAreCounted) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2, .blocked_after = 0s}};
    group strand{scheduler, {.max_concurrency = 1}};
    std::atomic<bool> seen{false};
    strand.post([&] {
        strand.post([] {});
        while (!seen) seen = strand.stats().throttled != 0;
    });
    scheduler.drain();
    EXPECT_EQ(strand.stats().throttled, 1U);
    EXPECT_EQ(strand.stats().steps, 2U);
}

// Groups with tasks of mixed lengths that post themselves again, in simulated time.
struct tenants : simulation {
    struct tenant {
        group own;
        std::deque<scripted> tasks;
    };

    // `add` them before.
    void run_for(duration time) {
        end = clock.now() + time;
        scheduler.run_until_idle();
    }

    tenant& add(group_options options, int tasks, duration longest) {
        tenant& added =
            all.emplace_back(group{scheduler, std::move(options)}, std::deque<scripted>{});
        for (int i = 0; i != tasks; ++i) {
            added.own.post(added.tasks.emplace_back([this, &added, longest](scripted& self) {
                if (clock.now() >= end) return;
                std::uniform_int_distribution<std::int64_t> length{1, longest.count()};
                clock.advance(duration{length(random)});
                added.own.post(self);
            }));
        }
        return added;
    }

    std::mt19937_64 random{1};
    time_point end = never;
    std::deque<tenant> all;
};

TEST(Group, SharesAreByWeight) {
    tenants sim;
    unsigned weights = 0;
    for (unsigned weight = 1; weight <= 64; ++weight) {
        sim.add({.weight = weight}, 3, 1us * (5 + weight % 4 * 5));
        weights += weight;
    }
    sim.run_for(4s);
    unsigned weight = 0;
    for (auto& each : sim.all) {
        const std::chrono::duration<double> wanted = 4.0s * ++weight / weights;
        const auto used = std::chrono::duration<double>{each.own.stats().used};
        EXPECT_NEAR(used / wanted, 1, 0.02) << weight;
    }
}

// The default group has weight 100; its tasks were there first, and more of them than a turn takes.
TEST(Group, TheDefaultGroupHasItsShareAndItsOrder) {
    tenants sim;
    duration default_used{};
    std::deque<scripted> others;
    int next = 0;
    int disorder = 0;
    for (int i = 0; i != 1'000; ++i) {
        sim.scheduler.post(others.emplace_back([&, i](scripted& self) {
            disorder += i != next;
            next = (next + 1) % 1'000;
            if (sim.clock.now() >= sim.end) return;
            sim.clock.advance(20us);
            default_used += 20us;
            sim.scheduler.post(self);
        }));
    }
    auto& tenant = sim.add({.weight = 300}, 5, 30us);
    sim.run_for(4s);
    EXPECT_NEAR(std::chrono::duration<double>{default_used} / 1s, 1, 0.02);
    EXPECT_NEAR(std::chrono::duration<double>{tenant.own.stats().used} / 3s, 1, 0.02);
    EXPECT_EQ(disorder, 0);
}

// A thousand tasks stand in line, each a millisecond long. A task of another group waits for two of
// them, not for all, from wherever it is posted.
struct line_of_others : simulation {
    line_of_others() {
        for (int i = 0; i != 1'000; ++i) {
            scheduler.post(line.emplace_back([&](scripted&) { clock.advance(1ms); }));
        }
        EXPECT_EQ(scheduler.run_until(immediately, 10), 10U);
    }

    group one{scheduler};
    std::deque<scripted> line;
    int steps_before = 0;
    scripted comer{[&](scripted&) {
        for (const scripted& each : line) steps_before += each.runs;
    }};
};

TEST(Group, WhoComesDoesNotWaitForTheLineOfOthers) {
    line_of_others sim;
    sim.one.post(sim.comer);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sim.comer.runs, 1);
    EXPECT_LE(sim.steps_before, 10 + 3);
}

TEST(Group, WhoIsPostedByAStepDoesNotWaitForTheLineOfOthers) {
    line_of_others sim;
    sim.line[20].then([&](scripted&) { sim.one.post(sim.comer); });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sim.comer.runs, 1);
    EXPECT_LE(sim.steps_before, 21 + 3);
}

TEST(Group, WhoWakesUpDoesNotWaitForTheLineOfOthers) {
    line_of_others sim;
    sim.one.post_delay(sim.comer, 20ms);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sim.comer.runs, 1);
    EXPECT_LE(sim.steps_before, 10 + 20 + 3);
}

// A control message does not wait for a burst of another group either.
TEST(Group, AControlMessageDoesNotWaitForABurst) {
    simulation sim;
    group busy{sim.scheduler};
    group control{sim.scheduler, {.priority = priority::highest}};
    std::deque<scripted> burst;
    std::vector<basic_task*> all;
    for (int i = 0; i != 20'000; ++i) {
        all.push_back(&burst.emplace_back([&](scripted&) { sim.clock.advance(1us); }));
    }
    busy.post(all);
    int steps_before = 0;
    scripted message{[&](scripted&) {
        for (const scripted& each : burst) steps_before += each.runs;
    }};
    control.post(message);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(message.runs, 1);
    EXPECT_EQ(steps_before, 0);
}

// A sleeper of the default group is late by one step, however many tasks other groups have.
TEST(Group, LateSleepersOfTheDefaultGroupOvertakeOthers) {
    for (const priority of_others : {priority::normal, priority::high}) {
        tenants sim;
        sim.add({.weight = 1000, .priority = of_others}, 5, 100us);
        duration latest{};
        time_point due{};
        scripted sleeper{[&](scripted& self) {
            if (self.runs > 1) latest = std::max(latest, sim.clock.now() - due);
            due = sim.clock.now() + 5ms;
            if (sim.clock.now() < sim.end) sim.scheduler.post_deadline(self, due);
        }};
        sim.scheduler.post(sleeper);
        sim.run_for(1s);
        sim.scheduler.drain();
        EXPECT_GE(sleeper.runs, 150);
        EXPECT_LE(latest, 400us);
    }
}

// The caller's time between two calls is charged to no group.
TEST(Group, IsChargedForItsStepsOnly) {
    simulation sim;
    group one{sim.scheduler};
    std::deque<scripted> tasks;
    for (int i = 0; i != 100; ++i) {
        one.post(tasks.emplace_back([&](scripted&) { sim.clock.advance(1us); }));
    }
    for (int i = 0; i != 10; ++i) {
        EXPECT_EQ(sim.scheduler.run_until(immediately, 10), 10U);
        sim.clock.advance(5ms);
    }
    EXPECT_EQ(one.stats().used, 100us);
}

TEST(Group, HigherPrioritiesGoFirstAndTheLowestStillMoves) {
    tenants sim;
    auto& low = sim.add({.priority = priority::low}, 30, 20us);
    auto& high = sim.add({.priority = priority::high}, 3, 20us);
    sim.run_for(10s);
    const duration used = low.own.stats().used;
    EXPECT_LE(used, 100ms);  // a turn in 100 ms
    EXPECT_GE(used, 5ms);
    EXPECT_GE(high.own.stats().used, 9s);
}

TEST(Group, AWeightMayChangeAtRunTime) {
    tenants sim;
    auto& first = sim.add({}, 3, 20us);
    auto& second = sim.add({}, 3, 20us);
    scripted change{[&](scripted&) { first.own.set_weight(300); }};
    sim.scheduler.post_delay(change, 1s);
    sim.run_for(2s);
    const auto used = [](auto& of) { return std::chrono::duration<double>{of.own.stats().used}; };
    EXPECT_NEAR(used(first) / 1250ms, 1, 0.03);
    EXPECT_NEAR(used(second) / 750ms, 1, 0.03);
}

TEST(Group, APausedOneKeepsItsTasks) {
    simulation sim;
    group one{sim.scheduler};
    std::vector<int> log;
    std::deque<numbered> tasks;
    one.pause();
    for (int i = 0; i != 10; ++i) one.post(tasks.emplace_back(log, i));
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    EXPECT_FALSE(sim.scheduler.drain_for(1s));
    EXPECT_EQ(one.stats().queued, 10U);
    one.resume();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 10U);
    EXPECT_EQ(log.size(), 10U);
}

TEST(Group, AResumeDoesNotWaitForTheLineOfOthers) {
    simulation sim;
    group one{sim.scheduler};
    std::size_t others = 0;
    std::size_t before = 0;
    scripted waits{[&](scripted&) { before = others; }};
    one.pause();
    one.post(waits);
    sim.scheduler.run_until_idle();
    std::deque<scripted> line;
    for (int i = 0; i != 10'000; ++i) {
        sim.scheduler.post(line.emplace_back([&](scripted&) {
            if (++others == 10) one.resume();
        }));
    }
    sim.scheduler.run_until_idle();
    EXPECT_EQ(others, 10'000U);
    EXPECT_LE(before, 100U);
}

// The pause begins between two steps: running steps are not interrupted.
TEST(Group, MayBePausedByItsOwnTask) {
    simulation sim;
    group one{sim.scheduler};
    scripted pauses{[&](scripted&) { one.pause(); }};
    std::vector<int> log;
    std::deque<numbered> tasks;
    one.post(pauses);
    for (int i = 0; i != 300; ++i) one.post(tasks.emplace_back(log, i));
    sim.scheduler.run_until_idle();
    EXPECT_LE(log.size(), 64U) << "no more than what was dealt";
    const std::size_t before = log.size();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    one.resume();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 300 - before);
}

TEST(Group, ADroppedOneRunsWhatItHas) {
    simulation sim;
    std::vector<int> log;
    std::deque<numbered> tasks;
    {
        group one{sim.scheduler};
        one.pause();
        for (int i = 0; i != 10; ++i) one.post(tasks.emplace_back(log, i));
        one.post_delay(tasks.emplace_back(log, 10), 1s);
    }
    EXPECT_TRUE(sim.scheduler.drain_for(2s));
    EXPECT_EQ(log.size(), 11U);
}

TEST(Group, MayBeMoved) {
    simulation sim;
    std::vector<int> log;
    std::deque<numbered> tasks;
    std::optional<group> first{std::in_place, sim.scheduler, group_options{.name = "first"}};
    group second{std::move(*first)};
    first.reset();
    EXPECT_EQ(second.name(), "first");
    second.post(tasks.emplace_back(log, 1));
    second = group{sim.scheduler, {.name = "other"}};
    EXPECT_EQ(second.name(), "other");
    second.post(tasks.emplace_back(log, 2));
    EXPECT_TRUE(sim.scheduler.drain_for(1s));
    EXPECT_EQ(log.size(), 2U);
}

TEST(Group, WhatAStopLeavesIsReportedAndGoesOnAfterIt) {
    simulation sim;
    group one{sim.scheduler};
    one.pause();
    std::vector<int> log;
    std::deque<numbered> tasks;
    for (int i = 0; i != 5; ++i) one.post(tasks.emplace_back(log, i));
    sim.scheduler.run_until_idle();
    const stop_report left = sim.scheduler.stop(1ms);
    EXPECT_EQ(left.queued, 5U);
    sim.scheduler.start();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    one.resume();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 5U);
    EXPECT_EQ(log, (std::vector{0, 1, 2, 3, 4}));
}

TEST(Group, IsGivenBackByADestructor) {
    std::vector<int> log;
    std::deque<numbered> tasks;
    {
        simulation sim;
        group one{sim.scheduler};
        one.pause();
        for (int i = 0; i != 5; ++i) one.post(tasks.emplace_back(log, i));
        one.post_wait(tasks.emplace_back(log, 5));
        sim.scheduler.run_until_idle();
        one.pause();
        // Not resumed: the handle goes first.
    }
    for (const numbered& each : tasks) EXPECT_EQ(each.owner(), nullptr);
}

// --- on threads ----------------------------------------------------------------------------------

TEST(GroupOnThreads, NoMoreStepsRunAtOnceThanItMay) {
    test::watchdog guard;
    for (const unsigned most : {1U, 2U, 3U}) {
        SCOPED_TRACE(most);
        scheduler scheduler{{.workers = 4}};
        group limited{scheduler, {.max_concurrency = most}};
        std::atomic<unsigned> running{0};
        std::atomic<unsigned> exceeded{0};
        std::atomic<int> ran{0};
        std::deque<scripted> others;
        for (int i = 0; i != 8; ++i) {
            scheduler.post(others.emplace_back([&](scripted& self) {
                if (ran != 5'000) scheduler.post(self);
            }));
        }
        for (int i = 0; i != 5'000; ++i) {
            limited.post([&] {
                exceeded += running.fetch_add(1) >= most;
                if (ran % 64 == 0) std::this_thread::yield();
                running.fetch_sub(1);
                ++ran;
            });
        }
        scheduler.drain();
        EXPECT_EQ(ran, 5'000);
        EXPECT_EQ(exceeded, 0U);
    }
}

TEST(GroupOnThreads, WhoIsPostedByAStepDoesNotWaitForTheLineOfOthers) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler};
    std::atomic<int> begun{0};
    std::atomic<int> begun_before{0};
    std::deque<scripted> line;
    std::vector<basic_task*> all;
    scripted comer{[&](scripted&) { begun_before = begun.load(); }};
    for (int i = 0; i != 300; ++i) {
        all.push_back(&line.emplace_back([&](scripted&) {
            if (begun.fetch_add(1) == 20) one.post(comer);
            std::this_thread::sleep_for(200us);
        }));
    }
    scheduler.post(all);
    scheduler.drain();
    EXPECT_EQ(comer.runs, 1);
    EXPECT_LE(begun_before, 20 + 60) << "of 300";
}

// With one step at a time the steps need no lock, on any worker.
TEST(GroupOnThreads, OneAtATimeIsAStrand) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 4}};
    group strand{scheduler, {.max_concurrency = 1}};
    int count = 0;  // not atomic
    std::vector<int> order;
    test::run_together(3, [&](std::size_t) {
        for (int i = 0; i != 2'000; ++i) strand.post([&] { order.push_back(count++); });
    });
    scheduler.drain();
    EXPECT_EQ(count, 6'000);
    EXPECT_EQ(order.size(), 6'000U);
}

// A post whose poster has seen an earlier post stands behind that post, whichever workers the
// posters run on.
TEST(GroupOnThreads, AStrandHasTheOrderOfItsPosts) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    group strand{scheduler, {.max_concurrency = 1}};
    int disorder = 0;
    for (int i = 0; i != 1'000; ++i) {
        std::atomic<bool> posted{false};
        bool ran = false;
        scheduler.post([&] {
            strand.post([&] { ran = true; });
            posted = true;
        });
        scheduler.post([&] {
            while (!posted) std::this_thread::yield();
            strand.post([&] { disorder += !ran; });
        });
        scheduler.drain();
    }
    EXPECT_EQ(disorder, 0);
}

TEST(GroupOnThreads, ManyAreMadeAndDroppedWhileTheyHaveTasks) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    std::atomic<int> ran{0};
    test::run_together(3, [&](std::size_t self) {
        for (int i = 0; i != 2'000; ++i) {
            group one{scheduler,
                      {.weight = static_cast<unsigned>(1 + i % 100),
                       .max_concurrency = static_cast<unsigned>((i + self) % 3)}};
            if (i % 5 == 0) one.pause();
            for (int k = 0; k != 3; ++k) one.post([&] { ++ran; });
            if (i % 7 == 0) one.set_weight(7);
            scheduler.post([&] { ++ran; });
        }
    });
    scheduler.drain();
    EXPECT_EQ(ran, 3 * 2'000 * 4);
}

TEST(GroupOnThreads, AGroupMayBeTheLastThingOfItsTask) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int i = 0; i != 1'000; ++i) {
        auto* const last = new group{scheduler};
        last->post([last] { delete last; });
    }
    scheduler.drain();
}

// A thread outside posts to idle workers. A resume must find all tasks, though all workers sleep.
TEST(GroupOnThreads, AResumeWakesWhoSleeps) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler};
    for (int i = 0; i != 500; ++i) {
        one.pause();
        std::latch ran{1};
        one.post([&] { ran.count_down(); });
        if (i % 2 == 0) std::this_thread::sleep_for(50us);
        one.resume();
        ran.wait();
    }
}

}  // namespace
}  // namespace fairlead::group_tests
