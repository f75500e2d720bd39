// Wait sources, deterministic: one worker, on the caller, in simulated time.
#include "sched/round/role.hpp"

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace fairlead::wait_source_tests {
namespace {

using namespace std::chrono_literals;
using test::fake_source;
using test::scripted;
using test::simulation;

// The scheduler goes first, and gives the task back.
struct waiter {
    fake_source source;
    scripted task;
};
struct io_simulation : waiter, simulation {
    io_simulation() { driver->sources = true; }
};

TEST(WaitSource, IsArmedOnceAndDisarmedWhenItFires) {
    io_simulation sim;
    sim.task.wait_for(sim.source);
    sim.scheduler.post_wait(sim.task);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sim.task.runs, 0);
    EXPECT_EQ(sim.source.arms, 1);
    EXPECT_EQ(sim.source.disarms, 0);
    EXPECT_EQ(sim.source.armed, &sim.task);
    sim.driver->will_fire.push_back(&sim.source);
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 1U);
    EXPECT_EQ(sim.source.disarms, 1);
    EXPECT_FALSE(sim.source.mismatched);
    EXPECT_FALSE(sim.task.was_expired);
}

// The wait itself sees what is there: one look fetches what has ended it, and none comes before.
TEST(WaitSource, WhoWaitsDoesNotPollBefore) {
    io_simulation sim;
    sim.task.wait_for(sim.source);
    sim.scheduler.post_wait(sim.task);
    sim.scheduler.run_until_idle();
    const int polls = sim.driver->polls;
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 0U);
    EXPECT_EQ(sim.driver->polls, polls + 1);
}

// The round that puts it to sleep again leaves the question to the wait.
TEST(WaitSource, OneWhoWaitsAgainCostsOnePoll) {
    io_simulation sim;
    sim.task.then([&](scripted& self) {
        self.wait_for(sim.source);
        sim.scheduler.post_wait(self);
    });
    sim.task.wait_for(sim.source);
    sim.scheduler.post_wait(sim.task);
    sim.scheduler.run_until_idle();
    const int polls = sim.driver->polls;
    for (int i = 1; i <= 100; ++i) {
        sim.driver->will_fire.push_back(&sim.source);
        ASSERT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 1U);
        ASSERT_EQ(sim.driver->polls, polls + i);
    }
}

TEST(WaitSource, WhatIsThereAlreadyRunsAtOnceAndIsNotDisarmed) {
    io_simulation sim;
    sim.source.ready = true;
    sim.task.wait_for(sim.source);
    sim.scheduler.post_wait(sim.task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_EQ(sim.source.arms, 1);
    EXPECT_EQ(sim.source.disarms, 0);
}

TEST(WaitSource, IsDisarmedByADeadline) {
    io_simulation sim;
    sim.task.wait_for(sim.source);
    sim.scheduler.post_delay(sim.task, 10ms);
    EXPECT_EQ(sim.scheduler.run_until(never), 1U);
    EXPECT_TRUE(sim.task.was_expired);
    EXPECT_EQ(sim.source.arms, 1);
    EXPECT_EQ(sim.source.disarms, 1);
    EXPECT_FALSE(sim.source.mismatched);
}

TEST(WaitSource, IsDisarmedByAWakeUpBeforeTheTaskRuns) {
    io_simulation sim;
    bool armed_in_step = true;
    sim.task.then([&](scripted&) { armed_in_step = sim.source.armed != nullptr; });
    sim.task.wait_for(sim.source);
    sim.scheduler.post_wait(sim.task);
    sim.scheduler.run_until_idle();
    sim.task.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_FALSE(armed_in_step);
    EXPECT_EQ(sim.source.disarms, 1);
}

TEST(WaitSource, AWakeUpBeforeTheSleepDisarmsWhatItArmed) {
    io_simulation sim;
    sim.task.wait_for(sim.source);
    sim.task.wakeup();
    sim.scheduler.post_wait(sim.task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_EQ(sim.source.arms, sim.source.disarms);
    EXPECT_EQ(sim.source.armed, nullptr);
}

TEST(WaitSource, AnEventAndAWakeUpAtTheSameTimeMakeOneStep) {
    io_simulation sim;
    sim.task.wait_for(sim.source);
    sim.scheduler.post_wait(sim.task);
    sim.scheduler.run_until_idle();
    sim.task.wakeup();  // in the front; the driver finds the event in the same round
    sim.driver->will_fire.push_back(&sim.source);
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 1U);
    EXPECT_EQ(sim.source.disarms, 1);
    EXPECT_TRUE(sim.scheduler.drain_for(0s));
}

TEST(WaitSource, IsUsedUpByThePost) {
    io_simulation sim;
    const auto nothing_armed = [&] { EXPECT_EQ(sim.source.arms, 0); };
    // A plain post does not wait, nor does one whose deadline has passed; both use the source up.
    sim.task.wait_for(sim.source);
    sim.scheduler.post(sim.task);
    sim.scheduler.run_until_idle();
    nothing_armed();
    sim.scheduler.post_wait(sim.task);
    sim.scheduler.run_until_idle();
    nothing_armed();
    sim.task.wakeup();
    sim.scheduler.run_until_idle();

    sim.task.wait_for(sim.source);
    sim.scheduler.post_deadline(sim.task, sim.clock.now());
    sim.scheduler.run_until_idle();
    sim.scheduler.post_wait(sim.task);
    sim.scheduler.run_until_idle();
    nothing_armed();
    sim.task.wakeup();
    sim.scheduler.run_until_idle();
}

TEST(WaitSource, IsUsedUpByABatchPost) {
    io_simulation sim;
    sim.task.wait_for(sim.source);
    basic_task* const batch[] = {&sim.task};
    sim.scheduler.post(batch);
    sim.scheduler.run_until_idle();
    sim.scheduler.post_wait(sim.task);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sim.source.arms, 0);
    sim.task.wakeup();
    sim.scheduler.run_until_idle();
}

TEST(WaitSource, IsDisarmedByAStop) {
    io_simulation sim;
    sim.task.wait_for(sim.source);
    sim.scheduler.post_wait(sim.task);
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(sim.scheduler.stop(1s).clean());
    EXPECT_EQ(sim.task.runs, 1);
    EXPECT_EQ(sim.source.disarms, 1);
}

TEST(WaitSource, IsDisarmedByTheDestructor) {
    fake_source source;
    scripted task;
    {
        simulation sim;
        task.then([&](scripted& self) {  // will not end
            self.wait_for(source);
            sim.scheduler.post_wait(self);
        });
        sim.scheduler.post(task);
        sim.scheduler.run_until_idle();
        EXPECT_NE(source.armed, nullptr);
    }
    EXPECT_EQ(source.armed, nullptr);
    EXPECT_EQ(source.arms, source.disarms);
    EXPECT_FALSE(source.mismatched);
}

TEST(WaitSource, ManyEventsInOneLookAllRunInOrder) {
    constexpr int count = 700;  // more than the batch of the role
    io_simulation sim;
    std::deque<fake_source> sources(count);
    std::vector<int> log;
    std::deque<test::numbered> tasks;
    for (int i = 0; i != count; ++i) {
        auto& task = tasks.emplace_back(log, i);
        task.wait_for(sources[static_cast<std::size_t>(i)]);
        sim.scheduler.post_wait(task);
    }
    sim.scheduler.run_until_idle();
    for (auto& each : sources) sim.driver->will_fire.push_back(&each);
    while (sim.scheduler.run_until(sim.clock.now() + 1s) != 0) {
    }
    ASSERT_EQ(log.size(), static_cast<std::size_t>(count));
    EXPECT_TRUE(std::ranges::is_sorted(log));
    for (const auto& each : sources) EXPECT_EQ(each.disarms, 1);
}

// The first descriptor is registered while a round is under way that has no time.
TEST(WaitSource, ComesDuringARound) {
    class late_driver final : public driver {
    public:
        [[nodiscard]] bool set_deadline(time_point) noexcept override { return true; }
        void wait() noexcept override {}
        void poll(event_sink&) noexcept override { ++polls; }
        void wake() noexcept override {}
        [[nodiscard]] bool has_sources() const noexcept override { return questions++ % 2 == 1; }
        mutable int questions = 0;
        int polls = 0;
    };
    auto made = std::make_unique<late_driver>();
    late_driver& own = *made;
    scheduler_options options;
    options.run_on_caller = true;
    options.driver = std::move(made);
    scheduler scheduler{std::move(options)};
    for (int i = 0; i != 3; ++i) {
        scheduler.post([] {});
        scheduler.run_until_idle();
    }
    EXPECT_GE(own.polls, 1);
}

TEST(WaitSource, EventsAreServedWhileTheWorkerIsSaturated) {
    io_simulation sim;
    // Sleeps without anything to look at before: the first look must not count from the beginning
    // of time.
    sim.driver->sources = false;
    sim.driver->wake();
    sim.scheduler.run_until(sim.clock.now() + 1s);
    sim.driver->sources = true;
    int steps = 0;
    int served_at = -1;
    sim.task.then([&](scripted&) { served_at = steps; });
    sim.task.wait_for(sim.source);
    sim.scheduler.post_wait(sim.task);
    sim.scheduler.run_until_idle();
    std::deque<scripted> busy;
    for (int i = 0; i != 300; ++i) {
        sim.scheduler.post(busy.emplace_back([&](scripted& self) {
            sim.clock.advance(10us);
            if (++steps == 1'000) sim.driver->will_fire.push_back(&sim.source);
            if (steps < 5'000) sim.scheduler.post(self);
        }));
    }
    sim.scheduler.run_until_idle();
    EXPECT_GE(served_at, 1'000);
    EXPECT_LE(served_at, 1'000 + 100 + 16 + 300 + 1);
}

// Each step ends when the next task is due: so the worker always comes to wait, and never has to.
TEST(WaitSource, EventsAreServedWhileEachRoundBeforeAWaitFindsATask) {
    io_simulation sim;
    int steps = 0;
    int served_at = -1;
    sim.task.then([&](scripted&) { served_at = steps; });
    sim.task.wait_for(sim.source);
    sim.scheduler.post_wait(sim.task);
    std::deque<scripted> due;
    for (int i = 0; i != 2'000; ++i) {
        sim.scheduler.post_delay(due.emplace_back([&](scripted&) {
            sim.clock.advance(10us);
            if (++steps == 1'000) sim.driver->will_fire.push_back(&sim.source);
        }),
                                 i * 10us);
    }
    while (steps != 2'000) sim.scheduler.run_until(sim.clock.now() + 1s);
    EXPECT_GE(served_at, 1'000);
    EXPECT_LE(served_at, 1'000 + 100 + 16 + 1);
}

}  // namespace
}  // namespace fairlead::wait_source_tests
