// Channels: values in order, waits of senders and receivers, and their ends.
#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::channel_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;
using values = std::vector<int>;

task<> receives_all(channel<int>& from, values& into) {
    while (auto next = co_await from.receive()) into.push_back(*next);
}

task<> sends(channel<int>& into, int first, int last) {
    for (int i = first; i != last; ++i) {
        int value = i;
        EXPECT_TRUE(co_await into.send(std::move(value)));
    }
}

values from_to(int first, int last) {
    values numbers;
    for (int i = first; i != last; ++i) numbers.push_back(i);
    return numbers;
}

// docs/manual/channels.md
static_assert(sizeof(channel<int>) <= 192 && sizeof(channel<std::string>) <= 192);

class Channels : public testing::TestWithParam<std::size_t> {};

TEST_P(Channels, ElementsArriveInOrder) {
    simulation sim;
    channel<int> one{GetParam()};
    values received;
    auto receiver = spawn(sim.scheduler, receives_all(one, received));
    auto sender = spawn(sim.scheduler, sends(one, 0, 1000));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(sender.ended());
    one.close();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(receiver.ended());
    EXPECT_EQ(received, from_to(0, 1000));
}

TEST_P(Channels, EachElementOfManySendersArrivesOnceAtManyReceivers) {
    constexpr int senders = 4;
    constexpr int each = 5000;
    channel<int> one{GetParam()};
    std::array<values, 3> received;
    {
        scheduler scheduler{{.workers = 2}};
        std::vector<join_handle<void>> sending;
        std::vector<join_handle<void>> receiving;
        for (auto& into : received) receiving.push_back(spawn(scheduler, receives_all(one, into)));
        for (int i = 0; i != senders; ++i) {
            sending.push_back(spawn(scheduler, sends(one, i * each, (i + 1) * each)));
        }
        for (auto& task : sending) std::move(task).get();
        one.close();
        for (auto& task : receiving) std::move(task).get();
    }
    std::vector<int> times(senders * each, 0);
    for (const values& got : received) {
        std::array<int, senders> last;
        last.fill(-1);
        for (const int value : got) {
            ++times[static_cast<std::size_t>(value)];
            int& before = last[static_cast<std::size_t>(value / each)];
            EXPECT_LT(before, value) << "the elements of a sender are in order";
            before = value;
        }
    }
    for (const int count : times) EXPECT_EQ(count, 1);
}

INSTANTIATE_TEST_SUITE_P(Capacities, Channels,
                         testing::Values(1, 2, 31, 32, 33, 1000, channel<int>::unbounded));

TEST(Channel, ASenderWaitsForAPlace) {
    simulation sim;
    channel<int> one{3};
    auto sender = spawn(sim.scheduler, sends(one, 0, 10));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.length(), 3U);
    EXPECT_FALSE(sender.ended());
    EXPECT_EQ(one.try_receive(), 0);
    EXPECT_EQ(one.length(), 3U) << "the sender's value has the place at once";
    int late = 99;
    EXPECT_EQ(one.try_send(std::move(late)).error(), wait_error::would_wait);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.try_receive(), 1);
    EXPECT_EQ(one.try_send(std::move(late)).error(), wait_error::would_wait)
        << "the place is the waiting sender's";
    sim.scheduler.run_until_idle();
    values rest;
    for (int i = 0; i != 8; ++i) {
        rest.push_back(one.try_receive().value_or(-1));
        sim.scheduler.run_until_idle();
    }
    EXPECT_EQ(rest, from_to(2, 10));
    EXPECT_TRUE(sender.ended());
    EXPECT_EQ(one.try_receive().error(), wait_error::would_wait);
}

TEST(Channel, WaitingReceiversAreServedInOrder) {
    simulation sim;
    channel<int> one{8};
    std::array<int, 3> got{};
    const auto takes = [&](int& into) -> task<> { into = *co_await one.receive(); };
    for (int& each : got) spawn(sim.scheduler, takes(each)).detach();
    sim.scheduler.run_until_idle();
    std::array<int, 3> sent{1, 2, 3};
    EXPECT_EQ(one.try_send_many(sent), 3U);
    EXPECT_EQ(one.length(), 0U) << "each was handed over";
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, (std::array<int, 3>{1, 2, 3}));
}

// --- the end of a wait ---------------------------------------------------------------------------

TEST(Channel, ADeadlineEndsAReceive) {
    simulation sim;
    channel<int> one{1};
    const auto takes = [&]() -> task<wait_error> {
        co_return (co_await one.receive(sim.clock.now() + 5ms)).error();
    };
    auto receiver = spawn(sim.scheduler, takes());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(std::move(receiver).get(), wait_error::expired);
    EXPECT_TRUE(one.try_send(1)) << "nothing waits";
    EXPECT_EQ(one.length(), 1U);
}

TEST(Channel, APassedDeadlineIsOneTry) {
    simulation sim;
    channel<int> one{1};
    EXPECT_TRUE(one.try_send(7));
    const auto takes = [&]() -> task<> {
        EXPECT_EQ(co_await one.receive(immediately), 7);
        EXPECT_EQ((co_await one.receive(immediately)).error(), wait_error::expired);
    };
    auto receiver = spawn(sim.scheduler, takes());
    sim.scheduler.run_until_idle();
    std::move(receiver).get();
}

// tokio's send loses the value.
TEST(Channel, ASendThatFailsKeepsItsValue) {
    simulation sim;
    channel<std::unique_ptr<int>> one{1};
    EXPECT_TRUE(one.try_send(std::make_unique<int>(1)));
    const auto sends_late = [&]() -> task<> {
        auto mine = std::make_unique<int>(2);
        EXPECT_EQ((co_await one.send(std::move(mine), sim.clock.now() + 1ms)).error(),
                  wait_error::expired);
        EXPECT_EQ(*mine, 2);
        EXPECT_EQ(one.try_send(std::move(mine)).error(), wait_error::would_wait);
        EXPECT_EQ(*mine, 2);
        one.close();
        EXPECT_EQ((co_await one.send(std::move(mine))).error(), wait_error::closed);
        EXPECT_EQ(*mine, 2);
    };
    auto sender = spawn(sim.scheduler, sends_late());
    sim.scheduler.run_until_idle();
    std::move(sender).get();
    EXPECT_EQ(**one.try_receive(), 1);
}

// A consumer whose channel is never empty hears of a stop within one receive.
TEST(Channel, AStopIsHeardBeforeAnElementIsTaken) {
    simulation sim;
    channel<int> one{4};
    for (int i = 0; i != 4; ++i) EXPECT_TRUE(one.try_send(int{i}));
    std::optional<wait_error> ended;
    const auto takes = [&]() -> task<> {
        const auto got = co_await one.receive();
        if (!got) ended = got.error();
    };
    auto receiver = spawn(sim.scheduler, takes());
    receiver.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(ended, wait_error::stopped);
    EXPECT_EQ(one.length(), 4U);
}

TEST(Channel, AStopEndsAWaitAndLosesNothing) {
    simulation sim;
    channel<int> one{1};
    values received;
    auto stopped = spawn(sim.scheduler, receives_all(one, received));
    sim.scheduler.run_until_idle();
    stopped.request_stop();
    EXPECT_TRUE(one.try_send(5));  // the receive is still there, and has it
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(stopped.ended());
    EXPECT_EQ(received, values{5}) << "what was handed over arrives";
}

// Items that a task was to receive, when its scheduler is destroyed, are handed to `on_dropped`.
TEST(Channel, AnElementThatDoesNotArriveIsDropped) {
    values dropped;
    values received;
    channel<int> one{2};
    one.on_dropped([into = &dropped](int&& value) { into->push_back(value); });
    {
        scheduler home{{.stop_limit = 0ms, .run_on_caller = true}};
        spawn(home, receives_all(one, received)).detach();
        home.run_until_idle();
        EXPECT_TRUE(one.try_send(1));
        EXPECT_TRUE(one.try_send(2));
    }
    EXPECT_EQ(received, values{});
    EXPECT_EQ(dropped, values{1});
    EXPECT_EQ(one.try_receive(), 2);
}

// --- close ---------------------------------------------------------------------------------------

TEST(Channel, AfterACloseReceiversTakeWhatIsLeft) {
    simulation sim;
    channel<int> one{2};
    auto sender = spawn(sim.scheduler, [](channel<int>& into) -> task<wait_error> {
        for (int i = 0;; ++i) {
            if (const auto sent = co_await into.send(int{i}); !sent) co_return sent.error();
        }
    }(one));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(one.close());
    EXPECT_FALSE(one.close()) << "it is closed";
    sim.scheduler.run_until_idle();
    EXPECT_EQ(std::move(sender).get(), wait_error::closed);
    EXPECT_EQ(one.try_receive(), 0);
    EXPECT_EQ(one.try_receive(), 1);
    EXPECT_EQ(one.try_receive().error(), wait_error::closed);
    EXPECT_EQ(one.try_send(3).error(), wait_error::closed);
    EXPECT_TRUE(one.is_closed());
}

TEST(Channel, ACloseEndsEachReceiver) {
    simulation sim;
    channel<int> one{2};
    std::array<values, 5> nothing;
    std::vector<join_handle<void>> receivers;
    for (auto& into : nothing) receivers.push_back(spawn(sim.scheduler, receives_all(one, into)));
    sim.scheduler.run_until_idle();
    one.close();
    sim.scheduler.run_until_idle();
    for (auto& each : receivers) EXPECT_TRUE(each.ended());
}

// tokio#8260: the last permit returns after the close, and ends the receivers.
TEST(Channel, APermitOutlastsTheClose) {
    simulation sim;
    channel<int> one{2};
    auto first = one.try_reserve();
    auto second = one.try_reserve();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(one.try_send(1).error(), wait_error::would_wait) << "both places are reserved";
    values received;
    auto receiver = spawn(sim.scheduler, receives_all(one, received));
    sim.scheduler.run_until_idle();
    one.close();
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(receiver.ended()) << "two permits may still bring elements";
    EXPECT_TRUE(std::move(*first).send(8));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(receiver.ended());
    *second = {};
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(receiver.ended());
    EXPECT_EQ(received, values{8});
}

// tokio#7714
TEST(Channel, APermitOfAChannelWithoutReceiversKeepsTheValue) {
    channel<std::unique_ptr<int>> one{1};
    auto place = one.try_reserve();
    one.close_and_drop();
    auto mine = std::make_unique<int>(3);
    EXPECT_EQ(std::move(*place).send(std::move(mine)).error(), wait_error::closed);
    EXPECT_EQ(*mine, 3);
}

TEST(Channel, ReservationsWaitInOrderWithSends) {
    simulation sim;
    channel<int> one{1};
    EXPECT_TRUE(one.try_send(0));
    std::vector<int> order;
    const auto reserves = [&]() -> task<> {
        auto place = co_await one.reserve();
        order.push_back(1);
        EXPECT_TRUE(std::move(*place).send(1));
    };
    const auto sends_two = [&]() -> task<> {
        EXPECT_TRUE(co_await one.send(2));
        order.push_back(2);
    };
    spawn(sim.scheduler, reserves()).detach();
    sim.scheduler.run_until_idle();
    spawn(sim.scheduler, sends_two()).detach();
    sim.scheduler.run_until_idle();
    for (int i = 0; i != 3; ++i) {
        EXPECT_EQ(one.try_receive(), i);
        sim.scheduler.run_until_idle();
    }
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

// All places are reserved: a value goes to a receiver without a place.
TEST(Channel, AReservedChannelStillHandsOver) {
    simulation sim;
    channel<int> one{1};
    auto place = one.try_reserve();
    auto sender = spawn(sim.scheduler, sends(one, 1, 2));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(sender.ended());
    EXPECT_EQ(one.try_receive(), 1);
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(sender.ended());
    EXPECT_TRUE(std::move(*place).send(2));
    EXPECT_EQ(one.try_receive(), 2);
}

// A reservation that gives up lets the value behind it go to the receiver that waits.
TEST(Channel, AReservationThatGivesUpLetsTheNextOneIn) {
    simulation sim;
    channel<int> one{1};
    auto place = one.try_reserve();
    values received;
    auto receiver = spawn(sim.scheduler, receives_all(one, received));
    auto reserver = spawn(sim.scheduler, [](channel<int>& of) -> task<> {
        EXPECT_EQ((co_await of.reserve()).error(), wait_error::stopped);
    }(one));
    sim.scheduler.run_until_idle();
    auto sender = spawn(sim.scheduler, sends(one, 1, 2));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(received, values{}) << "the value does not overtake the reservation";
    reserver.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(received, values{1});
    EXPECT_TRUE(sender.ended());
    *place = {};
    one.close();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(receiver.ended());
}

// --- policies ------------------------------------------------------------------------------------

TEST(Channel, RefusesTheNewest) {
    simulation sim;
    channel<int> one{2, when_full::refuse};
    const auto sends_three = [&]() -> task<> {
        EXPECT_TRUE(co_await one.send(1));
        EXPECT_TRUE(co_await one.send(2));
        EXPECT_EQ((co_await one.send(3)).error(), wait_error::would_wait);
    };
    auto sender = spawn(sim.scheduler, sends_three());
    sim.scheduler.run_until_idle();
    std::move(sender).get();
}

TEST(Channel, DropsTheOldest) {
    values dropped;
    channel<int> one{2, when_full::drop_oldest};
    one.on_dropped([into = &dropped](int&& value) { into->push_back(value); });
    auto sent = from_to(0, 5);
    EXPECT_EQ(one.try_send_many(sent), 5U);
    EXPECT_EQ(dropped, from_to(0, 3));
    EXPECT_EQ(one.try_receive(), 3);
    EXPECT_EQ(one.try_receive(), 4);
}

TEST(Channel, DropsTheNewest) {
    values dropped;
    channel<int> one{2, when_full::drop_newest};
    one.on_dropped([into = &dropped](int&& value) { into->push_back(value); });
    auto sent = from_to(0, 5);
    EXPECT_EQ(one.try_send_many(sent), 5U);
    EXPECT_EQ(dropped, from_to(2, 5));
    EXPECT_EQ(one.try_receive(), 0);
    EXPECT_EQ(one.try_receive(), 1);
}

TEST(Channel, CloseAndDropDropsWhatIsLeft) {
    values dropped;
    {
        channel<int> one{channel<int>::unbounded};
        one.on_dropped([into = &dropped](int&& value) { into->push_back(value); });
        for (int i = 0; i != 100; ++i) EXPECT_TRUE(one.try_send(int{i}));
        EXPECT_TRUE(one.close_and_drop());
        EXPECT_EQ(one.try_receive().error(), wait_error::closed);
    }
    EXPECT_EQ(dropped, from_to(0, 100)) << "once";
}

// crossbeam#1187
TEST(Channel, ItsDestructorDropsEachElementOnce) {
    const auto counted = std::make_shared<int>();
    {
        channel<std::shared_ptr<int>> one{40};
        for (int i = 0; i != 40; ++i) EXPECT_TRUE(one.try_send(std::shared_ptr{counted}));
        EXPECT_EQ(counted.use_count(), 41);
        for (int i = 0; i != 5; ++i) EXPECT_TRUE(one.try_receive());
        EXPECT_EQ(counted.use_count(), 36);
    }
    EXPECT_EQ(counted.use_count(), 1);
}

// --- many at once --------------------------------------------------------------------------------

TEST(Channel, ManyAreSentAndReceivedWithOneWait) {
    simulation sim;
    channel<int> one{16};
    values received;
    const auto takes = [&]() -> task<> {
        std::array<int, 10> some{};
        while (const auto count = co_await one.receive_many(some)) {
            EXPECT_GE(*count, 1U);
            received.insert(received.end(), some.begin(), some.begin() + static_cast<int>(*count));
        }
    };
    const auto gives = [&]() -> task<> {
        auto sent = from_to(0, 100);
        EXPECT_EQ(co_await one.send_many(sent), 100U);
    };
    auto receiver = spawn(sim.scheduler, takes());
    auto sender = spawn(sim.scheduler, gives());
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(sender.ended());
    one.close();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(receiver.ended());
    EXPECT_EQ(received, from_to(0, 100));
}

TEST(Channel, ASendOfManyThatEndsEarlySaysHowManyWereSent) {
    simulation sim;
    channel<int> one{4};
    const auto gives = [&]() -> task<> {
        auto sent = from_to(0, 10);
        EXPECT_EQ(co_await one.send_many(sent, sim.clock.now() + 1ms), 4U);
        EXPECT_EQ((co_await one.send_many(sent, sim.clock.now() + 1ms)).error(),
                  wait_error::expired);
        EXPECT_EQ(one.try_send_many({}), 0U);
    };
    spawn(sim.scheduler, gives()).get();
    EXPECT_EQ(one.length(), 4U);
}

// --- threads -------------------------------------------------------------------------------------

TEST(Channel, ThreadsSendAndReceive) {
    channel<int> there{4};
    channel<int> back{4};
    scheduler scheduler{{.workers = 1}};
    const auto echoes = [&]() -> task<> {
        while (auto next = co_await there.receive()) {
            EXPECT_TRUE(co_await back.send(*next + 1));
        }
        back.close();
    };
    spawn(scheduler, echoes()).detach();
    for (int i = 0; i != 1000; ++i) {
        ASSERT_TRUE(there.send_blocking(int{i}));
        ASSERT_EQ(back.receive_blocking(), i + 1);
    }
    EXPECT_EQ(back.receive_blocking(clock::now() + 1ms).error(), wait_error::expired);
    there.close();
    EXPECT_EQ(back.receive_blocking().error(), wait_error::closed);
    scheduler.drain();
}

// The first act of the task that has received the last element is to destroy the channel.
TEST(Channel, AReceiverMayDestroyTheChannel) {
    for (int i = 0; i != 300; ++i) {
        scheduler scheduler{{.workers = 2}};
        auto one = std::make_unique<channel<int>>(1);
        const auto takes = [&]() -> task<> {
            EXPECT_EQ(co_await one->receive(), 1);
            one.reset();
        };
        auto receiver = spawn(scheduler, takes());
        EXPECT_TRUE(one->try_send(1));
        std::move(receiver).get();
    }
}

TEST(ChannelDeathTest, NeedsRoomForOneElement) {
    EXPECT_DEATH(channel<int>{0}, "a channel needs room for one element");
}

}  // namespace
}  // namespace fairlead::channel_tests
