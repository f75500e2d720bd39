#include <fairlead/detail/lockfree/block_queue.hpp>

#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace fairlead::lockfree::block_queue_tests {
namespace {

struct item {
    std::size_t number = 0;
    std::atomic<int> taken{0};
};

template <std::size_t BlockSize>
struct fixture {
    using queue = block_queue<item, BlockSize>;
    using consumer = typename queue::consumer;

    explicit fixture(std::size_t count) : items(count), pointers(count) {
        for (std::size_t i = 0; i != count; ++i) {
            items[i].number = i;
            pointers[i] = &items[i];
        }
    }
    [[nodiscard]] std::span<item* const> range(std::size_t from, std::size_t count) const {
        return std::span<item* const>{pointers}.subspan(from, count);
    }

    std::vector<item> items;
    std::vector<item*> pointers;
};

template <std::size_t BlockSize>
void one_consumer_sees_the_order() {
    fixture<BlockSize> data{1000};
    typename fixture<BlockSize>::queue queue;
    typename fixture<BlockSize>::consumer consumer{queue};
    std::vector<item*> out(7);
    EXPECT_TRUE(consumer.empty());
    EXPECT_EQ(consumer.claim(out), 0U);
    std::mt19937 random{BlockSize};
    std::size_t pushed = 0;
    std::size_t seen = 0;
    while (seen != data.items.size()) {
        const std::size_t count = std::min<std::size_t>(random() % 9, data.items.size() - pushed);
        ASSERT_EQ(queue.push(data.range(pushed, count)), count);
        pushed += count;
        // A block that is used up may hide an empty successor: only a claim tells.
        ASSERT_TRUE(!consumer.empty() || pushed == seen);
        const std::size_t wanted = random() % out.size() + 1;
        const std::size_t got = consumer.claim({out.data(), wanted});
        EXPECT_EQ(got == 0, pushed == seen);
        EXPECT_LE(got, wanted);
        for (std::size_t i = 0; i != got; ++i) ASSERT_EQ(out[i]->number, seen++);
    }
    EXPECT_EQ(consumer.claim(out), 0U);
    EXPECT_TRUE(consumer.empty());
}

TEST(BlockQueue, KeepsTheOrderForAnyBlockSize) {
    one_consumer_sees_the_order<1>();
    one_consumer_sees_the_order<2>();
    one_consumer_sees_the_order<3>();
    one_consumer_sees_the_order<1024>();
}

TEST(BlockQueue, AClaimForNothingTakesNothing) {
    fixture<2> data{3};
    fixture<2>::queue queue;
    fixture<2>::consumer consumer{queue};
    ASSERT_EQ(queue.push(data.range(0, 3)), 3U);
    EXPECT_EQ(consumer.claim({}), 0U);
    std::vector<item*> out(3);
    EXPECT_EQ(consumer.claim(out), 2U);  // as far as the block goes
    EXPECT_EQ(consumer.claim({}), 0U);
    EXPECT_EQ(consumer.claim(out), 1U);
    EXPECT_EQ(out[0]->number, 2U);
}

TEST(BlockQueue, EmptyIsTrueOnlyWhenNothingIsUnclaimed) {
    fixture<2> data{4};
    fixture<2>::queue queue;
    fixture<2>::consumer here{queue};
    fixture<2>::consumer there{queue};
    std::vector<item*> out(2);
    ASSERT_EQ(queue.push(data.range(0, 2)),
              2U);  // fills the block, so that there is an empty successor
    EXPECT_EQ(there.claim(out), 2U);
    // The used up block does not prove that there is no further block. The claim does.
    EXPECT_EQ(here.claim(out), 0U);
    EXPECT_TRUE(here.empty());
    ASSERT_EQ(queue.push(data.range(2, 1)), 1U);
    EXPECT_FALSE(here.empty());
    EXPECT_FALSE(there.empty());
}

TEST(BlockQueue, AConsumerThatComesLateStartsAtTheOldest) {
    fixture<3> data{10};
    fixture<3>::queue queue;
    ASSERT_EQ(queue.push(data.range(0, 10)), 10U);
    std::optional<fixture<3>::consumer> first{queue};
    std::vector<item*> out(4);
    ASSERT_EQ(first->claim({out.data(), 2}), 2U);
    first.reset();
    fixture<3>::consumer second{queue};
    ASSERT_EQ(second.claim(out), 1U);
    EXPECT_EQ(out[0]->number, 2U);
}

template <std::size_t BlockSize>
void each_item_once(std::size_t consumers, std::size_t count, unsigned seed) {
    fixture<BlockSize> data{count};
    typename fixture<BlockSize>::queue queue;
    std::atomic<std::size_t> taken{0};
    std::atomic<bool> ordered{true};
    std::vector<std::jthread> threads;
    for (std::size_t c = 0; c != consumers; ++c) {
        threads.emplace_back([&, c] {
            typename fixture<BlockSize>::consumer consumer{queue};
            std::vector<item*> out(c * 2 + 1);
            std::size_t last = 0;
            while (taken != count) {
                const std::size_t got = consumer.claim(out);
                for (std::size_t i = 0; i != got; ++i) {
                    ++out[i]->taken;
                    // Claims of one consumer are in order, too.
                    if (out[i]->number + 1 <= last) ordered = false;
                    last = out[i]->number + 1;
                }
                taken += got;
            }
        });
    }
    std::mt19937 random{seed};
    for (std::size_t pushed = 0; pushed != count;) {
        const std::size_t more =
            std::min<std::size_t>(random() % (2 * BlockSize + 2), count - pushed);
        ASSERT_EQ(queue.push(data.range(pushed, more)), more);
        pushed += more;
    }
    threads.clear();
    EXPECT_TRUE(ordered);
    for (const item& each : data.items) ASSERT_EQ(each.taken, 1) << each.number;
}

TEST(BlockQueue, SeveralConsumersGetEachItemOnce) {
    test::watchdog guard;
    for (unsigned seed = 0; seed != 10; ++seed) {
        each_item_once<1>(2, 3'000, seed);
        each_item_once<2>(2, 5'000, seed);
        each_item_once<3>(4, 5'000, seed);
        each_item_once<64>(3, 20'000, seed);
    }
}

TEST(BlockQueue, ConsumersComeAndGo) {
    test::watchdog guard;
    constexpr std::size_t count = 30'000;
    fixture<2> data{count};
    fixture<2>::queue queue;
    std::atomic<std::size_t> taken{0};
    std::vector<std::jthread> threads;
    for (int c = 0; c != 3; ++c) {
        threads.emplace_back([&] {
            std::vector<item*> out(3);
            while (taken != count) {
                fixture<2>::consumer consumer{queue};
                const std::size_t got = consumer.claim(out);
                for (std::size_t i = 0; i != got; ++i) ++out[i]->taken;
                taken += got;
            }
        });
    }
    for (std::size_t i = 0; i != count; ++i) ASSERT_EQ(queue.push(data.range(i, 1)), 1U);
    threads.clear();
    for (const item& each : data.items) ASSERT_EQ(each.taken, 1) << each.number;
}

// One consumer stays attached to the first block for ever. Only that block may be held back by it.
TEST(BlockQueue, MemoryIsBoundedThoughOneConsumerLags) {
    fixture<2> data{2};
    fixture<2>::queue queue;
    fixture<2>::consumer lags{queue};
    fixture<2>::consumer active{queue};
    std::vector<item*> out(2);
    const auto push_and_take = [&](int times) {
        for (int i = 0; i != times; ++i) {
            ASSERT_EQ(queue.push(data.range(0, 2)), 2U);
            ASSERT_EQ(active.claim(out), 2U);
        }
    };
    push_and_take(100);  // what is kept for reuse has been allocated now
    const auto before = mallinfo2().uordblks;
    push_and_take(100'000);
    const auto after = mallinfo2().uordblks;
    EXPECT_LT(after, before + 100'000) << "blocks are not recycled";
    // The lagging consumer goes on where the queue is now.
    ASSERT_EQ(queue.push(data.range(0, 1)), 1U);
    EXPECT_EQ(lags.claim(out), 1U);
    EXPECT_EQ(out[0]->number, 0U);
}

TEST(BlockQueue, GivesABurstBack) {
    constexpr std::size_t count = 100'000;
    fixture<2> data{count};
    fixture<2>::queue queue;
    fixture<2>::consumer consumer{queue};
    std::vector<item*> out(2);
    const auto before = mallinfo2().uordblks;
    ASSERT_EQ(queue.push(data.range(0, count)), count);
    const auto peak = mallinfo2().uordblks;
    for (std::size_t seen = 0; seen != count;) seen += consumer.claim(out);
    const auto after = mallinfo2().uordblks;
    if (peak == before) GTEST_SKIP() << "this allocator does not count (a sanitizer's)";
    EXPECT_LT(after - before, (peak - before) / 10);
}

}  // namespace
}  // namespace fairlead::lockfree::block_queue_tests
