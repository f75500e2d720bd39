// Joins: one message of each port, all or nothing.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/message/join.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::join_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

TEST(Join, TakesOneOfEachOrNone) {
    simulation sim;
    port<int> numbers;
    port<std::string> words;
    std::string got;
    port_receiver pairs = join(
        sim.scheduler,
        [&](int number, std::string word) -> task<> {
            co_await sleep_for(1ms);
            got += std::to_string(number) + word;
        },
        {}, numbers, words);
    for (int i = 0; i != 3; ++i) EXPECT_TRUE(numbers.try_send(int{i}));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(numbers.length(), 3U) << "nothing is taken before there is a word";
    EXPECT_TRUE(words.try_send("a"));
    EXPECT_TRUE(words.try_send("b"));
    words.close();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(got, "0a1b");
    EXPECT_EQ(numbers.length(), 1U) << "the rest stays";
    EXPECT_TRUE(pairs.has_ended()) << "there will be no further word";
    EXPECT_EQ(pairs.stats().handled, 2U);
}

TEST(Join, PausesAndTakesOnlyOnce) {
    simulation sim;
    port<int> left;
    port<int> right;
    int calls = 0;
    port_receiver one = join(
        sim.scheduler, [&](int, int) { ++calls; }, {.mode = receiver_mode::one_shot}, left, right);
    sim.scheduler.run_until_idle();
    one.pause();
    for (int i = 0; i != 2; ++i) {
        EXPECT_TRUE(left.try_send(int{i}));
        EXPECT_TRUE(right.try_send(int{i}));
    }
    sim.scheduler.run_until_idle();
    EXPECT_EQ(calls, 0);
    one.resume();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(left.length(), 1U);
    EXPECT_EQ(right.length(), 1U);
}

// A join lets the senders that wait for a place go on.
TEST(Join, ATakeAdmitsTheSenderThatWaits) {
    simulation sim;
    port<int> left{1};
    port<int> right{1};
    int sum = 0;
    port_receiver pairs = join(
        sim.scheduler, [&](int a, int b) { sum += a * b; }, {}, left, right);
    const auto sends = [](port<int>& to) -> task<> {
        for (int i = 1; i != 5; ++i) {
            const auto sent = co_await to.send(int{i});
            EXPECT_TRUE(sent.has_value());
        }
        to.close();
    };
    spawn(sim.scheduler, sends(left)).detach();
    spawn(sim.scheduler, sends(right)).detach();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(sum, 1 + 4 + 9 + 16);
}

// Against a model: joins over crossed ports, with random arrivals. Each join has pairs in order, no
// message is taken twice, and what is left cannot be paired.
TEST(Join, CrossedJoinsTakeEachMessageOnceAndLeaveNoPair) {
    for (std::uint32_t seed = 0; seed != 50; ++seed) {
        simulation sim;
        std::mt19937 random{seed};
        port<int> left;
        port<int> right;
        std::vector<int> lefts;
        std::vector<int> rights;
        const auto straight = [&](int a, int b) {
            lefts.push_back(a);
            rights.push_back(b);
        };
        const auto crossed = [&](int b, int a) { straight(a, b); };
        port_receiver one = join(sim.scheduler, straight, {.at_most = 2}, left, right);
        port_receiver two = join(sim.scheduler, crossed, {}, right, left);
        int sent_left = 0;
        int sent_right = 0;
        for (int i = 0; i != 40; ++i) {
            switch (random() % 3) {
                case 0:
                    EXPECT_TRUE(left.try_send(int{sent_left++}));
                    break;
                case 1:
                    EXPECT_TRUE(right.try_send(int{sent_right++}));
                    break;
                default:
                    sim.scheduler.run_until_idle();
            }
        }
        sim.scheduler.run_until_idle();
        const auto pairs = static_cast<std::size_t>(std::min(sent_left, sent_right));
        ASSERT_EQ(lefts.size(), pairs) << "seed " << seed;
        for (std::size_t i = 0; i != pairs; ++i) {
            EXPECT_EQ(lefts[i], static_cast<int>(i));
            EXPECT_EQ(rights[i], static_cast<int>(i));
        }
        EXPECT_EQ(left.length() + lefts.size(), static_cast<std::size_t>(sent_left));
        EXPECT_EQ(right.length() + rights.size(), static_cast<std::size_t>(sent_right));
        one.end();
        two.end();
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
    }
}

// Worker threads: crossed joins and two senders make progress until all is paired.
TEST(Join, CrossedJoinsOnThreadsEnd) {
    constexpr int count = 2'000;
    scheduler pool{{.workers = 2}};
    port<int> left;
    port<int> right;
    std::atomic<int> pairs{0};
    const auto counts = [&](int, int) { ++pairs; };
    port_receiver one = join(pool, counts, {.at_most = 2}, left, right);
    port_receiver two = join(pool, counts, {.at_most = 2}, right, left);
    const auto sends = [](port<int>& to) {
        for (int i = 0; i != count; ++i) EXPECT_TRUE(to.try_send(int{i}));
        to.close();
    };
    std::thread first{sends, std::ref(left)};
    std::thread second{sends, std::ref(right)};
    first.join();
    second.join();
    EXPECT_TRUE(one.ended_blocking().has_value());
    EXPECT_TRUE(two.ended_blocking().has_value());
    EXPECT_EQ(pairs, count);
}

}  // namespace
}  // namespace fairlead::join_tests
