// Choices and gathers over several ports.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/message/choice.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace fairlead::choice_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

TEST(Choice, ExactlyOneMessageIsTaken) {
    for (const int first : {0, 1}) {
        simulation sim;
        port<int> numbers;
        port<std::string> words;
        std::string got;
        port_receiver one =
            choice(sim.scheduler, from(numbers, [&](int each) { got += std::to_string(each); }),
                   from(words, [&](std::string each) -> task<> {
                       co_await sleep_for(1ms);
                       got += each;
                   }));
        sim.scheduler.run_until_idle();
        if (first == 0) {
            EXPECT_TRUE(numbers.try_send(1));
        }
        EXPECT_TRUE(words.try_send("a"));
        if (first == 1) {
            EXPECT_TRUE(numbers.try_send(1));
        }
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_EQ(got, first == 0 ? "1" : "a");
        EXPECT_EQ(numbers.length() + words.length(), 1U) << "the other stays";
        EXPECT_TRUE(one.has_ended());
    }
}

TEST(Choice, MessagesThatAreThereAreTakenAtOnceAndOnce) {
    simulation sim;
    port<int> left;
    port<int> right;
    int fired = 0;
    for (int i = 0; i != 4; ++i) EXPECT_TRUE((i % 2 == 0 ? left : right).try_send(int{i}));
    std::vector<port_receiver> all;
    for (int i = 0; i != 3; ++i) {
        all.push_back(choice(sim.scheduler, from(left, [&](int) { ++fired; }),
                             from(right, [&](int) { ++fired; })));
    }
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(fired, 3);
    EXPECT_EQ(left.length() + right.length(), 1U);
}

TEST(Choice, EndsWithoutACallIfAllPortsCloseOrItIsEnded) {
    simulation sim;
    port<int> left;
    port<int> right;
    const auto never_called = [](int) { ADD_FAILURE(); };
    port_receiver closes =
        choice(sim.scheduler, from(left, never_called), from(right, never_called));
    port_receiver ends = choice(sim.scheduler, from(left, never_called), from(right, never_called));
    sim.scheduler.run_until_idle();
    ends.end();
    left.close();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(ends.has_ended());
    EXPECT_FALSE(closes.has_ended()) << "one port is open";
    right.close();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_TRUE(closes.has_ended());
}

TEST(Gather, TakesSoManyInTotalAndKeepsThemApart) {
    simulation sim;
    port<int> values;
    port<std::string> failures;
    std::vector<int> good;
    std::vector<std::string> bad;
    int calls = 0;
    const auto sums = [&](std::vector<int> v, std::vector<std::string> f) -> task<> {
        co_await sleep_for(1ms);
        good = std::move(v);
        bad = std::move(f);
        ++calls;
    };
    port_receiver all = gather(sim.scheduler, 4, sums, values, failures);
    EXPECT_TRUE(values.try_send(1));
    EXPECT_TRUE(failures.try_send("broken"));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(values.try_send(2));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(calls, 0);
    EXPECT_TRUE(values.try_send(3));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(values.try_send(4));
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(good, (std::vector{1, 2, 3}));
    EXPECT_EQ(bad, std::vector<std::string>{"broken"});
    EXPECT_EQ(values.length(), 1U) << "a message after the last stays";
}

// What was taken is not lost when the ports close before there is enough.
TEST(Gather, GivesWhatItHasWhenThePortsClose) {
    simulation sim;
    port<int> values;
    std::vector<int> good;
    port_receiver all = gather(
        sim.scheduler, 3, [&](std::vector<int> v) { good = std::move(v); }, values);
    EXPECT_TRUE(values.try_send(1));
    values.close();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(good, std::vector{1});
    EXPECT_EQ(all.stats().handled, 1U);
}

}  // namespace
}  // namespace fairlead::choice_tests
