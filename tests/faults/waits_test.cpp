// Waits for mutexes, semaphores, events, latches and channels need no memory: each allocation would
// fail.
#include "faults/faults.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/test/jumping_driver.hpp>
#include <fairlead/test/manual_clock.hpp>
#include <fairlead/wait/event.hpp>
#include <fairlead/wait/latch.hpp>
#include <fairlead/wait/mutex.hpp>
#include <fairlead/wait/semaphore.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

namespace fairlead::test::waits_tests {
namespace {

using namespace std::chrono_literals;

class waits : public testing::Test {
protected:
    waits() {
        options.run_on_caller = true;
        options.driver = std::make_unique<jumping_driver>(clock);
        home.emplace(std::move(options));
    }

    // Five waits that expire, now or some microseconds later.
    task<> expire(int rounds) {
        for (int i = 0; i != rounds; ++i) {
            const time_point deadline = home->now() + i % 3 * 1us;
            const auto locked = co_await one.lock(deadline);
            const auto acquired = co_await all.acquire(2, deadline);
            const auto set = co_await ready.wait(deadline);
            const auto more_set = co_await more.wait(deadline);
            const auto opened = co_await opens.wait(deadline);
            if (!locked && !acquired && !set && !more_set && !opened) expired += 5;
        }
    }
    // Waits that are granted, to this task and to another.
    task<> exchange(int rounds) {
        for (int i = 0; i != rounds; ++i) {
            const auto lock = co_await one.lock();
            const auto units = co_await all.acquire(2);
            co_await yield();
        }
    }

    // Runs the task without memory: how often it has asked for some.
    std::size_t asks_for_memory(task<> body) {
        auto running = spawn(*home, std::move(body));
        const armed none_left{fault{}, call_range::from(1)};
        while (!running.ended()) home->run_until(home->now() + 1ms);
        return none_left.hits();
    }

    manual_clock clock;
    scheduler_options options;
    mutex one;
    semaphore all{2};
    event ready;
    auto_event more;
    latch opens{1};
    int expired = 0;
    std::optional<scheduler> home;
};

TEST_F(waits, that_expire_need_no_memory) {
    const mutex_lock lock = one.try_lock();
    const semaphore_units units = all.try_acquire();
    block_on(*home, expire(3));  // the scheduler grows its queues
    EXPECT_EQ(asks_for_memory(expire(20'000)), 0U);
    EXPECT_EQ(expired, 100'015);
    EXPECT_EQ(one.waiting() + all.waiting(), 0U);
}

// dotnet#80057, dotnet#52886, saa#182: what has expired leaves nothing behind at an idle channel.
TEST_F(waits, that_expire_at_an_idle_channel_leave_no_memory) {
    channel<int> idle{1};
    const auto receives = [&](int rounds) -> task<> {
        for (int i = 0; i != rounds; ++i) {
            const time_point deadline = home->now() + i % 2 * 1us;
            if (!co_await idle.receive(deadline)) ++expired;
        }
    };
    block_on(*home, receives(3));  // the scheduler grows its queues
    EXPECT_EQ(asks_for_memory(receives(1'000'000)), 0U);
    EXPECT_EQ(expired, 1'000'003);
}

TEST_F(waits, that_are_granted_need_no_memory) {
    auto before = spawn(*home, exchange(1'000));
    block_on(*home, exchange(1'000));  // the scheduler grows its queues
    before.get();
    auto first = spawn(*home, exchange(10'000));
    auto second = spawn(*home, exchange(10'000));
    std::size_t hits = 0;
    {
        const armed none_left{fault{}, call_range::from(1)};
        home->run_until_idle();
        hits = none_left.hits();
    }
    EXPECT_EQ(hits, 0U);
    EXPECT_TRUE(first.ended() && second.ended());
}

}  // namespace
}  // namespace fairlead::test::waits_tests
