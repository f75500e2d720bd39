// What goes along with a message: the context of its sender.
#include <fairlead/context/context.hpp>
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/context/with_error_sink.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/future/failure_traits.hpp>
#include <fairlead/message/choice.hpp>
#include <fairlead/message/join.hpp>
#include <fairlead/message/port.hpp>
#include <fairlead/message/service.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::context_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

constexpr context_key<std::string> own{inherit::children};
constexpr context_key<std::string> sent{inherit::messages};
constexpr context_key<std::shared_ptr<int>> counted{inherit::messages};

// What reaches a handler, as text.
task<std::string> seen() {
    const context here = co_await current_context();
    std::string all;
    if (here.get(own) != nullptr) all += *here.get(own);
    if (here.get(sent) != nullptr) all += *here.get(sent);
    if (here.deadline() != never) all += 'd';
    co_return all.empty() ? "-" : all;
}

task<> seen_into(std::vector<std::string>& all, int number) {
    all.push_back(std::to_string(number) + co_await seen());
}

// Sends one message within a deadline and two values.
template <class T>
task<> send_within(time_span limit, port<T>& to, T message) {
    const auto sends = [](port<T>& into, T one) -> task<> {
        const auto ended = co_await into.send(std::move(one));
        EXPECT_TRUE(ended.has_value());
    };
    auto body = with_value(own, std::string{"o"},
                           with_value(sent, std::string{"s"}, sends(to, std::move(message))));
    const auto ended = co_await with_deadline(limit, std::move(body));
    EXPECT_TRUE(ended.has_value());
}

TEST(MessageContext, AHandlerHasTheContextOfTheSenderAlone) {
    simulation sim;
    port<int> numbers;
    std::vector<std::string> all;
    std::optional<port_receiver> receiver;
    const auto attaches = [&]() -> task<> {
        receiver.emplace(
            numbers.receive_with(sim.scheduler, [&](int each) { return seen_into(all, each); }));
        co_return;
    };
    auto attaching = with_value(sent, std::string{"receiver"}, attaches());
    spawn(sim.scheduler, std::move(attaching)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(numbers.try_send(1));
    spawn(sim.scheduler, send_within(1h, numbers, 2)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(numbers.try_send(3));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all, (std::vector<std::string>{"1-", "2sd", "3-"}));
}

TEST(MessageContext, GoesAlongWhateverTheWayOfSending) {
    simulation sim;
    port<int> numbers{2};
    std::vector<std::string> all;
    const auto sends = [&]() -> task<> {
        EXPECT_TRUE(numbers.try_send(1));
        auto place = co_await numbers.elements().reserve();
        EXPECT_TRUE(std::move(*place).send(2).has_value());
        std::vector<int> more{3, 4, 5};
        const auto count = co_await numbers.elements().send_many(more);
        EXPECT_EQ(count, 3U) << "it waits: the port has two places";
    };
    spawn(sim.scheduler, with_value(sent, std::string{"s"}, sends())).detach();
    sim.scheduler.run_until_idle();
    port_receiver one =
        numbers.receive_with(sim.scheduler, [&](int each) { return seen_into(all, each); });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all, (std::vector<std::string>{"1s", "2s", "3s", "4s", "5s"}));
}

TEST(MessageContext, LivesAsLongAsItsMessages) {
    auto value = std::make_shared<int>(7);
    {
        simulation sim;
        port<int> numbers;
        const auto sends = [&]() -> task<> {
            for (int i = 0; i != 3; ++i) {
                const auto ended = co_await numbers.send(int{i});
                EXPECT_TRUE(ended.has_value());
            }
        };
        spawn(sim.scheduler, with_value(counted, value, sends())).detach();
        sim.scheduler.run_until_idle();
        EXPECT_EQ(value.use_count(), 2) << "three messages hold one value";
        port_receiver two = numbers.receive_with(sim.scheduler, [](int) {});
        sim.scheduler.run_until_idle();
        EXPECT_EQ(value.use_count(), 1);
        two.end();
        spawn(sim.scheduler, with_value(counted, value, sends())).detach();
        sim.scheduler.run_until_idle();
        EXPECT_EQ(value.use_count(), 2);
    }
    EXPECT_EQ(value.use_count(), 1) << "what was not received is freed, too";
}

// --- deadlines -----------------------------------------------------------------------------------

TEST(MessageContext, AnOverdueMessageIsDroppedAndCounted) {
    simulation sim;
    port<int> numbers;
    int dropped = 0;
    numbers.on_dropped([&dropped](int each) { dropped = dropped * 10 + each; });
    spawn(sim.scheduler, send_within(1s, numbers, 1)).detach();
    spawn(sim.scheduler, send_within(3s, numbers, 2)).detach();
    sim.scheduler.run_until_idle();
    sim.clock.advance(2s);
    std::vector<int> got;
    port_receiver one = numbers.receive_with(sim.scheduler, [&](int each) { got.push_back(each); },
                                             {.mode = receiver_mode::one_shot});
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, std::vector{2}) << "the first message of a one-shot receiver is one in time";
    EXPECT_EQ(dropped, 1);
    EXPECT_EQ(one.stats().overdue, 1U);
    EXPECT_EQ(one.stats().handled, 1U);
}

TEST(MessageContext, AnOverdueRequestIsAnsweredSo) {
    simulation sim;
    using asking = request<int, int>;
    port<asking> asks;
    future<int> reply;
    const auto sends = [&]() -> task<int> {
        reply = asks.ask(1);
        co_return 0;
    };
    spawn(sim.scheduler, with_deadline(1s, sends())).detach();
    sim.scheduler.run_until_idle();
    sim.clock.advance(1s);
    port_receiver all = asks.receive_with(sim.scheduler, [](int each) { return each; });
    sim.scheduler.run_until_idle();
    ASSERT_TRUE(reply.is_ready());
    const auto result = reply.take();
    ASSERT_FALSE(result.has_value());
    try {
        std::rethrow_exception(result.error());
    } catch (const wait_failed& failure) {
        EXPECT_EQ(failure.why(), wait_error::overdue);
    }
    EXPECT_EQ(all.stats().overdue, 1U);
    EXPECT_EQ(all.stats().handled, 0U);
}

TEST(MessageContext, TheWaitsOfAHandlerEndAtTheDeadlineOfItsMessage) {
    simulation sim;
    port<int> numbers;
    std::vector<std::string> all;
    port_receiver one = numbers.receive_with(sim.scheduler, [&](int each) -> task<> {
        const auto ended = co_await as_result(sleep_for(2s));
        all.push_back(std::to_string(each) + (ended ? " slept" : " overdue"));
    });
    spawn(sim.scheduler, send_within(1s, numbers, 1)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(numbers.try_send(2));
    numbers.close();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(all, (std::vector<std::string>{"1 overdue", "2 slept"}));
}

// A receiver and a join do not: see ends_test.cpp.
TEST(MessageContext, AChoiceEndsAtTheDeadlineOfItsMaker) {
    simulation sim;
    port<int> numbers;
    std::vector<port_receiver> all;
    const auto attaches = [&]() -> task<int> {
        all.push_back(choice(sim.scheduler, from(numbers, [](int) {})));
        co_return 0;
    };
    spawn(sim.scheduler, with_deadline(1s, attaches())).detach();
    const auto attaches_in_shield = [&]() -> task<int> {
        const int done = co_await shielded(attaches());
        co_return done;
    };
    spawn(sim.scheduler, with_deadline(1s, attaches_in_shield())).detach();
    const time_point end = sim.clock.now() + 2s;
    while (sim.clock.now() < end) sim.scheduler.run_until(end);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(all[0].has_ended());
    EXPECT_FALSE(all[1].has_ended());
}

TEST(MessageContext, AMessageIsOverdueAtTheGateToo) {
    simulation sim;
    gate door;
    port<int> numbers;
    int handled = 0;
    port_receiver all =
        numbers.receive_with(sim.scheduler, [&](int) { ++handled; }, {.gate = door.exclusive()});
    gate_hold inside = door.try_exclusive();
    spawn(sim.scheduler, send_within(1s, numbers, 1)).detach();
    const time_point end = sim.clock.now() + 2s;
    while (sim.clock.now() < end) sim.scheduler.run_until(end);
    EXPECT_EQ(all.stats().overdue, 1U);
    EXPECT_EQ(all.stats().refused, 0U);
    inside.leave();
    EXPECT_TRUE(numbers.try_send(2));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(handled, 1);
}

TEST(MessageContext, AChoiceAndAGatherDoNotCountAnOverdueMessage) {
    simulation sim;
    port<int> left;
    port<int> right;
    for (int i = 1; i != 4; ++i) spawn(sim.scheduler, send_within(1s, left, i)).detach();
    sim.scheduler.run_until_idle();
    sim.clock.advance(1s);
    std::string got;
    port_receiver one = choice(
        sim.scheduler, from(left, [&](int each) { got += "l" + std::to_string(each); }),
        from(right,
             [&](int each) -> task<> { got += "r" + std::to_string(each) + co_await seen(); }));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, "");
    EXPECT_EQ(one.stats().overdue, 3U);
    spawn(sim.scheduler, send_within(1s, right, 4)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got, "r4sd");

    spawn(sim.scheduler, send_within(1s, left, 5)).detach();
    sim.scheduler.run_until_idle();
    sim.clock.advance(1s);
    std::vector<int> gathered;
    port_receiver all = gather(
        sim.scheduler, 2, [&](std::vector<int> each) { gathered = std::move(each); }, left);
    EXPECT_TRUE(left.try_send(6));
    EXPECT_TRUE(left.try_send(7));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(gathered, (std::vector{6, 7}));
    EXPECT_EQ(all.stats().overdue, 1U);
}

// An overdue message takes none of the other port with it, and the order is kept.
TEST(MessageContext, AJoinDropsTheOverdueAlone) {
    simulation sim;
    port<int> left;
    port<int> right;
    int dropped = 0;
    left.on_dropped([&dropped](int each) { dropped = dropped * 10 + each; });
    right.on_dropped([&dropped](int each) { dropped = dropped * 10 + each; });
    spawn(sim.scheduler, send_within(1s, left, 1)).detach();
    spawn(sim.scheduler, send_within(9s, left, 2)).detach();
    spawn(sim.scheduler, send_within(1s, left, 3)).detach();
    sim.scheduler.run_until_idle();
    std::vector<int> pairs;
    port_receiver both = join(
        sim.scheduler, [&](int a, int b) { pairs.push_back(a * 10 + b); }, {}, left, right);
    sim.scheduler.run_until_idle();
    sim.clock.advance(2s);
    EXPECT_TRUE(right.try_send(7));
    EXPECT_TRUE(right.try_send(8));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(pairs, std::vector{27});
    EXPECT_EQ(dropped, 13);
    EXPECT_EQ(both.stats().overdue, 2U);
    EXPECT_EQ(right.length(), 1U);
    EXPECT_TRUE(left.try_send(4));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(pairs, (std::vector{27, 48}));
}

TEST(MessageContext, AServiceCountsOverdueRequests) {
    simulation sim;
    service<int> sums{sim.scheduler};
    auto& add = sums.exclusive<int, int>([](int& to, int each) { return to += each; });
    future<int> late;
    const auto sends = [&]() -> task<int> {
        late = add.ask(1);
        co_return 0;
    };
    spawn(sim.scheduler, with_deadline(1s, sends())).detach();
    sim.scheduler.run_until_idle();
    sim.clock.advance(1s);
    auto in_time = add.ask(10);
    EXPECT_TRUE(sums.start());
    spawn(sim.scheduler, sums.stop()).detach();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(in_time.take().value(), 10);
    EXPECT_FALSE(late.take().has_value());
    EXPECT_EQ(sums.stats().overdue, 1U);
    EXPECT_EQ(sums.stats().handled, 1U);
}

// --- failures ------------------------------------------------------------------------------------

TEST(MessageContext, AFailureGoesToTheErrorSinkOfTheSender) {
    simulation sim;
    port<int> numbers;
    port_receiver all = numbers.receive_with(sim.scheduler, [](int each) -> task<> {
        co_await yield();
        if (each == 1) throw std::runtime_error{"one"};
    });
    std::vector<std::string> told;
    const auto tells = [&](std::exception_ptr why, const failure_origin& from) {
        try {
            std::rethrow_exception(why);
        } catch (const std::runtime_error& failure) {
            told.push_back(std::string{from.last().name} + ": " + failure.what());
        }
    };
    spawn(sim.scheduler, with_error_sink(tells, send_within(1h, numbers, 1))).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(told, std::vector<std::string>{"receiver: one"});
    EXPECT_EQ(all.stats().failed, 1U);
}

TEST(MessageContext, WithoutASinkAFailureIsUnhandled) {
    int unhandled = 0;
    scheduler_options options;
    options.on_unhandled = [&](const std::exception_ptr&, const failure_origin&) { ++unhandled; };
    test::simulated_scheduler pool{std::move(options)};
    port<int> numbers;
    port_receiver all = numbers.receive_with(pool, [](int each) -> task<> {
        co_await yield();
        if (each == 1) throw std::runtime_error{"one"};
        if (each == 2) throw stopped_error{};
    });
    EXPECT_TRUE(numbers.try_send(1));
    EXPECT_TRUE(numbers.try_send(2));
    pool.scheduler().run_until_idle();
    EXPECT_EQ(unhandled, 1) << "a stop is no failure";
    EXPECT_EQ(all.stats().failed, 2U);
}

}  // namespace
}  // namespace fairlead::context_tests
