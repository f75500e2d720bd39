// Memory that threads exchange by the batch: one thread reuses the blocks that another frees, and
// the rest goes back to the allocator.
#include <fairlead/detail/sync/recycler.hpp>

#include "support/threads.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace fairlead::sync::recycler_tests {
namespace {

struct block {
    void* memory;
    std::size_t size;
};

block take(recycler::cache& from, std::size_t size) {
    void* const memory = from.allocate(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignof(std::max_align_t), 0U);
    std::memset(memory, 0xa5, size);  // all of it can be written
    return {memory, size};
}

TEST(Recycler, GivesTheLastFreedBlockOfTheSameSizeFirst) {
    recycler depot;
    recycler::cache own{depot};
    for (const std::size_t size : {0, 1, 24, 25, 40, 41, 100, 1000, 1016, 1017, 1272, 1273, 4088}) {
        const block first = take(own, size);
        own.free(first.memory, first.size);
        const block second = take(own, size);
        EXPECT_EQ(first.memory, second.memory) << size;
        own.free(second.memory, second.size);
    }
}

TEST(Recycler, BlocksInUseAreApart) {
    recycler depot;
    recycler::cache own{depot};
    std::vector<block> blocks;
    for (std::size_t size = 0; size != 4200; ++size) {
        blocks.push_back(take(own, size));
        std::memset(blocks.back().memory, static_cast<int>(size % 251), size);
    }
    for (const block& each : blocks) {
        const auto* const bytes = static_cast<const unsigned char*>(each.memory);
        for (std::size_t i = 0; i != each.size; ++i) ASSERT_EQ(bytes[i], each.size % 251);
        own.free(each.memory, each.size);
    }
}

TEST(Recycler, WhatOneThreadFreesAnotherGets) {
    recycler depot;
    recycler::cache maker{depot};
    std::set<void*> freed;
    {
        recycler::cache user{depot};
        std::vector<block> made;
        for (int i = 0; i != 1000; ++i) made.push_back(take(maker, 64));
        for (const block& each : made) {
            freed.insert(each.memory);
            user.free(each.memory, each.size);
        }
    }
    EXPECT_GT(depot.kept(), 0U);
    std::vector<block> again;
    int known = 0;
    for (int i = 0; i != 1000; ++i) {
        again.push_back(take(maker, 64));
        known += static_cast<int>(freed.contains(again.back().memory));
    }
    EXPECT_GT(known, 700);
    for (const block& each : again) maker.free(each.memory, each.size);
}

TEST(Recycler, LooksIntoTheDepotAgainAfterItWasEmpty) {
    recycler depot;
    recycler::cache maker{depot};
    recycler::cache user{depot};
    std::deque<block> in_use;
    std::size_t most_kept = 0;
    for (int i = 0; i != 100'000; ++i) {
        in_use.push_back(take(maker, 40));
        if (in_use.size() < 100) continue;
        user.free(in_use.front().memory, in_use.front().size);
        in_use.pop_front();
        most_kept = std::max(most_kept, depot.kept());
    }
    EXPECT_LT(most_kept, 100U * 1024U) << "the maker does not use what comes back";
    for (const block& each : in_use) user.free(each.memory, each.size);
}

TEST(Recycler, KeepsNoMoreThanItsLimit) {
    recycler depot;
    {
        recycler::cache own{depot};
        std::vector<block> burst;
        for (int i = 0; i != 30'000; ++i) burst.push_back(take(own, 1000));
        for (const block& each : burst) own.free(each.memory, each.size);
        EXPECT_LE(depot.kept(), recycler::kept_max);
        EXPECT_GT(depot.kept(), recycler::kept_max / 2);
    }
    EXPECT_LE(depot.kept(), recycler::kept_max);
}

TEST(Recycler, MemoryOfWhichNothingIsInUseGoesBack) {
    recycler depot;
    {
        recycler::cache own{depot};
        std::vector<block> burst;
        for (int i = 0; i != 30'000; ++i) burst.push_back(take(own, 1000));
        EXPECT_GT(depot.held(), 30'000U * 1000U);
        for (const block& each : burst) own.free(each.memory, each.size);
    }
    EXPECT_GE(depot.held(), depot.kept());
    EXPECT_LT(depot.held(), depot.kept() + depot.kept() / 10);
}

// Freed in no order, so that each batch has blocks of many slabs.
TEST(Recycler, MemoryGoesBackInWhateverOrderItIsFreed) {
    for (const std::size_t size : {64U, 1000U}) {
        SCOPED_TRACE(size);
        recycler depot;
        {
            recycler::cache own{depot};
            std::vector<block> burst;
            for (std::size_t held = 0; held < 8 * recycler::kept_max; held += size) {
                burst.push_back(take(own, size));
            }
            std::shuffle(burst.begin(), burst.end(), std::mt19937{5});
            for (const block& each : burst) own.free(each.memory, each.size);
        }
        EXPECT_LE(depot.kept(), recycler::kept_max);
        EXPECT_LE(depot.loose(), recycler::kept_max + recycler::kept_max / 8);
        EXPECT_LE(depot.held(), 5 * recycler::kept_max / 2);
    }
}

TEST(Recycler, BlocksBesideOthersThatAreInUseAreUsedAgain) {
    recycler depot;
    recycler::cache own{depot};
    std::vector<block> burst;
    for (int i = 0; i != 40'000; ++i) burst.push_back(take(own, 1000));
    const std::size_t most = depot.held();
    for (int round = 0; round != 3; ++round) {
        for (std::size_t i = 0; i != burst.size(); ++i) {  // some of each slab stay
            if (i % 8 != 0) own.free(burst[i].memory, burst[i].size);
        }
        EXPECT_EQ(depot.held(), most) << "a slab with a block in use was given back";
        for (std::size_t i = 0; i != burst.size(); ++i) {
            if (i % 8 != 0) burst[i] = take(own, 1000);
        }
        EXPECT_EQ(depot.held(), most) << "new slabs, although old ones have room";
    }
    for (const block& each : burst) own.free(each.memory, each.size);
}

// With caches that live for a moment, as at the end of a thread.
TEST(Recycler, ACacheTakesWithItNothing) {
    recycler depot;
    const block made = take(*std::make_unique<recycler::cache>(depot), 100);
    const std::size_t one_slab = depot.held();
    for (int i = 0; i != 20; ++i) {
        recycler::cache passing{depot};
        const block other = take(passing, 100);
        passing.free(other.memory, other.size);
    }
    EXPECT_EQ(depot.held(), one_slab);
    recycler::cache{depot}.free(made.memory, made.size);
    EXPECT_EQ(depot.held(), 0U);
}

TEST(Recycler, ServesContainers) {
    std::vector<int, recycling_allocator<int>> numbers(300, 7);
    numbers.push_back(8);  // moves them
    const std::vector<int, recycling_allocator<int>> copy = numbers;
    numbers.clear();
    numbers.shrink_to_fit();
    EXPECT_EQ(copy.size(), 301U);
    EXPECT_EQ(copy.front(), 7);
    EXPECT_EQ(copy.back(), 8);
}

TEST(Recycler, ThreadsPassBlocksInACircle) {
    constexpr std::size_t threads = 4;
    recycler depot;
    std::array<std::mutex, threads> mutexes;
    std::array<std::vector<block>, threads> boxes;
    test::run_together(threads, [&](std::size_t self) {
        recycler::cache own{depot};
        for (std::size_t i = 0; i != 20'000; ++i) {
            const std::size_t size = 24 + (i + self) % 5 * 100;
            const block made = take(own, size);
            std::memset(made.memory, static_cast<int>(size % 251), size);
            std::vector<block> mine;
            {
                std::lock_guard lock{mutexes[(self + 1) % threads]};
                boxes[(self + 1) % threads].push_back(made);
            }
            {
                std::lock_guard lock{mutexes[self]};
                mine.swap(boxes[self]);
            }
            for (const block& each : mine) {
                const auto* const bytes = static_cast<const unsigned char*>(each.memory);
                EXPECT_EQ(bytes[0], each.size % 251);
                EXPECT_EQ(bytes[each.size - 1], each.size % 251);
                own.free(each.memory, each.size);
            }
        }
    });
    recycler::cache last{depot};
    for (const auto& box : boxes) {
        for (const block& each : box) last.free(each.memory, each.size);
    }
}

// --- the recycler of the process -----------------------------------------------------------------

TEST(AllocateRecycled, WorksOnThreadsThatComeAndGo) {
    for (int i = 0; i != 50; ++i) {
        void* memory = nullptr;
        std::thread{[&] { memory = allocate_recycled(100); }}.join();
        std::memset(memory, 1, 100);
        free_recycled(memory, 100);
    }
}

// An object whose destructor may run after the cache of its thread was destroyed.
struct late {
    ~late() { free_recycled(memory, 200); }
    void* memory = nullptr;
};

TEST(AllocateRecycled, WorksInTheDestructorsOfAThread) {
    for (int i = 0; i != 10; ++i) {
        std::thread{[] {
            thread_local late before;  // made before the cache, so destroyed after it
            before.memory = allocate_recycled(200);
            thread_local late after;
            after.memory = allocate_recycled(200);
        }}.join();
    }
}

#if !defined(FAIRLEAD_SANITIZED)
// Takes all memory that is left, down to the smallest block.
void take_all_memory() {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 1;  // what the process has it keeps, and gets no more
    setrlimit(RLIMIT_AS, &limit);
    for (std::size_t size = std::size_t{1} << 20; size >= 16; size /= 2) {
        while (void* const memory = std::malloc(size)) static_cast<char volatile*>(memory)[0] = 1;
    }
}

// 1. A thread starts. 2. No memory is left. 3. The thread allocates for the first time.
TEST(AllocateRecycledDeathTest, TheFirstUseOfAThreadWithoutMemoryIsBadAlloc) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto uses_it_without_memory = [] {
        std::atomic<bool> memory_is_gone{false};
        int status = 1;
        std::thread user{[&] {
            memory_is_gone.wait(false);
            try {
                static_cast<void>(allocate_recycled(100));
            } catch (const std::bad_alloc&) {
                status = 0;
            }
        }};
        take_all_memory();
        memory_is_gone = true;
        memory_is_gone.notify_one();
        user.join();
        std::_Exit(status);
    };
    EXPECT_EXIT(uses_it_without_memory(), testing::ExitedWithCode(0), "");
}
#endif

TEST(AllocateRecycled, ABaseClassMakesNewUseIt) {
    struct small : recycled {
        explicit small(int& alive) : alive_{alive} { ++alive_; }
        ~small() { --alive_; }
        int& alive_;
    };
    struct alignas(256) wide : recycled {
        std::array<std::byte, 256> bytes{};
    };
    int alive = 0;
    delete new small{alive};
    EXPECT_EQ(alive, 0);
    for (int i = 0; i != 10; ++i) {
        auto* const made = new wide;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made) % 256, 0U);
        delete made;
    }
}

}  // namespace
}  // namespace fairlead::sync::recycler_tests
