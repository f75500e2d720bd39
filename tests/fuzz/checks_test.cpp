// The checks of the fuzz targets can fail: each finds a structure with a planted mistake. The tests
// of the service's checks are in service_checks_test.cpp, the test of the interleavings is in
// tests/model/.
#include "fuzz/deadline_heap_check.hpp"
#include "fuzz/queues_check.hpp"
#include "fuzz/random_input.hpp"
#include "fuzz/scheduler_check.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>
#include <fairlead/detail/lockfree/front_queue.hpp>
#include <fairlead/detail/lockfree/run_queue.hpp>
#include <fairlead/detail/timer/deadline_heap.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace fairlead::fuzz::checks_tests {
namespace {

using heap = timer::deadline_heap<sleeper, &sleeper::index>;

// Rounds deadlines as a timer wheel does.
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

template <class Scheduler>
void check_scheduler(input bytes) {
    scheduler_check<Scheduler>{bytes}.run();
}

struct scheduler_that_is_early : scheduler {
    using scheduler::scheduler;
    void post_deadline(basic_task& task, time_point deadline) noexcept {
        scheduler::post_deadline(task, deadline - duration{1});
    }
};

struct scheduler_that_turns_batches_around : scheduler {
    using scheduler::post;
    using scheduler::scheduler;
    void post(std::span<basic_task* const> tasks) noexcept {
        const std::vector<basic_task*> reversed{tasks.rbegin(), tasks.rend()};
        scheduler::post(reversed);
    }
};

struct scheduler_that_always_is_drained : scheduler {
    using scheduler::scheduler;
    [[nodiscard]] bool drain_for(duration limit) {
        static_cast<void>(scheduler::drain_for(limit));
        return true;
    }
};

TEST(FuzzChecks, AcceptTheScheduler) { run_with_random_bytes(check_scheduler<scheduler>); }
TEST(FuzzChecksDeathTest, SeeAnEarlyStep) {
    EXPECT_DEATH(run_with_random_bytes(check_scheduler<scheduler_that_is_early>),
                 "no step before what the task waits for");
}
TEST(FuzzChecksDeathTest, SeeABatchInTheWrongOrder) {
    EXPECT_DEATH(run_with_random_bytes(check_scheduler<scheduler_that_turns_batches_around>),
                 "posts run in their order");
}
TEST(FuzzChecksDeathTest, SeeADrainThatIsNone) {
    EXPECT_DEATH(run_with_random_bytes(check_scheduler<scheduler_that_always_is_drained>),
                 "a drain tells whether all is done");
}

}  // namespace
}  // namespace fairlead::fuzz::checks_tests
