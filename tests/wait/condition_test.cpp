// Tasks and threads that wait until what a mutex guards is as they need it.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/condition.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

namespace fairlead::condition_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

struct guarded {
    mutex guards;
    condition changed;
    int value = 0;
};

TEST(Condition, GoesOnWhenThePredicateHoldsAndWaitsAgainWhenNot) {
    simulation sim;
    guarded state;
    int looks = 0;
    bool went_on = false;
    const auto waits = [&]() -> task<> {
        mutex_lock lock = *co_await state.guards.lock();
        const auto met =
            co_await state.changed.wait(lock, [&] { return ++looks, state.value == 2; });
        EXPECT_TRUE(met.has_value());
        EXPECT_TRUE(lock && state.guards.is_locked());
        went_on = true;
    };
    auto handle = spawn(sim.scheduler, waits());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(looks, 1);
    EXPECT_FALSE(state.guards.is_locked()) << "unlocked while it waits";
    for (const int value : {1, 2}) {
        mutex_lock lock = state.guards.try_lock();
        ASSERT_TRUE(lock);
        state.value = value;
        EXPECT_TRUE(state.changed.notify_one());
        sim.scheduler.run_until_idle();
        EXPECT_EQ(looks, value) << "nothing wakes before the mutex is free";
        lock.unlock();
        sim.scheduler.run_until_idle();
        EXPECT_EQ(looks, value + 1);
        EXPECT_EQ(went_on, value == 2);
    }
    EXPECT_FALSE(state.changed.notify_one()) << "nothing waits";
    EXPECT_FALSE(state.guards.is_locked());
    handle.get();
}

// Each of the waits takes one step, because it wakes with the mutex.
TEST(Condition, NotifyAllWakesEachWithTheMutexInOrder) {
    simulation sim;
    guarded state;
    std::vector<int> log;
    int looks = 0;
    const auto waits = [&](int number) -> task<> {
        mutex_lock lock = *co_await state.guards.lock();
        const auto met =
            co_await state.changed.wait(lock, [&] { return ++looks, state.value != 0; });
        EXPECT_TRUE(met.has_value());
        log.push_back(number);
        co_await yield();
        log.push_back(-number);
    };
    for (int i = 1; i <= 20; ++i) spawn(sim.scheduler, waits(i)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(state.changed.waiting(), 20U);
    mutex_lock lock = state.guards.try_lock();
    state.value = 1;
    EXPECT_EQ(state.changed.notify_all(), 20U);
    EXPECT_EQ(state.guards.waiting(), 20U);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U) << "nothing wakes in vain";
    lock.unlock();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(looks, 40);
    ASSERT_EQ(log.size(), 40U);
    for (int i = 0; i != 20; ++i) {
        EXPECT_EQ(log[static_cast<std::size_t>(2 * i)], i + 1);
        EXPECT_EQ(log[static_cast<std::size_t>(2 * i + 1)], -(i + 1)) << "alone with the mutex";
    }
}

TEST(Condition, ADeadlineEndsTheWaitWithTheMutex) {
    simulation sim;
    const time_point begin = sim.clock.now();
    guarded state;
    std::optional<wait_error> error;
    const auto waits = [&]() -> task<> {
        mutex_lock lock = *co_await state.guards.lock();
        const auto met = co_await state.changed.wait(
            lock, [&] { return state.value != 0; }, begin + 5ms);
        EXPECT_TRUE(lock && state.guards.is_locked());
        error = met.error();
    };
    auto handle = spawn(sim.scheduler, waits());
    sim.scheduler.run_until_idle();
    mutex_lock other = state.guards.try_lock();
    sim.scheduler.run_until(begin + 5ms);
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(handle.ended()) << "another has the mutex";
    EXPECT_EQ(state.changed.waiting(), 0U);
    EXPECT_FALSE(state.changed.notify_one()) << "a later notification is not its own";
    handle.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(handle.ended()) << "no stop ends the way back to the mutex";
    other.unlock();
    sim.scheduler.run_until_idle();
    handle.get();
    EXPECT_EQ(error, wait_error::expired);
    EXPECT_FALSE(state.guards.is_locked());
}

// The change came before the deadline, the notification did not.
TEST(Condition, WhatHoldsAtTheDeadlineIsNoExpiry) {
    simulation sim;
    const time_point begin = sim.clock.now();
    guarded state;
    const auto waits = [&](duration patience) -> task<> {
        mutex_lock lock = *co_await state.guards.lock();
        const auto met = co_await state.changed.wait(
            lock, [&] { return state.value != 0; }, begin + patience);
        EXPECT_EQ(met.has_value(), patience > 0ms);
    };
    auto late = spawn(sim.scheduler, waits(-1s));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(late.ended()) << "one look, then its deadline";
    auto handle = spawn(sim.scheduler, waits(5ms));
    sim.scheduler.run_until_idle();
    state.value = 1;
    sim.scheduler.run_until(begin + 5ms);
    sim.scheduler.run_until_idle();
    handle.get();
}

TEST(Condition, AStopEndsTheWaitWithTheMutex) {
    simulation sim;
    guarded state;
    int looks = 0;
    const auto waits = [&]() -> task<> {
        mutex_lock lock = *co_await state.guards.lock();
        const auto met =
            co_await state.changed.wait(lock, [&] { return ++looks, state.value == 1; });
        EXPECT_EQ(met.error(), wait_error::stopped);
        EXPECT_TRUE(lock && state.guards.is_locked());
    };
    auto handle = spawn(sim.scheduler, waits());
    sim.scheduler.run_until_idle();
    handle.request_stop();
    sim.scheduler.run_until_idle();
    handle.get();
    EXPECT_EQ(looks, 1);
    EXPECT_FALSE(state.guards.is_locked());
}

// The stop comes between the notification and the mutex. The notification is used, or is in vain.
TEST(Condition, AStopAfterTheNotification) {
    for (const bool holds : {true, false}) {
        simulation sim;
        guarded state;
        const auto waits = [&]() -> task<> {
            mutex_lock lock = *co_await state.guards.lock();
            const auto met = co_await state.changed.wait(lock, [&] { return state.value == 1; });
            EXPECT_TRUE(lock);
            EXPECT_EQ(met.has_value(), holds);
            EXPECT_TRUE(holds || met.error() == wait_error::stopped);
            const auto again = co_await state.changed.wait(lock, [] { return true; });
            EXPECT_EQ(again.error(), wait_error::stopped);
            EXPECT_TRUE(lock);
        };
        auto handle = spawn(sim.scheduler, waits());
        sim.scheduler.run_until_idle();
        mutex_lock other = state.guards.try_lock();
        if (holds) state.value = 1;
        EXPECT_TRUE(state.changed.notify_one());
        handle.request_stop();
        sim.scheduler.run_until_idle();
        EXPECT_FALSE(handle.ended());
        other.unlock();
        sim.scheduler.run_until_idle();
        handle.get();
        EXPECT_FALSE(state.guards.is_locked());
    }
}

// The deadline passes between the notification and the mutex.
TEST(Condition, ADeadlineAfterTheNotification) {
    for (const bool holds : {true, false}) {
        simulation sim;
        const time_point begin = sim.clock.now();
        guarded state;
        const auto waits = [&]() -> task<> {
            mutex_lock lock = *co_await state.guards.lock();
            const auto met = co_await state.changed.wait(
                lock, [&] { return state.value == 1; }, begin + 5ms);
            EXPECT_EQ(met.has_value(), holds);
            EXPECT_TRUE(holds || met.error() == wait_error::expired);
        };
        auto handle = spawn(sim.scheduler, waits());
        sim.scheduler.run_until_idle();
        mutex_lock other = state.guards.try_lock();
        if (holds) state.value = 1;
        EXPECT_TRUE(state.changed.notify_one());
        sim.scheduler.run_until(begin + 5ms);
        sim.scheduler.run_until_idle();
        EXPECT_FALSE(handle.ended());
        other.unlock();
        sim.scheduler.run_until_idle();
        handle.get();
    }
}

TEST(Condition, WhatThePredicateThrowsIsThrownWithTheMutex) {
    for (const int looks_before : {0, 1}) {
        simulation sim;
        guarded state;
        int looks = 0;
        const auto waits = [&]() -> task<> {
            mutex_lock lock = *co_await state.guards.lock();
            const auto throws = [&] {
                if (looks++ == looks_before) throw std::runtime_error{"broken"};
                return false;
            };
            bool thrown = false;
            try {
                static_cast<void>(co_await state.changed.wait(lock, throws));
            } catch (const std::runtime_error&) {
                thrown = true;
            }
            EXPECT_TRUE(thrown && lock && state.guards.is_locked());
        };
        auto handle = spawn(sim.scheduler, waits());
        sim.scheduler.run_until_idle();
        state.changed.notify_all();
        sim.scheduler.run_until_idle();
        handle.get();
        EXPECT_FALSE(state.guards.is_locked());
    }
}

TEST(Condition, ALoopThatNeverWaitsDoesNotKeepItsWorkerAndHearsAStop) {
    simulation sim;
    guarded state;
    int steps = 0;
    const auto loops = [&]() -> task<> {
        mutex_lock lock = *co_await state.guards.lock();
        while (co_await state.changed.wait(lock, [] { return true; })) ++steps;
    };
    auto handle = spawn(sim.scheduler, loops());
    sim.scheduler.post([&] { handle.request_stop(); });
    sim.scheduler.run_until_idle();
    handle.get();
    EXPECT_GT(steps, 0);
}

// The scheduler is destroyed while one task waits for a notification, one for the mutex, and one
// was just granted the mutex.
TEST(Condition, WhatWaitsLeavesWithItsScheduler) {
    for (const duration limit : {0ms, 1'000ms}) {
        guarded state;
        std::optional<scheduler> home{
            std::in_place, scheduler_options{.stop_limit = limit, .run_on_caller = true}};
        const auto waits = [&]() -> task<> {
            waited<mutex_lock> lock = co_await state.guards.lock();
            if (!lock) co_return;
            static_cast<void>(co_await state.changed.wait(*lock, [&] { return state.value == 1; }));
            EXPECT_TRUE(static_cast<bool>(*lock));
        };
        for (int i = 0; i != 3; ++i) spawn(*home, waits()).detach();
        home->run_until_idle();
        mutex_lock other = state.guards.try_lock();
        state.changed.notify_one();
        state.changed.notify_one();
        EXPECT_EQ(state.guards.waiting(), 2U);
        other.unlock();
        EXPECT_EQ(state.guards.waiting(), 1U);
        EXPECT_EQ(state.changed.waiting(), 1U);
        home.reset();
        EXPECT_EQ(state.guards.waiting(), 0U);
        EXPECT_EQ(state.changed.waiting(), 0U);
        EXPECT_FALSE(state.guards.is_locked());
    }
}

TEST(Condition, ADeadlineEndsTheWaitOfAThreadWithTheMutex) {
    test::watchdog guard;
    guarded state;
    mutex_lock lock = *state.guards.lock_blocking();
    const auto met = state.changed.wait_blocking(
        lock, [] { return false; }, clock::now() + 2ms);
    EXPECT_EQ(met.error(), wait_error::expired);
    EXPECT_TRUE(lock && state.guards.is_locked());
    EXPECT_TRUE(state.changed.wait_blocking(
        lock, [] { return true; }, clock::now() - 2ms));
    EXPECT_EQ(state.changed.waiting(), 0U);
}

// A bounded queue between tasks and threads, some of which give up.
TEST(Condition, NothingIsLostBetweenTasksAndThreads) {
    test::watchdog guard;
    constexpr int items = 2'000;
    constexpr std::size_t bound = 4;
    scheduler scheduler{{.workers = 2}};
    mutex guards;
    condition filled;
    condition emptied;
    std::deque<int> queue;
    int left = 4 * items;
    long sum = 0;
    const auto take = [&] {
        sum += queue.front();
        queue.pop_front();
        --left;
        emptied.notify_one();
        if (left == 0) filled.notify_all();
    };
    const auto is_worth_a_look = [&] { return !queue.empty() || left == 0; };
    const auto consumes = [&]() -> task<> {
        mutex_lock lock = *co_await guards.lock();
        int i = 0;
        while (left != 0) {
            const time_point deadline = clock::now() + i++ % 5 * 10us;
            if (co_await filled.wait(lock, is_worth_a_look, deadline) && left != 0) take();
        }
    };
    const auto produces = [&]() -> task<> {
        for (int i = 1; i <= items; ++i) {
            mutex_lock lock = *co_await guards.lock();
            EXPECT_TRUE(co_await emptied.wait(lock, [&] { return queue.size() < bound; }));
            queue.push_back(i);
            filled.notify_one();
        }
    };
    std::vector<join_handle<void>> all;
    for (int i = 0; i != 2; ++i) all.push_back(spawn(scheduler, consumes()));
    for (int i = 0; i != 2; ++i) all.push_back(spawn(scheduler, produces()));
    test::run_together(4, [&](std::size_t index) {
        if (index < 2) {
            for (int i = 1; i <= items; ++i) {
                mutex_lock lock = *guards.lock_blocking();
                EXPECT_TRUE(emptied.wait_blocking(lock, [&] { return queue.size() < bound; }));
                queue.push_back(i);
                lock.unlock();
                filled.notify_one();
            }
            return;
        }
        mutex_lock lock = *guards.lock_blocking();
        while (left != 0) {
            const time_point deadline = clock::now() + 50us;
            if (filled.wait_blocking(lock, is_worth_a_look, deadline) && left != 0) take();
        }
    });
    for (auto& each : all) each.get();
    EXPECT_EQ(sum, 4L * items * (items + 1) / 2);
}

TEST(Condition, ATaskThatGoesOnMayDestroyIt) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int i = 0; i != 1'000; ++i) {
        auto state = std::make_unique<guarded>();
        const auto waits = [&]() -> task<> {
            mutex_lock lock = *co_await state->guards.lock();
            static_cast<void>(
                co_await state->changed.wait(lock, [&] { return state->value == 1; }));
            lock.unlock();
            state.reset();
        };
        const auto notifies = [&]() -> task<> {
            mutex_lock lock = *co_await state->guards.lock();
            state->value = 1;
            state->changed.notify_one();
        };
        auto first = spawn(scheduler, waits());
        auto second = spawn(scheduler, notifies());
        second.get();
        first.get();
        EXPECT_EQ(state, nullptr);
    }
}

}  // namespace
}  // namespace fairlead::condition_tests
