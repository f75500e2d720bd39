// Compares a heap of deadlines with a set ordered by deadline: both get the same operations and
// must give the same answers. It is a template, so that a test with a broken heap can show that the
// check finds mistakes.
#pragma once

#include "fuzz/input.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/detail/base/assert.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace fairlead::fuzz {

struct sleeper {
    std::int32_t index = -1;
    time_point deadline{};
    bool sleeps = false;
};

template <class Heap>
class deadline_heap_check {
public:
    void run(input bytes) {
        while (!bytes.empty()) {
            const std::size_t drawn = bytes.below(16);
            if (drawn < 8) {
                push(nodes_[bytes.below(few)], deadline(bytes));
            } else if (drawn < 12) {
                erase(nodes_[bytes.below(few)]);
            } else if (drawn < 14) {
                pop_many(1);
            } else if (drawn == 14) {
                pop_many(std::size_t{1} << bytes.below(12));
            } else {
                burst(bytes);
            }
            compare();
        }
        compare_whole();
        pop_many(nodes_max);
        compare();
    }

private:
    static constexpr std::size_t few = 256;
    // More than the entries whose memory a heap keeps, so that it gives memory back.
    static constexpr std::size_t nodes_max = few + 2048;
    static constexpr std::size_t whole_max = 32;

    // Few different deadlines, so that many are equal, and the ends of time.
    static time_point deadline(input& bytes) {
        const std::uint8_t drawn = bytes.byte();
        if (drawn == 255) return never;
        if (drawn == 254) return immediately;
        return time_point{duration{drawn % 32}};
    }

    // Many sleepers at once, with ascending, descending or mixed deadlines.
    void burst(input& bytes) {
        const std::size_t count = std::size_t{1} << bytes.below(12);
        const auto stride = static_cast<std::int64_t>(bytes.byte()) - 128;
        std::int64_t at = 0;
        for (std::size_t i = 0; i != count; ++i, at = (at + stride) % 10'007) {
            push(nodes_[few + i], time_point{duration{at}});
        }
    }

    void push(sleeper& node, time_point deadline) {
        if (node.sleeps) return;
        node.deadline = deadline;
        node.sleeps = true;
        FAIRLEAD_ASSERT(heap_.push(node, deadline), "there is memory");
        expected_.emplace(deadline, &node);
    }

    void erase(sleeper& node) {
        if (!node.sleeps) return;
        node.sleeps = false;
        heap_.erase(node);
        expected_.erase({node.deadline, &node});
    }

    void pop_many(std::size_t count) {
        for (std::size_t i = 0; i != count && !expected_.empty(); ++i) {
            sleeper& first = heap_.top();
            FAIRLEAD_ASSERT(first.sleeps, "the top of the heap is in it");
            FAIRLEAD_ASSERT(first.deadline == expected_.begin()->first, "the top is the earliest");
            erase(first);
        }
    }

    void compare() {
        FAIRLEAD_ASSERT(heap_.size() == expected_.size(), "sizes agree");
        FAIRLEAD_ASSERT(heap_.empty() == expected_.empty(), "both are empty or neither");
        const time_point next = expected_.empty() ? never : expected_.begin()->first;
        FAIRLEAD_ASSERT(heap_.next() == next, "the earliest deadlines agree");
        if (expected_.size() <= whole_max) compare_whole();
    }

    // The invariants of the heap, seen from outside: it visits its entries in the order of its
    // array.
    void compare_whole() {
        visited_.clear();
        heap_.for_each([&](sleeper& node) {
            FAIRLEAD_ASSERT(expected_.contains({node.deadline, &node}), "visits what is in it");
            FAIRLEAD_ASSERT(node.index == static_cast<std::int32_t>(visited_.size()),
                            "each node knows its index");
            visited_.push_back(&node);
        });
        FAIRLEAD_ASSERT(visited_.size() == expected_.size(), "visits each once");
    }

    std::array<sleeper, nodes_max> nodes_{};
    Heap heap_;
    std::set<std::pair<time_point, sleeper*>> expected_;
    std::vector<const sleeper*> visited_;
};

}  // namespace fairlead::fuzz
