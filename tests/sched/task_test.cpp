// Waiting, wake-ups and signals, deterministic: one worker, on the caller, in simulated time.
#include <fairlead/sched/task.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

namespace fairlead::task_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;
using test::simulation;

// --- wait and wakeup -----------------------------------------------------------------------------

TEST(Task, WaitsUntilItIsWoken) {
    simulation sim;
    scripted task;
    sim.scheduler.post_wait(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    EXPECT_EQ(task.owner(), &sim.scheduler);
    task.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_FALSE(task.was_expired);
    EXPECT_FALSE(task.was_signalled);
    EXPECT_EQ(task.owner(), nullptr);
}

TEST(Task, OneWaitEndsWithOneStepHoweverOftenItIsWoken) {
    simulation sim;
    scripted task;
    sim.scheduler.post_wait(task);
    sim.scheduler.run_until_idle();
    task.wakeup();
    task.wakeup();
    task.signal();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_TRUE(task.was_signalled);
}

TEST(Task, AWakeUpBeforeThePostIsRemembered) {
    simulation sim;
    scripted task;
    task.wakeup();
    sim.scheduler.post_wait(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    sim.scheduler.post_wait(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U) << "it was used up";
    task.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
}

TEST(Task, AWakeUpInTheFrontIsRemembered) {
    simulation sim;
    scripted task;
    sim.scheduler.post_wait(task);
    task.wakeup();  // still in the front
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
}

TEST(Task, AWakeUpOfAQueuedTaskIsUsedUpByTheRunThatFollows) {
    simulation sim;
    scripted task{[&](scripted& self) {
        if (self.runs == 1) sim.scheduler.post_wait(self);
    }};
    scripted waker{[&](scripted&) { task.wakeup(); }};
    sim.scheduler.post(waker);
    sim.scheduler.post(task);  // queued when the waker runs
    EXPECT_EQ(sim.scheduler.run_until_idle(), 2U);
    EXPECT_EQ(task.runs, 1);
    task.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
}

TEST(Task, AWakeUpDuringTheStepIsForTheNextOne) {
    simulation sim;
    scripted task{[&](scripted& self) {
        if (self.runs == 3) return;
        if (self.runs == 1) self.wakeup();
        sim.scheduler.post_wait(self);
    }};
    sim.scheduler.post(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 2U);
    EXPECT_EQ(task.runs, 2);
    task.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
}

TEST(Task, WokenTasksRunInTheOrderOfWakeUps) {
    simulation sim;
    std::vector<int> log;
    std::deque<test::numbered> tasks;
    for (int i = 0; i != 600; ++i) sim.scheduler.post_wait(tasks.emplace_back(log, i));
    sim.scheduler.run_until_idle();
    for (int i = 0; i != 600; ++i) tasks[static_cast<std::size_t>(i * 7 % 600)].wakeup();
    sim.scheduler.run_until_idle();
    ASSERT_EQ(log.size(), 600U);
    for (int i = 0; i != 600; ++i) ASSERT_EQ(log[static_cast<std::size_t>(i)], i * 7 % 600);
}

TEST(Task, WokenTasksStandInLineWithPosts) {
    simulation sim;
    std::vector<int> log;
    std::deque<test::numbered> tasks;
    for (int i = 0; i != 3; ++i) tasks.emplace_back(log, i);
    sim.scheduler.post_wait(tasks[1]);
    sim.scheduler.run_until_idle();
    sim.scheduler.post(tasks[0]);
    tasks[1].wakeup();
    sim.scheduler.post(tasks[2]);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{0, 1, 2}));
}

// However many sleepers come before it.
TEST(Task, APostBehindManyWaitersIsReady) {
    simulation sim;
    std::deque<scripted> tasks(20'000);
    for (auto& each : tasks) sim.scheduler.post_wait(each);
    bool ran = false;
    sim.scheduler.post([&] { ran = true; });
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_TRUE(ran);
    EXPECT_TRUE(sim.driver->waits.empty());
    for (auto& each : tasks) each.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 20'000U);
}

// It is behind its waker, both posted by steps: no round puts it to sleep.
TEST(Task, ASignalBeforeItSleepsIsNoDeadline) {
    simulation sim;
    scripted waiter{[&](scripted& self) {
        if (self.runs == 1) sim.scheduler.post_wait(self);
    }};
    scripted waker{[&](scripted&) { waiter.signal(); }};
    scripted first{[&](scripted&) {
        sim.scheduler.post(waiter);
        sim.scheduler.post(waker);
    }};
    sim.scheduler.post(first);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 4U);
    EXPECT_EQ(waiter.runs, 2);
    EXPECT_FALSE(waiter.was_expired);
    EXPECT_TRUE(waiter.was_signalled);
}

TEST(Task, ASleeperThatAStepSignalsSleepsNoMore) {
    simulation sim;
    scripted sleeper;
    sim.scheduler.post_wait(sleeper);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    EXPECT_FALSE(sim.scheduler.drain_for(0s));
    scripted waker{[&](scripted&) { sleeper.signal(); }};
    sim.scheduler.post(waker);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 2U);
    EXPECT_TRUE(sim.scheduler.drain_for(0s));
}

TEST(Task, ManyWaitersCostNoDeadline) {
    simulation sim;
    std::deque<scripted> tasks(5'000);
    for (auto& each : tasks) sim.scheduler.post_wait(each);
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1h), 0U);
    // The sleep was limited by the caller alone.
    ASSERT_FALSE(sim.driver->waits.empty());
    for (auto& each : tasks) each.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 5'000U);
}

// --- signals -------------------------------------------------------------------------------------

TEST(Task, ASignalWakesAndIsReceivedOnce) {
    simulation sim;
    std::vector<bool> received;
    scripted task{[&](scripted& self) {
        received.push_back(self.receive_signal());
        received.push_back(self.receive_signal());
        if (self.runs != 2) sim.scheduler.post_wait(self);
    }};
    sim.scheduler.post_wait(task);
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(task.signalled());
    task.signal();
    EXPECT_TRUE(task.signalled());
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_FALSE(task.signalled());
    task.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_EQ(received, (std::vector{true, false, false, false}));
}

TEST(Task, SignalsDoNotCount) {
    simulation sim;
    int received = 0;
    scripted task{[&](scripted& self) {
        received += self.receive_signal();
        if (self.runs != 2) sim.scheduler.post_wait(self);
    }};
    task.signal();
    task.signal();
    sim.scheduler.post_wait(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    task.signal();
    task.signal();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_EQ(received, 2);
    EXPECT_FALSE(task.signalled());
}

TEST(Task, ASignalThatWasNotReceivedKeepsTheTaskAwake) {
    simulation sim;
    scripted task{[&](scripted& self) {
        if (self.runs == 3) static_cast<void>(self.receive_signal());
        if (self.runs < 5) sim.scheduler.post_wait(self);
    }};
    task.signal();
    sim.scheduler.post(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 3U);
    task.signal();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 2U) << "not received in the fourth: at once a fifth";
}

TEST(Task, ASignalDuringTheStepIsNotLost) {
    simulation sim;
    std::vector<bool> received;
    scripted task{[&](scripted& self) {
        received.push_back(self.receive_signal());
        if (self.runs == 1) self.signal();
        if (self.runs != 2) sim.scheduler.post_wait(self);
    }};
    sim.scheduler.post(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 2U);
    EXPECT_EQ(received, (std::vector{false, true}));
}

TEST(Task, MayFreeItselfOnceItReceivedTheSignal) {
    simulation sim;
    bool freed = false;
    auto* task = new scripted{[&](scripted& self) {
        if (self.receive_signal()) {
            delete &self;
            freed = true;
        } else {
            sim.scheduler.post_wait(self);
        }
    }};
    sim.scheduler.post(*task);
    sim.scheduler.run_until_idle();
    task->signal();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(freed);
    EXPECT_TRUE(sim.scheduler.drain_for(0s));
}

TEST(Task, ASignalFromAnotherTasksStepFreesIt) {
    simulation sim;
    int freed = 0;
    for (int i = 0; i != 500; ++i) {
        auto* task = new scripted{[&](scripted& self) {
            if (!self.receive_signal()) return sim.scheduler.post_wait(self);
            delete &self;
            ++freed;
        }};
        sim.scheduler.post(*task);
        sim.scheduler.post([task] { task->signal(); });
    }
    sim.scheduler.run_until_idle();
    EXPECT_EQ(freed, 500);
}

// --- deadline or signal, whichever is first ------------------------------------------------------

TEST(Task, TellsWhyItRuns) {
    simulation sim;
    scripted task;
    const auto run = [&] { EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 1U); };

    sim.scheduler.post(task);
    run();
    EXPECT_TRUE(task.was_expired) << "the deadline of a plain post is now";

    sim.scheduler.post_delay(task, 10ms);
    run();
    EXPECT_TRUE(task.was_expired);

    sim.scheduler.post_delay(task, 10ms);
    sim.scheduler.run_until_idle();
    task.wakeup();
    run();
    EXPECT_FALSE(task.was_expired);
    EXPECT_FALSE(task.was_signalled);

    sim.scheduler.post_delay(task, 10ms);
    sim.scheduler.run_until_idle();
    task.signal();
    run();
    EXPECT_FALSE(task.was_expired);
    EXPECT_TRUE(task.was_signalled);
    EXPECT_TRUE(task.receive_signal());
}

TEST(Task, ADeadlineAndASignalAtTheSameTimeMakeOneStep) {
    simulation sim;
    scripted task{[&](scripted& self) { static_cast<void>(self.receive_signal()); }};
    sim.scheduler.post_delay(task, 10ms);
    sim.scheduler.run_until_idle();
    sim.clock.advance(10ms);
    task.signal();  // in the front, and due among the sleepers
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 1U);
    EXPECT_TRUE(task.was_signalled);
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 0U);
    EXPECT_TRUE(sim.scheduler.drain_for(0s));
}

TEST(Task, ASignalWhileItIsQueuedByItsDeadlineIsSeenByThatStep) {
    simulation sim;
    scripted task{[&](scripted& self) { static_cast<void>(self.receive_signal()); }};
    scripted signaller{[&](scripted&) { task.signal(); }};
    sim.scheduler.post_delay(signaller, 10ms);
    sim.scheduler.post_delay(task, 11ms);
    sim.scheduler.run_until_idle();
    sim.clock.advance(11ms);
    EXPECT_EQ(sim.scheduler.run_until(never), 2U);
    EXPECT_TRUE(task.was_expired);
    EXPECT_TRUE(task.was_signalled);
    EXPECT_TRUE(sim.scheduler.drain_for(0s));
}

TEST(Task, AWakeUpOfTheLastSleepDoesNotEndTheNextOne) {
    simulation sim;
    scripted task{[&](scripted& self) {
        if (self.runs != 2) sim.scheduler.post_delay(self, 10ms);
    }};
    sim.scheduler.post_delay(task, 10ms);
    sim.scheduler.run_until_idle();
    sim.clock.advance(10ms);
    task.wakeup();
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now()), 1U);
    const time_point again = sim.clock.now();
    EXPECT_EQ(sim.scheduler.run_until(never), 1U);
    EXPECT_TRUE(task.was_expired);
    EXPECT_EQ(sim.clock.now(), again + 10ms);
}

// --- what awaits of the library use --------------------------------------------------------------

TEST(Task, TheDeafSleepThroughSignalsAndRememberThem) {
    simulation sim;
    scripted task;
    task.ignore_signals();
    sim.scheduler.post_wait(task);
    sim.scheduler.run_until_idle();
    task.signal();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    task.complete();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_TRUE(task.take_completed());
    EXPECT_FALSE(task.take_completed());
    EXPECT_TRUE(task.receive_signal());
    // Deafness was used up by the post.
    sim.scheduler.post_wait(task);
    sim.scheduler.run_until_idle();
    task.signal();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
}

TEST(Task, AnIgnoredSignalBeforeItSleepsDoesNotKeepItAwake) {
    simulation sim;
    scripted waiter{[&](scripted& self) {
        if (self.runs != 1) return;
        self.ignore_signals();
        sim.scheduler.post_wait(self);
    }};
    scripted waker{[&](scripted&) { waiter.signal(); }};
    scripted first{[&](scripted&) {
        sim.scheduler.post(waiter);
        sim.scheduler.post(waker);
    }};
    sim.scheduler.post(first);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 3U);
    EXPECT_FALSE(sim.scheduler.drain_for(0s)) << "it sleeps";
    waiter.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_TRUE(waiter.was_signalled);
}

TEST(Task, ACompletionBeforeThePostIsRemembered) {
    simulation sim;
    scripted task;
    task.complete();
    task.ignore_signals();
    sim.scheduler.post_wait(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_TRUE(task.take_completed());
}

TEST(Task, ARequestToStopWakesAndStays) {
    simulation sim;
    scripted task;
    sim.scheduler.post_wait(task);
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(task.stop_requested());
    task.request_stop();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_TRUE(task.stop_requested());
    sim.scheduler.post_wait(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U) << "told once: it may sleep to clean up";
    EXPECT_TRUE(task.stop_requested());
    task.wakeup();
    sim.scheduler.run_until_idle();
}

}  // namespace
}  // namespace fairlead::task_tests
