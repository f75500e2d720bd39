// The ready queue: one producer, many consumers, unbounded. A locked list of lock-free blocks.
//
//     head                                        tail
//     [ taken | taken ] -> [ taken | to take ] -> [ to take | free ]
//                             ^ read    ^ written
//
// Question it answers: how do many threads share a stream of items in order, without a lock for
// each item, when no simple unbounded lock-free queue of this kind exists?
//
// Within a block consumers claim runs of items by moving `read` with one exchange; the mutex is
// taken only to go from block to block, once in `BlockSize` items.
//
// The holder of the role pushes; any worker claims through its own `consumer`.
//
// Invariants
//   1. read <= written <= BlockSize in every block; items [read, written) are unclaimed.
//   2. Slots are written once before `written` passes them and not again until the block is reused.
//   3. A block is reused only when it is off the list, fully claimed, and no consumer is attached.
//      So an attached consumer may read the slots of its claim at leisure, and `read` cannot be
//      reset under it: there is no ABA.
//   4. A full block always has a successor, so consumers lock only to go on. Without memory for a
//      successor the last item stays with the producer.
//
// Progress: push and claim are lock-free within a block. Blocks off the list are kept for reuse up
// to `spare_max`, then freed.
//
// Rejected: a ring that grows (consumers read a buffer that is being replaced), one mutex for each
// item (measured in bench/q1), Michael-Scott with hazard pointers (two exchanges an item, and a
// reclamation scheme).
#pragma once

#include <fairlead/detail/base/cache_line.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace fairlead::lockfree {

template <class Item, std::size_t BlockSize = 1024>
class block_queue {
    struct block;

public:
    class consumer;

    block_queue() : head_{new block}, tail_{head_} {}
    block_queue(const block_queue&) = delete;
    block_queue& operator=(const block_queue&) = delete;

    /// No consumer may be attached any more.
    ~block_queue() {
        free_list(head_);
        free_list(spare_);
    }

    /// Appends `items` in order; returns how many. Only the producer. Allocates a block for each
    /// `BlockSize` items unless there are spare ones. Fewer than all: there was no memory for it.
    [[nodiscard]] std::size_t push(std::span<Item* const> items) noexcept {
        std::size_t pushed = 0;
        while (pushed != items.size()) {
            // Relaxed: the producer alone writes it.
            const std::size_t written = tail_->written.load(sync::relaxed);
            std::size_t fit = std::min(items.size() - pushed, BlockSize - written);
            for (std::size_t i = 0; i != fit; ++i) {
                tail_->items[written + i].store(items[pushed + i],
                                                sync::relaxed);  // published below
            }
            block* const filled = tail_;
            const bool full = written + fit == BlockSize;
            const bool refused = full && !append_block();
            if (refused) --fit;  // without a successor the block must not be full
            // [BQ1] release: publishes the slots, and the successor of a full block.
            filled->written.store(static_cast<std::uint32_t>(written + fit), sync::release);
            pushed += fit;
            if (refused) break;
        }
        return pushed;
    }

private:
    struct block {
        alignas(base::cache_line) sync::atomic<std::uint32_t> read{0};
        alignas(base::cache_line) sync::atomic<std::uint32_t> written{0};
        // Guarded by mutex_.
        block* next = nullptr;
        std::uint32_t attached = 0;
        bool listed = true;

        sync::atomic<Item*> items[BlockSize];
    };

    static constexpr std::size_t spare_max = 64;

    // The producer links a fresh block behind the full one, before it publishes the last item.
    // False: there is no memory.
    [[nodiscard]] bool append_block() noexcept {
        std::unique_ptr<block> fresh;
        {
            std::lock_guard lock{mutex_};
            if (spare_ != nullptr) {
                fresh.reset(spare_);
                spare_ = spare_->next;
                --spare_count_;
            }
        }
        if (fresh == nullptr) fresh.reset(new (std::nothrow) block);
        if (fresh == nullptr) return false;
        // Relaxed: no other thread sees the block before the lock below.
        fresh->read.store(0, sync::relaxed);
        fresh->written.store(0, sync::relaxed);
        fresh->next = nullptr;
        fresh->listed = true;
        std::lock_guard lock{mutex_};
        tail_->next = fresh.get();
        tail_ = fresh.release();
        return true;
    }

    // The first block with something left to claim, or the tail. Requires mutex_.
    block* first_open() {
        // Relaxed: `read` only grows while the block is listed, so a stale value keeps a block on
        // the list a little longer, no more.
        while (head_->next != nullptr && head_->read.load(sync::relaxed) == BlockSize) {
            block* const done = head_;
            head_ = head_->next;
            done->listed = false;
            if (done->attached == 0) keep_spare(done);
        }
        return head_;
    }

    // Requires mutex_, and that no thread can reach `done` any more.
    void keep_spare(block* done) {
        if (spare_count_ == spare_max) {
            delete done;
            return;
        }
        done->next = spare_;
        spare_ = done;
        ++spare_count_;
    }

    // Requires mutex_.
    void detach(block* left) {
        if (--left->attached == 0 && !left->listed) keep_spare(left);
    }

    static void free_list(block* first) {
        while (first != nullptr) {
            block* const next = first->next;
            delete first;
            first = next;
        }
    }

    sync::mutex mutex_;
    block* head_;                            // guarded by mutex_
    block* spare_ = nullptr;                 // guarded by mutex_
    std::size_t spare_count_ = 0;            // guarded by mutex_
    alignas(base::cache_line) block* tail_;  // the producer's; its `next` is guarded by mutex_
};

/// A worker's place in the queue. One thread at a time.
template <class Item, std::size_t BlockSize>
class block_queue<Item, BlockSize>::consumer {
public:
    explicit consumer(block_queue& queue) : queue_{queue} {
        std::lock_guard lock{queue_.mutex_};
        block_ = queue_.first_open();
        ++block_->attached;
    }
    consumer(const consumer&) = delete;
    consumer& operator=(const consumer&) = delete;
    ~consumer() {
        std::lock_guard lock{queue_.mutex_};
        queue_.detach(block_);
    }

    /// How many unclaimed items this consumer sees in its block. A hint for the size of a claim.
    [[nodiscard]] std::size_t visible() const noexcept {
        // Relaxed: claim looks again.
        const std::uint32_t written = block_->written.load(sync::relaxed);
        const std::uint32_t read = block_->read.load(sync::relaxed);
        return written > read ? written - read : 0;
    }

    /// Whether nothing was unclaimed. A hint: a block that is used up counts as not empty, because
    /// a successor may have items.
    [[nodiscard]] bool empty() const noexcept {
        // Relaxed: claim looks again. A block that is used up may have a successor.
        const std::uint32_t read = block_->read.load(sync::relaxed);
        return read != BlockSize && block_->written.load(sync::relaxed) <= read;
    }

    /// Claims up to `out.size()` of the oldest items, in order; returns how many. 0: the queue was
    /// empty. Never waits for another consumer but for the mutex between blocks.
    [[nodiscard]] std::size_t claim(std::span<Item*> out) {
        for (;;) {
            // Relaxed: a stale `read` only makes the exchange fail.
            std::uint32_t read = block_->read.load(sync::relaxed);
            // [BQ1] acquire: sees the slots below it.
            const std::uint32_t written = block_->written.load(sync::acquire);
            if (read == BlockSize) {
                move_on();
                continue;
            }
            if (read >= written) return 0;
            const auto count =
                std::min<std::uint32_t>(written - read, static_cast<std::uint32_t>(out.size()));
            // Relaxed: a claim publishes nothing (the slots are never written while we are
            // attached), and its data came with [BQ1].
            if (!block_->read.compare_exchange_weak(read, read + count, sync::relaxed,
                                                    sync::relaxed)) {
                continue;
            }
            for (std::uint32_t i = 0; i != count; ++i) {
                out[i] = block_->items[read + i].load(sync::relaxed);  // ours since the claim
            }
            return count;
        }
    }

private:
    void move_on() {
        std::lock_guard lock{queue_.mutex_};
        block* const next = queue_.first_open();
        ++next->attached;
        queue_.detach(block_);
        block_ = next;
    }

    block_queue& queue_;
    block* block_;
};

}  // namespace fairlead::lockfree
