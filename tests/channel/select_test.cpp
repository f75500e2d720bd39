// Selects: exactly one branch ends, and every other is as if it had never been tried.
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

namespace fairlead::select_tests {
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

TEST(Select, TakesFromTheChannelThatHasAnElement) {
    simulation sim;
    channel<int> a{1};
    channel<int> b{1};
    ASSERT_TRUE(b.try_send(7));
    auto got = spawn(sim.scheduler, receives_from(a, b));
    sim.scheduler.run_until_idle();
    const told result = got.get();
    EXPECT_EQ(result.how, "b");
    EXPECT_EQ(result.value, 7);
}

TEST(Select, WaitsForTheFirstElement) {
    simulation sim;
    channel<int> a{1};
    channel<int> b{1};
    auto got = spawn(sim.scheduler, receives_from(a, b));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(got.ended());
    ASSERT_TRUE(b.try_send(7));
    ASSERT_TRUE(a.try_send(8));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got.get().how, "b");
    EXPECT_EQ(b.length(), 0U);
    EXPECT_EQ(a.length(), 1U);
}

// A select that has ended by another branch is still in the FIFO: the wait behind it is served.
TEST(Select, TheWaitBehindABranchThatHasEndedIsServed) {
    simulation sim;
    channel<int> a{1};
    channel<int> b{1};
    auto first = spawn(sim.scheduler, receives_from(a, b));
    auto second = spawn(sim.scheduler, receives_from(a, b));
    sim.scheduler.run_until_idle();
    ASSERT_TRUE(a.try_send(1));
    ASSERT_TRUE(b.try_send(2));
    EXPECT_EQ(b.length(), 0U);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(first.get().value, 1);
    EXPECT_EQ(second.get().value, 2);
}

TEST(Select, AClosedChannelEndsItsBranch) {
    simulation sim;
    channel<int> a{1};
    channel<int> b{1};
    auto waits = spawn(sim.scheduler, receives_from(a, b));
    sim.scheduler.run_until_idle();
    a.close();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get().how, "a closed");
    auto later = spawn(sim.scheduler, receives_from(a, b));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(later.get().how, "a closed");
}

TEST(Select, AStopEndsItAndTakesNothing) {
    simulation sim;
    channel<int> a{1};
    channel<int> b{1};
    auto waits = spawn(sim.scheduler, receives_from(a, b));
    sim.scheduler.run_until_idle();
    waits.request_stop();
    sim.scheduler.run_until_idle();
    ASSERT_TRUE(a.try_send(1));
    EXPECT_EQ(waits.get().how, "stopped");
    EXPECT_EQ(a.length(), 1U);

    auto stopped_before = spawn(sim.scheduler, receives_from(a, b));
    stopped_before.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(stopped_before.get().how, "stopped");
    EXPECT_EQ(a.length(), 1U);
}

task<told> receives_within(channel<int>& from, time_span limit) {
    co_return (co_await select(on(from.receive(), [](auto got) { return as_told("a", got); }),
                               on(sleep_for(limit), [] { return told{"late"}; })))
        .value();
}

TEST(Select, ASleepIsATimeout) {
    simulation sim;
    channel<int> a{1};
    auto waits = spawn(sim.scheduler, receives_within(a, 5s));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(waits.ended());
    sim.clock.advance(5s);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get().how, "late");
    ASSERT_TRUE(a.try_send(1));
    EXPECT_EQ(a.length(), 1U);
}

task<told> receives_until(channel<int>& a, time_point of_a, channel<int>& b, time_point of_b) {
    co_return (co_await select(on(a.receive(of_a), [](auto got) { return as_told("a", got); }),
                               on(b.receive(of_b), [](auto got) { return as_told("b", got); })))
        .value();
}

TEST(Select, TheSoonestDeadlineOfABranchEndsIt) {
    simulation sim;
    channel<int> a{1};
    channel<int> b{1};
    const time_point now = sim.clock.now();
    auto waits = spawn(sim.scheduler, receives_until(a, now + 9s, b, now + 3s));
    sim.scheduler.run_until_idle();
    sim.clock.advance(3s);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get().how, "b expired");
}

// What can end at once wins over a deadline that has passed.
TEST(Select, TriesOnceThoughItsDeadlineHasPassed) {
    simulation sim;
    channel<int> a{1};
    channel<int> b{1};
    ASSERT_TRUE(b.try_send(4));
    auto waits = spawn(sim.scheduler, receives_until(a, sim.clock.now() - 1s, b, never));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get().value, 4);
    auto late = spawn(sim.scheduler, receives_until(a, sim.clock.now() - 1s, b, never));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(late.get().how, "a expired");
}

template <class T>
task<told> sends_or_receives(channel<T>& out, T& value, channel<int>& in) {
    const auto selected =
        co_await select(on(out.send(std::move(value)),
                           [](waited<void> sent) { return told{sent ? "sent" : "not sent"}; }),
                        on(in.receive(), [](waited<int> got) { return as_told("in", got); }));
    co_return selected.value();
}

TEST(Select, ASendThatIsNotTakenKeepsItsValue) {
    simulation sim;
    channel<std::unique_ptr<int>> out{1};
    channel<int> in{1};
    ASSERT_TRUE(out.try_send(std::make_unique<int>(1)));
    auto value = std::make_unique<int>(2);
    auto waits = spawn(sim.scheduler, sends_or_receives(out, value, in));
    sim.scheduler.run_until_idle();
    ASSERT_TRUE(in.try_send(3));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get().how, "in");
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(*value, 2);
    EXPECT_EQ(*out.try_receive().value(), 1);
    EXPECT_EQ(out.length(), 0U);
}

TEST(Select, ASendIsTakenWhenThereIsAPlace) {
    simulation sim;
    channel<int> out{1};
    channel<int> in{1};
    ASSERT_TRUE(out.try_send(1));
    int value = 2;
    auto waits = spawn(sim.scheduler, sends_or_receives(out, value, in));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(out.try_receive().value(), 1);
    EXPECT_EQ(out.try_receive().value(), 2);  // admitted with the receive before
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get().how, "sent");
}

// The policy of the channel counts, also in a select.
TEST(Select, ASendToAFullChannelThatDropsOrRefusesEndsAtOnce) {
    for (const auto policy : {when_full::drop_oldest, when_full::drop_newest, when_full::refuse}) {
        simulation sim;
        channel<int> out{1, policy};
        channel<int> in{1};
        ASSERT_TRUE(out.try_send(1));
        int value = 2;
        auto waits = spawn(sim.scheduler, sends_or_receives(out, value, in));
        sim.scheduler.run_until_idle();
        ASSERT_TRUE(waits.ended());
        EXPECT_EQ(waits.get().how, policy == when_full::refuse ? "not sent" : "sent");
        EXPECT_EQ(out.try_receive().value(), policy == when_full::drop_oldest ? 2 : 1);
    }
}

// Of one channel, in any order.
task<told> receives_or_sends(channel<int>& one, int value) {
    co_return (co_await select_in_order(
                   on(one.receive(), [](auto got) { return as_told("got", got); }),
                   on(one.send(std::move(value)), [](waited<void>) { return told{"sent"}; })))
        .value();
}

TEST(Select, ASelectDoesNotReceiveItsOwnValue) {
    simulation sim;
    channel<int> one{1};
    auto waits = spawn(sim.scheduler, receives_or_sends(one, 5));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get().how, "sent");
    EXPECT_EQ(one.length(), 1U);

    // With all places reserved it waits for itself, and leaves with both branches.
    channel<int> full{1};
    auto place = full.try_reserve().value();
    auto both = spawn(sim.scheduler, receives_or_sends(full, 6));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(both.ended());
    EXPECT_TRUE(std::move(place).send(7));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(both.get().value, 7);
    EXPECT_EQ(full.length(), 0U);
}

// While all places are reserved a value needs both: its sender and its receiver.
TEST(Select, TwoSelectsMeetInAFreePlace) {
    simulation sim;
    channel<int> one{1};
    channel<int> other{1};
    auto place = one.try_reserve().value();
    auto gets = spawn(sim.scheduler, receives_from(one, other));
    int value = 5;
    auto sends = spawn(sim.scheduler, sends_or_receives(one, value, other));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(gets.ended());
    EXPECT_FALSE(sends.ended());
    place = {};
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sends.get().how, "sent");
    EXPECT_EQ(gets.get().value, 5);
}

task<> sends(channel<int>& into, int value) { EXPECT_TRUE(co_await into.send(std::move(value))); }

// A select on one side, a plain wait on the other: the value needs no place.
TEST(Select, MeetsAPlainWaitThoughAllPlacesAreReserved) {
    for (const bool select_first : {true, false}) {
        simulation sim;
        channel<int> one{1};
        channel<int> other{1};
        const auto place = one.try_reserve().value();
        std::optional<join_handle<told>> gets;
        if (select_first) gets.emplace(spawn(sim.scheduler, receives_from(one, other)));
        sim.scheduler.run_until_idle();
        auto sender = spawn(sim.scheduler, sends(one, 5));
        sim.scheduler.run_until_idle();
        EXPECT_EQ(sender.ended(), select_first);
        if (!select_first) gets.emplace(spawn(sim.scheduler, receives_from(one, other)));
        sim.scheduler.run_until_idle();
        EXPECT_TRUE(sender.ended());
        EXPECT_EQ(gets->get().value, 5);
    }
}

// A select receives once a plain send waits behind a select that sends.
TEST(Select, APlainSendBehindASelectLetsASelectReceive) {
    simulation sim;
    channel<int> one{1};
    channel<int> other{1};
    const auto place = one.try_reserve().value();
    int value = 5;
    auto selects = spawn(sim.scheduler, sends_or_receives(one, value, other));
    auto gets = spawn(sim.scheduler, receives_from(one, other));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(gets.ended());
    auto sender = spawn(sim.scheduler, sends(one, 6));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(gets.get().value, 5);
    EXPECT_EQ(selects.get().how, "sent");
    EXPECT_FALSE(sender.ended());
    EXPECT_EQ(one.try_receive().value(), 6);
    sim.scheduler.run_until_idle();
    sender.get();
}

// --- other waits ---------------------------------------------------------------------------------

struct locks {
    event ready;
    latch done{1};
    semaphore units{1};
    mutex lock;
};

task<std::string> waits_for_one_of(locks& all) {
    using name = std::string;
    co_return (co_await select(
                   on(all.ready.wait(), [](auto) { return name{"event"}; }),
                   on(all.done.wait(), [](auto) { return name{"latch"}; }),
                   on(all.units.acquire(), [](auto got) { return name{got ? "unit" : "none"}; }),
                   on(all.lock.lock(), [](auto got) { return name{got ? "mutex" : "none"}; })))
        .value();
}

TEST(Select, OverEventsLatchesSemaphoresAndMutexes) {
    simulation sim;
    locks all;
    auto unit = all.units.try_acquire();
    auto held = all.lock.try_lock();
    const auto ends_by = [&](auto what) {
        auto waits = spawn(sim.scheduler, waits_for_one_of(all));
        sim.scheduler.run_until_idle();
        EXPECT_FALSE(waits.ended());
        what();
        sim.scheduler.run_until_idle();
        return waits.get();
    };
    EXPECT_EQ(ends_by([&] { unit.release(); }), "unit");
    unit = all.units.try_acquire();
    ASSERT_TRUE(unit);  // the handler has given it back
    EXPECT_EQ(ends_by([&] { held = {}; }), "mutex");
    held = all.lock.try_lock();
    ASSERT_TRUE(held);
    EXPECT_EQ(ends_by([&] { all.ready.set(); }), "event");
    EXPECT_TRUE(all.ready.reset());
    EXPECT_EQ(ends_by([&] { all.units.close(); }), "none");
}

task<> receives_or_waits(channel<int>& in, auto_event& more) {
    co_await select_in_order(on(in.receive(), [](auto) {}), on(more.wait(), [](auto) {}));
}

// The signal of an auto event goes to the branch that is taken, or stays.
TEST(Select, AnAutoEventKeepsItsSignalForAnotherWait) {
    simulation sim;
    auto_event more;
    channel<int> in{1};
    auto waits = spawn(sim.scheduler, receives_or_waits(in, more));
    sim.scheduler.run_until_idle();
    ASSERT_TRUE(in.try_send(1));
    more.set();
    sim.scheduler.run_until_idle();
    waits.get();
    EXPECT_TRUE(more.try_wait());
    auto next = spawn(sim.scheduler, receives_or_waits(in, more));
    sim.scheduler.run_until_idle();
    more.set();
    ASSERT_TRUE(in.try_send(1));
    sim.scheduler.run_until_idle();
    next.get();
    EXPECT_FALSE(more.try_wait());
    EXPECT_EQ(in.length(), 1U);
}

task<> acquires_or_receives(semaphore& units, std::uint32_t count, channel<int>& in) {
    co_await select(on(units.acquire(count), [](auto) {}), on(in.receive(), [](auto) {}));
}
task<bool> acquires(semaphore& units) { co_return (co_await units.acquire(1)).has_value(); }

// A branch that needs much is at the head, and leaves: the next wait is looked at.
TEST(Select, ABranchThatLeavesLetsTheNextWaitPass) {
    simulation sim;
    semaphore units{5};
    auto held = units.try_acquire(4);
    channel<int> in{1};
    auto waits = spawn(sim.scheduler, acquires_or_receives(units, 5, in));
    sim.scheduler.run_until_idle();
    auto next = spawn(sim.scheduler, acquires(units));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(next.ended());
    ASSERT_TRUE(in.try_send(1));
    sim.scheduler.run_until_idle();
    waits.get();
    EXPECT_TRUE(next.get());
    EXPECT_EQ(units.available(), 1U);
}

task<std::string> waits_for_a_permit(group& limited, channel<int>& in) {
    co_return (co_await select(on(permit_in(limited),
                                  [](auto got) { return std::string{got ? "permit" : "none"}; }),
                               on(in.receive(), [](auto) { return std::string{"in"}; })))
        .value();
}

TEST(Select, OverThePermitsOfAGroup) {
    simulation sim;
    group limited{sim.scheduler, {.queue_max = 1}};
    channel<int> in{1};
    permit held = limited.try_permit();
    ASSERT_TRUE(held);
    auto first = spawn(sim.scheduler, waits_for_a_permit(limited, in));
    sim.scheduler.run_until_idle();
    ASSERT_TRUE(in.try_send(1));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(first.get(), "in");
    auto second = spawn(sim.scheduler, waits_for_a_permit(limited, in));
    sim.scheduler.run_until_idle();
    held = {};
    sim.scheduler.run_until_idle();
    EXPECT_EQ(second.get(), "permit");
    EXPECT_TRUE(limited.try_permit());
}

task<int> gives(int value, time_span delay) {
    co_await sleep_for(delay);
    co_return value;
}
task<int> throws() {
    co_await yield();
    throw std::runtime_error{"no"};
}

task<int> joins_the_first(channel<int>& in) {
    const executor here = co_await current_executor();
    auto slow = spawn(here, gives(1, 9s));
    auto fast = spawn(here, gives(2, 1s));
    const auto first = co_await select(on(slow.join(), [](auto got) { return *got; }),
                                       on(fast.join(), [](auto got) { return *got * 10; }),
                                       on(in.receive(), [](auto) { return 0; }));
    // The handle of a branch that was not taken has its task.
    co_return first.value() + co_await slow;
}

TEST(Select, OverJoinsOfTasks) {
    simulation sim;
    channel<int> in{1};
    auto waits = spawn(sim.scheduler, joins_the_first(in));
    sim.scheduler.run_until_idle();
    sim.clock.advance(1s);
    sim.scheduler.run_until_idle();
    sim.clock.advance(8s);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(waits.get(), 21);
}

task<int> joins_a_failure() {
    auto failing = spawn(co_await current_executor(), throws());
    const auto result = co_await select(on(failing.join(), [](auto got) { return *got; }));
    co_return result.value();
}

TEST(Select, RethrowsWhatATaskHasThrown) {
    simulation sim;
    auto waits = spawn(sim.scheduler, joins_a_failure());
    sim.scheduler.run_until_idle();
    EXPECT_THROW(waits.get(), std::runtime_error);
}

}  // namespace
}  // namespace fairlead::select_tests
