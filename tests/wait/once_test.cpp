// Values that are made once, when they are first needed.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/once.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::once_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

TEST(Once, IsMadeByTheFirstTaskAndGivenToAll) {
    simulation sim;
    once<std::string> value;
    int makes = 0;
    const auto make = [&]() -> task<std::string> {
        ++makes;
        co_await sleep_for(5ms);
        co_return "made";
    };
    int got = 0;
    const auto gets = [&]() -> task<> {
        const waited<std::string*> all = co_await value.get_or_init(make);
        EXPECT_TRUE(all.has_value());
        if (!all) co_return;
        EXPECT_EQ(**all, "made");
        EXPECT_EQ(*all, value.try_get());
        ++got;
    };
    for (int i = 0; i != 10; ++i) spawn(sim.scheduler, gets()).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(value.try_get(), nullptr);
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(got, 10);
    block_on(sim.scheduler, gets());
    EXPECT_EQ(makes, 1);
    EXPECT_EQ(*std::as_const(value).try_get(), "made");
}

// tokio#4788.
TEST(Once, AWaitDoesNotMakeIt) {
    simulation sim;
    const time_point begin = sim.clock.now();
    once<int> value;
    std::vector<wait_error> errors;
    int got = 0;
    const auto waits = [&](time_point deadline) -> task<> {
        const waited<int*> made = co_await value.wait(deadline);
        if (made) {
            got += **made;
        } else {
            errors.push_back(made.error());
        }
    };
    auto stopped = spawn(sim.scheduler, waits(never));
    auto expires = spawn(sim.scheduler, waits(begin + 5ms));
    auto first = spawn(sim.scheduler, waits(never));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(value.try_get(), nullptr) << "nothing has begun to make it";
    stopped.request_stop();
    sim.scheduler.run_until_idle();
    sim.scheduler.run_until(begin + 5ms);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(errors, (std::vector{wait_error::stopped, wait_error::expired}));
    EXPECT_EQ(*value.try_init([] { return 7; }), 7);
    EXPECT_EQ(*value.try_init([] { return 8; }), 7);
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(first.ended());
    block_on(sim.scheduler, waits(never));
    EXPECT_EQ(got, 14);
}

TEST(Once, AFailureIsOfOneCallerAndTheNextOneMakesIt) {
    simulation sim;
    once<int> value;
    int makes = 0;
    const auto make = [&]() -> task<int> {
        co_await sleep_for(1ms);
        if (++makes < 3) throw std::runtime_error{"broken"};
        co_return makes;
    };
    const auto gets = [&]() -> task<int> { co_return **co_await value.get_or_init(make); };
    std::vector<join_handle<int>> all;
    for (int i = 0; i != 4; ++i) all.push_back(spawn(sim.scheduler, gets()));
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_THROW(all[0].get(), std::runtime_error);
    EXPECT_THROW(all[1].get(), std::runtime_error);
    EXPECT_EQ(all[2].get(), 3);
    EXPECT_EQ(all[3].get(), 3);
    EXPECT_EQ(makes, 3);
}

// tokio#4496: the task that makes it is stopped.
TEST(Once, AStopOfTheTaskThatMakesItLetsTheNextOneMakeIt) {
    simulation sim;
    once<int> value;
    const auto gets = [&](int number) -> task<> {
        const auto make = [&]() -> task<int> {
            co_await sleep_for(1s);  // throws when it is stopped
            co_return number;
        };
        try {
            const waited<int*> made = co_await value.get_or_init(make);
            EXPECT_EQ(**made, 2);
        } catch (const stopped_error&) {
            EXPECT_EQ(number, 1);
        }
    };
    auto first = spawn(sim.scheduler, gets(1));
    auto second = spawn(sim.scheduler, gets(2));
    auto third = spawn(sim.scheduler, gets(3));
    sim.scheduler.run_until_idle();
    first.request_stop();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    first.get();
    second.get();
    third.get();
    EXPECT_EQ(*value.try_get(), 2);
}

TEST(Once, AWaitForTheTaskThatMakesItExpiresOrIsStopped) {
    simulation sim;
    const time_point begin = sim.clock.now();
    once<int> value;
    const auto make = [&]() -> task<int> {
        co_await sleep_for(1s);
        co_return 1;
    };
    std::vector<wait_error> errors;
    const auto gets = [&](time_point deadline) -> task<> {
        const waited<int*> made = co_await value.get_or_init(make, deadline);
        if (!made) errors.push_back(made.error());
    };
    auto first = spawn(sim.scheduler, gets(begin + 1ms));
    sim.scheduler.run_until_idle();
    auto stopped = spawn(sim.scheduler, gets(never));
    auto expires = spawn(sim.scheduler, gets(begin + 5ms));
    sim.scheduler.run_until_idle();
    stopped.request_stop();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(errors, (std::vector{wait_error::stopped, wait_error::expired}))
        << "the deadline of the first one bounds no wait";
    EXPECT_EQ(*value.try_get(), 1);
}

TEST(Once, AStopThatCameBeforeMakesNothing) {
    simulation sim;
    once<int> value;
    const auto gets = [&]() -> task<> {
        EXPECT_EQ((co_await value.get_or_init([] { return 1; })).error(), wait_error::stopped);
    };
    auto handle = spawn(sim.scheduler, gets());
    handle.request_stop();
    sim.scheduler.run_until_idle();
    handle.get();
    EXPECT_EQ(value.try_get(), nullptr);
}

// The scheduler is destroyed while one task makes the value, and another waits for the right.
TEST(Once, TheRightComesBackWithTheScheduler) {
    for (const duration limit : {0ms, 1'000ms}) {
        once<int> value;
        const auto make = []() -> task<int> {
            co_await sleep_for(1h);  // throws when it is stopped
            co_return 1;
        };
        const auto gets = [&]() -> task<> {
            try {
                static_cast<void>(co_await value.get_or_init(make));
            } catch (const stopped_error&) {
            }
        };
        {
            scheduler home{{.stop_limit = limit, .run_on_caller = true}};
            for (int i = 0; i != 3; ++i) spawn(home, gets()).detach();
            home.run_until_idle();
            EXPECT_EQ(value.try_init([] { return 2; }), nullptr) << "a task makes it";
        }
        EXPECT_EQ(*value.try_init([] { return 2; }), 2);
    }
}

TEST(Once, TasksAndThreadsMakeItOnce) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int round = 0; round != 300; ++round) {
        once<int> value;
        std::atomic<int> makes{0};
        const auto make = [&] {
            if (makes.fetch_add(1) == 0) throw std::runtime_error{"broken"};
            return round;
        };
        std::atomic<int> failures{0};
        const auto gets = [&]() -> task<> {
            try {
                EXPECT_EQ(**co_await value.get_or_init(make), round);
            } catch (const std::runtime_error&) {
                ++failures;
            }
        };
        const auto waits = [&]() -> task<> { EXPECT_EQ(**co_await value.wait(), round); };
        std::vector<join_handle<void>> all;
        all.push_back(spawn(scheduler, waits()));
        for (int i = 0; i != 3; ++i) all.push_back(spawn(scheduler, gets()));
        test::run_together(3, [&](std::size_t index) {
            if (index == 0) {
                EXPECT_EQ(**value.wait_blocking(), round);
                return;
            }
            try {
                EXPECT_EQ(**value.get_or_init_blocking(make), round);
            } catch (const std::runtime_error&) {
                ++failures;
            }
        });
        for (auto& each : all) each.get();
        EXPECT_EQ(makes, 2);
        EXPECT_EQ(failures, 1);
    }
}

TEST(Once, ADeadlineEndsTheWaitOfAThread) {
    test::watchdog guard;
    once<int> value;
    EXPECT_EQ(value.wait_blocking(clock::now() + 1ms).error(), wait_error::expired);
    const auto make = [&] {
        std::thread other{[&] {
            const auto made = value.get_or_init_blocking([] { return 2; }, clock::now() + 1ms);
            EXPECT_EQ(made.error(), wait_error::expired) << "another thread makes it";
        }};
        other.join();
        return 1;
    };
    EXPECT_EQ(**value.get_or_init_blocking(make), 1);
}

}  // namespace
}  // namespace fairlead::once_tests
