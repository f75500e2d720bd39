// The posts of the steps of one slot, with policy::stealing: the owner takes the newest post, other
// workers take the oldest.
//
//     spilled, oldest first               newest
//     [chunk] [chunk] ... [chunk]         a | b | c | ... | z
//      ^ thieves take a whole one,         ^ or the oldest   ^ the owner adds and takes
//        the owner takes the last one back when `newest` is empty
//
// Question it answers: how can a step leave any number of posts to its worker, at little cost?
//
// The array of the fork deque holds the newest posts. When the array is full, its older half
// becomes a chunk: a chain of tasks, linked by their own members. So a chunk needs only 24 bytes
// more, and the owner locks the mutex of the chunks once for each chunk, not for each post.
//
// Any thread calls `steal` and `empty`; only the owner calls the rest.
//
// Invariants
//   1. The items of chunks are older than those of the array; a chunk further right is newer.
//   2. While the owner moves items between the array and the chunks, `empty` may miss them. So the
//      owner looks for sleepers afterwards. After a push the owner does so anyway, unless the deque
//      was empty.
//
// Model test: ModelLocalDeque. The array: lockfree/fork_deque.hpp.
#pragma once

#include <fairlead/detail/base/chain.hpp>
#include <fairlead/detail/lockfree/fork_deque.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

namespace fairlead::sched {

template <class Item, Item* Item::*Link, std::size_t Capacity = 256>
class local_deque {
public:
    using chain = base::chain<Item, Link>;

    /// The size of a chunk.
    static constexpr std::size_t chunk_size = Capacity / 2;

    // --- the owner -------------------------------------------------------------------------------

    /// Adds the newest item, open to thieves. False: the array is full, and there is no memory for
    /// a chunk, or a thief is at the chunks, for which a post does not wait. Lock-free.
    [[nodiscard]] bool push(Item& item) noexcept {
        if (!newest_.push(item)) {
            if (!spill()) return false;
            static_cast<void>(newest_.push(item));  // a chunk has left the array
        }
        static_cast<void>(newest_.open_all());
        return true;
    }

    /// Takes the newest item of the array. Null: it is empty.
    [[nodiscard]] Item* pop() noexcept { return newest_.pop(); }

    /// Takes the newest item of the chunks, when the array is empty. The rest of the chunk goes
    /// back to the array, and the caller has to wake a sleeper. Null: there is no chunk, or other
    /// workers were faster.
    [[nodiscard]] Item* take_back() noexcept {
        return chunks_.load(sync::relaxed) == 0 ? nullptr : take_chunk_back();
    }

    /// How many items at most: a chunk counts as full, though thieves may have taken some of it.
    [[nodiscard]] std::size_t size() const noexcept {
        return newest_.size() + chunks_.load(sync::relaxed) * chunk_size;
    }

    // --- any thread ------------------------------------------------------------------------------

    /// No less than the number of items now, however many are pushed meanwhile.
    [[nodiscard]] std::size_t size_bound() const noexcept {
        return Capacity + chunks_.load(sync::relaxed) * chunk_size;
    }

    /// Takes the oldest items: the oldest chunk if it has no more than `count_max`, else one item.
    /// Empty: there is no item, or another worker was faster.
    [[nodiscard]] chain steal(std::size_t count_max) noexcept {
        if (chunks_.load(sync::relaxed) != 0) {
            std::lock_guard lock{mutex_};
            if (!spilled_.empty()) return take_front(count_max);
        }
        return of_one(newest_.steal());
    }

    /// Whether there is no item. A hint, ordered as `fork_deque::empty`.
    [[nodiscard]] bool empty() const noexcept {
        // In this order: the loads of `fork_deque::empty` order the question, so this load may be
        // relaxed.
        return newest_.empty() && chunks_.load(sync::relaxed) == 0;
    }

private:
    using spilled = std::deque<chain>;

    // The older half of the array becomes a chunk. False: it cannot now.
    [[gnu::noinline]] bool spill() noexcept {
        const std::unique_lock lock{mutex_, std::try_to_lock};
        if (!lock) return false;
        try {
            spilled_.emplace_back();
        } catch (const std::bad_alloc&) {
            return false;
        }
        chunks_.store(spilled_.size(), sync::relaxed);  // published by `open_all` of `push`
        std::array<Item*, chunk_size> oldest;
        const std::size_t count = newest_.take_oldest(oldest);
        for (std::size_t i = 0; i != count; ++i) spilled_.back().push_back(*oldest[i]);
        if (count == 0) forget(&spilled::pop_back);  // other workers were faster
        return true;
    }

    // Moves the newest chunk back to the array, except its newest item, which it returns.
    [[gnu::noinline]] Item* take_chunk_back() noexcept {
        std::lock_guard lock{mutex_};
        if (spilled_.empty()) return nullptr;
        chain chunk = std::exchange(spilled_.back(), {});
        while (chunk.size() != 1) static_cast<void>(newest_.push(*chunk.pop_front()));
        static_cast<void>(newest_.open_all());
        forget(&spilled::pop_back);
        return chunk.pop_front();
    }

    chain take_front(std::size_t count_max) noexcept {
        chain& oldest = spilled_.front();
        if (oldest.size() > count_max) return of_one(oldest.pop_front());
        const chain taken = std::exchange(oldest, {});
        forget(&spilled::pop_front);
        return taken;
    }

    // Takes the chunk that is empty now out of `spilled_`.
    void forget(void (spilled::*forgets)()) noexcept {
        (spilled_.*forgets)();
        chunks_.store(spilled_.size(), sync::relaxed);
    }

    static chain of_one(Item* item) noexcept {
        chain one;
        if (item != nullptr) one.push_back(*item);
        return one;
    }

    lockfree::fork_deque<Item, Capacity> newest_{0};
    sync::atomic<std::size_t> chunks_{0};  // as many as `spilled_` has; written under the mutex
    sync::mutex mutex_;
    spilled spilled_;  // guarded by mutex_; each chunk has an item
};

}  // namespace fairlead::sched
