// Tasks and threads that lock a mutex. The tests of races are in races_test.cpp.
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/wait/event.hpp>
#include <fairlead/wait/latch.hpp>
#include <fairlead/wait/mutex.hpp>
#include <fairlead/wait/semaphore.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::mutex_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

// Locks, writes `number`, or `-number` if the wait ended without the lock, and keeps the lock for
// `hold`.
task<> locks(mutex& one, std::vector<int>& log, int number, duration hold = 0ms,
             time_point deadline = never) {
    const waited<mutex_lock> lock = co_await one.lock(deadline);
    log.push_back(lock ? number : -number);
    if (lock) co_await as_result(sleep_for(hold));
}

// The sizes that docs/manual/waiting.md names.
static_assert(sizeof(mutex) == 48 && sizeof(semaphore) == 48 && sizeof(event) == 48);
static_assert(sizeof(latch) == 56);

TEST(Mutex, KeepsOtherTasksOutOverAWait) {
    simulation sim;
    mutex one;
    int inside = 0;
    int most = 0;
    const auto enters = [&]() -> task<> {
        for (int i = 0; i != 10; ++i) {
            const mutex_lock lock = *co_await one.lock();
            most = std::max(most, ++inside);
            co_await sleep_for(1ms);
            --inside;
        }
    };
    const time_point begin = sim.scheduler.now();
    for (int i = 0; i != 3; ++i) spawn(sim.scheduler, enters()).detach();
    EXPECT_TRUE(sim.scheduler.drain_for(1s));
    EXPECT_EQ(most, 1);
    EXPECT_EQ(sim.scheduler.now() - begin, 30ms);
    EXPECT_FALSE(one.is_locked());
}

TEST(Mutex, IsHandedOnInTheOrderOfAsking) {
    simulation sim;
    mutex one;
    std::vector<int> log;
    mutex_lock first = one.try_lock();
    for (int i = 0; i != 50; ++i) {
        spawn(sim.scheduler, locks(one, log, i)).detach();
        sim.scheduler.run_until_idle();
    }
    EXPECT_EQ(one.waiting(), 50U);
    first.unlock();
    EXPECT_FALSE(one.try_lock()) << "it was handed on";
    sim.scheduler.run_until_idle();
    ASSERT_EQ(log.size(), 50U);
    for (int i = 0; i != 50; ++i) EXPECT_EQ(log[static_cast<std::size_t>(i)], i);
    EXPECT_FALSE(one.is_locked());
}

// golang/go#11506: a task that locks again as soon as it has unlocked starves no other task.
TEST(Mutex, APoliteTaskWaitsForOneHoldOfAGreedyOne) {
    simulation sim;
    mutex one;
    const time_point begin = sim.scheduler.now();
    duration waited_for = 0ms;
    const auto greedy = [&]() -> task<> {
        for (int i = 0; i != 100; ++i) {
            const mutex_lock lock = *co_await one.lock();
            co_await sleep_for(10ms);
        }
    };
    const auto polite = [&]() -> task<> {
        for (int i = 0; i != 10; ++i) {
            co_await sleep_for(7ms);
            const time_point asked = sim.clock.now();
            const mutex_lock lock = *co_await one.lock();
            waited_for = std::max(waited_for, sim.clock.now() - asked);
        }
    };
    spawn(sim.scheduler, greedy()).detach();
    spawn(sim.scheduler, polite()).detach();
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    EXPECT_LE(waited_for, 10ms);
    EXPECT_EQ(sim.clock.now() - begin, 1s) << "and costs the greedy one nothing";
}

// tokio-rs/tokio#8365: a task whose budget is used up asks before it yields, not after.
// Also by a task whose budget is used up: it waits like any other.
TEST(Mutex, IsHandedOnInTheOrderOfAskingWithAnExhaustedBudget) {
    constexpr int budget = coro::budget_of_step;
    for (int locks_before = budget - 8; locks_before != budget + 8; ++locks_before) {
        simulation sim;
        mutex one;
        mutex other;
        std::vector<int> asked;
        std::vector<int> had;
        const auto asks = [&](int number, int free_locks) -> task<> {
            for (int i = 0; i != free_locks; ++i) static_cast<void>(co_await other.lock());
            asked.push_back(number);
            const mutex_lock lock = *co_await one.lock();
            had.push_back(number);
        };
        mutex_lock first = one.try_lock();
        spawn(sim.scheduler, asks(1, locks_before)).detach();
        spawn(sim.scheduler, asks(2, 0)).detach();
        sim.scheduler.run_until_idle();
        first.unlock();
        sim.scheduler.run_until_idle();
        EXPECT_EQ(asked, had) << locks_before;
        EXPECT_EQ(had.size(), 2U);
    }
}

// Otherwise tasks that only lock and unlock would wait for each other for good, once one of them
// has taken its turn with the mutex.
TEST(Mutex, ATaskTakesItsTurnWithoutTheMutex) {
    constexpr int budget = coro::budget_of_step;
    int turns = 0;
    for (int locks_before = budget - 8; locks_before != budget + 8; ++locks_before) {
        simulation sim;
        mutex one;
        bool locks = false;
        bool over = false;
        const auto takes = [&]() -> task<> {
            for (int i = 0; i != locks_before; ++i) static_cast<void>(co_await one.lock());
            locks = true;
            const mutex_lock lock = *co_await one.lock();
            over = true;
        };
        spawn(sim.scheduler, takes()).detach();
        sim.scheduler.post([&] {
            EXPECT_FALSE(one.is_locked());
            turns += locks && !over ? 1 : 0;
        });
        sim.scheduler.run_until_idle();
        EXPECT_TRUE(over);
    }
    EXPECT_EQ(turns, 1);
}

// It begins to wait after its turn, if another task has the mutex by then.
TEST(Mutex, MayBeTakenByAnotherTaskDuringTheTurn) {
    simulation sim;
    mutex one;
    bool has_it = false;
    const auto takes = [&](time_point deadline) -> task<bool> {
        for (int i = 0; i != coro::budget_of_step; ++i) static_cast<void>(co_await one.lock());
        const auto lock = co_await one.lock(deadline);
        has_it = lock.has_value();
        co_return has_it;
    };
    for (const bool waits_long_enough : {true, false}) {
        auto handle = spawn(sim.scheduler, takes(sim.clock.now() + (waits_long_enough ? 2s : 1s)));
        mutex_lock taken;
        sim.scheduler.post([&] { taken = one.try_lock(); });
        sim.scheduler.run_until_idle();
        EXPECT_EQ(one.waiting(), 1U);
        sim.clock.advance(waits_long_enough ? 1s : 1s + 1ns);
        sim.scheduler.run_until_idle();
        taken.unlock();
        sim.scheduler.run_until_idle();
        EXPECT_EQ(handle.get(), waits_long_enough);
    }
}

TEST(Mutex, ATaskThatIsStoppedDuringItsTurnDoesNotAsk) {
    simulation sim;
    mutex one;
    const auto takes = [&]() -> task<std::optional<wait_error>> {
        for (int i = 0; i != coro::budget_of_step; ++i) static_cast<void>(co_await one.lock());
        const auto lock = co_await one.lock();
        co_return lock ? std::nullopt : std::optional{lock.error()};
    };
    auto handle = spawn(sim.scheduler, takes());
    sim.scheduler.post([&] { handle.request_stop(); });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(handle.get(), wait_error::stopped);
    EXPECT_FALSE(one.is_locked());
}

TEST(Mutex, ATaskThatAlwaysFindsItFreeDoesNotKeepItsWorker) {
    simulation sim;
    mutex one;
    int locked = 0;
    const auto locks_on = [&]() -> task<> {
        for (; locked != 10'000; ++locked) static_cast<void>(co_await one.lock());
    };
    spawn(sim.scheduler, locks_on()).detach();
    int before = -1;
    sim.scheduler.post([&] { before = locked; });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(locked, 10'000);
    EXPECT_LT(before, 10'000) << "another task has its turn before the loop ends";
}

// A holder in a paused group keeps the mutex from every other group; the mutex is not taken away.
TEST(Mutex, IsKeptByATaskWhoseGroupIsPaused) {
    simulation sim;
    mutex one;
    group slow{sim.scheduler, {}};
    std::vector<int> log;
    mutex_lock first = one.try_lock();
    spawn(slow, locks(one, log, 1)).detach();
    sim.scheduler.run_until_idle();
    spawn(sim.scheduler, locks(one, log, 2)).detach();
    sim.scheduler.run_until_idle();
    slow.pause();
    first.unlock();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(log.empty());
    EXPECT_TRUE(one.is_locked());
    slow.resume();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2}));
}

// --- a stop --------------------------------------------------------------------------------------

TEST(Mutex, AStoppedTaskTakesNothing) {
    simulation sim;
    mutex one;
    const auto asks = [&]() -> task<> {
        for (int i = 0; i != 100; ++i) {
            const waited<mutex_lock> lock = co_await one.lock();
            EXPECT_FALSE(lock.has_value());
            EXPECT_EQ(lock.error(), wait_error::stopped);
            EXPECT_FALSE(one.is_locked());
        }
    };
    auto handle = spawn(sim.scheduler, asks());
    handle.request_stop();
    sim.scheduler.run_until_idle();
    handle.get();
}

TEST(Mutex, AStopEndsTheWaitAndTheNextOneIsServed) {
    simulation sim;
    mutex one;
    std::vector<int> log;
    mutex_lock first = one.try_lock();
    auto second = spawn(sim.scheduler, locks(one, log, 2));
    auto third = spawn(sim.scheduler, locks(one, log, 3));
    sim.scheduler.run_until_idle();
    second.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{-2}));
    EXPECT_EQ(one.waiting(), 1U);
    first.unlock();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{-2, 3}));
    EXPECT_FALSE(one.is_locked());
    second.get();
    third.get();
}

// Kotlin/kotlinx.coroutines#4145: whichever comes first, the mutex does not stay locked. A grant
// wins over a stop that has not ended the wait, and the next wait hears of the stop.
TEST(Mutex, AGrantWinsOverAStopThatComesWithIt) {
    for (const bool stop_first : {false, true}) {
        simulation sim;
        mutex one;
        bool had = false;
        const auto asks = [&]() -> task<> {
            const waited<mutex_lock> lock = co_await one.lock();
            had = lock.has_value();
            EXPECT_THROW(co_await sleep_for(1s), stopped_error);
        };
        mutex_lock first = one.try_lock();
        auto second = spawn(sim.scheduler, asks());
        sim.scheduler.run_until_idle();
        if (stop_first) second.request_stop();
        first.unlock();
        if (!stop_first) second.request_stop();
        sim.scheduler.run_until_idle();
        second.get();
        EXPECT_TRUE(had);
        EXPECT_TRUE(one.try_lock());
    }
}

TEST(Mutex, AShieldedLockIsNotStopped) {
    simulation sim;
    mutex one;
    bool had = false;
    const auto cleans_up = [&]() -> task<> {
        const waited<mutex_lock> lock = co_await shielded(one.lock());
        had = lock.has_value();
    };
    mutex_lock first = one.try_lock();
    auto second = spawn(sim.scheduler, cleans_up());
    second.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.waiting(), 1U);
    first.unlock();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(had);
}

// --- a deadline ----------------------------------------------------------------------------------

TEST(Mutex, ADeadlineEndsTheWaitAndTheNextOneIsServed) {
    simulation sim;
    mutex one;
    std::vector<int> log;
    const time_point begin = sim.clock.now();
    mutex_lock first = one.try_lock();
    spawn(sim.scheduler, locks(one, log, 2, 0ms, begin + 5ms)).detach();
    spawn(sim.scheduler, locks(one, log, 3, 0ms, begin + 10s)).detach();
    sim.scheduler.run_until_idle();
    sim.scheduler.run_until(begin + 5ms);
    EXPECT_EQ(log, (std::vector{-2}));
    EXPECT_EQ(sim.clock.now(), begin + 5ms);
    first.unlock();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{-2, 3}));
    EXPECT_EQ(sim.clock.now(), begin + 5ms);
}

TEST(Mutex, ADeadlineThatIsPastIsOneTry) {
    simulation sim;
    mutex one;
    const time_point begin = sim.clock.now();
    const auto tries = [&](bool finds_it_free) -> task<> {
        for (const time_point past : {immediately, begin - 1s, begin}) {
            const waited<mutex_lock> lock = co_await one.lock(past);
            EXPECT_EQ(lock.has_value(), finds_it_free);
            EXPECT_TRUE(lock || lock.error() == wait_error::expired);
        }
    };
    block_on(sim.scheduler, tries(true));
    mutex_lock first = one.try_lock();
    block_on(sim.scheduler, tries(false));
    EXPECT_EQ(one.waiting(), 0U);
    EXPECT_EQ(sim.clock.now(), begin);
}

TEST(Mutex, AWaitThatHasExpiredCanBeAwaitedAgain) {
    simulation sim;
    mutex one;
    mutex_lock first = one.try_lock();
    const auto asks = [&]() -> task<> {
        auto wait = one.lock(sim.clock.now() + 1s);
        EXPECT_EQ((co_await wait).error(), wait_error::expired);
        first.unlock();
        EXPECT_TRUE((co_await wait).has_value());
        EXPECT_TRUE((co_await wait).has_value());
    };
    block_on(sim.scheduler, asks());
    EXPECT_FALSE(one.is_locked());
}

// --- a grant that is not collected ---------------------------------------------------------------

TEST(Mutex, ALockThatIsNotCollectedIsUnlockedWithItsScheduler) {
    mutex one;
    std::vector<int> log;
    {
        scheduler home{{.stop_limit = 0ms, .run_on_caller = true}};
        mutex_lock first = one.try_lock();
        for (int i = 1; i != 4; ++i) spawn(home, locks(one, log, i)).detach();
        home.run_until_idle();
        EXPECT_EQ(one.waiting(), 3U);
        first.unlock();
        EXPECT_EQ(one.waiting(), 2U);
    }
    EXPECT_TRUE(log.empty());
    EXPECT_TRUE(one.try_lock());
    EXPECT_EQ(one.waiting(), 0U);
}

// A task that waits for its turn before it asks.
TEST(Mutex, ATaskThatWaitsForItsTurnMayGoWithItsScheduler) {
    mutex one;
    int locked = 0;
    {
        // Without slices the budget alone ends the step, however slow the machine is.
        scheduler home{{.slice = 0ms, .stop_limit = 0ms, .run_on_caller = true}};
        const auto locks_on = [&]() -> task<> {
            for (;; ++locked) static_cast<void>(co_await one.lock());
        };
        spawn(home, locks_on()).detach();
        home.run_until(immediately, 1);
        EXPECT_EQ(locked, coro::budget_of_step);
        EXPECT_FALSE(one.is_locked());
    }
    EXPECT_TRUE(one.try_lock());
}

// --- the lock ------------------------------------------------------------------------------------

TEST(MutexLock, IsMovedAndUnlocksOnce) {
    mutex one;
    mutex other;
    mutex_lock first = one.try_lock();
    EXPECT_TRUE(first);
    EXPECT_FALSE(one.try_lock());
    mutex_lock second{std::move(first)};
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): it is none
    EXPECT_TRUE(second && one.is_locked());
    mutex_lock& same = second;
    second = std::move(same);
    EXPECT_TRUE(second && one.is_locked());
    mutex_lock third = other.try_lock();
    third = std::move(second);
    EXPECT_FALSE(other.is_locked());
    EXPECT_TRUE(one.is_locked());
    third.unlock();
    EXPECT_FALSE(third || one.is_locked());
    third.unlock();
    third = one.try_lock();
    EXPECT_TRUE(third);
}

TEST(MutexLock, MayBeUnlockedByAnotherTask) {
    simulation sim;
    mutex one;
    const auto keeps = [](mutex_lock lock) -> task<> {
        co_await sleep_for(1s);
        lock.unlock();
    };
    const auto locks_and_leaves = [&]() -> task<> {
        mutex_lock lock = *co_await one.lock();
        spawn(sim.scheduler, keeps(std::move(lock))).detach();
    };
    block_on(sim.scheduler, locks_and_leaves());
    EXPECT_TRUE(one.is_locked());
    EXPECT_TRUE(sim.scheduler.drain_for(2s));
    EXPECT_FALSE(one.is_locked());
}

TEST(MutexLock, MayBeUnlockedByAnotherThread) {
    mutex one;
    mutex_lock lock = one.try_lock();
    std::jthread{[mine = std::move(lock)]() mutable { mine.unlock(); }};
    EXPECT_TRUE(one.try_lock());
}

// --- misuse --------------------------------------------------------------------------------------

TEST(MutexDeathTest, AWaitThatBlocksAWorkerIsAnError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto blocks = [] {
        simulation sim;
        mutex one;
        sim.scheduler.post([&] { static_cast<void>(one.lock_blocking()); });
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(blocks(), "a wait that blocks its thread was called on a worker");
}

TEST(MutexDeathTest, ALockedMutexIsNotDestroyed) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto destroys = [] {
        auto one = std::make_unique<mutex>();
        const mutex_lock lock = one->try_lock();
        one.reset();
    };
    EXPECT_DEATH(destroys(), "a mutex was destroyed while a task or a thread has it");
}

}  // namespace
}  // namespace fairlead::mutex_tests
