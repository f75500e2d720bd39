// Stop, start and the destructor, and the answers of drain. The tests are deterministic where one
// thread can show the case.
#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <latch>
#include <thread>
#include <vector>

namespace fairlead::life_cycle_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;
using test::simulation;

// A task that sleeps again after each step, until it is allowed to end.
struct stubborn {
    explicit stubborn(scheduler& where)
        : task{[this, &where](scripted& self) {
                   if (!may_end) where.post_wait(self);
               },
               "stubborn"} {}

    std::atomic<bool> may_end{false};
    scripted task;
};

// --- stop ----------------------------------------------------------------------------------------

TEST(Drain, ReturnsWhenTheSchedulerIsStopped) {
    test::watchdog guard;
    for (int round = 0; round != 50; ++round) {
        scheduler scheduler{{.workers = 2}};
        stubborn left{scheduler};
        scheduler.post_wait(left.task);
        std::jthread drains{
            [&] { scheduler.drain(); }};  // before the stop, at the same time, or after
        if (round % 2 == 0) std::this_thread::yield();
        EXPECT_FALSE(scheduler.stop(round % 3 == 0 ? 0s : 1ms).clean());
        drains.join();
        EXPECT_FALSE(scheduler.drain_for(1h));
        scheduler.drain();
        left.may_end = true;
        left.task.wakeup();
        scheduler.start();
        EXPECT_TRUE(scheduler.drain_for(1h));
    }
}

TEST(Drain, DoesNotWaitIfTheLimitIsOver) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int round = 0; round != 100; ++round) {
        for (const duration limit : {duration::min(), duration{-1}, duration{0}}) {
            scripted sleeper;
            scheduler.post_wait(sleeper);
            EXPECT_FALSE(scheduler.drain_for(limit));
            sleeper.wakeup();
            scheduler.drain();
        }
    }
}

TEST(Drain, IsNotDeceivedByAStopAndAStart) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    stubborn left{scheduler};
    scheduler.post_wait(left.task);
    for (int round = 0; round != 100; ++round) {
        std::jthread drains{[&] { EXPECT_FALSE(scheduler.drain_for(2ms)); }};
        static_cast<void>(scheduler.stop(0s));
        scheduler.start();
    }
    left.may_end = true;
    left.task.wakeup();
    EXPECT_TRUE(scheduler.drain_for(1h));
}

TEST(Drain, ReturnsWhenTheLastStuckStepOfAStoppedSchedulerEnds) {
    test::watchdog guard;
    std::latch started{1};
    std::latch release{1};
    scheduler scheduler{{.workers = 2}};
    stubborn left{scheduler};
    scheduler.post_wait(left.task);
    scheduler.post([&] {
        started.count_down();
        release.wait();
    });
    started.wait();
    EXPECT_EQ(scheduler.stop(1ms).running, 1U);
    std::jthread drains{[&] { scheduler.drain(); }};
    release.count_down();
    drains.join();
    left.may_end = true;
    left.task.wakeup();
    scheduler.start();
    scheduler.drain();
}

TEST(Stop, OfNothingIsClean) {
    simulation sim;
    EXPECT_FALSE(sim.scheduler.stopping());
    EXPECT_TRUE(sim.scheduler.stop(1s).clean());
    EXPECT_TRUE(sim.scheduler.stopping());
}

TEST(Stop, TellsEverySleeperOnce) {
    simulation sim;
    std::deque<scripted> tasks;
    std::vector<bool> told;
    for (int i = 0; i != 700; ++i) {
        auto& task =
            tasks.emplace_back([&](scripted& self) { told.push_back(self.stop_requested()); });
        if (i % 2 == 0) {
            sim.scheduler.post_wait(task);
        } else {
            sim.scheduler.post_delay(task, 1h);
        }
    }
    sim.scheduler.run_until_idle();
    const time_point before = sim.clock.now();
    EXPECT_TRUE(sim.scheduler.stop(1s).clean());
    EXPECT_EQ(told, std::vector<bool>(700, true));
    EXPECT_EQ(sim.clock.now(), before) << "it did not wait for the deadlines";
}

TEST(Stop, ASleeperMayCleanUp) {
    simulation sim;
    scripted task{[&](scripted& self) {
        if (self.runs != 3) sim.scheduler.post_delay(self, 10ms);  // two more steps, in time
    }};
    sim.scheduler.post_wait(task);
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(sim.scheduler.stop(1s).clean());
    EXPECT_EQ(task.runs, 3);
    EXPECT_TRUE(task.stop_requested());
}

TEST(Stop, TellsTasksThatGoToSleepLater) {
    simulation sim;
    bool told = false;
    scripted late{[&](scripted& self) { told = self.stop_requested(); }};
    scripted first{[&](scripted&) { sim.scheduler.post_wait(late); }};
    sim.scheduler.post_wait(first);
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(sim.scheduler.stop(1s).clean());
    EXPECT_TRUE(told);
}

// The step puts the task to sleep when the stop has looked for sleepers.
TEST(Stop, TellsTasksThatAnotherWorkerPutsToSleepLater) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    std::atomic<bool> asleep{false};
    std::atomic<bool> has_looked{false};
    std::atomic<bool> told{false};
    scripted sleeper{[&](scripted&) { has_looked = true; }};
    scripted late{[&](scripted& self) { told = self.stop_requested(); }};
    scripted first{[&](scripted&) {
        scheduler.post_wait(sleeper);
        asleep = true;
        while (!has_looked) std::this_thread::yield();
        scheduler.post_wait(late);
    }};
    scheduler.post(first);
    while (!asleep) std::this_thread::yield();
    EXPECT_TRUE(scheduler.stop(10s).clean());
    EXPECT_TRUE(told);
}

TEST(Stop, TellsATaskThatIsWokenBeforeItSleeps) {
    simulation sim;
    bool told = false;
    scripted late{[&](scripted& self) { told = self.stop_requested(); }};
    scripted waker{[&](scripted&) { late.signal(); }};
    scripted first{[&](scripted&) {
        sim.scheduler.post(waker);
        sim.scheduler.post_wait(late);  // behind its waker
    }};
    sim.scheduler.post_wait(first);
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(sim.scheduler.stop(1s).clean());
    EXPECT_TRUE(told);
}

// A task that never sleeps, because it only yields, must be able to learn of the stop, too.
TEST(Stop, TellsTasksThatOnlyYield) {
    simulation sim;
    scripted task{[&](scripted& self) {
        sim.clock.advance(1ms);
        if (!self.stop_requested() && self.runs != 10'000) sim.scheduler.post(self);
    }};
    sim.scheduler.post(task);
    EXPECT_TRUE(sim.scheduler.stop(1s).clean());
    EXPECT_LT(task.runs, 1'000) << "it did not see the request";
}

// A task that yields, and waits for a sleeper to end: the stop must reach the sleeper.
TEST(Stop, TellsSleepersWhileTheWorkersAreSaturated) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U}) {
        scheduler scheduler{{.workers = workers}};
        std::latch asleep{1};
        std::atomic<bool> ended{false};
        scripted sleeper{[&](scripted& self) {
            if (self.stop_requested()) {
                ended = true;
                return;
            }
            scheduler.post_wait(self);
        }};
        std::deque<scripted> yielding;
        for (unsigned i = 0; i != workers; ++i) {
            yielding.emplace_back([&](scripted& self) {
                if (self.runs == 10 && &self == &yielding.front()) asleep.count_down();
                if (!ended) scheduler.post(self);
            });
        }
        scheduler.post(sleeper);
        for (auto& each : yielding) scheduler.post(each);
        asleep.wait();
        const auto report = scheduler.stop(1h);
        EXPECT_TRUE(report.clean()) << report.to_string();
    }
}

TEST(Stop, NamesWhatIsLeft) {
    simulation sim;
    stubborn left{sim.scheduler};
    sim.scheduler.post_wait(left.task);
    sim.scheduler.run_until_idle();
    const auto report = sim.scheduler.stop(1s);
    EXPECT_FALSE(report.clean());
    EXPECT_EQ(report.waiting, 1U);
    EXPECT_EQ(report.queued, 0U);
    EXPECT_EQ(report.running, 0U);
    EXPECT_EQ(report.to_string(), "1 waiting (stubborn)");
    left.may_end = true;
    left.task.wakeup();
    EXPECT_TRUE(sim.scheduler.stop(1s).clean()) << "calling it again waits again";
}

TEST(Stop, NamesAtMostAHundred) {
    simulation sim;
    std::deque<stubborn> tasks;
    for (int i = 0; i != 150; ++i) sim.scheduler.post_wait(tasks.emplace_back(sim.scheduler).task);
    const auto report = sim.scheduler.stop(1s);
    EXPECT_EQ(report.waiting, 150U);
    EXPECT_EQ(report.tasks.size(), 100U);
    for (auto& each : tasks) {
        each.may_end = true;
        each.task.wakeup();
    }
    EXPECT_TRUE(sim.scheduler.stop(1s).clean());
}

TEST(Stop, OnThreadsEndsEverythingThatListens) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        scheduler scheduler{{.workers = workers}};
        std::deque<scripted> tasks;
        for (int i = 0; i != 300; ++i) {
            auto& task = tasks.emplace_back([&](scripted& self) {
                if (!self.stop_requested()) scheduler.post_delay(self, 1h);
            });
            i % 2 == 0 ? scheduler.post(task) : scheduler.post_wait(task);
        }
        const auto report = scheduler.stop(1h);
        EXPECT_TRUE(report.clean()) << report.to_string();
        for (auto& each : tasks) EXPECT_TRUE(each.stop_requested());
    }
}

TEST(Stop, IsBoundedThoughAStepIsStuckAndNamesIt) {
    test::watchdog guard;
    std::latch started{1};
    std::atomic<bool> release{false};
    std::atomic<bool> ended{false};
    scripted stuck{[&](scripted&) {
                       started.count_down();
                       release.wait(false);
                       ended = true;
                   },
                   "upload"};
    scripted queued{{}, "next"};
    {
        scheduler scheduler{{.workers = 1, .stop_limit = 0s}};
        scheduler.post(stuck);
        started.wait();
        scheduler.post(queued);
        const auto report = scheduler.stop(1ms);
        EXPECT_EQ(report.running, 1U);
        EXPECT_EQ(report.queued, 1U);
        EXPECT_EQ(report.to_string(), "1 queued (next), 1 running (upload)");
        release = true;
        release.notify_all();
    }
    EXPECT_TRUE(ended) << "the destructor waits for the step";
}

// No step runs any more. The second stop, in the destructor, must not wait until its limit for
// tasks that no worker will run.
TEST(Stop, TheDestructorGoesOnAsSoonAsTheStuckStepEnds) {
    test::watchdog guard{20s};
    std::latch started{1};
    std::atomic<bool> release{false};
    {
        scheduler scheduler{{.workers = 2, .stop_limit = 1h}};
        scheduler.post([&] {
            started.count_down();
            release.wait(false);
        });
        started.wait();
        EXPECT_FALSE(scheduler.stop(1ms).clean());
        release = true;
        release.notify_all();
    }
}

// --- start again ---------------------------------------------------------------------------------

TEST(Restart, GoesOnWithWhatWasPostedMeanwhile) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int round = 0; round != 50; ++round) {
        EXPECT_TRUE(scheduler.stop(1h).clean());
        EXPECT_TRUE(scheduler.stopping());
        scripted task;
        scheduler.post(task);
        EXPECT_FALSE(scheduler.drain_for(0s));
        EXPECT_EQ(task.runs, 0);
        scheduler.start();
        EXPECT_FALSE(scheduler.stopping());
        scheduler.drain();
        EXPECT_EQ(task.runs, 1);
    }
}

TEST(Restart, GoesOnWithSleepers) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    stubborn left{scheduler};
    scheduler.post_wait(left.task);
    for (int round = 0; round != 20; ++round) {
        const auto report = scheduler.stop(1ms);
        EXPECT_EQ(report.waiting + report.queued + report.running, 1U);
        scheduler.start();  // at once: the workers may have just noticed the stop
    }
    left.may_end = true;
    left.task.wakeup();
    scheduler.drain();
}

TEST(Restart, WaitsForTheStepThatTheStopGaveUpOn) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    std::latch started{1};
    std::latch release{1};
    std::atomic<bool> ended{false};
    scheduler.post([&] {
        started.count_down();
        release.wait();
        ended = true;
    });
    started.wait();
    EXPECT_EQ(scheduler.stop(0s).running, 1U);
    std::jthread releases{[&] { release.count_down(); }};
    scheduler.start();
    EXPECT_TRUE(ended);
    std::latch ran{1};
    scheduler.post([&] { ran.count_down(); });
    ran.wait();
}

TEST(Restart, AfterAStopWithoutPatience) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    for (int round = 0; round != 200; ++round) {
        std::atomic<int> runs{0};
        for (int i = 0; i != 10; ++i) scheduler.post([&] { ++runs; });
        static_cast<void>(scheduler.stop(0s));
        scheduler.start();
        scheduler.drain();
        ASSERT_EQ(runs, 10);
    }
}

TEST(Restart, OnTheCaller) {
    simulation sim;
    EXPECT_TRUE(sim.scheduler.stop(1s).clean());
    sim.scheduler.start();
    EXPECT_FALSE(sim.scheduler.stopping());
    scripted task;
    sim.scheduler.post_wait(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U) << "nobody asked this one to stop";
    EXPECT_TRUE(sim.scheduler.stop(1s).clean()) << "the second stop tells sleepers again";
    EXPECT_EQ(task.runs, 1);
}

TEST(Restart, TheSecondStopTellsSleepersAgain) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int round = 0; round != 5; ++round) {
        scripted task;
        scheduler.post_wait(task);
        const auto report = scheduler.stop(1h);
        EXPECT_TRUE(report.clean()) << report.to_string();
        scheduler.start();
    }
}

// A stop tells the task again, though an earlier stop has told it and it does not sleep yet.
TEST(Restart, EachStopTellsWhatIsStillInTheFront) {
    scripted task;
    for (int home = 0; home != 2; ++home) {
        simulation sim;
        for (int stops = 1; stops != 300; ++stops) {
            sim.scheduler.post_wait(task);
            ASSERT_TRUE(sim.scheduler.stop(1s).clean()) << home << ' ' << stops;
            sim.scheduler.start();
        }
    }
    EXPECT_EQ(task.runs, 2 * 299);
}

// The stop of another scheduler has told the task. The stop of this scheduler comes while it runs.
TEST(Restart, AStopTellsWhatAnotherHasTold) {
    test::watchdog guard;
    for (const bool in_a_batch : {false, true}) {
        scripted task;
        scheduler elsewhere{{.run_on_caller = true}};
        elsewhere.post_wait(task);
        ASSERT_TRUE(elsewhere.stop(1s).clean());
        std::latch started{1};
        scheduler home{{.workers = 1}};
        task.then([&](scripted& self) {
            if (self.runs != 2) return;
            started.count_down();
            while (!home.stopping()) std::this_thread::yield();
            home.post_wait(self);
        });
        if (in_a_batch) {
            basic_task* const batch[]{&task};
            home.post(batch);
        } else {
            home.post(task);
        }
        started.wait();
        EXPECT_TRUE(home.stop(5s).clean()) << "nobody told it, in a batch: " << in_a_batch;
        EXPECT_EQ(task.runs, 3);
    }
}

// The tasks that a stop left queued keep their order and their reasons to run.
TEST(Restart, KeepsOrderAndReason) {
    test::watchdog guard;
    std::latch started{1};
    std::atomic<bool> release{false};
    std::vector<int> log;
    std::vector<int> expected;
    std::deque<scripted> tasks;
    scheduler scheduler{{.workers = 1}};
    scheduler.post([&] {
        started.count_down();
        release.wait(false);
    });
    for (int i = 0; i != 600; ++i) {  // in the run of the stuck worker, in ready, and in the front
        expected.push_back(i);
        scheduler.post(tasks.emplace_back([&, i](scripted&) { log.push_back(i); }));
    }
    started.wait();
    EXPECT_EQ(scheduler.stop(0s).queued, 600U);
    release = true;
    release.notify_all();
    static_cast<void>(scheduler.stop(1s));
    scheduler.start();
    scheduler.drain();
    EXPECT_EQ(log, expected);
    for (const auto& each : tasks) EXPECT_TRUE(each.was_expired) << "a plain post";
}

// --- the destructor gives tasks back -------------------------------------------------------------

TEST(Destructor, FreesCallablesThatNeverRan) {
    auto held = std::make_shared<int>();
    {
        scheduler scheduler{{.workers = 1}};
        static_cast<void>(scheduler.stop(1s));
        for (int i = 0; i != 100; ++i) scheduler.post([held] { FAIL(); });
        EXPECT_EQ(held.use_count(), 101);
        static_cast<void>(scheduler);
    }
    EXPECT_EQ(held.use_count(), 1);
}

TEST(Destructor, GivesTasksBackToBePostedElsewhere) {
    std::deque<scripted> tasks(10);
    {
        scheduler scheduler{{.workers = 1, .stop_limit = 0s}};
        static_cast<void>(scheduler.stop(1s));
        tasks[0].signal();
        tasks[1].ignore_signals();
        for (std::size_t i = 0; i != tasks.size(); ++i) {
            i < 5 ? scheduler.post_wait(tasks[i]) : scheduler.post_delay(tasks[i], 1h);
        }
    }
    simulation sim;
    for (auto& each : tasks) {
        EXPECT_EQ(each.owner(), nullptr);
        EXPECT_FALSE(each.stop_requested());
        EXPECT_FALSE(each.signalled());
        EXPECT_EQ(each.runs, 0);
        sim.scheduler.post_wait(each);
    }
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    for (auto& each : tasks) each.signal();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 10U) << "one was posted deaf, which is used up";
}

TEST(Destructor, WakesAndEndsSleepersThatListen) {
    test::watchdog guard;
    std::deque<scripted> tasks(100);
    {
        scheduler scheduler{{.workers = 2}};
        for (auto& each : tasks) scheduler.post_wait(each);
    }
    for (auto& each : tasks) {
        EXPECT_EQ(each.runs, 1);
        EXPECT_TRUE(each.stop_requested());
    }
}

TEST(Destructor, ATaskThatIsGivenBackMayHaveFreedOthers) {
    // The callable owns a task of its own that is posted on another scheduler.
    test::watchdog guard;
    scheduler other{{.run_on_caller = true}};
    {
        scheduler threads{{.workers = 1}};
        static_cast<void>(threads.stop(1s));
        auto inner = std::make_shared<scripted>();
        other.post(*inner);
        threads.post([inner] {});
        other.run_until_idle();
    }
}

}  // namespace
}  // namespace fairlead::life_cycle_tests
