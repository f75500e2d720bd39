// Compares the queues of the library with std::deque, on one thread. The checks are templates, so
// that a test with a broken queue can show that they find mistakes.
#pragma once

#include "fuzz/input.hpp"

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/base/chain.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead::fuzz {

struct node {
    node* next = nullptr;
};

/// Nodes that are in no queue, to be pushed.
class node_pool {
public:
    /// Takes `count` nodes, or fewer if the pool has fewer.
    [[nodiscard]] std::vector<node*> take(std::size_t count) {
        std::vector<node*> taken;
        for (; taken.size() != count && !free_.empty(); free_.pop_back()) {
            taken.push_back(free_.back());
        }
        while (taken.size() != count && fresh_ != nodes_.size()) taken.push_back(&nodes_[fresh_++]);
        return taken;
    }
    void give_back(node* unused) { free_.push_back(unused); }

private:
    std::array<node, 2048> nodes_{};
    std::size_t fresh_ = 0;  // the first that was never taken
    std::vector<node*> free_;
};

using expected_nodes = std::deque<node*>;

/// `chain` has the nodes of `expected`, linked in their order.
template <class Chain>
void compare_chain(const Chain& chain, const expected_nodes& expected) {
    FAIRLEAD_ASSERT(chain.size() == expected.size(), "sizes agree");
    FAIRLEAD_ASSERT(chain.empty() == expected.empty(), "both are empty or neither");
    if (expected.empty()) {
        FAIRLEAD_ASSERT(chain.front() == nullptr && chain.back() == nullptr, "empty has no ends");
        return;
    }
    FAIRLEAD_ASSERT(chain.front() == expected.front(), "the front is the oldest");
    FAIRLEAD_ASSERT(chain.back() == expected.back(), "the back is the newest");
    const node* at = chain.front();
    for (const node* each : expected) {
        FAIRLEAD_ASSERT(at == each, "linked in order");
        at = at->next;
    }
    FAIRLEAD_ASSERT(at == nullptr, "the last links to nothing");
}

template <class Chain>
void check_chains(input bytes) {
    node_pool pool;
    std::array<Chain, 3> chains;
    std::array<expected_nodes, 3> expected;
    while (!bytes.empty()) {
        const std::size_t at = bytes.below(chains.size());
        const std::size_t from = bytes.below(chains.size());
        switch (bytes.below(3)) {
            case 0:
                for (node* each : pool.take(1)) {
                    chains[at].push_back(*each);
                    expected[at].push_back(each);
                }
                break;
            case 1: {
                node* const taken = chains[at].pop_front();
                node* const oldest = expected[at].empty() ? nullptr : expected[at].front();
                FAIRLEAD_ASSERT(taken == oldest, "takes the oldest");
                if (taken == nullptr) break;
                FAIRLEAD_ASSERT(taken->next == nullptr, "what was taken is not linked");
                expected[at].pop_front();
                pool.give_back(taken);
                break;
            }
            default:
                if (at == from) break;
                chains[at].append(std::move(chains[from]));
                expected[at].insert(expected[at].end(), expected[from].begin(),
                                    expected[from].end());
                expected[from].clear();
                break;
        }
        compare_chain(chains[at], expected[at]);
        compare_chain(chains[from], expected[from]);
    }
}

template <class FrontQueue>
void check_front_queue(input bytes) {
    node_pool pool;
    FrontQueue queue;
    expected_nodes expected;
    while (!bytes.empty()) {
        switch (bytes.below(3)) {
            case 0:
                for (node* each : pool.take(1)) {
                    FAIRLEAD_ASSERT(queue.push(*each) == expected.empty(), "tells if it was empty");
                    expected.push_back(each);
                }
                break;
            case 1: {
                const std::vector<node*> batch = pool.take(1 + bytes.below(40));
                if (batch.empty()) break;
                node* newest = nullptr;
                for (node* each : batch) each->next = std::exchange(newest, each);
                FAIRLEAD_ASSERT(queue.push_reversed(*newest, *batch.front()) == expected.empty(),
                                "tells if it was empty");
                expected.insert(expected.end(), batch.begin(), batch.end());
                break;
            }
            default: {
                auto taken = queue.take_all();
                compare_chain(taken, expected);
                while (node* each = taken.pop_front()) pool.give_back(each);
                expected.clear();
                break;
            }
        }
        FAIRLEAD_ASSERT(queue.empty() == expected.empty(), "both are empty or neither");
    }
}

/// `BlockSize`: of the queue, whose blocks end the claims.
template <class BlockQueue, std::size_t BlockSize>
class block_queue_check {
public:
    void run(input bytes) {
        while (!bytes.empty()) {
            auto& chosen = consumers_[bytes.below(consumers_.size())];
            switch (bytes.below(4)) {
                case 0:
                    push(1 + bytes.below(3 * BlockSize));
                    break;
                case 1:
                    push(1 + bytes.below(spares_worth));
                    break;
                case 2:
                    // An attached consumer keeps its block from being used again.
                    if (chosen.has_value()) {
                        chosen.reset();
                    } else {
                        chosen.emplace(queue_);
                    }
                    break;
                default:
                    if (!chosen.has_value()) chosen.emplace(queue_);
                    for (std::size_t left = bytes.below(256) + 1; left != 0; --left) {
                        if (!claim(*chosen, 1 + bytes.below(2 * BlockSize))) break;
                    }
                    break;
            }
        }
    }

private:
    using consumer = typename BlockQueue::consumer;

    // Enough items that more blocks become free than a queue keeps.
    static constexpr std::size_t spares_worth = 80 * BlockSize;

    void push(std::size_t count) {
        const std::vector<node*> batch = pool_.take(count);
        FAIRLEAD_ASSERT(queue_.push(batch) == batch.size(), "there is memory");
        expected_.insert(expected_.end(), batch.begin(), batch.end());
    }

    // True if there may be more.
    bool claim(consumer& by, std::size_t wanted) {
        FAIRLEAD_ASSERT(by.visible() <= expected_.size(), "sees no more than there is");
        if (!expected_.empty()) FAIRLEAD_ASSERT(!by.empty(), "sees that there is something");
        std::vector<node*> out(wanted, nullptr);
        const std::size_t claimed = by.claim(out);
        const std::size_t in_block = BlockSize - taken_ % BlockSize;
        FAIRLEAD_ASSERT(claimed == std::min({wanted, in_block, expected_.size()}),
                        "claims what it wants, as far as the block goes");
        if (claimed == 0)
            FAIRLEAD_ASSERT(by.empty(), "who gets nothing sees that there is nothing");
        for (std::size_t i = 0; i != claimed; ++i) {
            FAIRLEAD_ASSERT(out[i] == expected_.front(), "claims the oldest, in order");
            expected_.pop_front();
            pool_.give_back(out[i]);
        }
        taken_ += claimed;
        return claimed != 0;
    }

    node_pool pool_;
    BlockQueue queue_;
    std::array<std::optional<consumer>, 4> consumers_;
    expected_nodes expected_;
    std::size_t taken_ = 0;
};

template <class RunQueue>
void check_run_queue(input bytes) {
    node_pool pool;
    RunQueue queue;
    expected_nodes expected;
    const auto take_oldest = [&](node* taken) {
        FAIRLEAD_ASSERT(!expected.empty() && taken == expected.front(), "takes the oldest");
        expected.pop_front();
        pool.give_back(taken);
    };
    while (!bytes.empty()) {
        switch (bytes.below(3)) {
            case 0: {
                const std::size_t count = bytes.below(RunQueue::capacity + 1);
                const std::vector<node*> batch = pool.take(std::min(count, queue.room()));
                queue.push(batch);
                expected.insert(expected.end(), batch.begin(), batch.end());
                break;
            }
            case 1:
                if (node* const taken = queue.pop()) {
                    take_oldest(taken);
                } else {
                    FAIRLEAD_ASSERT(expected.empty(), "gives nothing only if there is nothing");
                }
                break;
            default: {
                std::vector<node*> out(1 + bytes.below(RunQueue::capacity), nullptr);
                const std::size_t half = expected.size() - expected.size() / 2;
                const std::size_t stolen = queue.steal(out);
                FAIRLEAD_ASSERT(stolen == std::min(half, out.size()), "steals the older half");
                for (std::size_t i = 0; i != stolen; ++i) take_oldest(out[i]);
                break;
            }
        }
        FAIRLEAD_ASSERT(queue.empty() == expected.empty(), "both are empty or neither");
        FAIRLEAD_ASSERT(queue.room() == RunQueue::capacity - expected.size(), "the room agrees");
    }
}

}  // namespace fairlead::fuzz
