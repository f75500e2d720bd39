// Deadlines, deterministic: one worker, on the caller, in simulated time.
#include "sched/round/role.hpp"

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace fairlead::deadlines_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;
using test::simulation;

TEST(Deadlines, AreNeverEarlyAndInOrder) {
    for (unsigned seed = 1; seed != 6; ++seed) {
        SCOPED_TRACE(seed);
        simulation sim;
        std::mt19937 random{seed};
        std::deque<scripted> tasks;
        std::vector<time_point> log;
        int early = 0;
        for (int i = 0; i != 1'000; ++i) {
            const time_point deadline = sim.clock.now() + 1us * static_cast<long>(random() % 5'000);
            sim.scheduler.post_deadline(tasks.emplace_back([&, deadline](scripted& self) {
                early += sim.clock.now() < deadline;
                EXPECT_TRUE(self.was_expired);
                log.push_back(deadline);
            }),
                                        deadline);
        }
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_EQ(early, 0);
        EXPECT_EQ(log.size(), 1'000U);
        EXPECT_TRUE(std::ranges::is_sorted(log));
    }
}

TEST(Deadlines, TheDriverSleepsExactlyUntilTheNext) {
    simulation sim;
    const time_point start = sim.clock.now();
    std::vector<time_point> log;
    std::deque<scripted> tasks;
    for (const auto delay : {30ms, 10ms, 20ms}) {
        sim.scheduler.post_delay(
            tasks.emplace_back([&](scripted&) { log.push_back(sim.clock.now()); }), delay);
    }
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(log, (std::vector<time_point>{start + 10ms, start + 20ms, start + 30ms}));
    EXPECT_EQ(sim.driver->waits,
              (std::vector<time_point>{start + 10ms, start + 20ms, start + 30ms}));
}

TEST(Deadlines, APassedDeadlineRunsInLine) {
    simulation sim;
    std::vector<int> log;
    std::deque<test::numbered> tasks;
    for (int i = 0; i != 5; ++i) tasks.emplace_back(log, i);
    sim.scheduler.post(tasks[0]);
    sim.scheduler.post_deadline(tasks[1], sim.clock.now());
    sim.scheduler.post_deadline(tasks[2], sim.clock.now() - 1h);
    sim.scheduler.post_delay(tasks[3], -5s);
    sim.scheduler.post_deadline(tasks[4], immediately);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 5U);
    EXPECT_EQ(log, (std::vector{0, 1, 2, 3, 4}));
}

TEST(Deadlines, WhatIsDueRunsBeforeWhatArrivedLater) {
    simulation sim;
    std::vector<int> log;
    test::numbered sleeper{log, 1};
    test::numbered arrival{log, 2};
    sim.scheduler.post_delay(sleeper, 10ms);
    sim.scheduler.run_until_idle();
    sim.clock.advance(10ms);
    sim.scheduler.post(arrival);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST(Deadlines, AnEarlierDeadlineThatComesLaterIsServedFirst) {
    simulation sim;
    std::vector<int> log;
    test::numbered late{log, 2};
    test::numbered early{log, 1};
    sim.scheduler.post_delay(late, 1h);
    sim.scheduler.run_until_idle();
    sim.scheduler.post_delay(early, 1s);
    EXPECT_TRUE(sim.scheduler.drain_for(2h));
    EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST(Deadlines, TheEndOfTimeIsAWait) {
    simulation sim;
    scripted task;
    sim.scheduler.post_delay(task, duration::max());
    EXPECT_FALSE(sim.scheduler.drain_for(24h * 365 * 100));
    EXPECT_EQ(task.runs, 0);
    task.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_FALSE(task.was_expired);
}

// Tasks that are due when the caller asks run, though nothing arrived and the last round was a
// moment ago.
TEST(Deadlines, RunUntilIdleRunsWhatIsDue) {
    simulation sim;
    scripted task{[&](scripted& self) {
        if (self.runs != 100) sim.scheduler.post_delay(self, 7us);
    }};
    sim.scheduler.post(task);
    for (int i = 1; i != 100; ++i) {
        ASSERT_EQ(sim.scheduler.run_until_idle(), 1U) << i;
        ASSERT_EQ(sim.scheduler.run_until_idle(), 0U) << i;
        sim.clock.advance(7us);
    }
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
}

TEST(Deadlines, RunUntilReturnsAtTheLimit) {
    simulation sim;
    scripted task;
    const time_point start = sim.clock.now();
    sim.scheduler.post_delay(task, 10ms);
    EXPECT_EQ(sim.scheduler.run_until(start + 5ms), 0U);
    EXPECT_EQ(sim.clock.now(), start + 5ms);
    EXPECT_EQ(sim.scheduler.run_until(start + 1h), 1U);
    EXPECT_EQ(sim.clock.now(), start + 10ms);
}

// Chains of short steps never let the run empty; the clock moves as they run. A sleeper must be
// served within a fraction of a round interval, counted in steps, wherever its deadline is between
// two rounds.
TEST(Deadlines, AreServedWhileTheWorkerIsSaturated) {
    simulation sim;  // round_interval is 1 ms
    int steps = 0;
    const time_point start = sim.clock.now();
    std::deque<scripted> busy;
    for (int i = 0; i != 5; ++i) {
        sim.scheduler.post(busy.emplace_back([&](scripted& self) {
            sim.clock.advance(10us);
            if (++steps < 5'000) sim.scheduler.post(self);
        }));
    }
    std::deque<scripted> sleepers;
    for (int due = 1'000; due < 4'000; due += 77) {  // the number of its step
        sim.scheduler.post_deadline(sleepers.emplace_back([&, due](scripted&) {
            // Noticed within four steps, the stride, and then at once.
            EXPECT_GE(steps, due);
            EXPECT_LE(steps, due + 4);
        }),
                                    start + due * 10us);
    }
    EXPECT_EQ(sim.scheduler.run_until_idle(), 5'000U + 4U + sleepers.size());
}

// Tasks of 100 us that post themselves again, and sleepers of 1 ms, until a limit is reached.
struct late_sleepers : simulation {
    late_sleepers(int busy_tasks, int sleepers) {
        for (int i = 0; i != busy_tasks; ++i) {
            scheduler.post(tasks.emplace_back([this](scripted& self) {
                work(100us, busy_for);
                if (!enough) scheduler.post(self);
            }));
        }
        for (int i = 0; i != sleepers; ++i) {
            scheduler.post_delay(tasks.emplace_back([this](scripted& self) {
                work(1ms, asleep_for);
                ++wakeups;
                if (!enough && sleep_again) scheduler.post_delay(self, 1us);
            }),
                                 1ms);
        }
    }

    void work(duration length, duration& sum) {
        clock.advance(length);
        sum += length;
        enough = busy_for + asleep_for >= limit;
    }

    bool sleep_again = true;
    duration limit = 1s;
    bool enough = false;
    duration busy_for{};
    duration asleep_for{};
    int wakeups = 0;
    std::deque<scripted> tasks;
};

// A post with a deadline by a step lies in the slot of its worker. Without a special look it would
// stay there until the whole line has had its turn.
TEST(Deadlines, OfASleeperAmongLongStepsAreKnownSoon) {
    simulation sim;
    bool over = false;
    std::deque<scripted> busy;
    for (int i = 0; i != 64; ++i) {
        sim.scheduler.post(busy.emplace_back([&](scripted& self) {
            sim.clock.advance(1ms);
            if (!over) sim.scheduler.post(self);
        }));
    }
    time_point deadline = sim.clock.now();
    int wakeups = 0;
    scripted sleeper{[&](scripted& self) {
        if (wakeups > 0) {
            EXPECT_LE(sim.clock.now() - deadline, 1ms) << wakeups;
        }
        if (++wakeups == 100) {
            over = true;
            return;
        }
        deadline = sim.clock.now() + wakeups * 37us;
        sim.scheduler.post_deadline(self, deadline);
    }};
    sim.scheduler.post(sleeper);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(wakeups, 100);
}

// The scheduler learns of a deadline from outside within the interval between rounds, and a step.
TEST(Deadlines, FromOutsideAreKnownSoonAmongLongSteps) {
    simulation sim;
    bool over = false;
    std::deque<scripted> busy;
    for (int i = 0; i != 64; ++i) {
        sim.scheduler.post(busy.emplace_back([&](scripted& self) {
            sim.clock.advance(500us);
            if (!over) sim.scheduler.post(self);
        }));
    }
    for (int i = 0; i != 10; ++i) {
        scripted sleeper;
        const time_point deadline = sim.clock.now() + 2ms + i * 100us;
        static_cast<void>(sim.scheduler.run_until(immediately, 1));
        sim.scheduler.post_deadline(sleeper, deadline);
        while (sleeper.runs == 0) ASSERT_EQ(sim.scheduler.run_until(immediately, 1), 1U);
        EXPECT_LE(sim.clock.now() - deadline, 500us);
    }
    over = true;
    sim.scheduler.run_until_idle();
}

// One sleeper is always late, and other tasks always stand in line. The sleeper also stands in line
// itself, where it has a seventh of the time.
TEST(Deadlines, WhoIsAlwaysLateOvertakesForAnEighthOfTheTime) {
    late_sleepers sim{64, 1};
    sim.scheduler.run_until_idle();
    EXPECT_GE(sim.asleep_for, sim.limit / 10);
    EXPECT_LE(sim.asleep_for, sim.limit / 4);
}

// There are more late sleepers than an eighth of the time can serve. The rest overtakes no task,
// but stands in line with the 16 tasks there.
TEST(Deadlines, WhoMayNotOvertakeStandsInLineAfterAnInterval) {
    late_sleepers sim{16, 50};
    sim.sleep_again = false;
    sim.limit = 100ms;
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sim.wakeups, 50);
}

// The time of an overtaking step ends with the step. The time until the next look, here the
// caller's own, is not part of it.
TEST(Deadlines, OnlyItsStepIsTheTimeOfWhoOvertakes) {
    simulation sim;
    std::deque<scripted> busy;
    bool over = false;
    for (int i = 0; i != 20; ++i) {
        sim.scheduler.post(busy.emplace_back([&](scripted& self) {
            sim.clock.advance(10us);
            if (!over) sim.scheduler.post(self);
        }));
    }
    for (int round = 0; round != 3; ++round) {
        SCOPED_TRACE(round);
        scripted late;
        sim.scheduler.post_delay(late, 500us);
        int steps = 0;
        for (; late.runs == 0; ++steps) ASSERT_EQ(sim.scheduler.run_until(immediately, 1), 1U);
        EXPECT_LE(steps, 20 + 50 + 4) << "it stood in line";  // admitted, slept, noticed
        sim.clock.advance(10min);
    }
    over = true;
    sim.scheduler.run_until_idle();
}

// Two sleepers are late while other tasks stand in line. One sleeper overtakes them. The other must
// still run when the line is empty.
TEST(Deadlines, WhoIsLeftForLaterRunsBeforeTheCallerIsIdle) {
    simulation sim;
    std::deque<scripted> line;
    std::deque<scripted> late;
    for (int i = 0; i != 2; ++i) {
        sim.scheduler.post_delay(late.emplace_back([&](scripted&) { sim.clock.advance(10us); }),
                                 1ms);
    }
    sim.scheduler.run_until_idle();
    for (int i = 0; i != 20; ++i) sim.scheduler.post(line.emplace_back());
    ASSERT_EQ(sim.scheduler.run_until(immediately, 1), 1U);
    sim.clock.advance(1500us);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 19U + 2U);
}

// The first look at the clock of a scheduler must not be lost in the arithmetic of `immediately`.
TEST(Deadlines, TheFirstOneIsServedWhileTheWorkerIsSaturated) {
    simulation sim;
    int steps = 0;
    int served_at = -1;
    scripted sleeper{[&](scripted&) { served_at = steps; }};
    std::deque<scripted> busy;
    sim.scheduler.post_delay(sleeper, 2ms);
    for (int i = 0; i != 200; ++i) {  // all in one run, so that no round is due for lack of work
        sim.scheduler.post(busy.emplace_back([&](scripted&) {
            sim.clock.advance(1ms);
            ++steps;
        }));
    }
    sim.scheduler.run_until_idle();
    ASSERT_EQ(steps, 200);
    EXPECT_GE(served_at, 2);
    EXPECT_LE(served_at, 200);
    // Noticed within two steps, so it stands before what is posted from then on.
    EXPECT_GE(sim.scheduler.stats()[0].rounds, 3U);
}

// Each reading of the clock finds it later.
class passing_clock final : public clock_source {
public:
    explicit passing_clock(duration each) : each_{each} {}
    [[nodiscard]] time_point now() const noexcept override { return now_ += each_; }

private:
    const duration each_;
    mutable time_point now_{1h};
    clock_override override_{*this};
};

// Does not sleep.
class hasty_driver final : public driver {
public:
    [[nodiscard]] bool set_deadline(time_point /*deadline*/) noexcept override { return true; }
    void wait() noexcept override {}
    void poll(event_sink& /*sink*/) noexcept override {}
    void wake() noexcept override {}
    [[nodiscard]] bool has_sources() const noexcept override { return false; }
};

// The last round before a sleep finds a task. By the next look at the clock a deadline has come.
TEST(Deadlines, MayComeBetweenALastRoundAndTheTaskThatItFound) {
    for (const duration each : {1us, 100us, 300us, 1'000us, 3'000us}) {
        const passing_clock passes{each};
        scheduler_options options;
        options.run_on_caller = true;
        options.driver = std::make_unique<hasty_driver>();
        scheduler scheduler{std::move(options)};
        std::mt19937 random{1};
        int runs = 0;
        const auto sleeps_again = [&](scripted& self) {
            if (++runs > 1'000) return;
            scheduler.post_delay(self, 1us * static_cast<long>(random() % 5'000));
        };
        std::deque<scripted> tasks;
        for (int i = 0; i != 3; ++i) scheduler.post(tasks.emplace_back(sleeps_again));
        while (runs != 1'000 + 3) scheduler.run_until(never, 1);
    }
}

}  // namespace
}  // namespace fairlead::deadlines_tests
