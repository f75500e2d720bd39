// Watches: the newest value, its changes, and the ends of waits.
#include <fairlead/channel/watch.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::watch_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;
using values = std::vector<int>;

task<> sees_all(watcher<int>& from, values& into) {
    while (const auto next = co_await from.changed()) into.push_back(**next);
}

TEST(Watch, AWatcherSeesTheFirstValueAndTheNewest) {
    simulation sim;
    watch<int> one{1};
    auto mine = one.subscribe();
    auto later = one.subscribe(initial::seen);
    values got;
    values got_later;
    auto first = spawn(sim.scheduler, sees_all(mine, got));
    auto second = spawn(sim.scheduler, sees_all(later, got_later));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, values{1});
    EXPECT_TRUE(one.set(2));
    sim.scheduler.run_until_idle();
    for (int i = 3; i != 7; ++i) EXPECT_TRUE(one.set(int{i}));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, (values{1, 2, 6})) << "values between are skipped, the last is not";
    EXPECT_EQ(got_later, (values{2, 6}));
    EXPECT_EQ(*one.get(), 6);
    EXPECT_TRUE(one.close());
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(first.ended() && second.ended());
}

// The set comes before the wait, after it has begun, or while the task that was woken is in line.
TEST(Watch, AWokenWatcherGetsTheNewestValue) {
    simulation sim;
    watch<int> one{1};
    auto mine = one.subscribe(initial::seen);
    values got;
    auto watching = spawn(sim.scheduler, sees_all(mine, got));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(one.set(2));
    EXPECT_TRUE(one.set(3));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, values{3}) << "not 2, and 3 once";
    one.close();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(watching.ended());
}

TEST(Watch, ClosedMeansClosedAndSeen) {
    watch<int> one{1};
    auto mine = one.subscribe(initial::seen);
    EXPECT_EQ(mine.try_changed().error(), wait_error::would_wait);
    EXPECT_TRUE(one.set(2));
    EXPECT_TRUE(one.close());
    EXPECT_FALSE(one.close());
    EXPECT_TRUE(one.is_closed());
    EXPECT_FALSE(one.set(3));
    EXPECT_FALSE(one.update([](int& value) { ++value; }));
    EXPECT_EQ(**mine.try_changed(), 2) << "the last value is not missed";
    EXPECT_EQ(mine.try_changed().error(), wait_error::closed);
    EXPECT_EQ(mine.changed_blocking().error(), wait_error::closed);
    EXPECT_EQ(*mine.get(), 2);
    auto late = one.subscribe();
    EXPECT_EQ(**late.changed_blocking(), 2);
    EXPECT_EQ(late.changed_blocking().error(), wait_error::closed);
}

TEST(Watch, WaitsEndByDeadlineAndStop) {
    simulation sim;
    watch<int> one{1};
    auto mine = one.subscribe(initial::seen);
    const auto waits = [&](time_point deadline) -> task<wait_error> {
        const auto next = co_await mine.changed(deadline);
        co_return next ? wait_error::would_wait : next.error();
    };
    EXPECT_EQ(spawn(sim.scheduler, waits(sim.scheduler.now() + 1ms)).get(), wait_error::expired);
    auto stopped = spawn(sim.scheduler, waits(never));
    sim.scheduler.run_until_idle();
    stopped.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(std::move(stopped).get(), wait_error::stopped);
    EXPECT_EQ(mine.changed_blocking(clock::system_now() + 1ms).error(), wait_error::expired);
    EXPECT_FALSE(mine.has_changed());
    EXPECT_TRUE(one.set(2));
    EXPECT_TRUE(mine.has_changed());
    EXPECT_EQ(*mine.get(), 2);
    EXPECT_FALSE(mine.has_changed()) << "it was seen";
}

TEST(Watch, WaitForLooksAtOnceAndThenAtEachChange) {
    simulation sim;
    watch<int> one{5};
    auto mine = one.subscribe(initial::seen);
    const auto at_least = [&](int least, time_point deadline) -> task<int> {
        const auto enough = [least](int value) { return value >= least; };
        const auto got = co_await mine.wait_for(enough, deadline);
        co_return got ? **got : -1 - static_cast<int>(got.error());
    };
    const auto failed = [](wait_error why) { return -1 - static_cast<int>(why); };
    EXPECT_EQ(spawn(sim.scheduler, at_least(5, never)).get(), 5) << "though it was seen";
    EXPECT_EQ(spawn(sim.scheduler, at_least(9, sim.scheduler.now() + 1ms)).get(),
              failed(wait_error::expired));
    auto waiting = spawn(sim.scheduler, at_least(9, never));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(one.set(8));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(waiting.ended());
    EXPECT_TRUE(one.set(10));
    EXPECT_EQ(std::move(waiting).get(), 10);
    auto stopped = spawn(sim.scheduler, at_least(1, never));
    stopped.request_stop();
    EXPECT_EQ(std::move(stopped).get(), failed(wait_error::stopped)) << "before it looks";
    auto closed = spawn(sim.scheduler, at_least(99, never));
    sim.scheduler.run_until_idle();
    one.close();
    EXPECT_EQ(std::move(closed).get(), failed(wait_error::closed));
    EXPECT_EQ(**mine.wait_for_blocking([](int value) { return value == 10; }), 10);
    EXPECT_EQ(mine.wait_for_blocking([](int) { return false; }).error(), wait_error::closed);
}

TEST(Watch, APredicateMayUseTheWatchAndThrow) {
    test::watchdog guard;
    simulation sim;
    watch<int> one{1};
    auto mine = one.subscribe();
    const auto waits = [&]() -> task<int> {
        const auto got = co_await mine.wait_for([&](int value) {
            if (value < 5) one.set(value + 1);
            if (value == 7) throw std::runtime_error{"seven"};
            return value == 5;
        });
        co_return **got;
    };
    EXPECT_EQ(spawn(sim.scheduler, waits()).get(), 5);
    EXPECT_TRUE(one.set(7));
    EXPECT_THROW(spawn(sim.scheduler, waits()).get(), std::runtime_error);
    EXPECT_EQ(*mine.get(), 7) << "the watcher can be used again";
}

// --- update --------------------------------------------------------------------------------------

TEST(Watch, AnUpdateChangesACopy) {
    watch<std::string> one{"a"};
    auto mine = one.subscribe(initial::seen);
    const auto before = one.get();
    EXPECT_TRUE(one.update([](std::string& text) { text += "b"; }));
    EXPECT_EQ(*before, "a") << "what a reader has does not change";
    EXPECT_EQ(**mine.try_changed(), "ab");
    EXPECT_FALSE(one.update([](std::string& text) {
        text += "c";
        return false;
    }));
    EXPECT_EQ(mine.try_changed().error(), wait_error::would_wait);
    EXPECT_TRUE(one.update([](std::string& text) {
        text += "d";
        return true;
    }));
    EXPECT_EQ(*one.get(), "abd");
    EXPECT_THROW(one.update([](std::string&) { throw std::runtime_error{"no"}; }),
                 std::runtime_error);
    EXPECT_EQ(*one.get(), "abd");
}

TEST(Watch, AnUpdateBegunBeforeAChangeIsMadeAgain) {
    watch<int> one{1};
    int calls = 0;
    EXPECT_TRUE(one.update([&](int& value) {
        if (++calls == 1) one.set(10);  // the watch may be used: no lock is held
        ++value;
    }));
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(*one.get(), 11) << "neither change is lost";
}

TEST(Watch, UpdatesOfThreadsAreNotLost) {
    test::watchdog guard;
    watch<int> one{0};
    test::run_together(4, [&](std::size_t) {
        for (int i = 0; i != 2000; ++i) one.update([](int& value) { ++value; });
    });
    EXPECT_EQ(*one.get(), 8000);
}

// A task is destroyed with its scheduler while it waits, or after it was woken: then the value is
// still to be seen.
TEST(Watch, WhatWaitsLeavesWithItsScheduler) {
    watch<int> one{1};
    auto mine = one.subscribe(initial::seen);
    for (const bool woken : {false, true}) {
        {
            scheduler home{{.stop_limit = 0ms, .run_on_caller = true}};
            const auto waits = [&]() -> task<> { static_cast<void>(co_await mine.changed()); };
            spawn(home, waits()).detach();
            home.run_until_idle();
            if (woken) {
                EXPECT_TRUE(one.set(2));
            }
        }
        EXPECT_EQ(mine.has_changed(), woken);
    }
    EXPECT_EQ(**mine.try_changed(), 2);
}

// --- races ---------------------------------------------------------------------------------------

TEST(Watch, TheLastValueIsNeverMissed) {
    test::watchdog guard;
    scheduler home{{.workers = 2}};
    for (int round = 0; round != 100; ++round) {
        watch<int> one{0};
        std::array<watcher<int>, 3> all{one.subscribe(), one.subscribe(), one.subscribe()};
        const auto sees = [](watcher<int>& mine) -> task<int> {
            int last = -1;
            while (const auto next = co_await mine.changed()) {
                EXPECT_LT(last, **next) << "a value is seen once, and in order";
                last = **next;
            }
            co_return last;
        };
        std::vector<join_handle<int>> watching;
        for (auto& each : all) watching.push_back(spawn(home, sees(each)));
        for (int i = 1; i <= 50; ++i) EXPECT_TRUE(one.set(int{i}));
        one.close();
        for (auto& each : watching) EXPECT_EQ(std::move(each).get(), 50);
    }
}

TEST(Watch, ThreadsSeeChangesToo) {
    test::watchdog guard;
    watch<int> one{0};
    auto mine = one.subscribe();
    std::jthread sets{[&] {
        for (int i = 1; i <= 1000; ++i) EXPECT_TRUE(one.set(int{i}));
    }};
    EXPECT_EQ(**mine.wait_for_blocking([](int value) { return value == 1000; }), 1000);
}

// --- misuse --------------------------------------------------------------------------------------

TEST(WatchDeathTest, MisuseIsAnError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto outlives = [] {
        auto one = std::make_unique<watch<int>>(1);
        const auto mine = one->subscribe();
        one.reset();
    };
    EXPECT_DEATH(outlives(), "a watch was destroyed while it has a watcher");
    watcher<int> none;
    EXPECT_DEATH(static_cast<void>(none.get()), "a watcher was used that is none");
    const auto asks_twice = [] {
        simulation sim;
        watch<int> one{1};
        auto mine = one.subscribe(initial::seen);
        const auto waits = [&]() -> task<> { static_cast<void>(co_await mine.changed()); };
        spawn(sim.scheduler, waits()).detach();
        spawn(sim.scheduler, waits()).detach();
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(asks_twice(), "a watcher was asked twice");
    watch<int> one{1};
    EXPECT_DEATH(one.set(held<const int>{}), "a watch is set to a value");
}

TEST(Watch, WatchersMove) {
    watch<int> one{1};
    auto first = one.subscribe();
    auto second = std::move(first);
    EXPECT_FALSE(first);
    EXPECT_EQ(**second.try_changed(), 1);
    first = std::move(second);
    EXPECT_EQ(first.try_changed().error(), wait_error::would_wait) << "what it has seen moves, too";
}

}  // namespace
}  // namespace fairlead::watch_tests
