// The deadlines of sleeping tasks: a 4-ary heap with the earliest on top, and removal anywhere.
//
// Question it answers: which sleeper is due, and when is the next one due?
// Called by the holder of the role only. It reads no clock; the caller passes the time.
//
// Each entry keeps the deadline beside the pointer, so that sifting compares within the array and
// touches a node only to tell it its new index.
//
// Invariants
//   1. The deadline of an entry is not before that of its parent: entry (i - 1) / 4.
//   2. `node.*Index` is the index of the node's entry.
//
// Costs: push O(log n), and O(1) for a deadline later than most; pop and erase O(log n). The array
// takes 16 bytes a sleeper, and shrinks again when it is three quarters empty.
//
// Rejected, with figures in docs/adr/0005-deadlines.md: a timer wheel (its slots round deadlines,
// and cascades take time at once) and a binary heap (twice the levels, more cache misses).
#pragma once

#include <fairlead/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace fairlead::timer {

template <class Node, std::int32_t Node::*Index>
class deadline_heap {
public:
    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

    /// The earliest deadline, or `never`.
    [[nodiscard]] time_point next() const noexcept {
        return entries_.empty() ? never : entries_.front().deadline;
    }

    /// The node with the earliest deadline. There must be one.
    [[nodiscard]] Node& top() const noexcept { return *entries_.front().node; }

    /// Adds `node`. False: there is no memory for it.
    [[nodiscard]] bool push(Node& node, time_point deadline) noexcept {
        try {
            entries_.push_back({deadline, &node});
        } catch (const std::bad_alloc&) {
            return false;
        }
        sift_up(entries_.size() - 1);
        return true;
    }

    /// Removes `node`, which must be in the heap.
    void erase(Node& node) noexcept {
        const auto hole = static_cast<std::size_t>(node.*Index);
        const entry last = entries_.back();
        entries_.pop_back();
        if (hole != entries_.size()) {
            const bool earlier = last.deadline < entries_[hole].deadline;
            put(hole, last);
            if (earlier) {
                sift_up(hole);
            } else {
                sift_down(hole);
            }
        }
        give_back();
    }

    /// Calls `visit(node)` for every node, in no particular order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const entry& each : entries_) visit(*each.node);
    }

private:
    struct entry {
        time_point deadline;
        Node* node;
    };

    static constexpr std::size_t arity = 4;
    static constexpr std::size_t kept_entries = 1024;

    void put(std::size_t index, const entry& moved) noexcept {
        entries_[index] = moved;
        moved.node->*Index = static_cast<std::int32_t>(index);
    }

    void sift_up(std::size_t index) noexcept {
        const entry moved = entries_[index];
        while (index != 0) {
            const std::size_t parent = (index - 1) / arity;
            if (entries_[parent].deadline <= moved.deadline) break;
            put(index, entries_[parent]);
            index = parent;
        }
        put(index, moved);
    }

    void sift_down(std::size_t index) noexcept {
        const entry moved = entries_[index];
        for (;;) {
            const std::size_t child = earliest_child(index);
            if (child == 0 || moved.deadline <= entries_[child].deadline) break;
            put(index, entries_[child]);
            index = child;
        }
        put(index, moved);
    }

    // The child with the earliest deadline, or 0 if there is none.
    [[nodiscard]] std::size_t earliest_child(std::size_t parent) const noexcept {
        const std::size_t first = parent * arity + 1;
        if (first >= entries_.size()) return 0;
        const std::size_t end = first + arity < entries_.size() ? first + arity : entries_.size();
        std::size_t earliest = first;
        for (std::size_t child = first + 1; child < end; ++child) {
            if (entries_[child].deadline < entries_[earliest].deadline) earliest = child;
        }
        return earliest;
    }

    // A burst of sleepers must not hold its memory for ever.
    void give_back() noexcept {
        if (entries_.capacity() <= kept_entries || entries_.size() > entries_.capacity() / 4)
            return;
        try {
            std::vector<entry> smaller;
            smaller.reserve(entries_.capacity() / 2);
            smaller.assign(entries_.begin(), entries_.end());
            entries_.swap(smaller);
        } catch (const std::bad_alloc&) {
            // Keeping the larger array is harmless.
        }
    }

    std::vector<entry> entries_;
};

}  // namespace fairlead::timer
