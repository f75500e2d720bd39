// Parking and waking: no worker is woken without need, and none sleeps while it is needed.
#include "sched/sleep/idle.hpp"

#include "support/switches.hpp"
#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <latch>
#include <string>
#include <thread>

namespace fairlead::sched::idle_tests {
namespace {

using namespace std::chrono_literals;

struct counting_driver final : driver {
    [[nodiscard]] bool set_deadline(time_point) noexcept override { return true; }
    void wait() noexcept override {}
    void poll(event_sink&) noexcept override {}
    void wake() noexcept override { ++wakes; }
    [[nodiscard]] bool has_sources() const noexcept override { return false; }
    std::atomic<int> wakes{0};
};

struct parking {
    counting_driver driver;
    sched::idle idle{3, driver};

    void sleep_in_driver() {
        idle.begin_search();
        EXPECT_TRUE(idle.enter_driver(0));
    }
};

TEST(Idle, NobodySleepsAtFirst) {
    parking p;
    EXPECT_FALSE(p.idle.seems_asleep());
    p.idle.announce();
    p.idle.wake_one();
    p.idle.wake_all();
    EXPECT_EQ(p.driver.wakes, 0);
}

TEST(Idle, APushWakesTheSleeperInTheDriverOnce) {
    parking p;
    p.sleep_in_driver();
    EXPECT_TRUE(p.idle.seems_asleep());
    p.idle.announce();
    EXPECT_EQ(p.driver.wakes, 1);
    EXPECT_FALSE(p.idle.seems_asleep()) << "it searches from the moment it was chosen";
    p.idle.announce();
    EXPECT_EQ(p.driver.wakes, 1);
    p.idle.leave_driver();  // its waker did that
    EXPECT_TRUE(p.idle.end_search()) << "it was the only searcher";
    p.sleep_in_driver();
    p.idle.announce();
    EXPECT_EQ(p.driver.wakes, 2);
}

TEST(Idle, ASleeperThatLeavesByItselfIsNotWoken) {
    parking p;
    p.sleep_in_driver();
    p.idle.leave_driver();
    p.idle.announce();  // it searches
    EXPECT_EQ(p.driver.wakes, 0);
    EXPECT_TRUE(p.idle.end_search());
    EXPECT_FALSE(p.idle.seems_asleep());
}

TEST(Idle, WithASearcherNobodyIsWoken) {
    parking p;
    p.sleep_in_driver();
    p.idle.begin_search();
    EXPECT_FALSE(p.idle.seems_asleep());
    p.idle.announce();
    p.idle.wake_one();
    EXPECT_EQ(p.driver.wakes, 0);
    EXPECT_TRUE(p.idle.end_search());
    p.idle.wake_one();
    EXPECT_EQ(p.driver.wakes, 1);
}

TEST(Idle, OnlyTheLastSearcherIsTheLast) {
    parking p;
    p.idle.begin_search();
    p.idle.begin_search();
    EXPECT_FALSE(p.idle.end_search());
    EXPECT_TRUE(p.idle.end_search());
}

TEST(Idle, TheLastToParkIsWokenFirst) {
    test::watchdog guard;
    parking p;
    for (unsigned i = 0; i != 3; ++i) {
        p.idle.begin_search();
        p.idle.prepare_park(i);
    }
    for (unsigned i = 3; i-- != 0;) {
        p.idle.wake_one();
        ASSERT_TRUE(p.idle.park_until(i, never));  // returns at once, or the test hangs
        EXPECT_TRUE(p.idle.end_search());
    }
    EXPECT_FALSE(p.idle.seems_asleep());
}

TEST(Idle, ParkedWorkersAreWokenBeforeTheOneThatWaitsForDeadlines) {
    test::watchdog guard;
    parking p;
    p.sleep_in_driver();
    p.idle.begin_search();
    for (const auto wake : {&idle::wake_one, &idle::announce}) {
        p.idle.prepare_park(0);
        (p.idle.*wake)(sched::idle::anybody);
        ASSERT_TRUE(p.idle.park_until(0, never));
        EXPECT_EQ(p.driver.wakes, 0);
    }
    EXPECT_TRUE(p.idle.end_search());
    p.idle.wake_one();
    EXPECT_EQ(p.driver.wakes, 1);
}

// A worker is woken for work that it alone can do, parked or in the driver, and though another
// worker searches.
TEST(Idle, WakesTheOneThatIsMeant) {
    test::watchdog guard;
    parking p;
    p.sleep_in_driver();  // 0
    for (const unsigned i : {1U, 2U}) {
        p.idle.begin_search();
        p.idle.prepare_park(i);
    }
    p.idle.wake(1);
    ASSERT_TRUE(p.idle.park_until(1, never));
    EXPECT_FALSE(p.idle.seems_asleep()) << "it searches";
    p.idle.wake(1);  // awake
    p.idle.wake(2);
    ASSERT_TRUE(p.idle.park_until(2, never));
    EXPECT_EQ(p.driver.wakes, 0);
    p.idle.wake(0);
    p.idle.wake(0);
    EXPECT_EQ(p.driver.wakes, 1);
    p.idle.leave_driver();
    for (int i = 0; i != 3; ++i) EXPECT_EQ(p.idle.end_search(), i == 2);
    EXPECT_FALSE(p.idle.seems_asleep());
}

// Any sleeper could take the work. The preferred one is woken.
TEST(Idle, WakesTheOneThatIsPreferred) {
    test::watchdog guard;
    parking p;
    p.sleep_in_driver();  // 0
    for (const unsigned i : {1U, 2U}) {
        p.idle.begin_search();
        p.idle.prepare_park(i);
    }
    p.idle.announce(1);
    ASSERT_TRUE(p.idle.park_until(1, never));
    EXPECT_TRUE(p.idle.end_search());
    p.idle.announce(0);
    EXPECT_EQ(p.driver.wakes, 1);
    p.idle.leave_driver();
    EXPECT_TRUE(p.idle.end_search());
    p.idle.wake_one(1);  // awake
    ASSERT_TRUE(p.idle.park_until(2, never));
    EXPECT_TRUE(p.idle.end_search());
    EXPECT_FALSE(p.idle.seems_asleep());
}

TEST(Idle, OneAtATimeIsInTheDriver) {
    parking p;
    EXPECT_FALSE(p.idle.driver_taken());
    p.sleep_in_driver();
    EXPECT_TRUE(p.idle.driver_taken());
    p.idle.begin_search();
    EXPECT_FALSE(p.idle.enter_driver(0));
    p.idle.wake_all();
    EXPECT_EQ(p.driver.wakes, 1);
    EXPECT_FALSE(p.idle.enter_driver(0)) << "its wait is not over";
    p.idle.leave_driver();
    EXPECT_FALSE(p.idle.driver_taken());
    EXPECT_TRUE(p.idle.enter_driver(0));
}

TEST(Idle, KnowsWhetherAllAreAsleep) {
    test::watchdog guard;
    parking p;
    p.sleep_in_driver();
    for (unsigned i = 0; i != 2; ++i) {
        EXPECT_FALSE(p.idle.all_asleep());
        p.idle.begin_search();
        p.idle.prepare_park(i);
    }
    EXPECT_TRUE(p.idle.all_asleep());
    p.idle.wake_one();
    EXPECT_FALSE(p.idle.all_asleep());
    ASSERT_TRUE(p.idle.park_until(1, never));
    p.idle.prepare_park(1);
    EXPECT_TRUE(p.idle.all_asleep());
    p.idle.leave_driver();
    EXPECT_FALSE(p.idle.all_asleep());
}

TEST(Idle, AWorkerThatChangesItsMindIsNotWoken) {
    test::watchdog guard;
    parking p;
    p.idle.begin_search();
    p.idle.prepare_park(0);
    p.idle.cancel_park(0);
    EXPECT_TRUE(p.idle.end_search());
    p.idle.wake_one();
    p.idle.begin_search();
    p.idle.prepare_park(0);
    p.idle.wake_one();  // chosen before it cancels: it takes the signal along
    p.idle.cancel_park(0);
    EXPECT_TRUE(p.idle.end_search());
    EXPECT_FALSE(p.idle.seems_asleep());
}

TEST(Idle, WakeAllWakesAll) {
    test::watchdog guard;
    parking p;
    for (unsigned i = 0; i != 3; ++i) {
        p.idle.begin_search();
        p.idle.prepare_park(i);
    }
    p.sleep_in_driver();
    p.idle.wake_all();
    for (unsigned i = 0; i != 3; ++i) ASSERT_TRUE(p.idle.park_until(i, never));
    EXPECT_EQ(p.driver.wakes, 1);
    EXPECT_FALSE(p.idle.seems_asleep());
}

TEST(Idle, CountsPushesUntilTheirThreadsHaveLeft) {
    parking p;
    EXPECT_TRUE(p.idle.all_left(0));
    EXPECT_FALSE(p.idle.all_left(1)) << "a push was taken whose thread is not here yet";
    p.idle.announce();
    EXPECT_TRUE(p.idle.all_left(1));
    p.sleep_in_driver();
    p.idle.announce();
    EXPECT_TRUE(p.idle.all_left(2));
}

// --- the whole scheduler at rest -----------------------------------------------------------------

TEST(Idle, AnIdleSchedulerMakesNoContextSwitches) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 4, .name = "still"}};
    for (int i = 0; i != 1'000; ++i) scheduler.post([] {});
    scheduler.drain();
    test::expect_rest("still", 5);
}

TEST(Idle, SleepersAndFarDeadlinesCostNoContextSwitches) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3, .name = "still"}};
    std::deque<test::scripted> tasks(1'000);
    for (std::size_t i = 0; i != tasks.size(); ++i) {
        scheduler.post_deadline(tasks[i], i % 3 == 0   ? never
                                          : i % 3 == 1 ? never - 1ns
                                                       : scheduler.now() + 1h);
    }
    EXPECT_FALSE(scheduler.drain_for(1ms));
    test::expect_rest("still", 4);
    EXPECT_TRUE(scheduler.stop(1h).clean());
}

// --- looking on before the sleep -----------------------------------------------------------------

std::uint64_t sleeps_of(const scheduler& scheduler) {
    std::uint64_t sleeps = 0;
    for (const worker_stats& each : scheduler.stats()) sleeps += each.wakeups;
    return sleeps;
}

TEST(Spin, WhoSpinsNeedsNoWakeUp) {
    test::watchdog guard;
    constexpr duration spin = 1s;
    scheduler scheduler{{.workers = 1, .spin = spin}};
    std::uint64_t pauses =
        1;  // in which the worker may fall asleep; the first before the first post
    time_point last = clock::now();
    for (int i = 0; i != 1'000; ++i) {
        std::latch ran{1};
        scheduler.post([&] { ran.count_down(); });
        ran.wait();
        const time_point now = clock::now();
        if (now - last > spin / 2) ++pauses;
        last = now;
    }
    EXPECT_LE(sleeps_of(scheduler), pauses);
}

TEST(Spin, ItEnds) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2, .name = "spins", .spin = 10ms}};
    for (int i = 0; i != 100; ++i) scheduler.post([] {});
    test::expect_rest("spins", 3);
}

TEST(Spin, NobodySpinsInsteadOfWaitingForADeadline) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1, .spin = 1s}};
    for (int i = 0; i != 3; ++i) {
        const std::uint64_t before = sleeps_of(scheduler);
        std::latch ran{1};
        test::scripted task{[&](test::scripted&) { ran.count_down(); }};
        scheduler.post_delay(task, 100ms);
        ran.wait();
        EXPECT_GT(sleeps_of(scheduler), before);
    }
}

// A spinning worker would answer after five minutes.
TEST(Spin, ADrainIsAnsweredAtOnce) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1, .spin = 1s}};
    for (int i = 0; i != 300; ++i) {
        scheduler.post([] {});
        scheduler.drain();
    }
}

}  // namespace
}  // namespace fairlead::sched::idle_tests
