#include <fairlead/detail/lockfree/front_queue.hpp>

#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace fairlead::lockfree::front_queue_tests {
namespace {

struct node {
    std::size_t producer = 0;
    int number = 0;
    node* next = nullptr;
};
using queue = front_queue<node, &node::next>;

std::vector<int> numbers(queue::chain taken) {
    std::vector<int> all;
    while (node* const each = taken.pop_front()) all.push_back(each->number);
    return all;
}

TEST(FrontQueue, IsEmptyAtFirst) {
    queue front;
    EXPECT_TRUE(front.empty());
    EXPECT_TRUE(front.take_all().empty());
}

TEST(FrontQueue, TakesInTheOrderOfPushes) {
    queue front;
    node all[3] = {{0, 1}, {0, 2}, {0, 3}};
    EXPECT_TRUE(front.push(all[0]));
    EXPECT_FALSE(front.push(all[1]));
    EXPECT_FALSE(front.push(all[2]));
    EXPECT_FALSE(front.empty());
    auto taken = front.take_all();
    EXPECT_EQ(taken.size(), 3U);
    EXPECT_EQ(taken.back(), &all[2]);
    EXPECT_EQ(numbers(taken), (std::vector{1, 2, 3}));
    EXPECT_TRUE(front.empty());
}

TEST(FrontQueue, SaysThatItWasEmptyAgainAfterATake) {
    queue front;
    node all[2] = {{0, 1}, {0, 2}};
    EXPECT_TRUE(front.push(all[0]));
    static_cast<void>(front.take_all());
    EXPECT_TRUE(front.push(all[1]));
}

TEST(FrontQueue, PushesABatchInOneGo) {
    queue front;
    node all[5] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}};
    EXPECT_TRUE(front.push(all[0]));
    all[3].next = &all[2];  // 4 -> 3 -> 2, newest first
    all[2].next = &all[1];
    EXPECT_FALSE(front.push_reversed(all[3], all[1]));
    EXPECT_FALSE(front.push(all[4]));
    EXPECT_EQ(numbers(front.take_all()), (std::vector{1, 2, 3, 4, 5}));
    all[1].next = &all[0];
    EXPECT_TRUE(front.push_reversed(all[1], all[0]));
    EXPECT_EQ(numbers(front.take_all()), (std::vector{1, 2}));
}

// Producers push single nodes and batches while a consumer takes. Every node comes once, and the
// nodes of a producer come in order. For each taken batch exactly one push found the queue empty: a
// missing answer would be a lost wake-up, a second answer a needless wake-up.
void race(std::size_t producers, int per_producer) {
    queue front;
    std::vector<std::unique_ptr<node[]>> nodes(producers);
    for (auto& each : nodes)
        each = std::make_unique<node[]>(static_cast<std::size_t>(per_producer));
    std::atomic<std::uint64_t> found_empty{0};
    std::uint64_t batches = 0;
    std::vector<int> expected(producers, 0);
    bool ordered = true;

    std::thread consumer{[&] {
        std::size_t left = producers * static_cast<std::size_t>(per_producer);
        while (left != 0) {
            auto taken = front.take_all();
            if (taken.empty()) continue;
            ++batches;
            left -= taken.size();
            while (node* const each = taken.pop_front()) {
                ordered &= each->number == expected[each->producer]++;
            }
        }
    }};
    test::run_together(producers, [&](std::size_t self) {
        std::uint64_t empty = 0;
        for (int i = 0; i < per_producer;) {
            const int count = std::min(i % 4 == 3 ? 3 : 1, per_producer - i);
            for (int k = 0; k != count; ++k) {
                node& each = nodes[self][static_cast<std::size_t>(i + k)];
                each.producer = self;
                each.number = i + k;
                each.next = k == 0 ? nullptr : &nodes[self][static_cast<std::size_t>(i + k - 1)];
            }
            empty += front.push_reversed(nodes[self][static_cast<std::size_t>(i + count - 1)],
                                         nodes[self][static_cast<std::size_t>(i)]);
            i += count;
        }
        found_empty += empty;
    });
    consumer.join();
    EXPECT_TRUE(ordered);
    EXPECT_EQ(found_empty, batches);
}

TEST(FrontQueue, OneProducerAgainstTheConsumer) {
    test::watchdog guard;
    race(1, 100'000);
}

TEST(FrontQueue, SeveralProducersAgainstTheConsumer) {
    test::watchdog guard;
    for (const std::size_t producers : {2U, 3U, 5U}) race(producers, 40'000);
}

// Small batches make the answer "was empty" matter most: the consumer lets the producers fill one,
// takes it, and counts again.
TEST(FrontQueue, TheAnswerWasEmptyIsExactForEveryBatch) {
    test::watchdog guard;
    constexpr int rounds = 10'000;
    constexpr std::size_t producers = 3;
    queue front;
    node nodes[producers];
    std::atomic<int> found_empty{0};
    std::size_t taken = 0;
    int batches = 0;
    int wrong = 0;
    std::barrier turn{static_cast<std::ptrdiff_t>(producers), [&]() noexcept {
                          for (; !front.empty(); ++batches) taken += front.take_all().size();
                          wrong += found_empty.exchange(0) != batches;
                          batches = 0;
                      }};
    test::run_together(producers, [&](std::size_t self) {
        for (int i = 0; i != rounds; ++i) {
            if (front.push(nodes[self])) ++found_empty;
            turn.arrive_and_wait();
        }
    });
    EXPECT_EQ(taken, producers * rounds);
    EXPECT_EQ(wrong, 0);
}

// What a producer wrote before its push is visible to the consumer, which may free the node at
// once.
TEST(FrontQueue, TheNodeBelongsToTheConsumerFromTheExchangeOn) {
    test::watchdog guard;
    constexpr int count = 20'000;
    queue front;
    std::thread consumer{[&] {
        for (int seen = 0; seen != 2 * count;) {
            auto taken = front.take_all();
            while (node* const each = taken.pop_front()) {
                EXPECT_GE(each->number, 0);
                delete each;
                ++seen;
            }
        }
    }};
    test::run_together(2, [&](std::size_t self) {
        for (int i = 0; i != count; ++i) front.push(*new node{self, i, nullptr});
    });
    consumer.join();
}

}  // namespace
}  // namespace fairlead::lockfree::front_queue_tests
