// Times at the ends of time, and a clock that jumps.
#include "faults/faults.hpp"
#include "support/ending_of.hpp"
#include "support/simulated.hpp"
#include "support/sockets.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead::test::clock_tests {
namespace {

using namespace std::chrono_literals;

static_assert(std::chrono::is_clock_v<clock> && clock::is_steady);
static_assert(noexcept(clock::now()));

constexpr std::array passed{immediately,        immediately + 1ns, time_point{} - 1s,
                            time_point{} - 1ns, time_point{},      time_point{} + 1ns};
constexpr std::array far_off{never - 1ns, never - 24h, time_point{} + 24h * 365 * 200, never};

// Runs with each of the library's drivers.
class ends_of_time : public testing::TestWithParam<bool> {
protected:
    static scheduler_options options() {
        if (GetParam()) return with_epoll(1);
        scheduler_options on_futex;
        on_futex.workers = 1;
        return on_futex;
    }

    const watchdog guard;
    std::atomic<int> runs{0};
    std::atomic<int> expired{0};
    callback_task counted{[this](callback_task& self) {
        expired += self.expired() ? 1 : 0;
        ++runs;
    }};
};

INSTANTIATE_TEST_SUITE_P(drivers, ends_of_time, testing::Bool(),
                         [](const auto& of) { return of.param ? "epoll" : "futex"; });

TEST_P(ends_of_time, a_deadline_that_has_passed_is_now) {
    scheduler home{options()};
    for (const time_point deadline : passed) {
        home.post_deadline(counted, deadline);
        home.drain();
    }
    EXPECT_EQ(runs, passed.size());
    EXPECT_EQ(expired, passed.size());
}

// The worker sleeps once. If the system refused the time, each sleep would end at once. Wake-ups
// alone need not show that: a signal repeats the system call itself.
TEST_P(ends_of_time, a_deadline_that_does_not_come_is_slept_on) {
    const armed plan{{GetParam() ? "epoll_wait" : "futex", EINTR}, call_range::only(200)};
    scheduler home{options()};
    const auto wakeups = [&] { return home.stats().front().wakeups; };
    for (const time_point deadline : far_off) {
        home.post_deadline(counted, deadline);
        EXPECT_FALSE(home.drain_for(10ms));
        EXPECT_EQ(runs, 0);
        EXPECT_LE(wakeups(), 20U);
        counted.signal();
        home.drain();
        EXPECT_TRUE(counted.receive_signal());
        EXPECT_EQ(runs.exchange(0), 1);
    }
    EXPECT_EQ(expired, 0);
    EXPECT_FALSE(plan.hit()) << "the system is asked to sleep again and again";
}

TEST_P(ends_of_time, a_delay_may_be_of_any_length) {
    scheduler home{options()};
    for (const duration delay : {duration::min(), -1ns, duration::zero()}) {
        home.post_delay(counted, delay);
        home.drain();
    }
    EXPECT_EQ(runs.exchange(0), 3);
    for (const duration delay : {duration::max(), duration::max() - 1ns}) {
        home.post_delay(counted, delay);
        EXPECT_FALSE(home.drain_for(duration::min()));
        EXPECT_EQ(runs, 0);
        counted.wakeup();
        EXPECT_TRUE(home.drain_for(duration::max()));
        EXPECT_EQ(runs.exchange(0), 1);
    }
}

TEST_P(ends_of_time, a_coroutine_sleeps_for_any_time) {
    static constexpr auto sleeps = [](duration delay) -> task<wake_reason> {
        co_return co_await test::ending_of(sleep_for(delay));
    };
    static constexpr auto sleeps_until = [](time_point deadline) -> task<wake_reason> {
        co_return co_await test::ending_of(sleep_until(deadline));
    };
    scheduler home{options()};
    for (const time_point deadline : passed) {
        EXPECT_EQ(block_on(home, sleeps_until(deadline)), wake_reason::expired);
    }
    EXPECT_EQ(block_on(home, sleeps(duration::min())), wake_reason::expired);
    auto long_one = spawn(home, sleeps(duration::max()));
    auto late_one = spawn(home, sleeps_until(never - 1ns));
    EXPECT_TRUE(home.stop(duration::max()).clean());
    EXPECT_EQ(long_one.get(), wake_reason::stopped);
    EXPECT_EQ(late_one.get(), wake_reason::stopped);
}

TEST_P(ends_of_time, a_stop_may_have_any_limit) {
    for (const duration limit : {duration::min(), -1ns, duration::zero(), duration::max()}) {
        scheduler home{options()};
        home.post([this] { ++runs; });
        home.drain();
        EXPECT_TRUE(home.stop(limit).clean());
    }
    EXPECT_EQ(runs, 4);
}

// --- jumps ---------------------------------------------------------------------------------------

constexpr duration year = 24h * 365;

// A machine slept for years. The tasks that became due meanwhile run once, in the order of their
// deadlines. Tasks that are due later still sleep.
TEST(jumps, a_clock_may_skip_years) {
    std::vector<int> order;
    struct sleeper {
        std::vector<int>* order = nullptr;
        int number = 0;
        callback_task task{[this](callback_task& self) {
            EXPECT_TRUE(self.expired());
            order->push_back(number);
        }};
    };
    std::vector<sleeper> sleepers(100);
    manual_clock clock;
    simulated_driver* driver = nullptr;
    scheduler home{simulated(clock, driver)};
    for (int i = 0; i != 100; ++i) {
        const int number = i * 37 % 100;  // in no order
        sleeper& each = sleepers[static_cast<std::size_t>(number)];
        each.order = &order;
        each.number = number;
        home.post_deadline(each.task, clock.now() + year * number + 1h);
    }
    EXPECT_EQ(home.run_until_idle(), 0U);
    clock.advance(year * 50);
    EXPECT_EQ(home.run_until_idle(), 50U);
    clock.advance(year * 150);
    EXPECT_EQ(home.run_until_idle(), 50U);
    ASSERT_EQ(order.size(), 100U);
    for (int i = 0; i != 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

// A delay beyond the end of time is a delay without end.
TEST(jumps, a_clock_may_be_near_its_end) {
    int runs = 0;
    callback_task task{[&runs](callback_task&) { ++runs; }};
    manual_clock clock;
    clock.set(never - 1h);
    simulated_driver* driver = nullptr;
    scheduler home{simulated(clock, driver)};
    home.post_delay(task, 30min);
    EXPECT_EQ(home.run_until(never, 1), 1U);
    home.post_delay(task, 2h);
    EXPECT_EQ(home.run_until_idle(), 0U);
    EXPECT_EQ(driver->waits.back(), immediately);
    task.wakeup();
    home.drain();
    EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace fairlead::test::clock_tests
