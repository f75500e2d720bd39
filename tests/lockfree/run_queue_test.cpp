#include <fairlead/detail/lockfree/run_queue.hpp>

#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace fairlead::lockfree::run_queue_tests {
namespace {

struct item {
    std::size_t number = 0;
    std::atomic<int> taken{0};
};

std::vector<item*> make(std::vector<item>& items) {
    std::vector<item*> pointers;
    for (item& each : items) {
        each.number = pointers.size();
        pointers.push_back(&each);
    }
    return pointers;
}

TEST(RunQueue, IsEmptyAtFirst) {
    run_queue<item, 4> run;
    std::vector<item*> out(4);
    EXPECT_TRUE(run.empty());
    EXPECT_EQ(run.room(), 4U);
    EXPECT_EQ(run.pop(), nullptr);
    EXPECT_EQ(run.steal(out), 0U);
}

TEST(RunQueue, GivesTheOldestToEverybody) {
    std::vector<item> items(4);
    const auto pointers = make(items);
    run_queue<item, 4> run;
    run.push(pointers);
    EXPECT_EQ(run.room(), 0U);
    EXPECT_EQ(run.pop(), &items[0]);
    std::vector<item*> out(4);
    ASSERT_EQ(run.steal(out), 2U);  // the older half of three, rounded up
    EXPECT_EQ(out[0], &items[1]);
    EXPECT_EQ(out[1], &items[2]);
    EXPECT_EQ(run.room(), 3U);
    EXPECT_EQ(run.pop(), &items[3]);
    EXPECT_TRUE(run.empty());
}

TEST(RunQueue, StealsAtLeastOneAndNoMoreThanFits) {
    std::vector<item> items(8);
    const auto pointers = make(items);
    run_queue<item, 8> run;
    std::vector<item*> out(8);
    run.push({pointers.data(), 1});
    EXPECT_EQ(run.steal(out), 1U);
    run.push(pointers);
    EXPECT_EQ(run.steal({out.data(), 3}), 3U);
    EXPECT_EQ(run.steal({out.data(), 0}), 0U);
    EXPECT_EQ(run.pop(), &items[3]);
}

TEST(RunQueue, WrapsAround) {
    std::vector<item> items(3);
    const auto pointers = make(items);
    run_queue<item, 4> run;
    std::vector<item*> out(4);
    for (int i = 0; i != 1'000; ++i) {
        run.push(pointers);
        ASSERT_EQ(run.room(), 1U);
        ASSERT_EQ(run.pop(), &items[0]);
        ASSERT_EQ(run.steal(out), 1U);
        ASSERT_EQ(out[0], &items[1]);
        ASSERT_EQ(run.pop(), &items[2]);
        ASSERT_EQ(run.pop(), nullptr);
    }
}

// The owner fills and empties the queue, thieves steal. Each item is taken once, and the items of
// each taker are in order.
template <std::size_t Capacity>
void race(std::size_t thieves, std::size_t count, unsigned seed) {
    std::vector<item> items(count);
    const auto pointers = make(items);
    run_queue<item, Capacity> run;
    std::atomic<std::size_t> taken{0};
    std::atomic<bool> ordered{true};
    const auto note = [&](item& each, std::size_t& last) {
        ++each.taken;
        if (each.number < last) ordered = false;
        last = each.number;
        ++taken;
    };
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t != thieves; ++t) {
        threads.emplace_back([&, t] {
            std::vector<item*> out(t + 2);
            std::size_t last = 0;
            while (taken != count) {
                const std::size_t got = run.steal(out);
                for (std::size_t i = 0; i != got; ++i) note(*out[i], last);
            }
        });
    }
    std::mt19937 random{seed};
    std::size_t last = 0;
    for (std::size_t pushed = 0; pushed != count || !run.empty();) {
        const std::size_t more = std::min({run.room(), random() % Capacity + 1, count - pushed});
        run.push({pointers.data() + pushed, more});
        pushed += more;
        for (std::size_t pops = random() % Capacity; pops != 0; --pops) {
            if (item* const each = run.pop()) note(*each, last);
        }
    }
    threads.clear();
    EXPECT_TRUE(ordered);
    for (const item& each : items) ASSERT_EQ(each.taken, 1) << each.number;
}

TEST(RunQueue, OwnerAndThievesTakeEachItemOnce) {
    test::watchdog guard;
    for (unsigned seed = 0; seed != 10; ++seed) {
        race<2>(1, 10'000, seed);
        race<4>(3, 10'000, seed);
        race<256>(2, 20'000, seed);
    }
}

}  // namespace
}  // namespace fairlead::lockfree::run_queue_tests
