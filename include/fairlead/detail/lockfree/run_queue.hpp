// The run of a slot: a bounded ring that its owner fills and empties, and thieves steal from.
//
//            head (owner and thieves take here, oldest first)
//            v
//     ... [ . | a | b | c | d | . ] ...
//                               ^
//                               tail (only the owner adds here)
//
// Question it answers: how does a worker keep a few tasks at hand so that idle workers can still
// take them?
//
// The owner of the slot pushes and pops; any other worker steals.
//
// Invariants
//   1. head <= tail <= head + Capacity. Both only grow, in 64 bits: no wrap, no ABA.
//   2. Items [head, tail) are in the ring; each is taken by exactly one exchange of `head`.
//   3. Only the owner writes slots and `tail`.
//
// Owner and thieves take the oldest, so order is kept up to the items in flight. The algorithm is
// that of the local run queues of Go and Tokio. Progress: lock-free; a thief that loses says so.
#pragma once

#include <fairlead/detail/base/cache_line.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::lockfree {

template <class Item, std::size_t Capacity = 256>
class run_queue {
    static_assert((Capacity & (Capacity - 1)) == 0, "the index is masked");

public:
    static constexpr std::size_t capacity = Capacity;

    run_queue() = default;
    run_queue(const run_queue&) = delete;
    run_queue& operator=(const run_queue&) = delete;

    /// Adds `items`, for which there must be room. Owner.
    void push(std::span<Item* const> items) noexcept {
        const std::uint64_t tail = tail_.load(sync::relaxed);  // the owner alone writes it
        for (std::size_t i = 0; i != items.size(); ++i) {
            slots_[(tail + i) & mask].store(items[i], sync::relaxed);  // published below
        }
        // [RQ1] release: publishes the slots to thieves. seq_cst: an owner that adds and then looks
        // for sleepers, and a thief that goes to sleep and then looks here, do not miss each other
        // [ID2].
        tail_.store(tail + items.size(), sync::seq_cst);
    }

    /// Slots free for push. Owner; thieves can only make it grow.
    [[nodiscard]] std::size_t room() const noexcept {
        // [RQ2] acquire: a thief has read the slots before it moved head past them, so the owner
        // may write them again.
        return Capacity -
               static_cast<std::size_t>(tail_.load(sync::relaxed) - head_.load(sync::acquire));
    }

    /// The oldest item, or null. Owner.
    [[nodiscard]] Item* pop() noexcept {
        std::uint64_t head = head_.load(sync::relaxed);        // stale only makes the exchange fail
        const std::uint64_t tail = tail_.load(sync::relaxed);  // own
        while (head != tail) {
            Item* const item = slots_[head & mask].load(sync::relaxed);  // own write
            // Relaxed: the owner reads the slot before it writes the slot again, in program order.
            if (head_.compare_exchange_weak(head, head + 1, sync::relaxed, sync::relaxed)) {
                return item;
            }
        }
        return nullptr;
    }

    /// Takes the older half (at least one, at most `out.size()`) of another slot's run, in order;
    /// returns how many. 0: it was empty, or another thief was faster. Any thread.
    [[nodiscard]] std::size_t steal(std::span<Item*> out) noexcept {
        // acquire: the tail below is not older than this head, or the difference could be negative
        // or larger than the ring.
        std::uint64_t head = head_.load(sync::acquire);
        const std::uint64_t tail = tail_.load(sync::acquire);  // [RQ1] sees the slots
        if (tail <= head || tail - head > Capacity) return 0;
        const std::uint64_t available = tail - head;
        const std::size_t count =
            std::min(static_cast<std::size_t>(available - available / 2), out.size());
        for (std::size_t i = 0; i != count; ++i) {
            // The slot may have been taken and written again meanwhile. Then head has moved, the
            // exchange fails, and the value is not used.
            out[i] = slots_[(head + i) & mask].load(sync::relaxed);
        }
        // [RQ2] release: the slots were read before the owner may write them again.
        if (!head_.compare_exchange_strong(head, head + count, sync::release, sync::relaxed)) {
            return 0;
        }
        return count;
    }

    /// Whether there was nothing to take. Any thread; a hint.
    [[nodiscard]] bool empty() const noexcept {
        const std::uint64_t head = head_.load(sync::acquire);
        return tail_.load(sync::seq_cst) <= head;  // [RQ1] [ID2]
    }

private:
    static constexpr std::uint64_t mask = Capacity - 1;

    alignas(base::cache_line) sync::atomic<std::uint64_t> head_{0};
    alignas(base::cache_line) sync::atomic<std::uint64_t> tail_{0};
    sync::atomic<Item*> slots_[Capacity];
};

}  // namespace fairlead::lockfree
