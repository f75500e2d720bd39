// Tasks and threads that share the permits of a semaphore. The tests of races are in
// races_test.cpp.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/semaphore.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace fairlead::semaphore_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

// Tasks that wait for permits and keep them, with a log of their numbers.
struct sharing {
    explicit sharing(std::uint64_t permits) : all{permits} {}

    // Writes `number`, or `-number` if the wait ended without the permits.
    task<> acquires(int number, std::uint32_t count, time_point deadline = never) {
        waited<semaphore_units> units = co_await all.acquire(count, deadline);
        log.push_back(units ? number : -number);
        if (units) {
            EXPECT_EQ(units->count(), count);
            kept.push_back(*std::move(units));
        } else {
            why = units.error();
        }
    }
    join_handle<void> start(int number, std::uint32_t count, time_point deadline = never) {
        auto handle = spawn(sim.scheduler, acquires(number, count, deadline));
        sim.scheduler.run_until_idle();
        return handle;
    }

    simulation sim;
    semaphore all;
    std::deque<semaphore_units> kept;
    std::vector<int> log;
    wait_error why = {};
};

TEST(Semaphore, IsNeverMoreThanItsPermits) {
    simulation sim;
    semaphore all{7};
    std::uint32_t taken = 0;
    std::uint32_t most = 0;
    const auto works = [&](std::uint32_t count) -> task<> {
        for (int i = 0; i != 10; ++i) {
            const semaphore_units units = *co_await all.acquire(count);
            most = std::max(most, taken += count);
            EXPECT_LE(all.available(), 7 - taken) << "tasks that have not gone on have some, too";
            co_await sleep_for(1ms);
            taken -= count;
        }
    };
    for (std::uint32_t count = 1; count != 8; ++count) spawn(sim.scheduler, works(count)).detach();
    EXPECT_TRUE(sim.scheduler.drain_for(1s));
    EXPECT_EQ(most, 7U);
    EXPECT_EQ(all.available(), 7U);
    EXPECT_EQ(all.size(), 7U);
}

// A first wait that needs many is not overtaken by waits that need few.
TEST(Semaphore, TheFirstWaitHoldsUpTheNext) {
    sharing of{5};
    of.kept.push_back(of.all.try_acquire(4));
    auto many = of.start(1, 5);
    auto few = of.start(2, 1);
    EXPECT_TRUE(of.log.empty());
    EXPECT_FALSE(of.all.try_acquire()) << "a wait has precedence";
    EXPECT_EQ(of.all.available(), 1U);
    of.kept.clear();
    of.sim.scheduler.run_until_idle();
    EXPECT_EQ(of.log, (std::vector{1}));
    of.kept.clear();
    of.sim.scheduler.run_until_idle();
    EXPECT_EQ(of.log, (std::vector{1, 2}));
}

// golang/go#37852, shuttle#167: when the first wait leaves, the next one is looked at.
TEST(Semaphore, AFirstWaitThatLeavesLetsTheNextOneIn) {
    for (const bool by_stop : {false, true}) {
        sharing of{1};
        const time_point begin = of.sim.clock.now();
        auto many = of.start(5, 5, by_stop ? never : begin + 1s);
        auto few = of.start(1, 1);
        auto last = of.start(2, 1);
        EXPECT_TRUE(of.log.empty());
        if (by_stop) many.request_stop();
        of.sim.scheduler.run_until(begin + 1s);
        EXPECT_EQ(of.log, (std::vector{-5, 1}));
        EXPECT_EQ(of.why, by_stop ? wait_error::stopped : wait_error::expired);
        EXPECT_EQ(of.all.available(), 0U);
        of.kept.clear();
        of.sim.scheduler.run_until_idle();
        EXPECT_EQ(of.log, (std::vector{-5, 1, 2}));
    }
}

TEST(Semaphore, AReturnGrantsAsManyWaitsAsItCan) {
    sharing of{6};
    of.kept.push_back(of.all.try_acquire(6));
    std::vector<join_handle<void>> tasks;
    for (int i = 1; i != 5; ++i) tasks.push_back(of.start(i, static_cast<std::uint32_t>(i)));
    EXPECT_EQ(of.all.waiting(), 4U);
    of.kept.clear();
    of.sim.scheduler.run_until_idle();
    EXPECT_EQ(of.log, (std::vector{1, 2, 3})) << "six permits";
    of.kept.pop_front();
    of.sim.scheduler.run_until_idle();
    EXPECT_EQ(of.log, (std::vector{1, 2, 3})) << "one is too few";
    of.kept.pop_back();
    of.sim.scheduler.run_until_idle();
    EXPECT_EQ(of.log, (std::vector{1, 2, 3, 4}));
}

TEST(Semaphore, AStoppedTaskTakesNothing) {
    sharing of{3};
    auto handle = spawn(of.sim.scheduler, of.acquires(1, 2));
    handle.request_stop();
    of.sim.scheduler.run_until_idle();
    EXPECT_EQ(of.log, (std::vector{-1}));
    EXPECT_EQ(of.why, wait_error::stopped);
    EXPECT_EQ(of.all.available(), 3U);
}

// python/asyncio#270, tokio-rs/tokio#4618: the task has them, or the next one has.
TEST(Semaphore, AGrantAndAStopTogetherLoseNothing) {
    for (const bool stop_first : {false, true}) {
        sharing of{1};
        of.kept.push_back(of.all.try_acquire());
        auto second = of.start(2, 1);
        auto third = of.start(3, 1);
        if (stop_first) second.request_stop();
        of.kept.clear();
        if (!stop_first) second.request_stop();
        of.sim.scheduler.run_until_idle();
        EXPECT_EQ(of.log, (std::vector{2}));
        of.kept.clear();
        of.sim.scheduler.run_until_idle();
        EXPECT_EQ(of.log, (std::vector{2, 3}));
    }
}

TEST(Semaphore, ADeadlineThatIsPastIsOneTry) {
    sharing of{2};
    const time_point begin = of.sim.clock.now();
    static_cast<void>(of.start(1, 2, begin - 1s));
    static_cast<void>(of.start(2, 1, begin - 1s));
    EXPECT_EQ(of.log, (std::vector{1, -2}));
    EXPECT_EQ(of.why, wait_error::expired);
    EXPECT_EQ(of.all.waiting(), 0U);
    EXPECT_EQ(of.sim.clock.now(), begin);
}

TEST(Semaphore, UnitsThatAreNotCollectedReturnWithTheirScheduler) {
    semaphore all{5};
    int ended = 0;
    {
        scheduler home{{.stop_limit = 0ms, .run_on_caller = true}};
        semaphore_units first = all.try_acquire(5);
        const auto asks = [&](std::uint32_t count) -> task<> {
            static_cast<void>(co_await all.acquire(count));
            ++ended;
        };
        for (const std::uint32_t count : {2U, 3U, 4U}) spawn(home, asks(count)).detach();
        home.run_until_idle();
        first.release();
        EXPECT_EQ(all.waiting(), 1U);
        EXPECT_EQ(all.available(), 0U);
    }
    EXPECT_EQ(ended, 0);
    EXPECT_EQ(all.available(), 5U);
    EXPECT_EQ(all.waiting(), 0U);
}

// --- a change of size, and a close ---------------------------------------------------------------

TEST(Semaphore, AHigherSizeLetsWaitsIn) {
    sharing of{0};
    std::vector<join_handle<void>> tasks;
    for (int i = 1; i != 4; ++i) tasks.push_back(of.start(i, 2));
    of.all.resize(1);
    of.sim.scheduler.run_until_idle();
    EXPECT_TRUE(of.log.empty());
    of.all.resize(4);
    of.sim.scheduler.run_until_idle();
    EXPECT_EQ(of.log, (std::vector{1, 2}));
    EXPECT_EQ(of.all.size(), 4U);
    of.all.resize(6);
    of.sim.scheduler.run_until_idle();
    EXPECT_EQ(of.log, (std::vector{1, 2, 3}));
}

TEST(Semaphore, UnitsBeyondALowerSizeStayValid) {
    sharing of{4};
    for (int i = 0; i != 4; ++i) of.kept.push_back(of.all.try_acquire());
    auto waits = of.start(1, 2);
    of.all.resize(2);
    EXPECT_EQ(of.all.available(), 0U);
    for (int left = 3; left != 0; --left) {
        of.kept.pop_front();
        of.sim.scheduler.run_until_idle();
        EXPECT_TRUE(of.log.empty()) << left << " are taken";
    }
    of.kept.pop_front();
    of.sim.scheduler.run_until_idle();
    EXPECT_EQ(of.log, (std::vector{1}));
    EXPECT_FALSE(of.all.try_acquire());
}

// tokio-rs/tokio#4867, #8020: nothing opens it again.
TEST(Semaphore, ATaskThatAsksAClosedOneOnAndOnLetsOthersHaveTheirTurn) {
    simulation sim;
    semaphore all{1};
    all.close();
    bool over = false;
    int asked = 0;
    const auto asks = [&]() -> task<> {
        while (!over && asked != 2 * coro::budget_of_step) {
            EXPECT_FALSE(co_await all.acquire());
            ++asked;
        }
    };
    spawn(sim.scheduler, asks()).detach();
    sim.scheduler.post([&] { over = true; });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(asked, coro::budget_of_step + 1);
}

TEST(Semaphore, ClosedStaysClosed) {
    sharing of{2};
    of.kept.push_back(of.all.try_acquire(2));
    auto first = of.start(1, 1);
    auto second = of.start(2, 2);
    EXPECT_FALSE(of.all.is_closed());
    EXPECT_TRUE(of.all.close());
    EXPECT_TRUE(of.all.is_closed());
    EXPECT_FALSE(of.all.close());
    of.sim.scheduler.run_until_idle();
    EXPECT_EQ(of.log, (std::vector{-1, -2}));
    EXPECT_EQ(of.why, wait_error::closed);
    of.kept.clear();
    of.all.resize(100);
    EXPECT_EQ(of.all.available(), 100U) << "units return as before";
    EXPECT_FALSE(of.all.try_acquire());
    of.why = {};
    static_cast<void>(of.start(3, 1));
    EXPECT_EQ(of.log, (std::vector{-1, -2, -3}));
    EXPECT_EQ(of.why, wait_error::closed);
    EXPECT_EQ(of.all.acquire_blocking().error(), wait_error::closed);
    EXPECT_TRUE(of.all.is_closed());
}

// --- units ---------------------------------------------------------------------------------------

TEST(SemaphoreUnits, AreSplitAndMerged) {
    semaphore all{10};
    semaphore_units ten = all.try_acquire(10);
    semaphore_units four = ten.split(4);
    EXPECT_EQ(four.count(), 4U);
    EXPECT_EQ(ten.count(), 6U);
    EXPECT_FALSE(ten.split(0));
    four.release();
    EXPECT_FALSE(four);
    EXPECT_EQ(all.available(), 4U);
    four.release();
    EXPECT_EQ(all.available(), 4U);
    semaphore_units rest = ten.split(6);
    EXPECT_FALSE(ten) << "all were split off";
    EXPECT_EQ(ten.count(), 0U);
    semaphore_units two = all.try_acquire(2);
    two.merge(std::move(rest));
    EXPECT_FALSE(rest);  // NOLINT(bugprone-use-after-move): it is none
    EXPECT_EQ(two.count(), 8U);
    semaphore_units none;
    none.merge(std::move(two));
    EXPECT_EQ(none.count(), 8U);
    none.merge(semaphore_units{});
    EXPECT_EQ(none.count(), 8U);
    EXPECT_EQ(all.available(), 2U);
    semaphore_units& same = none;
    none.merge(std::move(same));
    EXPECT_EQ(none.count(), 8U);
    EXPECT_TRUE(none);
    none.release();
    EXPECT_EQ(all.available(), 10U);
}

TEST(SemaphoreUnits, AreMovedAndReturnOnce) {
    semaphore all{5};
    semaphore other{5};
    semaphore_units first = all.try_acquire(2);
    semaphore_units second{std::move(first)};
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): it is none
    EXPECT_EQ(first.count(), 0U);
    semaphore_units& same = second;
    second = std::move(same);
    EXPECT_EQ(second.count(), 2U);
    semaphore_units third = other.try_acquire(3);
    third = std::move(second);
    EXPECT_EQ(other.available(), 5U);
    EXPECT_EQ(third.count(), 2U);
    third = all.try_acquire(3);
    EXPECT_EQ(all.available(), 2U);
}

// --- misuse --------------------------------------------------------------------------------------

TEST(SemaphoreDeathTest, MisuseIsAnError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto outlives = [] {
        auto all = std::make_unique<semaphore>(3);
        const semaphore_units units = all->try_acquire();
        all.reset();
    };
    EXPECT_DEATH(outlives(), "a semaphore was destroyed while units of it exist");
    const auto blocks = [] {
        simulation sim;
        semaphore all{1};
        sim.scheduler.post([&] { static_cast<void>(all.acquire_blocking()); });
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(blocks(), "a wait that blocks its thread was called on a worker");
    semaphore all{3};
    semaphore other{3};
    EXPECT_DEATH(static_cast<void>(all.try_acquire(0)), "asked for no permit");
    semaphore_units two = all.try_acquire(2);
    EXPECT_DEATH(static_cast<void>(two.split(3)), "more units were split off than there are");
    EXPECT_DEATH(two.merge(other.try_acquire()), "units of two semaphores were merged");
    semaphore large{std::uint64_t{1} << 40};
    semaphore_units most = large.try_acquire(UINT32_MAX);
    EXPECT_DEATH(most.merge(large.try_acquire()), "more units were merged than one object can");
}

TEST(SemaphoreDeathTest, IsNotDestroyedWhileATaskWaits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto destroys = [] {
        simulation sim;
        auto all = std::make_unique<semaphore>(0);
        const auto asks = [&]() -> task<> { static_cast<void>(co_await all->acquire()); };
        spawn(sim.scheduler, asks()).detach();
        sim.scheduler.run_until_idle();
        all.reset();
    };
    EXPECT_DEATH(destroys(), "destroyed while a task or a thread waits for it");
}

}  // namespace
}  // namespace fairlead::semaphore_tests
