// Broadcasts and watches as branches of a select: the branch that ends takes its value, and every
// other is as if it had not been tried.
#include <fairlead/channel/broadcast.hpp>
#include <fairlead/channel/channel.hpp>
#include <fairlead/channel/watch.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>

#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead::fanout_select_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

constexpr int closed = -1;

int value_of(const waited<held<const int>>& got) { return got ? **got : closed; }

// 0 to 999: from the subscription; 1000 and above: from the watcher; -1: one of them is closed.
task<int> first_of(subscription<int>& news, watcher<int>& state) {
    const auto got = co_await select(
        on(news.receive(), [](const auto& next) { return value_of(next); }),
        on(state.changed(), [](const auto& next) { return next ? 1000 + **next : closed; }));
    co_return got.value_or(-2);
}

TEST(FanoutSelect, TakesWhatIsThereAndNothingElse) {
    simulation sim;
    broadcast<int> news{4};
    watch<int> state{1};
    auto sub = news.subscribe();
    auto mine = state.subscribe(initial::seen);
    EXPECT_TRUE(news.try_send(5));
    EXPECT_EQ(spawn(sim.scheduler, first_of(sub, mine)).get(), 5);
    EXPECT_EQ(mine.try_changed().error(), wait_error::would_wait);
    EXPECT_TRUE(state.set(2));
    EXPECT_EQ(spawn(sim.scheduler, first_of(sub, mine)).get(), 1002);
    EXPECT_EQ(sub.try_receive().error(), wait_error::would_wait);
}

TEST(FanoutSelect, WaitsForTheFirst) {
    simulation sim;
    broadcast<int> news{4};
    watch<int> state{1};
    auto sub = news.subscribe();
    auto mine = state.subscribe(initial::seen);
    for (int round = 0; round != 4; ++round) {
        auto waiting = spawn(sim.scheduler, first_of(sub, mine));
        sim.scheduler.run_until_idle();
        EXPECT_FALSE(waiting.ended());
        // Both come before the task goes on: it takes the first, and the other is there still.
        if (round % 2 == 0) {
            EXPECT_TRUE(news.try_send(int{round}));
            EXPECT_TRUE(state.set(int{round}));
            EXPECT_EQ(std::move(waiting).get(), round);
            EXPECT_EQ(**mine.try_changed(), round);
        } else {
            EXPECT_TRUE(state.set(int{round}));
            EXPECT_TRUE(news.try_send(int{round}));
            EXPECT_EQ(std::move(waiting).get(), 1000 + round);
            EXPECT_EQ(**sub.try_receive(), round);
        }
    }
}

TEST(FanoutSelect, AClosedOneEndsItsBranch) {
    simulation sim;
    broadcast<int> news{4};
    watch<int> state{1};
    auto sub = news.subscribe();
    auto mine = state.subscribe(initial::seen);
    auto waiting = spawn(sim.scheduler, first_of(sub, mine));
    sim.scheduler.run_until_idle();
    news.close();
    EXPECT_EQ(std::move(waiting).get(), closed);
    EXPECT_TRUE(state.set(2));
    EXPECT_EQ(**mine.try_changed(), 2) << "the watcher is idle";
}

// A send that waits for a slow subscription, beside a stop by a channel.
TEST(FanoutSelect, ASendThatIsNotTakenSendsNothing) {
    simulation sim;
    broadcast<int> news{1, lag::wait};
    channel<int> ends{1};
    auto slow = news.subscribe();
    EXPECT_TRUE(news.try_send(1));
    const auto sends = [&]() -> task<int> {
        const auto got =
            co_await select(on(news.send(2), [](waited<void> sent) { return sent ? 2 : closed; }),
                            on(ends.receive(), [](waited<int> end) { return *end; }));
        co_return got.value_or(-2);
    };
    auto first = spawn(sim.scheduler, sends());
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(ends.try_send(9));
    EXPECT_EQ(std::move(first).get(), 9);
    EXPECT_EQ(**slow.try_receive(), 1);
    EXPECT_EQ(slow.try_receive().error(), wait_error::would_wait) << "2 was not sent";
    EXPECT_TRUE(news.try_send(3));
    auto second = spawn(sim.scheduler, sends());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(**slow.try_receive(), 3);
    EXPECT_EQ(std::move(second).get(), 2);
    EXPECT_EQ(**slow.try_receive(), 2);
}

// The branch comes too late, as if another one had been told at the same moment: the handler of
// that may use the subscription and the watcher.
TEST(FanoutSelect, ABranchThatComesTooLateLeavesTheSubscriptionIdle) {
    sync::choice other_has_ended;
    ASSERT_TRUE(other_has_ended.claim(1));
    channels::broadcast_state<int> news{1, lag::skip};
    channels::cursor at = news.subscribe(0);
    auto one = make_held<int>(1);
    ASSERT_TRUE(news.try_send(one));
    bool is_waiting = false;
    channels::never_waits<channels::broadcast_receive<int>> receives{news, at, is_waiting};
    receives.set_choice(other_has_ended, 0);
    EXPECT_FALSE(receives.enter());
    EXPECT_FALSE(is_waiting);
    EXPECT_EQ(at.next, 0U) << "nothing was taken";
    news.unsubscribe(at);

    channels::watch_state<int> state{make_held<int>(1)};
    std::uint64_t seen = state.subscribe(initial::unseen);
    channels::never_waits<channels::change_operation<int>> changes{state, seen, is_waiting};
    changes.set_choice(other_has_ended, 0);
    EXPECT_FALSE(changes.enter());
    EXPECT_FALSE(is_waiting);
    state.unsubscribe();
}

TEST(FanoutSelect, NothingIsLostBesideSenders) {
    test::watchdog guard;
    constexpr int count = 3000;
    broadcast<int> a{2, lag::wait};
    broadcast<int> b{2, lag::wait};
    auto from_a = a.subscribe();
    auto from_b = b.subscribe();
    scheduler home{{.workers = 2}};
    const auto sends = [](broadcast<int>& into) -> task<> {
        for (int i = 0; i != count; ++i) EXPECT_TRUE(co_await into.send(i));
    };
    const auto receives = [&]() -> task<int> {
        std::array<int, 2> next{0, 0};
        const auto takes = [&](std::size_t which, const waited<held<const int>>& got) {
            EXPECT_TRUE(got);
            EXPECT_EQ(**got, next[which]++);
        };
        const auto first = [&](const auto& got) { takes(0, got); };
        const auto second = [&](const auto& got) { takes(1, got); };
        while (next[0] + next[1] != 2 * count) {
            co_await select(on(from_a.receive(), first), on(from_b.receive(), second));
        }
        co_return next[0] + next[1];
    };
    auto receiving = spawn(home, receives());
    auto one = spawn(home, sends(a));
    auto two = spawn(home, sends(b));
    EXPECT_EQ(std::move(receiving).get(), 2 * count);
    std::move(one).get();
    std::move(two).get();
}

}  // namespace
}  // namespace fairlead::fanout_select_tests
