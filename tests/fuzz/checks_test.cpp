// The checks of the fuzz targets can fail: each finds a structure with a planted mistake.
#include "fuzz/deadline_heap_check.hpp"
#include "fuzz/queues_check.hpp"

#include <fairlead/lockfree/block_queue.hpp>
#include <fairlead/lockfree/front_queue.hpp>
#include <fairlead/lockfree/run_queue.hpp>
#include <fairlead/timer/deadline_heap.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace fairlead::fuzz {
namespace {

/// Runs `check` with random inputs, as a fuzzer does to begin with.
template <class Check>
void run_with_random_bytes(Check&& check) {
    std::mt19937 random{1};
    for (int run = 0; run != 200; ++run) {
        std::vector<std::uint8_t> bytes(random() % 300);
        for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random());
        check(input{bytes});
    }
}

using heap = timer::deadline_heap<sleeper, &sleeper::place>;

// As a timer wheel would.
struct heap_that_rounds : heap {
    bool push(sleeper& node, time_point deadline) {
        return heap::push(node, time_point{duration{deadline.time_since_epoch().count() & ~3}});
    }
};

template <class Heap>
void check_heap(input bytes) {
    std::make_unique<deadline_heap_check<Heap>>()->run(bytes);
}

TEST(FuzzChecks, AcceptTheHeap) { run_with_random_bytes(check_heap<heap>); }
TEST(FuzzChecksDeathTest, SeeRoundedDeadlines) {
    EXPECT_DEATH(run_with_random_bytes(check_heap<heap_that_rounds>), "earliest");
}

using node_chain = base::chain<node, &node::next>;

struct chain_that_forgets_its_tail : node_chain {
    void append(chain_that_forgets_its_tail&& other) noexcept {
        if (empty()) return node_chain::append(std::move(other));
        node* const tail = back();
        tail->next = other.front();
        static_cast<node_chain&>(*this) = node_chain{front(), tail, size() + other.size()};
        static_cast<node_chain&>(other) = node_chain{};
    }
};

TEST(FuzzChecks, AcceptTheChain) { run_with_random_bytes(check_chains<node_chain>); }
TEST(FuzzChecksDeathTest, SeeAForgottenTail) {
    EXPECT_DEATH(run_with_random_bytes(check_chains<chain_that_forgets_its_tail>), "the newest");
}

using front = lockfree::front_queue<node, &node::next>;

struct front_that_always_was_empty : front {
    bool push_reversed(node& newest, node& oldest) noexcept {
        static_cast<void>(front::push_reversed(newest, oldest));
        return true;
    }
};

TEST(FuzzChecks, AcceptTheFrontQueue) { run_with_random_bytes(check_front_queue<front>); }
TEST(FuzzChecksDeathTest, SeeAWrongAnswerToWasItEmpty) {
    EXPECT_DEATH(run_with_random_bytes(check_front_queue<front_that_always_was_empty>),
                 "tells if it was empty");
}

constexpr std::size_t block_size = 4;
using blocks = lockfree::block_queue<node, block_size>;

struct blocks_that_lose_the_last_of_many : blocks {
    std::size_t push(std::span<node* const> items) {
        static_cast<void>(
            blocks::push(items.size() > block_size ? items.first(items.size() - 1) : items));
        return items.size();
    }
};

template <class Blocks>
void check_blocks(input bytes) {
    std::make_unique<block_queue_check<Blocks, block_size>>()->run(bytes);
}

TEST(FuzzChecks, AcceptTheBlockQueue) { run_with_random_bytes(check_blocks<blocks>); }
TEST(FuzzChecksDeathTest, SeeALostItem) {
    EXPECT_DEATH(run_with_random_bytes(check_blocks<blocks_that_lose_the_last_of_many>), "claims");
}

using run = lockfree::run_queue<node, 8>;

struct run_that_is_stolen_as_a_whole : run {
    std::size_t steal(std::span<node*> out) noexcept {
        std::size_t count = 0;
        while (count != out.size() && !empty()) out[count++] = pop();
        return count;
    }
};

TEST(FuzzChecks, AcceptTheRunQueue) { run_with_random_bytes(check_run_queue<run>); }
TEST(FuzzChecksDeathTest, SeeATheftOfTooMuch) {
    EXPECT_DEATH(run_with_random_bytes(check_run_queue<run_that_is_stolen_as_a_whole>),
                 "the older half");
}

}  // namespace
}  // namespace fairlead::fuzz
