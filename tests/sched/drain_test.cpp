// Drain: it waits until all tasks have ended.
#include "support/gate_driver.hpp"
#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace fairlead::drain_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;
using test::simulation;

TEST(Drain, OfNothingIsDone) {
    simulation sim;
    EXPECT_TRUE(sim.scheduler.drain_for(0s));
    sim.scheduler.drain();
}

TEST(Drain, RunsTheTasksOnTheCaller) {
    simulation sim;
    scripted task{[&](scripted& self) {
        if (self.runs != 5) sim.scheduler.post_delay(self, 1h);
    }};
    sim.scheduler.post(task);
    EXPECT_FALSE(sim.scheduler.drain_for(3h + 30min));
    EXPECT_EQ(task.runs, 4);
    sim.scheduler.drain();
    EXPECT_EQ(task.runs, 5);
}

TEST(Drain, EndsInTimeOnTheCallerThoughATaskNeverDoes) {
    test::watchdog guard;
    scheduler home{{.run_on_caller = true}};
    bool over = false;
    scripted endless{[&](scripted& self) {
        if (!over) home.post(self);
    }};
    home.post(endless);
    EXPECT_FALSE(home.drain_for(1ms));
    over = true;
    home.drain();
}

TEST(Drain, CountsSleepersWithoutADeadline) {
    simulation sim;
    scripted task;
    sim.scheduler.post_wait(task);
    EXPECT_FALSE(sim.scheduler.drain_for(1h));
    task.wakeup();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
}

TEST(Drain, IsExactOnThreads) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        scheduler scheduler{{.workers = workers}};
        for (int round = 0; round != 2'000; ++round) {
            int plain[4] = {};  // not atomic: drain orders it, which the thread sanitizer checks
            for (int& each : plain) {
                scheduler.post([&scheduler, &each] {
                    ++each;
                    scheduler.post([&each] { ++each; });
                });
            }
            scheduler.drain();
            for (const int each : plain) ASSERT_EQ(each, 2) << "round " << round;
        }
    }
}

TEST(Drain, IsExactThoughTasksSleepAndAreWoken) {
    test::watchdog guard;
    for (const unsigned workers : {2U, 4U}) {
        scheduler scheduler{{.workers = workers}};
        for (int round = 0; round != 2'000; ++round) {
            int plain[4] = {};  // not atomic: drain orders it
            std::deque<scripted> tasks;
            for (int& each : plain) {
                scripted& sleeper = tasks.emplace_back([&scheduler, &each](scripted& self) {
                    if (!self.receive_signal()) return scheduler.post_wait(self);
                    ++each;
                });
                scheduler.post(sleeper);
                scheduler.post(tasks.emplace_back([&sleeper](scripted&) { sleeper.signal(); }));
            }
            scheduler.drain();
            for (const int each : plain) ASSERT_EQ(each, 1) << "round " << round;
        }
    }
}

TEST(Drain, FromSeveralThreadsAtOnce) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    test::run_together(4, [&](std::size_t) {
        for (int round = 0; round != 500; ++round) {
            std::atomic<int> runs{0};
            for (int i = 0; i != 3; ++i) scheduler.post([&runs] { ++runs; });
            scheduler.drain();
            ASSERT_EQ(runs, 3);
        }
    });
}

TEST(Drain, WithALimitGivesUpAndCanBeAskedAgain) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    scripted task;
    scheduler.post_wait(task);
    const time_point deadline = clock::now() + 2ms;
    EXPECT_FALSE(scheduler.drain_for(2ms));
    EXPECT_GE(clock::now(), deadline);
    EXPECT_FALSE(scheduler.drain_for(0s));
    EXPECT_FALSE(scheduler.drain_for(-1s));
    task.wakeup();
    scheduler.drain();
    EXPECT_EQ(task.runs, 1);
}

TEST(Drain, WaitsForASleeperThatAnotherThreadWakes) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int round = 0; round != 500; ++round) {
        scripted task;
        scheduler.post_wait(task);
        std::jthread waker{[&] { task.signal(); }};
        scheduler.drain();
        ASSERT_EQ(task.runs, 1);
        ASSERT_TRUE(task.receive_signal());
    }
}

bool sleeps(pid_t thread) {
    std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/stat"};
    std::string line;
    std::getline(file, line);
    const auto name_ends = line.rfind(')');
    return name_ends != std::string::npos && line.substr(name_ends + 2, 1) == "S";
}

// 1. The worker has looked for a drain and found none. 2. A thread calls drain, which wakes all
// sleepers: there are none. 3. The worker goes to sleep. It must look again, or drain waits for
// ever.
TEST(Drain, IsSeenByAWorkerThatIsAboutToSleep) {
    test::watchdog guard;
    for (int round = 0; round != 50; ++round) {
        auto made = std::make_unique<test::gate_driver>();
        test::gate_driver& gate = *made;
        scheduler scheduler{{.workers = 1, .driver = std::move(made)}};
        scheduler.post([&gate] { gate.hold_at = 1; });
        gate.held.receive();
        std::atomic<pid_t> drains_on{0};
        std::jthread drains{[&] {
            drains_on = gettid();
            drains_on.notify_one();
            scheduler.drain();
        }};
        drains_on.wait(0);
        while (!sleeps(drains_on)) std::this_thread::yield();
        gate.go_on.send();
    }
}

}  // namespace
}  // namespace fairlead::drain_tests
