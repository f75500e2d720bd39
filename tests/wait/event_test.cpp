// Tasks and threads that wait for events. The tests of races are in races_test.cpp.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/event.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace fairlead::event_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

// Waits, and writes `number`, or `-number` if the event did not come.
template <class Event>
task<> waits(Event& event, std::vector<int>& log, int number, time_point deadline = never) {
    const waited<void> came = co_await event.wait(deadline);
    log.push_back(came ? number : -number);
    const wait_error because = deadline == never ? wait_error::stopped : wait_error::expired;
    EXPECT_TRUE(came || came.error() == because);
}

TEST(Event, StaysSetUntilItIsReset) {
    simulation sim;
    event ready;
    std::vector<int> log;
    EXPECT_FALSE(ready.is_set());
    EXPECT_FALSE(ready.reset());
    spawn(sim.scheduler, waits(ready, log, 1)).detach();
    spawn(sim.scheduler, waits(ready, log, 2)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(log.empty());
    EXPECT_TRUE(ready.set());
    EXPECT_TRUE(ready.is_set());
    EXPECT_FALSE(ready.set());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2}));
    block_on(sim.scheduler, waits(ready, log, 3));
    EXPECT_EQ(log, (std::vector{1, 2, 3})) << "at once";
    EXPECT_TRUE(ready.reset());
    EXPECT_FALSE(ready.is_set() || ready.reset());
    spawn(sim.scheduler, waits(ready, log, 4)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log.size(), 3U);
    ready.set();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2, 3, 4}));
}

// tokio-rs/tokio#5458: each wait that is there at the `set`, and no wait that begins after the
// `reset`.
TEST(Event, ASetWakesThoseThatWaitAndNoOther) {
    simulation sim;
    event ready;
    int woken = 0;
    const auto waits_again = [&]() -> task<> {
        for (int i = 0; i != 2; ++i) {
            EXPECT_TRUE(co_await ready.wait());
            ++woken;
            ready.reset();  // by the first task that goes on
        }
    };
    for (int i = 0; i != 100; ++i) spawn(sim.scheduler, waits_again()).detach();
    sim.scheduler.run_until_idle();
    ready.set();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(woken, 100);
    EXPECT_FALSE(ready.is_set());
    ready.set();
    ready.reset();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(woken, 200);
}

TEST(AutoEvent, ASetWakesTheOldestWait) {
    simulation sim;
    auto_event more;
    std::vector<int> log;
    for (int i = 0; i != 100; ++i) {
        spawn(sim.scheduler, waits(more, log, i)).detach();
        sim.scheduler.run_until_idle();
    }
    for (int i = 0; i != 100; ++i) {
        EXPECT_TRUE(more.set());
        sim.scheduler.run_until_idle();
        ASSERT_EQ(log.size(), static_cast<std::size_t>(i) + 1);
        EXPECT_EQ(log.back(), i);
    }
    EXPECT_FALSE(more.try_wait());
}

TEST(AutoEvent, KeepsOneSetForTheNextWait) {
    simulation sim;
    auto_event more;
    std::vector<int> log;
    EXPECT_TRUE(more.set());
    EXPECT_FALSE(more.set());
    block_on(sim.scheduler, waits(more, log, 1));
    EXPECT_EQ(log, (std::vector{1}));
    EXPECT_FALSE(more.try_wait());
    EXPECT_TRUE(more.set());
    EXPECT_TRUE(more.try_wait());
    spawn(sim.scheduler, waits(more, log, 2)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(more.set());
    EXPECT_FALSE(more.try_wait()) << "the wait has it";
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2}));
}

// A `set` reaches the next wait if the oldest one has left.
TEST(AutoEvent, ASetIsNotLostOnAWaitThatHasEnded) {
    simulation sim;
    auto_event more;
    std::vector<int> log;
    const time_point begin = sim.clock.now();
    auto first = spawn(sim.scheduler, waits(more, log, 1));
    auto second = spawn(sim.scheduler, waits(more, log, 2, begin + 1s));
    auto third = spawn(sim.scheduler, waits(more, log, 3));
    sim.scheduler.run_until_idle();
    first.request_stop();
    sim.scheduler.run_until_idle();
    sim.scheduler.run_until(begin + 1s);
    EXPECT_EQ(log, (std::vector{-1, -2}));
    EXPECT_TRUE(more.set());
    third.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{-1, -2, 3})) << "it came before the stop";
}

template <class Event>
class EachEvent : public testing::Test {};
using events = testing::Types<event, auto_event>;
TYPED_TEST_SUITE(EachEvent, events);

TYPED_TEST(EachEvent, AStoppedTaskTakesNothing) {
    simulation sim;
    TypeParam one;
    one.set();
    const auto asks = [&]() -> task<> {
        const waited<void> came = co_await one.wait();
        EXPECT_FALSE(came.has_value());
        EXPECT_EQ(came.error(), wait_error::stopped);
    };
    auto handle = spawn(sim.scheduler, asks());
    handle.request_stop();
    sim.scheduler.run_until_idle();
    handle.get();
    EXPECT_FALSE(one.set()) << "it is still set";
}

TYPED_TEST(EachEvent, ADeadlineEndsTheWait) {
    simulation sim;
    TypeParam one;
    const time_point begin = sim.clock.now();
    std::vector<int> log;
    block_on(sim.scheduler, waits(one, log, 1, begin - 1s));
    EXPECT_EQ(sim.clock.now(), begin);
    block_on(sim.scheduler, waits(one, log, 2, begin + 3s));
    EXPECT_EQ(sim.clock.now(), begin + 3s);
    one.set();
    block_on(sim.scheduler, waits(one, log, 3, begin));
    EXPECT_EQ(log, (std::vector{-1, -2, 3})) << "one look, then its deadline";
}

TYPED_TEST(EachEvent, AGrantWinsOverAStopThatComesWithIt) {
    for (const bool stop_first : {false, true}) {
        simulation sim;
        TypeParam one;
        std::vector<int> log;
        auto handle = spawn(sim.scheduler, waits(one, log, 1));
        sim.scheduler.run_until_idle();
        if (stop_first) handle.request_stop();
        one.set();
        if (!stop_first) handle.request_stop();
        sim.scheduler.run_until_idle();
        EXPECT_EQ(log, (std::vector{1}));
    }
}

TYPED_TEST(EachEvent, ATaskThatGoesOnMayDestroyIt) {
    simulation sim;
    auto one = std::make_unique<TypeParam>();
    const auto asks = [&]() -> task<> {
        EXPECT_TRUE(co_await one->wait());
        one.reset();
    };
    spawn(sim.scheduler, asks()).detach();
    sim.scheduler.run_until_idle();
    one->set();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one, nullptr);
}

// --- a grant that is not collected ---------------------------------------------------------------

TEST(AutoEvent, ASetThatIsNotCollectedIsKept) {
    for (const bool set_again : {false, true}) {
        auto_event more;
        std::vector<int> log;
        {
            scheduler home{{.stop_limit = 0ms, .run_on_caller = true}};
            spawn(home, waits(more, log, 1)).detach();
            home.run_until_idle();
            more.set();
            // The wait has the first one. The second one is kept, and both become one.
            EXPECT_EQ(set_again && more.set(), set_again);
        }
        EXPECT_TRUE(log.empty());
        EXPECT_FALSE(more.set()) << "one is kept";
        EXPECT_TRUE(more.try_wait());
        EXPECT_FALSE(more.try_wait());
    }
}

TEST(Event, IsSetThoughTheWaitIsNotCollected) {
    event ready;
    std::vector<int> log;
    {
        scheduler home{{.stop_limit = 0ms, .run_on_caller = true}};
        spawn(home, waits(ready, log, 1)).detach();
        home.run_until_idle();
        ready.set();
        ready.reset();
    }
    EXPECT_TRUE(log.empty());
    EXPECT_FALSE(ready.is_set());
}

// --- misuse --------------------------------------------------------------------------------------

TEST(EventDeathTest, AWaitThatBlocksAWorkerIsAnError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto blocks = [](auto& one) {
        simulation sim;
        sim.scheduler.post([&] { static_cast<void>(one.wait_blocking()); });
        sim.scheduler.run_until_idle();
    };
    event ready;
    auto_event more;
    EXPECT_DEATH(blocks(ready), "a wait that blocks its thread was called on a worker");
    EXPECT_DEATH(blocks(more), "a wait that blocks its thread was called on a worker");
}

TEST(EventDeathTest, IsNotDestroyedWhileATaskWaits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto destroys = [] {
        simulation sim;
        std::vector<int> log;
        auto one = std::make_unique<event>();
        spawn(sim.scheduler, waits(*one, log, 1)).detach();
        sim.scheduler.run_until_idle();
        one.reset();
    };
    EXPECT_DEATH(destroys(), "destroyed while a task or a thread waits for it");
}

}  // namespace
}  // namespace fairlead::event_tests
