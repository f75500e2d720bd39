// Ports and receivers: messages that queue, handlers, pauses, ends, failures and replies.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/message/port.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

template <>
struct failure_traits<wait_error> {
    static wait_error from(std::exception_ptr) noexcept { return wait_error::broken; }
    static wait_error from(wait_error why) noexcept { return why; }
};

namespace port_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

TEST(Port, MessagesQueueBeforeThereIsAReceiver) {
    simulation sim;
    port<int> numbers;
    for (int i = 0; i != 3; ++i) EXPECT_TRUE(numbers.try_send(int{i}));
    EXPECT_EQ(numbers.length(), 3U);
    std::vector<int> got;
    port_receiver all = numbers.receive_with(sim.scheduler, [&](int each) { got.push_back(each); });
    EXPECT_TRUE(numbers.try_send(3));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, (std::vector{0, 1, 2, 3}));
    EXPECT_EQ(numbers.length(), 0U);
    EXPECT_FALSE(all.has_ended());
    numbers.close();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_TRUE(all.has_ended());
    EXPECT_EQ(all.stats().handled, 4U);
}

TEST(Port, AOneShotReceiverTakesOneMessage) {
    simulation sim;
    port<int> numbers;
    std::vector<int> got;
    port_receiver one = numbers.receive_with(sim.scheduler, [&](int each) { got.push_back(each); },
                                             {.mode = receiver_mode::one_shot, .at_most = 4});
    for (int i = 0; i != 3; ++i) EXPECT_TRUE(numbers.try_send(int{i}));
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(got, std::vector{0});
    EXPECT_TRUE(one.has_ended());
    EXPECT_EQ(numbers.length(), 2U);
}

TEST(Port, APausedReceiverTakesNothing) {
    simulation sim;
    port<int> numbers;
    std::vector<int> got;
    port_receiver all = numbers.receive_with(sim.scheduler, [&](int each) { got.push_back(each); });
    sim.scheduler.run_until_idle();
    all.pause();
    EXPECT_TRUE(all.is_paused());
    EXPECT_TRUE(numbers.try_send(1));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(got.empty());
    EXPECT_EQ(numbers.length(), 1U);
    all.resume();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, std::vector{1});
    all.pause();
    all.end();
    EXPECT_TRUE(numbers.try_send(2));
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_TRUE(all.has_ended());
    EXPECT_EQ(numbers.length(), 1U);
}

// One handler at once unless the options say more.
TEST(Port, AtMostSoManyHandlersRun) {
    for (const std::size_t at_most : {1U, 3U}) {
        simulation sim;
        port<int> numbers;
        std::size_t inside = 0;
        std::size_t most = 0;
        port_receiver all = numbers.receive_with(sim.scheduler,
                                                 [&](int) -> task<> {
                                                     most = std::max(most, ++inside);
                                                     co_await sleep_for(1ms);
                                                     --inside;
                                                 },
                                                 {.at_most = at_most});
        for (int i = 0; i != 7; ++i) EXPECT_TRUE(numbers.try_send(int{i}));
        numbers.close();
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_EQ(most, at_most);
        EXPECT_EQ(all.stats().handled, 7U);
    }
}

TEST(Port, AHandlerMayEndItsReceiverAndCloseThePort) {
    simulation sim;
    port<int> numbers;
    std::vector<int> got;
    port_receiver all = numbers.receive_with(sim.scheduler, [&](int each, receiver_ref self) {
        got.push_back(each);
        if (each == 1) self.end();
    });
    for (int i = 0; i != 4; ++i) EXPECT_TRUE(numbers.try_send(int{i}));
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(got, (std::vector{0, 1}));
    port_receiver closes =
        numbers.receive_with(sim.scheduler, [&](int) { numbers.close_and_drop(); });
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_TRUE(closes.has_ended());
    EXPECT_EQ(numbers.try_send(5).error(), wait_error::closed);
}

TEST(Port, AFailureGoesToTheSinkAndTheReceiverGoesOn) {
    simulation sim;
    port<int> numbers;
    std::vector<std::string> failures;
    port_receiver all = numbers.receive_with(sim.scheduler,
                                             [&](int each) -> task<> {
                                                 if (each == 0) throw std::runtime_error{"zero"};
                                                 co_return;
                                             },
                                             {.on_failure = [&](std::exception_ptr why) {
                                                 try {
                                                     std::rethrow_exception(why);
                                                 } catch (const std::runtime_error& e) {
                                                     failures.emplace_back(e.what());
                                                 }
                                             }});
    for (int i = 0; i != 2; ++i) EXPECT_TRUE(numbers.try_send(int{i}));
    numbers.close();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(failures, std::vector<std::string>{"zero"});
    EXPECT_EQ(all.stats().handled, 2U);
    EXPECT_EQ(all.stats().failed, 1U);
}

TEST(Port, HandlersRunInsideTheirGate) {
    simulation sim;
    gate door;
    port<int> writes;
    port<int> reads;
    int writers = 0;
    int readers = 0;
    int readers_most = 0;
    int refused = 0;
    const auto counts = [&](std::exception_ptr) { ++refused; };
    port_receiver alone =
        writes.receive_with(sim.scheduler,
                            [&](int) -> task<> {
                                EXPECT_EQ(++writers, 1);
                                EXPECT_EQ(readers, 0);
                                co_await sleep_for(1ms);
                                --writers;
                            },
                            {.at_most = 2, .gate = door.exclusive(), .on_failure = counts});
    port_receiver beside =
        reads.receive_with(sim.scheduler,
                           [&](int) -> task<> {
                               readers_most = std::max(readers_most, ++readers);
                               EXPECT_EQ(writers, 0);
                               co_await sleep_for(1ms);
                               --readers;
                           },
                           {.at_most = 3, .gate = door.concurrent(), .on_failure = counts});
    for (int i = 0; i != 6; ++i) {
        EXPECT_TRUE(writes.try_send(int{i}));
        EXPECT_TRUE(reads.try_send(int{i}));
    }
    const time_point end = sim.clock.now() + 1s;
    while (sim.clock.now() < end) sim.scheduler.run_until(end);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(readers_most, 3);
    auto closes = [&]() -> task<> { static_cast<void>(co_await door.close()); };
    spawn(sim.scheduler, closes()).detach();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(reads.try_send(7));
    reads.close();
    writes.close();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(refused, 1) << "a message that the gate refuses is told";
    EXPECT_EQ(beside.stats().refused, 1U);
    EXPECT_EQ(beside.stats().handled + alone.stats().handled, 12U);
}

TEST(Port, ThePortMayGoBeforeItsReceiver) {
    simulation sim;
    auto numbers = std::make_unique<port<int>>();
    int handled = 0;
    port_receiver all = numbers->receive_with(sim.scheduler, [&](int) { ++handled; });
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(numbers->try_send(1));
    numbers.reset();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_TRUE(all.has_ended());
    EXPECT_EQ(handled, 1) << "it was given to the receiver that waited";
}

TEST(Port, ASchedulerThatIsDestroyedEndsTheReceivers) {
    port<int> numbers;
    auto sim = std::make_unique<simulation>();
    port_receiver all = numbers.receive_with(sim->scheduler, [](int) {}, {.at_most = 2});
    sim->scheduler.run_until_idle();
    sim.reset();
    EXPECT_TRUE(all.has_ended());
    EXPECT_TRUE(numbers.try_send(1));
}

// --- requests ------------------------------------------------------------------------------------

using asking = request<int, std::string>;

std::string outcome(future<std::string>& of) {
    if (!of.valid() || !of.is_ready()) return "none";
    const auto result = of.take();
    if (result) return *result;
    try {
        std::rethrow_exception(result.error());
    } catch (const wait_failed& e) {
        return e.why() == wait_error::broken   ? "broken"
               : e.why() == wait_error::closed ? "closed"
                                               : "full";
    } catch (const std::exception& e) {
        return std::string{"failed: "} + e.what();
    }
}

TEST(Port, WhatAHandlerReturnsOrThrowsIsTheReply) {
    simulation sim;
    port<asking> asks;
    port_receiver all = asks.receive_with(sim.scheduler, [](int each) -> task<std::string> {
        co_await sleep_for(1ms);
        if (each == 0) throw std::runtime_error{"zero"};
        co_return std::to_string(each);
    });
    auto good = asks.ask(7);
    auto bad = asks.ask(0);
    EXPECT_EQ(outcome(good), "none");
    asks.close();
    auto late = asks.ask(1);
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(outcome(good), "7");
    EXPECT_EQ(outcome(bad), "failed: zero");
    EXPECT_EQ(outcome(late), "closed");
    EXPECT_EQ(all.stats().failed, 1U);
}

TEST(Port, ARequestThatIsDroppedIsAnsweredAsBroken) {
    simulation sim;
    port<asking> asks{1};
    auto dropped = asks.ask(1);
    auto full = asks.ask(2);
    EXPECT_EQ(outcome(full), "full");
    asks.close_and_drop();
    EXPECT_EQ(outcome(dropped), "broken");
    port<asking> other;
    port_receiver forgets = other.receive_with(sim.scheduler, [](asking) {});
    auto forgotten = other.ask(1);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(outcome(forgotten), "broken") << "the handler had the promise";
}

TEST(Port, ARequestMayBeSentByHandAndAnsweredByAnExpected) {
    simulation sim;
    port<request<int, int, wait_error>> asks{4};
    port_receiver all =
        asks.receive_with(sim.scheduler, [](int each) -> std::expected<int, wait_error> {
            if (each < 0) return std::unexpected{wait_error::expired};
            return each * 2;
        });
    auto one = make_request<int, wait_error>(4);
    auto two = make_request<int, wait_error>(-4);
    EXPECT_TRUE(asks.try_send(std::move(one.request)));
    EXPECT_TRUE(asks.try_send(std::move(two.request)));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.reply.take().value(), 8);
    EXPECT_EQ(two.reply.take().error(), wait_error::expired);
}

}  // namespace
}  // namespace port_tests
}  // namespace fairlead
