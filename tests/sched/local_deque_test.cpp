#include "sched/entry/local_deque.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace fairlead::sched::local_deque_tests {
namespace {

struct item {
    item* next = nullptr;
    int taken = 0;
};
using small_deque = local_deque<item, &item::next, 4>;
using large_deque = local_deque<item, &item::next>;

template <class Deque>
item* newest_of(Deque& posts) {
    item* const newest = posts.pop();
    return newest != nullptr ? newest : posts.take_back();
}

// The indexes of what one `steal` gives.
template <class Deque, std::size_t Count>
std::vector<std::ptrdiff_t> stolen(Deque& from, const std::array<item, Count>& items,
                                   std::size_t count_max) {
    std::vector<std::ptrdiff_t> indexes;
    auto taken = from.steal(count_max);
    while (const item* const each = taken.pop_front()) indexes.push_back(each - items.data());
    return indexes;
}

TEST(LocalDeque, ItsOwnerTakesTheNewestOfVeryMany) {
    std::vector<item> items(10'000);
    large_deque posts;
    for (item& each : items) ASSERT_TRUE(posts.push(each));
    EXPECT_EQ(posts.size(), items.size());
    EXPECT_GE(posts.size_bound(), items.size());
    EXPECT_LE(posts.size_bound(), items.size() + 512);
    for (std::size_t i = items.size(); i != 0; --i) ASSERT_EQ(newest_of(posts), &items[i - 1]);
    EXPECT_EQ(newest_of(posts), nullptr);
    EXPECT_TRUE(posts.empty());
    EXPECT_EQ(posts.size(), 0U);
}

TEST(LocalDeque, OthersTakeTheOldestAWholeChunkAtATime) {
    using indexes = std::vector<std::ptrdiff_t>;
    std::array<item, 8> items;
    small_deque posts;
    for (item& each : items) ASSERT_TRUE(posts.push(each));
    EXPECT_EQ(stolen(posts, items, 2), (indexes{0, 1}));
    EXPECT_EQ(stolen(posts, items, 1), (indexes{2}));
    EXPECT_EQ(stolen(posts, items, 2), (indexes{3})) << "the rest of the chunk";
    EXPECT_EQ(stolen(posts, items, 2), (indexes{4})) << "the array gives one at a time";
    EXPECT_EQ(newest_of(posts), &items[7]);
    EXPECT_EQ(stolen(posts, items, 2), (indexes{5}));
    EXPECT_EQ(stolen(posts, items, 2), (indexes{6}));
    EXPECT_TRUE(posts.empty());
    EXPECT_TRUE(stolen(posts, items, 2).empty());
    EXPECT_EQ(newest_of(posts), nullptr);
}

TEST(LocalDeque, GoesOnAfterItsChunksHaveGoneBack) {
    std::array<item, 7> items;
    small_deque posts;
    for (int round = 0; round != 100; ++round) {
        for (item& each : items) ASSERT_TRUE(posts.push(each));
        for (std::size_t i = 7; i != 2; --i) ASSERT_EQ(newest_of(posts), &items[i - 1]);
        ASSERT_TRUE(posts.push(items[2]));
        ASSERT_EQ(posts.steal(1).front(), &items[0]);
        ASSERT_EQ(newest_of(posts), &items[2]);
        ASSERT_EQ(newest_of(posts), &items[1]);
        ASSERT_TRUE(posts.empty());
    }
}

TEST(LocalDeque, EachItemIsTakenOnce) {
    constexpr std::size_t count = 100'000;
    std::vector<item> items(count);
    local_deque<item, &item::next, 16> posts;
    std::atomic<std::size_t> taken{0};
    const auto rob = [&] {
        while (taken.load() != count) {
            auto some = posts.steal(8);
            std::size_t size = 0;
            for (; item* const each = some.pop_front(); ++size) ++each->taken;
            taken += size;
        }
    };
    {
        const std::jthread first{rob};
        const std::jthread second{rob};
        for (std::size_t i = 0; i != count; ++i) {
            // While another worker is at the chunks there may be no room.
            if (!posts.push(items[i])) {
                ++items[i].taken;
                ++taken;
            }
            if (i % 3 != 0) continue;
            if (item* const each = newest_of(posts)) {
                ++each->taken;
                ++taken;
            }
        }
        while (item* const each = newest_of(posts)) {
            ++each->taken;
            ++taken;
        }
    }
    for (const item& each : items) ASSERT_EQ(each.taken, 1);
}

}  // namespace
}  // namespace fairlead::sched::local_deque_tests
