#include <fairlead/detail/lockfree/fork_deque.hpp>

#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace fairlead::lockfree::fork_deque_tests {
namespace {

struct item {
    std::atomic<int> taken{0};
};

TEST(ForkDeque, IsEmptyAtFirst) {
    fork_deque<item, 4> forks{1};
    EXPECT_TRUE(forks.empty());
    EXPECT_EQ(forks.pop(), nullptr);
    EXPECT_EQ(forks.steal(), nullptr);
    EXPECT_FALSE(forks.open());
    EXPECT_FALSE(forks.open_all());
}

TEST(ForkDeque, GivesItsOwnerTheNewestAndThievesTheOldest) {
    std::array<item, 4> items;
    fork_deque<item, 4> forks{4};
    for (item& each : items) {
        ASSERT_TRUE(forks.push(each));
        EXPECT_TRUE(forks.open());
    }
    EXPECT_EQ(forks.pop(), &items[3]);
    EXPECT_EQ(forks.steal(), &items[0]);
    EXPECT_EQ(forks.pop(), &items[2]);
    EXPECT_EQ(forks.steal(), &items[1]);
    EXPECT_EQ(forks.pop(), nullptr);
    EXPECT_EQ(forks.steal(), nullptr);
}

TEST(ForkDeque, OpensNoMoreThanItMust) {
    std::array<item, 4> items;
    fork_deque<item, 4> forks{2};
    for (item& each : items) ASSERT_TRUE(forks.push(each));
    EXPECT_EQ(forks.steal(), nullptr) << "nothing is open before open";
    EXPECT_TRUE(forks.open());
    EXPECT_FALSE(forks.open()) << "two are open";
    EXPECT_EQ(forks.steal(), &items[0]);
    EXPECT_EQ(forks.steal(), &items[1]);
    EXPECT_EQ(forks.steal(), nullptr);
    EXPECT_TRUE(forks.open()) << "to replace them";
    EXPECT_EQ(forks.steal(), &items[2]);
    EXPECT_EQ(forks.pop(), &items[3]);
}

TEST(ForkDeque, OpensAllForWhoMayNotComeAgainForLong) {
    std::array<item, 3> items;
    fork_deque<item, 4> forks{0};
    for (item& each : items) ASSERT_TRUE(forks.push(each));
    EXPECT_FALSE(forks.open());
    EXPECT_TRUE(forks.empty());
    EXPECT_TRUE(forks.open_all());
    EXPECT_FALSE(forks.open_all());
    EXPECT_FALSE(forks.empty());
    for (item& each : items) EXPECT_EQ(forks.steal(), &each);
}

TEST(ForkDeque, NeedNotOpenAllWhenThievesFindEnough) {
    std::array<item, 16> items;
    fork_deque<item, 16> forks{1};
    EXPECT_FALSE(forks.must_open_all()) << "there is nothing to open";
    for (std::size_t i = 0; i != 8; ++i) ASSERT_TRUE(forks.push(items[i]));
    EXPECT_TRUE(forks.must_open_all());
    EXPECT_TRUE(forks.open_all());
    for (std::size_t i = 8; i != 16; ++i) ASSERT_TRUE(forks.push(items[i]));
    EXPECT_FALSE(forks.must_open_all()) << "eight are open";
    EXPECT_EQ(forks.steal(), &items[0]);
    EXPECT_TRUE(forks.must_open_all());
    EXPECT_FALSE(forks.must_open());
}

TEST(ForkDeque, TakesBackWhatIsHiddenAndThenWhatIsOpen) {
    std::array<item, 3> items;
    fork_deque<item, 4> forks{1};
    for (item& each : items) ASSERT_TRUE(forks.push(each));
    EXPECT_TRUE(forks.open());
    EXPECT_EQ(forks.pop(), &items[2]);
    EXPECT_EQ(forks.pop(), &items[1]);
    EXPECT_FALSE(forks.open()) << "the last is open";
    EXPECT_EQ(forks.pop(), &items[0]);
}

TEST(ForkDeque, WhatWasStolenIsNotTakenBack) {
    std::array<item, 2> items;
    fork_deque<item, 4> forks{1};
    for (item& each : items) ASSERT_TRUE(forks.push(each));
    EXPECT_TRUE(forks.open());
    EXPECT_EQ(forks.steal(), &items[0]);
    EXPECT_EQ(forks.pop(), &items[1]);
    EXPECT_EQ(forks.pop(), nullptr);
}

TEST(ForkDeque, IsBounded) {
    std::array<item, 6> items;
    fork_deque<item, 4> forks{1};
    for (std::size_t i = 0; i != 4; ++i) ASSERT_TRUE(forks.push(items[i]));
    EXPECT_FALSE(forks.push(items[4]));
    EXPECT_TRUE(forks.open());
    EXPECT_EQ(forks.steal(), &items[0]);
    EXPECT_TRUE(forks.push(items[4])) << "a thief has made room";
    EXPECT_FALSE(forks.push(items[5]));
    for (std::size_t i = 4; i != 0; --i) EXPECT_EQ(forks.pop(), &items[i]);
    EXPECT_EQ(forks.pop(), nullptr);
}

TEST(ForkDeque, GivesItsOwnerSomeOfTheOldest) {
    std::array<item, 4> items;
    fork_deque<item, 4> forks{0};
    for (item& each : items) ASSERT_TRUE(forks.push(each));
    std::array<item*, 2> oldest{};
    EXPECT_EQ(forks.take_oldest(oldest), 0U) << "nothing is open";
    EXPECT_TRUE(forks.open_all());
    EXPECT_EQ(forks.take_oldest(oldest), 2U);
    EXPECT_EQ(oldest, (std::array{&items[0], &items[1]}));
    EXPECT_EQ(forks.size(), 2U);
    EXPECT_EQ(forks.steal(), &items[2]);
    EXPECT_EQ(forks.take_oldest(oldest), 1U);
    EXPECT_EQ(oldest[0], &items[3]);
    EXPECT_EQ(forks.pop(), nullptr);
}

TEST(ForkDeque, GoesOnAfterItWasEmptied) {
    std::array<item, 2> items;
    fork_deque<item, 2> forks{1};
    for (int i = 0; i != 100; ++i) {
        ASSERT_TRUE(forks.push(items[0]));
        ASSERT_TRUE(forks.push(items[1]));
        EXPECT_TRUE(forks.open());
        EXPECT_EQ(forks.pop(), &items[1]);
        EXPECT_EQ(i % 2 == 0 ? forks.pop() : forks.steal(), &items[0]);
        EXPECT_TRUE(forks.empty());
    }
}

// The owner does as a step with forks: it offers items, and takes back those that no thief has
// taken.
TEST(ForkDeque, EachItemIsTakenOnce) {
    const test::watchdog guard;
    for (const std::size_t open_min : {1U, 3U, 8U}) {
        fork_deque<item, 8> forks{open_min};
        std::vector<item> items(200'000);
        std::atomic<bool> done{false};
        std::vector<std::jthread> thieves;
        for (int i = 0; i != 3; ++i) {
            thieves.emplace_back([&] {
                while (!done.load()) {
                    if (item* const stolen = forks.steal()) ++stolen->taken;
                }
            });
        }
        std::vector<item*> offered;  // and not taken back
        for (std::size_t i = 0; i != items.size(); ++i) {
            if (!forks.push(items[i])) {
                ++items[i].taken;
            } else {
                offered.push_back(&items[i]);
            }
            static_cast<void>(forks.open());
            for (std::size_t back = i % 4; back != 0 && !offered.empty(); --back) {
                item* const newest = forks.pop();
                if (newest == nullptr) {
                    offered.clear();  // they are stolen
                } else {
                    EXPECT_EQ(newest, offered.back());
                    ++newest->taken;
                    offered.pop_back();
                }
            }
        }
        static_cast<void>(forks.open_all());
        while (item* const left = forks.pop()) ++left->taken;
        done = true;
        thieves.clear();
        for (const item& each : items) ASSERT_EQ(each.taken.load(), 1);
    }
}

}  // namespace
}  // namespace fairlead::lockfree::fork_deque_tests
