// Broadcasts: each value at each subscription or counted, the three rules for a subscription that
// lags, and the ends of waits.
#include <fairlead/channel/broadcast.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::broadcast_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;
using values = std::vector<int>;

task<> receives_all(subscription<int>& from, values& into) {
    while (const auto next = co_await from.receive()) into.push_back(**next);
}

values drained(subscription<int>& from) {
    values all;
    while (const auto next = from.try_receive()) all.push_back(**next);
    return all;
}

TEST(Broadcast, EachSubscriptionReceivesEachValueInOrder) {
    simulation sim;
    broadcast<int> one{4, lag::wait};
    std::array<subscription<int>, 3> subs{one.subscribe(), one.subscribe(), one.subscribe()};
    std::array<values, 3> got;
    std::vector<join_handle<void>> receiving;
    for (std::size_t i = 0; i != 3; ++i) {
        receiving.push_back(spawn(sim.scheduler, receives_all(subs[i], got[i])));
    }
    const auto sends = [&]() -> task<> {
        for (int i = 0; i != 100; ++i) EXPECT_TRUE(co_await one.send(i));
    };
    spawn(sim.scheduler, sends()).get();
    one.close();
    sim.scheduler.run_until_idle();
    for (const values& each : got) {
        ASSERT_EQ(each.size(), 100U);
        for (int i = 0; i != 100; ++i) EXPECT_EQ(each[static_cast<std::size_t>(i)], i);
    }
    for (auto& each : receiving) std::move(each).get();
}

TEST(Broadcast, SubscriptionsShareTheValue) {
    broadcast<std::string> one{2};
    auto first = one.subscribe();
    auto second = one.subscribe();
    const auto sent = make_held<std::string>("text");
    EXPECT_TRUE(one.try_send(sent));
    const auto a = *first.try_receive();
    const auto b = *second.try_receive();
    EXPECT_TRUE(a == sent && b == sent) << "one object for all";
    EXPECT_EQ(*a, "text");
    EXPECT_EQ(b->size(), 4U);
}

// --- a subscription that lags --------------------------------------------------------------------

TEST(Broadcast, SkipsTheOldestAndSaysHowMany) {
    broadcast<int> one{3};
    auto slow = one.subscribe();
    for (int i = 0; i != 10; ++i) EXPECT_TRUE(one.try_send(int{i}));
    EXPECT_EQ(slow.take_skipped(), 0U) << "it is known with the next value";
    EXPECT_EQ(**slow.try_receive(), 7);
    EXPECT_EQ(slow.take_skipped(), 7U);
    EXPECT_EQ(slow.take_skipped(), 0U);
    EXPECT_TRUE(one.try_send(10));
    EXPECT_TRUE(one.try_send(11));
    EXPECT_EQ(drained(slow), (values{9, 10, 11}));
    EXPECT_EQ(slow.take_skipped(), 1U) << "8 was overwritten";
    EXPECT_FALSE(slow.fell_behind());
}

TEST(Broadcast, ASenderWaitsForTheSlowestSubscription) {
    simulation sim;
    broadcast<int> one{2, lag::wait};
    auto fast = one.subscribe();
    auto slow = one.subscribe();
    int sent = 0;
    const auto sends = [&]() -> task<> {
        for (; sent != 5; ++sent) EXPECT_TRUE(co_await one.send(sent));
    };
    auto sending = spawn(sim.scheduler, sends());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sent, 2);
    EXPECT_EQ(one.try_send(9).error(), wait_error::would_wait);
    EXPECT_EQ(drained(fast), (values{0, 1}));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sent, 2) << "the slow one has not received 0";
    EXPECT_EQ(**slow.try_receive(), 0);
    EXPECT_EQ(one.try_send(9).error(), wait_error::would_wait) << "the place is the sender's";
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sent, 3);
    EXPECT_EQ(drained(slow), (values{1, 2, 3})) << "3 was admitted when 1 was received";
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sent, 4) << "the fast one lags now";
    EXPECT_EQ(drained(fast), (values{2, 3, 4}));
    EXPECT_EQ(drained(slow), values{4});
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(sending.ended());
    EXPECT_EQ(fast.take_skipped() + slow.take_skipped(), 0U);
}

TEST(Broadcast, TheEndOfASubscriptionLetsTheSenderGoOn) {
    simulation sim;
    broadcast<int> one{2, lag::wait};
    auto fast = one.subscribe();
    std::optional<subscription<int>> slow{one.subscribe()};
    values got;
    auto receiving = spawn(sim.scheduler, receives_all(fast, got));
    const auto sends = [&]() -> task<> {
        for (int i = 0; i != 5; ++i) EXPECT_TRUE(co_await one.send(i));
    };
    auto sending = spawn(sim.scheduler, sends());
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(sending.ended());
    slow.reset();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(sending.ended());
    one.close();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, (values{0, 1, 2, 3, 4}));
}

TEST(Broadcast, ASubscriptionThatFallsBehindIsClosed) {
    broadcast<int> one{2, lag::close};
    auto slow = one.subscribe();
    auto fast = one.subscribe();
    EXPECT_TRUE(one.try_send(0));
    EXPECT_TRUE(one.try_send(1));
    EXPECT_EQ(**fast.try_receive(), 0);
    EXPECT_TRUE(one.try_send(2));
    EXPECT_EQ(slow.try_receive().error(), wait_error::closed);
    EXPECT_TRUE(slow.fell_behind());
    EXPECT_EQ(slow.try_receive().error(), wait_error::closed) << "for good";
    EXPECT_EQ(drained(fast), (values{1, 2}));
    EXPECT_FALSE(fast.fell_behind());
    EXPECT_FALSE(one.is_closed());
    slow = one.subscribe();
    EXPECT_FALSE(slow.fell_behind()) << "a new one";
    EXPECT_TRUE(one.try_send(3));
    EXPECT_EQ(drained(slow), values{3});
}

// --- subscriptions -------------------------------------------------------------------------------

TEST(Broadcast, ANewSubscriptionBeginsAtTheTailOrReplays) {
    broadcast<int> one{4};
    for (int i = 0; i != 3; ++i) EXPECT_TRUE(one.try_send(int{i}));
    auto at_tail = one.subscribe();
    auto two = one.subscribe(2);
    auto all = one.subscribe(100);
    EXPECT_EQ(one.subscriptions(), 3U);
    EXPECT_EQ(at_tail.try_receive().error(), wait_error::would_wait);
    EXPECT_EQ(drained(two), (values{1, 2}));
    EXPECT_EQ(drained(all), (values{0, 1, 2}));
    EXPECT_TRUE(one.try_send(3));
    EXPECT_EQ(drained(at_tail), values{3});
    for (int i = 4; i != 8; ++i) EXPECT_TRUE(one.try_send(int{i}));
    auto last = one.subscribe(100);
    EXPECT_EQ(drained(last), (values{4, 5, 6, 7}));
    EXPECT_EQ(last.take_skipped(), 0U);
    one.close();
    auto late = one.subscribe(1);
    EXPECT_EQ(drained(late), values{7});
    EXPECT_EQ(late.try_receive().error(), wait_error::closed);
}

TEST(Broadcast, ASenderWaitsForWhatIsReplayed) {
    broadcast<int> one{2, lag::wait};
    EXPECT_TRUE(one.try_send(0));
    EXPECT_TRUE(one.try_send(1));
    EXPECT_TRUE(one.try_send(2)) << "without a subscription it never waits";
    auto replays = one.subscribe(2);
    EXPECT_EQ(one.try_send(3).error(), wait_error::would_wait);
    EXPECT_EQ(**replays.try_receive(), 1);
    EXPECT_TRUE(one.try_send(3));
    auto moved = std::move(replays);
    EXPECT_FALSE(replays);
    EXPECT_EQ(drained(moved), (values{2, 3}));
    EXPECT_EQ(one.subscriptions(), 1U);
    moved = {};
    EXPECT_EQ(one.subscriptions(), 0U);
}

// --- ends of waits -------------------------------------------------------------------------------

TEST(Broadcast, WaitsEndByDeadlineStopAndClose) {
    simulation sim;
    broadcast<int> one{1, lag::wait};
    auto sub = one.subscribe();
    EXPECT_EQ(spawn(sim.scheduler,
                    [&]() -> task<wait_error> {
                        co_return (co_await sub.receive(sim.scheduler.now() + 1ms)).error();
                    }())
                  .get(),
              wait_error::expired);
    const auto receives = [&]() -> task<wait_error> {
        const auto next = co_await sub.receive();
        co_return next ? wait_error::would_wait : next.error();
    };
    auto receiving = spawn(sim.scheduler, receives());
    sim.scheduler.run_until_idle();
    receiving.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(std::move(receiving).get(), wait_error::stopped);

    const auto value = make_held<int>(7);
    EXPECT_TRUE(one.try_send(value));
    const auto sends = [&](time_point deadline) -> task<wait_error> {
        const auto sent = co_await one.send(value, deadline);
        co_return sent ? wait_error::would_wait : sent.error();
    };
    EXPECT_EQ(spawn(sim.scheduler, sends(sim.scheduler.now() + 1ms)).get(), wait_error::expired);
    auto stopped = spawn(sim.scheduler, sends(never));
    sim.scheduler.run_until_idle();
    stopped.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(std::move(stopped).get(), wait_error::stopped);
    auto closed = spawn(sim.scheduler, sends(never));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(one.close());
    EXPECT_FALSE(one.close());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(std::move(closed).get(), wait_error::closed);
    EXPECT_EQ(drained(sub), values{7}) << "what is left is received";
    EXPECT_EQ(spawn(sim.scheduler, receives()).get(), wait_error::closed);
}

TEST(Broadcast, ASendWithoutAWaitHearsOfTheStop) {
    simulation sim;
    broadcast<int> one{1};
    const auto sends = [&]() -> task<int> {
        int sent = 0;
        while (co_await one.send(1)) ++sent;
        co_return sent;
    };
    auto sending = spawn(sim.scheduler, sends());
    sending.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(std::move(sending).get(), 0);
}

TEST(Broadcast, ThreadsWaitToo) {
    test::watchdog guard;
    broadcast<int> one{2, lag::wait};
    auto sub = one.subscribe();
    EXPECT_EQ(sub.receive_blocking(clock::system_now() + 1ms).error(), wait_error::expired);
    std::jthread sends{[&] {
        for (int i = 0; i != 1000; ++i) EXPECT_TRUE(one.send_blocking(i));
        one.close();
    }};
    int expected = 0;
    while (const auto next = sub.receive_blocking()) EXPECT_EQ(**next, expected++);
    EXPECT_EQ(expected, 1000);
}

// A waiting subscription receives the value that was sent while it waited, however many follow.
TEST(Broadcast, AWaitIsGivenItsValueThoughItIsOverwritten) {
    simulation sim;
    broadcast<int> one{1};
    auto sub = one.subscribe();
    values got;
    auto receiving = spawn(sim.scheduler, receives_all(sub, got));
    sim.scheduler.run_until_idle();
    for (int i = 0; i != 4; ++i) EXPECT_TRUE(one.try_send(int{i}));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, (values{0, 3}));
    one.close();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(receiving.ended());
    EXPECT_EQ(sub.take_skipped(), 2U);
}

// A task is destroyed with its scheduler while it waits, or after it was given a value.
TEST(Broadcast, WhatWaitsLeavesWithItsScheduler) {
    broadcast<int> one{1, lag::wait};
    auto sub = one.subscribe();
    for (const bool granted : {false, true}) {
        {
            scheduler home{{.stop_limit = 0ms, .run_on_caller = true}};
            const auto receives = [&]() -> task<> { static_cast<void>(co_await sub.receive()); };
            spawn(home, receives()).detach();
            home.run_until_idle();
            if (granted) {
                EXPECT_TRUE(one.try_send(1));
            }
        }
        EXPECT_EQ(sub.try_receive().error(), wait_error::would_wait);
    }
    EXPECT_TRUE(one.try_send(2));
    {
        scheduler home{{.stop_limit = 0ms, .run_on_caller = true}};
        const auto sends = [&]() -> task<> { static_cast<void>(co_await one.send(3)); };
        spawn(home, sends()).detach();
        home.run_until_idle();
    }
    EXPECT_EQ(drained(sub), values{2}) << "the sender's value has gone with it";
}

// --- values --------------------------------------------------------------------------------------

// A value whose destructor uses the broadcast: it would wait for itself under a lock.
struct uses_it {
    broadcast<uses_it>* of = nullptr;
    uses_it() = default;
    explicit uses_it(broadcast<uses_it>& its) noexcept : of{&its} {}
    uses_it(uses_it&& other) noexcept : of{std::exchange(other.of, nullptr)} {}
    ~uses_it() {
        if (of != nullptr) static_cast<void>(of->subscriptions());
    }
};

TEST(Broadcast, DestructorsRunWithoutTheLock) {
    test::watchdog guard;
    simulation sim;
    broadcast<uses_it> one{1, lag::wait};
    EXPECT_TRUE(one.try_send(uses_it{one}));
    EXPECT_TRUE(one.try_send(uses_it{one})) << "ends the first one";
    auto sub = one.subscribe();
    const auto sends = [&]() -> task<> {
        for (int i = 0; i != 3; ++i) EXPECT_TRUE(co_await one.send(uses_it{one}));
    };
    auto sending = spawn(sim.scheduler, sends());
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(sending.ended()) << "the second one waits";
    for (int i = 0; i != 3; ++i) {
        EXPECT_TRUE(sub.try_receive());
        sim.scheduler.run_until_idle();
    }
    EXPECT_TRUE(sending.ended());
    EXPECT_TRUE(one.try_send(uses_it{})) << "what ends with the broadcast must not use it";
}

TEST(Broadcast, AValueEndsWithItsLastShare) {
    auto probe = std::make_shared<int>(1);
    broadcast<std::shared_ptr<const int>> one{1};
    auto sub = one.subscribe();
    EXPECT_TRUE(one.try_send(probe));
    const auto mine = *sub.try_receive();
    EXPECT_TRUE(one.try_send(std::shared_ptr<const int>{}));
    EXPECT_EQ(probe.use_count(), 2) << "the reader has a share";
    auto copy = mine;
    copy = held<const std::shared_ptr<const int>>{};
    EXPECT_EQ(**mine, 1);
}

// --- races ---------------------------------------------------------------------------------------

class BroadcastRules : public testing::TestWithParam<lag> {};

TEST_P(BroadcastRules, EachValueIsReceivedOrCounted) {
    test::watchdog guard;
    constexpr int count = 3000;
    constexpr int senders = 2;
    broadcast<int> one{8, GetParam()};
    std::array<subscription<int>, 4> subs{one.subscribe(), one.subscribe(), one.subscribe(),
                                          one.subscribe()};
    std::array<std::atomic<int>, 4> received{};
    {
        scheduler home{{.workers = 2}};
        const auto receives = [](subscription<int>& from, std::atomic<int>& got) -> task<> {
            std::array<int, senders> last;
            last.fill(-1);
            while (const auto next = co_await from.receive()) {
                int& before = last[static_cast<std::size_t>(**next / count)];
                EXPECT_LT(before, **next) << "the values of a sender are in order";
                before = **next;
                ++got;
            }
        };
        const auto sends = [&](int sender) -> task<> {
            for (int i = 0; i != count; ++i) EXPECT_TRUE(co_await one.send(sender * count + i));
        };
        std::vector<join_handle<void>> tasks;
        for (std::size_t i = 0; i != 4; ++i) {
            tasks.push_back(spawn(home, receives(subs[i], received[i])));
        }
        auto first = spawn(home, sends(0));
        auto second = spawn(home, sends(1));
        std::move(first).get();
        std::move(second).get();
        one.close();
        for (auto& each : tasks) std::move(each).get();
    }
    for (std::size_t i = 0; i != 4; ++i) {
        const auto skipped = static_cast<int>(subs[i].take_skipped());
        if (GetParam() == lag::close && subs[i].fell_behind()) {
            EXPECT_LT(received[i], senders * count);
            continue;
        }
        EXPECT_EQ(received[i] + skipped, senders * count);
        if (GetParam() == lag::wait) {
            EXPECT_EQ(skipped, 0);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Lags, BroadcastRules, testing::Values(lag::skip, lag::wait, lag::close));

// tokio#5923: the end of what waits is linear, also if each one waits again at once.
TEST(Broadcast, AThousandWaitsEndInOnePass) {
    simulation sim;
    constexpr int subs = 1000;
    constexpr int sends = 20;
    broadcast<int> one{1};
    std::vector<subscription<int>> all;
    int received = 0;
    const auto receives = [&](subscription<int>& from) -> task<> {
        while (co_await from.receive()) ++received;
    };
    for (int i = 0; i != subs; ++i) all.push_back(one.subscribe());
    std::vector<join_handle<void>> tasks;
    for (auto& each : all) tasks.push_back(spawn(sim.scheduler, receives(each)));
    sim.scheduler.run_until_idle();
    for (int i = 1; i <= sends; ++i) {
        EXPECT_TRUE(one.try_send(int{i}));
        sim.scheduler.run_until_idle();
        EXPECT_EQ(received, i * subs) << "each exactly once";
    }
    one.close();
    for (auto& each : tasks) std::move(each).get();
}

// --- misuse --------------------------------------------------------------------------------------

TEST(BroadcastDeathTest, MisuseIsAnError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(broadcast<int>{0}, "a broadcast needs room for one value");
    const auto outlives = [] {
        auto one = std::make_unique<broadcast<int>>(1);
        const auto sub = one->subscribe();
        one.reset();
    };
    EXPECT_DEATH(outlives(), "a broadcast was destroyed while it has a subscription");
    subscription<int> none;
    EXPECT_DEATH(static_cast<void>(none.try_receive()), "a subscription was used that is none");
    const auto asks_twice = [] {
        simulation sim;
        broadcast<int> one{1};
        auto sub = one.subscribe();
        const auto waits = [&]() -> task<> { static_cast<void>(co_await sub.receive()); };
        spawn(sim.scheduler, waits()).detach();
        spawn(sim.scheduler, waits()).detach();
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(asks_twice(), "a subscription was asked twice");
    const auto uses_while_it_waits = [] {
        simulation sim;
        broadcast<int> one{1};
        auto sub = one.subscribe();
        const auto waits = [&]() -> task<> { static_cast<void>(co_await sub.receive()); };
        spawn(sim.scheduler, waits()).detach();
        sim.scheduler.run_until_idle();
        static_cast<void>(sub.try_receive());
    };
    EXPECT_DEATH(uses_while_it_waits(), "used while a receive waits for it");
    broadcast<int> one{1};
    EXPECT_DEATH(static_cast<void>(one.try_send(held<const int>{})), "is a value");
    const held<const int> nothing;
    EXPECT_DEATH(static_cast<void>(*nothing), "a held value was used that is none");
}

}  // namespace
}  // namespace fairlead::broadcast_tests
