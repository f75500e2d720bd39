// The rules of selects: order, conditions, handlers, and tasks that are destroyed.
#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/permit_in.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/event.hpp>
#include <fairlead/wait/latch.hpp>
#include <fairlead/wait/mutex.hpp>
#include <fairlead/wait/semaphore.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::select_rules_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

// Which branch has ended, and with what.
struct told {
    std::string how;
    int value = 0;
};

template <class T>
told as_told(std::string name, const waited<T>& result) {
    if (result) return {std::move(name), *result};
    switch (result.error()) {
        case wait_error::closed:
            return {name + " closed"};
        case wait_error::expired:
            return {name + " expired"};
        default:
            return {name + " failed"};
    }
}

task<told> receives_from(channel<int>& a, channel<int>& b) {
    auto selected = co_await select(on(a.receive(), [](auto got) { return as_told("a", got); }),
                                    on(b.receive(), [](auto got) { return as_told("b", got); }));
    co_return selected ? *selected : told{"stopped"};
}

// --- order, conditions, handlers -----------------------------------------------------------------

task<int> gives(int value, time_span delay) {
    co_await sleep_for(delay);
    co_return value;
}
task<> takes_from_both(channel<int>& a, channel<int>& b, std::array<int, 2>& taken) {
    for (int i = 0; i != 50; ++i) {
        co_await select(on(a.receive(), [&](auto) { ++taken[0]; }),
                        on(b.receive(), [&](auto) { ++taken[1]; }));
    }
    for (int i = 0; i != 50; ++i) {
        co_await select_in_order(on(a.receive(), [&](auto) { ++taken[0]; }),
                                 on(b.receive(), [&](auto) { ++taken[1]; }));
    }
}

TEST(Select, BranchesThatCanAlwaysEndTakeTurns) {
    simulation sim;
    channel<int> a{100};
    channel<int> b{100};
    for (int i = 0; i != 100; ++i) {
        ASSERT_TRUE(a.try_send(int{i}));
        ASSERT_TRUE(b.try_send(int{i}));
    }
    std::array<int, 2> taken{};
    auto waits = spawn(sim.scheduler, takes_from_both(a, b, taken));
    sim.scheduler.run_until_idle();
    waits.get();
    EXPECT_EQ(taken[0], 76);
    EXPECT_EQ(taken[1], 24);
}

task<> selects_several_times(int others, channel<int>& a, channel<int>& b,
                             std::array<int, 2>& taken) {
    event always;
    always.set();
    for (int i = 0; i != 50; ++i) {
        co_await select(on(a.receive(), [&](auto) { ++taken[0]; }),
                        on(b.receive(), [&](auto) { ++taken[1]; }));
        for (int other = 0; other != others; ++other)
            co_await select(on(always.wait(), [](auto) {}));
    }
}

// Where the select begins must not keep time with the loop that it is in.
TEST(Select, StarvesNoBranchInALoopWithSeveralSelects) {
    for (const int others : {1, 2, 3, 7}) {
        simulation sim;
        channel<int> a{50};
        channel<int> b{50};
        for (int i = 0; i != 50; ++i) {
            ASSERT_TRUE(a.try_send(int{i}));
            ASSERT_TRUE(b.try_send(int{i}));
        }
        std::array<int, 2> taken{};
        auto selects = spawn(sim.scheduler, selects_several_times(others, a, b, taken));
        sim.scheduler.run_until_idle();
        selects.get();
        EXPECT_GT(taken[0], 15) << others;
        EXPECT_GT(taken[1], 15) << others;
    }
}

task<told> receives_if(bool from_a, channel<int>& a, channel<int>& b) {
    co_return (
        co_await select(on_if(from_a, a.receive(), [](auto got) { return as_told("a", got); }),
                        on(b.receive(), [](auto got) { return as_told("b", got); })))
        .value();
}

TEST(Select, ADisabledBranchDoesNotExist) {
    simulation sim;
    channel<int> a{1};
    channel<int> b{1};
    ASSERT_TRUE(a.try_send(1));
    auto waits = spawn(sim.scheduler, receives_if(false, a, b));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(waits.ended());
    ASSERT_TRUE(b.try_send(2));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get().how, "b");
    EXPECT_EQ(a.length(), 1U);
    auto enabled = spawn(sim.scheduler, receives_if(true, a, b));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(enabled.get().how, "a");
}

task<int> goes_on_in_a_handler(channel<int>& a) {
    task<int> next =
        (co_await select(on(a.receive(), [](auto got) { return gives(*got, 1s); }))).value();
    co_return co_await std::move(next);
}

TEST(Select, AHandlerMayBeACoroutine) {
    simulation sim;
    channel<int> a{1};
    ASSERT_TRUE(a.try_send(3));
    auto waits = spawn(sim.scheduler, goes_on_in_a_handler(a));
    sim.scheduler.run_until_idle();
    sim.clock.advance(1s);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get(), 3);
}

task<> throws_in_a_handler(channel<int>& a) {
    co_await select(on(a.receive(), [](auto) { throw std::runtime_error{"no"}; }));
}

TEST(Select, AHandlerMayThrow) {
    simulation sim;
    channel<int> a{1};
    ASSERT_TRUE(a.try_send(3));
    auto waits = spawn(sim.scheduler, throws_in_a_handler(a));
    sim.scheduler.run_until_idle();
    EXPECT_THROW(waits.get(), std::runtime_error);
}

// A handler with a name is not copied, and may be called again.
task<int> counts_its_calls(channel<int>& a) {
    const auto counter = std::make_shared<int>(0);
    const auto count = [counter](waited<int> got) { *counter += *got; };
    for (int i = 0; i != 3; ++i) co_await select(on(a.receive(), count));
    EXPECT_EQ(counter.use_count(), 2);
    co_return *counter;
}

TEST(Select, AHandlerMayHaveAName) {
    simulation sim;
    channel<int> a{1};
    auto waits = spawn(sim.scheduler, counts_its_calls(a));
    for (int i = 1; i != 4; ++i) {
        sim.scheduler.run_until_idle();
        ASSERT_TRUE(a.try_send(int{i}));
    }
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get(), 6);
}

task<> loops_until(bool& other_ran, event& set) {
    while (!other_ran) co_await select(on(set.wait(), [](auto) {}));
}
task<> sets(bool& ran) {
    ran = true;
    co_return;
}

// tokio#7164: a select whose branches can always end gives up its worker.
TEST(Select, ALoopThatNeverWaitsLetsOthersRun) {
    simulation sim;
    event set;
    set.set();
    bool other_ran = false;
    auto loops = spawn(sim.scheduler, loops_until(other_ran, set));
    auto other = spawn(sim.scheduler, sets(other_ran));
    sim.scheduler.run_until_idle();
    loops.get();
    other.get();
}

// Its scheduler is destroyed while it waits: the channels are left alone.
TEST(Select, LeavesAllBranchesWhenItsTaskIsDestroyed) {
    channel<int> a{1};
    channel<int> b{1};
    {
        simulation sim;
        spawn(sim.scheduler, receives_from(a, b)).detach();
        sim.scheduler.run_until_idle();
    }
    ASSERT_TRUE(a.try_send(1));
    EXPECT_EQ(a.length(), 1U);
}

// --- misuse --------------------------------------------------------------------------------------

task<> joins_twice(join_handle<int>& handle) {
    co_await select(on(handle.join(), [](auto) {}), on(handle.join(), [](auto) {}));
}

TEST(SelectDeathTest, OneHandleInTwoBranches) {
    const auto run = [] {
        simulation sim;
        auto handle = spawn(sim.scheduler, gives(1, 1s));
        auto joins = spawn(sim.scheduler, joins_twice(handle));
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(run(), "a handle was awaited twice");
}

// --- tasks that are destroyed --------------------------------------------------------------------

// An element that was given to a select, which is destroyed before it goes on, is dropped.
TEST(Select, AnElementOfADestroyedSelectIsDropped) {
    channel<int> a{1};
    channel<int> b{1};
    int dropped = 0;
    a.on_dropped([into = &dropped](int&& value) { *into += value; });
    {
        scheduler home{{.stop_limit = 0ms, .run_on_caller = true}};
        spawn(home, receives_from(a, b)).detach();
        home.run_until_idle();
        ASSERT_TRUE(a.try_send(6));
    }
    EXPECT_EQ(dropped, 6);
    ASSERT_TRUE(b.try_send(1));
    EXPECT_EQ(b.length(), 1U);
}

}  // namespace
}  // namespace fairlead::select_rules_tests
