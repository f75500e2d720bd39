// Channels: what meets at an edge. Reservations beside sends that drop, sends of nothing, values of
// unusual types, and misuse.
#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <any>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead::edges_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;
using values = std::vector<int>;

// --- sends that drop -----------------------------------------------------------------------------

task<> receives_all(channel<int>& from, values& into) {
    while (auto next = co_await from.receive()) into.push_back(*next);
}

struct dropping {
    explicit dropping(std::size_t capacity, when_full policy) : one{capacity, policy} {
        one.on_dropped([into = &dropped](int&& value) { into->push_back(value); });
    }
    task<> reserves() {
        place = co_await one.reserve();
        reserved = place.has_value();
    }

    simulation sim;
    values dropped;
    channel<int> one;
    waited<channel_permit<int>> place = std::unexpected{wait_error::would_wait};
    bool reserved = false;
};

// A reservation that waits has no value to be overtaken, and the send makes its own place.
TEST(ChannelDrops, TheOldestOnlyBesideAReservationThatWaits) {
    dropping of{2, when_full::drop_oldest};
    EXPECT_TRUE(of.one.try_send(1));
    EXPECT_TRUE(of.one.try_send(2));
    auto reserver = spawn(of.sim.scheduler, of.reserves());
    of.sim.scheduler.run_until_idle();
    EXPECT_FALSE(of.reserved);
    EXPECT_TRUE(of.one.try_send(3));
    EXPECT_EQ(of.dropped, values{1});
    EXPECT_EQ(of.one.length(), 2U);
    of.sim.scheduler.run_until_idle();
    EXPECT_FALSE(of.reserved) << "no place was freed";
    EXPECT_EQ(of.one.try_receive(), 2);
    of.sim.scheduler.run_until_idle();
    EXPECT_TRUE(of.reserved);
    EXPECT_TRUE(of.one.try_send(4));
    EXPECT_EQ(of.dropped, (values{1, 3})) << "the place is reserved";
    EXPECT_TRUE(std::move(*of.place).send(5));
    EXPECT_EQ(of.one.try_receive(), 4);
    EXPECT_EQ(of.one.try_receive(), 5);
}

TEST(ChannelDrops, TheNewestOnlyBesideAReservationThatWaits) {
    dropping of{2, when_full::drop_newest};
    EXPECT_TRUE(of.one.try_send(1));
    EXPECT_TRUE(of.one.try_send(2));
    auto reserver = spawn(of.sim.scheduler, of.reserves());
    of.sim.scheduler.run_until_idle();
    std::array<int, 2> more{3, 4};
    EXPECT_EQ(of.one.try_send_many(more), 2U);
    EXPECT_EQ(of.dropped, (values{3, 4}));
    EXPECT_EQ(of.one.try_receive(), 1);
    of.sim.scheduler.run_until_idle();
    EXPECT_TRUE(of.reserved);
    EXPECT_EQ(of.one.try_receive(), 2);
}

// A receiver needs no place: a reservation that waits does not make a send drop its value.
TEST(ChannelDrops, NothingThatAReceiverWaitsFor) {
    for (const when_full policy : {when_full::drop_oldest, when_full::drop_newest}) {
        dropping of{1, policy};
        auto first = of.one.try_reserve();
        ASSERT_TRUE(first);
        auto reserver = spawn(of.sim.scheduler, of.reserves());
        const auto takes = [&]() -> task<int> { co_return *co_await of.one.receive(); };
        auto receiver = spawn(of.sim.scheduler, takes());
        of.sim.scheduler.run_until_idle();
        EXPECT_TRUE(of.one.try_send(7));
        of.sim.scheduler.run_until_idle();
        EXPECT_EQ(of.dropped, values{});
        ASSERT_TRUE(receiver.ended());
        EXPECT_EQ(std::move(receiver).get(), 7);
        *first = {};
        of.sim.scheduler.run_until_idle();
        EXPECT_TRUE(of.reserved);
    }
}

TEST(ChannelDrops, ItsOwnValueWhenAllPlacesAreReserved) {
    for (const when_full policy : {when_full::drop_oldest, when_full::drop_newest}) {
        dropping of{2, policy};
        auto first = of.one.try_reserve();
        auto second = of.one.try_reserve();
        std::array<int, 2> more{3, 4};
        EXPECT_EQ(of.one.try_send_many(more), 2U);
        EXPECT_EQ(of.dropped, (values{3, 4}));
        EXPECT_EQ(of.one.length(), 0U);
    }
}

// What is told of a drop may close the channel: the value was taken, and so was sent.
TEST(ChannelDrops, AValueThatWasTakenWasSent) {
    for (const when_full policy : {when_full::drop_oldest, when_full::drop_newest}) {
        using value = std::unique_ptr<int>;
        channel<value> one{1, policy};
        one.on_dropped([of = &one](value&&) { of->close(); });
        EXPECT_TRUE(one.try_send(std::make_unique<int>(1)));
        auto mine = std::make_unique<int>(2);
        const bool sent = one.try_send(std::move(mine)).has_value();
        EXPECT_EQ(sent, mine == nullptr) << "with an error the value is unchanged";
        EXPECT_TRUE(sent);
        EXPECT_EQ(*std::move(one.try_receive()).value(), policy == when_full::drop_oldest ? 2 : 1);
    }
}

// A permit that brings nothing any more does not keep the receivers waiting.
TEST(Channel, CloseAndDropEndsReceiversBesideAPermit) {
    simulation sim;
    channel<int> one{1};
    auto place = one.try_reserve();
    const auto takes = [&]() -> task<wait_error> { co_return (co_await one.receive()).error(); };
    auto receiver = spawn(sim.scheduler, takes());
    sim.scheduler.run_until_idle();
    one.close();
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(receiver.ended()) << "the permit may bring an element";
    EXPECT_FALSE(one.close_and_drop());
    sim.scheduler.run_until_idle();
    ASSERT_TRUE(receiver.ended());
    EXPECT_EQ(std::move(receiver).get(), wait_error::closed);
    EXPECT_EQ(one.try_receive().error(), wait_error::closed);
    EXPECT_EQ(std::move(*place).send(1).error(), wait_error::closed);
}

// --- what is granted and not collected -----------------------------------------------------------

TEST(Channel, AReceiveOfManyTakesAllThereAreWhenItGoesOn) {
    simulation sim;
    channel<int> one{4};
    std::array<int, 3> got{};
    const auto takes = [&]() -> task<std::size_t> { co_return *co_await one.receive_many(got); };
    auto receiver = spawn(sim.scheduler, takes());
    sim.scheduler.run_until_idle();
    for (int i = 1; i != 5; ++i) EXPECT_TRUE(one.try_send(int{i}));
    sim.scheduler.run_until_idle();
    ASSERT_TRUE(receiver.ended());
    EXPECT_EQ(std::move(receiver).get(), 3U);
    EXPECT_EQ(got, (std::array{1, 2, 3}));
    EXPECT_EQ(one.try_receive(), 4);
}

TEST(Channel, WhatATaskDoesNotCollectIsDroppedOrReturns) {
    values dropped;
    channel<int> one{2};
    one.on_dropped([into = &dropped](int&& value) { into->push_back(value); });
    auto first = one.try_reserve();
    auto second = one.try_reserve();
    bool goes_on = false;
    {
        scheduler home{{.stop_limit = 0ms, .run_on_caller = true}};
        const auto takes = [&]() -> task<> {
            std::array<int, 4> some{};
            static_cast<void>(co_await one.receive_many(some));
            goes_on = true;
        };
        const auto reserves = [&]() -> task<> {
            const auto place = co_await one.reserve();
            goes_on = true;
        };
        spawn(home, takes()).detach();
        spawn(home, reserves()).detach();
        home.run_until_idle();
        EXPECT_TRUE(std::move(*first).send(1));  // its place is the reservation's now
        EXPECT_EQ(one.try_send(2).error(), wait_error::would_wait);
    }
    EXPECT_FALSE(goes_on);
    EXPECT_EQ(dropped, values{1});
    EXPECT_TRUE(one.try_send(2)) << "the place has returned";
    EXPECT_EQ(one.try_send(3).error(), wait_error::would_wait);
}

// --- values that need no place -------------------------------------------------------------------

// The place of a permit whose value goes to a receiver is free.
TEST(Channel, APlaceThatIsNotNeededGoesToTheNextReservation) {
    simulation sim;
    channel<int> one{1};
    auto place = one.try_reserve();
    const auto takes = [&]() -> task<int> { co_return *co_await one.receive(); };
    const auto reserves = [&]() -> task<> { EXPECT_TRUE(co_await one.reserve()); };
    auto receiver = spawn(sim.scheduler, takes());
    auto reserver = spawn(sim.scheduler, reserves());
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(std::move(*place).send(3));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(reserver.ended());
    ASSERT_TRUE(receiver.ended());
    EXPECT_EQ(std::move(receiver).get(), 3);
}

// The value of the last permit goes to the first receiver, and nothing comes for the second.
TEST(Channel, TheValueOfTheLastPermitEndsTheOtherReceivers) {
    simulation sim;
    channel<int> one{1};
    auto place = one.try_reserve();
    values first;
    values second;
    auto receives = spawn(sim.scheduler, receives_all(one, first));
    auto is_left = spawn(sim.scheduler, receives_all(one, second));
    sim.scheduler.run_until_idle();
    one.close();
    EXPECT_TRUE(std::move(*place).send(3));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(receives.ended());
    EXPECT_TRUE(is_left.ended());
    EXPECT_EQ(first, values{3});
    EXPECT_EQ(second, values{});
}

TEST(Channel, ASendOfManyWaitsForItsLastValue) {
    simulation sim;
    channel<int> one{1};
    auto place = one.try_reserve();
    std::array<int, 3> sent{1, 2, 3};
    const auto gives = [&]() -> task<std::size_t> { co_return *co_await one.send_many(sent); };
    auto sender = spawn(sim.scheduler, gives());
    sim.scheduler.run_until_idle();
    for (int i = 1; i != 4; ++i) {
        EXPECT_FALSE(sender.ended()) << i;
        EXPECT_EQ(one.try_receive(), i);
        sim.scheduler.run_until_idle();
    }
    ASSERT_TRUE(sender.ended());
    EXPECT_EQ(std::move(sender).get(), 3U);
    EXPECT_EQ(one.try_receive().error(), wait_error::would_wait);
}

// --- nothing is sent -----------------------------------------------------------------------------

TEST(Channel, ASendOfNothingNeverWaits) {
    simulation sim;
    channel<int> one{1};
    EXPECT_TRUE(one.try_send(1));
    const auto sends_two = [&]() -> task<> { EXPECT_TRUE(co_await one.send(2)); };
    auto sender = spawn(sim.scheduler, sends_two());
    sim.scheduler.run_until_idle();
    const auto sends_nothing = [&]() -> task<> {
        EXPECT_EQ(co_await one.send_many(std::span<int>{}), 0U);
    };
    auto nothing = spawn(sim.scheduler, sends_nothing());
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(nothing.ended());
    EXPECT_EQ(one.try_send_many({}), 0U);
    EXPECT_EQ(one.try_receive(), 1);
    EXPECT_EQ(one.try_receive(), 2);
    EXPECT_EQ(one.length(), 0U);
    one.close();
    EXPECT_EQ(one.try_send_many({}).error(), wait_error::closed);
    sim.scheduler.run_until_idle();
}

// --- types of values -----------------------------------------------------------------------------

// Moved once, and never assigned.
struct constant {
    const int value;
};

TEST(Channel, ElementsNeedNotBeAssigned) {
    simulation sim;
    values dropped;
    {
        channel<constant> one{1, when_full::drop_oldest};
        one.on_dropped([into = &dropped](constant&& gone) { into->push_back(gone.value); });
        EXPECT_TRUE(one.try_send({1}));
        EXPECT_EQ(one.try_receive()->value, 1);
        EXPECT_TRUE(one.try_send({2}));
        EXPECT_TRUE(one.try_send({3}));
        const auto takes = [&]() -> task<int> { co_return (co_await one.receive())->value; };
        auto receiver = spawn(sim.scheduler, takes());
        sim.scheduler.run_until_idle();
        EXPECT_EQ(std::move(receiver).get(), 3);
        EXPECT_TRUE(one.try_send({4}));
    }
    EXPECT_EQ(dropped, (values{2, 4}));
}

// Its braces would make a list with itself as the only element.
TEST(Channel, AnElementIsNotWrappedWhenItIsDropped) {
    using list = std::vector<std::any>;
    std::size_t size = 0;
    {
        channel<list> one{1};
        one.on_dropped([into = &size](list&& gone) { *into = gone.size(); });
        EXPECT_TRUE(one.try_send(list{1, 2, 3}));
    }
    EXPECT_EQ(size, 3U);
}

TEST(Channel, AnEmptyOptionalIsAnElement) {
    simulation sim;
    channel<std::optional<int>> one{2};
    EXPECT_TRUE(one.try_send(std::nullopt));
    EXPECT_TRUE(one.try_send(std::optional{3}));
    const auto takes = [&]() -> task<> {
        const auto first = co_await one.receive();
        EXPECT_TRUE(first && !*first);
        EXPECT_EQ(**co_await one.receive(), 3);
    };
    spawn(sim.scheduler, takes()).get();
    int dropped = 0;
    one.on_dropped([into = &dropped](std::optional<int>&&) { ++*into; });
    EXPECT_TRUE(one.try_send(std::nullopt));
    one.close_and_drop();
    EXPECT_EQ(dropped, 1) << "an empty element is one, too";
}

// The address of such an object is not `&object`.
struct addressless {
    int value = 0;
    void operator&() const = delete;
};

TEST(Channel, ElementsMayHideTheirAddress) {
    channel<addressless> one{1};
    addressless mine{4};
    EXPECT_TRUE(one.try_send(std::move(mine)));
    EXPECT_EQ(one.try_receive()->value, 4);
}

template <std::size_t Size, std::size_t Alignment>
struct alignas(Alignment) block {
    std::array<std::byte, Size> bytes{};
    bool is_aligned = reinterpret_cast<std::uintptr_t>(this) % Alignment == 0;
    block() = default;
    block(block&&) noexcept {}  // `is_aligned` is of the new object
    block& operator=(block&&) noexcept { return *this; }
};

template <class T>
class ChannelSizes : public testing::Test {};
using sizes =
    testing::Types<block<1, 1>, block<3, 1>, block<64, 64>, block<10'000, 16>, block<5'000, 4096>>;
TYPED_TEST_SUITE(ChannelSizes, sizes);

TYPED_TEST(ChannelSizes, ElementsAreAligned) {
    for (const std::size_t capacity : {std::size_t{70}, channel<TypeParam>::unbounded}) {
        channel<TypeParam> one{capacity};
        std::size_t aligned = 0;
        one.on_dropped([into = &aligned](TypeParam&& gone) { *into += gone.is_aligned ? 1U : 0U; });
        for (int round = 0; round != 3; ++round) {
            for (int i = 0; i != 40; ++i) EXPECT_TRUE(one.try_send(TypeParam{}));
            for (int i = 0; i != 25; ++i) EXPECT_TRUE(one.receive_blocking()->is_aligned);
        }
        one.close_and_drop();
        EXPECT_EQ(aligned, 45U);
    }
}

TYPED_TEST(ChannelSizes, ATaskReceivesThem) {
    // A frame is aligned for ordinary objects: `receive` refuses other ones when it is compiled.
    if constexpr (alignof(TypeParam) <= alignof(std::max_align_t)) {
        simulation sim;
        channel<TypeParam> one{2};
        EXPECT_TRUE(one.try_send(TypeParam{}));
        const auto takes = [&]() -> task<bool> { co_return (co_await one.receive())->is_aligned; };
        EXPECT_TRUE(spawn(sim.scheduler, takes()).get());
    }
}

// A permit of one channel is an element of another.
TEST(Channel, APermitOfAnotherChannelIsAnElement) {
    simulation sim;
    channel<int> places{2};
    channel<channel_permit<int>> one{1};
    EXPECT_TRUE(one.try_send(*places.try_reserve()));
    const auto uses = [&]() -> task<> {
        auto place = *co_await one.receive();
        EXPECT_TRUE(std::move(place).send(5));
    };
    spawn(sim.scheduler, uses()).get();
    EXPECT_EQ(places.try_receive(), 5);
    EXPECT_TRUE(one.try_send(*places.try_reserve()));
    one.close_and_drop();
    EXPECT_TRUE(places.try_send(6));
    EXPECT_TRUE(places.try_send(7)) << "the place that was dropped has returned";
}

// --- adapted waits -------------------------------------------------------------------------------

TEST(Channel, WaitsAreShieldedAndGiveResults) {
    simulation sim;
    channel<int> one{1};
    values got;
    const auto takes = [&]() -> task<> {
        got.push_back(*co_await shielded(one.receive()));
        const auto next = co_await as_result(one.receive());
        EXPECT_EQ(next.value().error(), wait_error::stopped);
        EXPECT_EQ(co_await shielded(one.send_many(got)), 1U);
    };
    auto receiver = spawn(sim.scheduler, takes());
    receiver.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(receiver.ended()) << "it is shielded";
    EXPECT_TRUE(one.try_send(1));
    sim.scheduler.run_until_idle();
    std::move(receiver).get();
    EXPECT_EQ(one.try_receive(), 1);
}

// tokio#8062, tokio#6594: the length is exact where a block of elements begins and ends.
TEST(Channel, ItsLengthIsExactAtTheEdgeOfABlock) {
    for (const std::size_t capacity : {std::size_t{100}, channel<int>::unbounded}) {
        channel<int> one{capacity};
        std::size_t length = 0;
        const auto sends = [&](std::size_t count) {
            for (; count != 0; --count) {
                EXPECT_TRUE(one.try_send(1));
                ASSERT_EQ(one.length(), ++length);
            }
        };
        const auto receives = [&](std::size_t count) {
            for (; count != 0; --count) {
                EXPECT_TRUE(one.try_receive());
                ASSERT_EQ(one.length(), --length);
            }
        };
        for (const std::size_t before : {0U, 1U, 31U, 32U, 33U}) {
            sends(before);
            for (const std::size_t more : {31U, 32U, 33U, 64U, 65U}) {
                sends(more);
                receives(more);
            }
            receives(before);
        }
    }
}

// --- misuse --------------------------------------------------------------------------------------

TEST(ChannelDeathTest, IsNotDestroyedWhileATaskWaits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto destroys = [] {
        simulation sim;
        auto one = std::make_unique<channel<int>>(1);
        const auto takes = [&]() -> task<> { static_cast<void>(co_await one->receive()); };
        spawn(sim.scheduler, takes()).detach();
        sim.scheduler.run_until_idle();
        one.reset();
    };
    EXPECT_DEATH(destroys(), "a channel was destroyed while a task or a thread waits for it");
}

TEST(ChannelDeathTest, IsNotDestroyedWhileAPlaceIsReserved) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto destroys = [] {
        auto one = std::make_unique<channel<int>>(1);
        const auto place = one->try_reserve();
        one.reset();
    };
    EXPECT_DEATH(destroys(), "or has a place reserved");
}

TEST(ChannelDeathTest, AWaitIsAwaitedOnce) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto awaits_twice = [] {
        simulation sim;
        channel<int> one{1};
        const auto takes = [&]() -> task<> {
            auto next = one.receive();
            EXPECT_TRUE(co_await next);
            EXPECT_TRUE(co_await next);
        };
        spawn(sim.scheduler, takes()).detach();
        EXPECT_TRUE(one.try_send(1));
        sim.scheduler.run_until_idle();
        EXPECT_TRUE(one.try_send(2));
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(awaits_twice(), "awaited twice");
}

TEST(ChannelDeathTest, MisuseIsAnError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    channel<int> one{1};
    EXPECT_DEATH(static_cast<void>(one.try_receive_many({})), "has room for none");
    const auto uses_twice = [&] {
        auto place = *one.try_reserve();
        static_cast<void>(std::move(place).send(1));
        static_cast<void>(std::move(place).send(2));
    };
    EXPECT_DEATH(uses_twice(), "a permit of a channel was used that is none, or twice");
    const auto blocks = [] {
        simulation sim;
        channel<int> empty{1};
        sim.scheduler.post([&] { static_cast<void>(empty.receive_blocking()); });
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(blocks(), "a wait that blocks its thread was called on a worker");
}

}  // namespace
}  // namespace fairlead::edges_tests
