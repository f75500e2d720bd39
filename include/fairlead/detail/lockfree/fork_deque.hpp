// The forked children of one worker: the owner takes back the newest, thieves take the oldest.
//
//         top (thieves take here)
//         v       split          bottom (the owner adds and takes here)
//         v       v              v
//     ... a | b | c | d | e | f | . ...
//         open    |   hidden    |
//
// Question it answers: how does a fork that no thief takes cost no more than writing a pointer?
//
// Any thread calls steal and empty; only the owner calls the rest. With policy::stealing a deque
// also holds the posts of a worker's steps, all of them open.
//
// Invariants
//   1. top <= split <= bottom <= top + Capacity, but for a moment in which the owner takes an open
//      item back. `top` only grows, in 64 bits: no ABA.
//   2. Items [top, split) are open, [split, bottom) are hidden: the owner's alone, without any
//      synchronization. Each open item is taken by one exchange of `top`, or by the owner, which
//      moves `split` below it first and then sees that no thief has reached it.
//   3. After `open` at least `open_min` items are open, or all.
//
// The owner stores `split` and then loads `top`; a thief loads `top` and then `split`. That order
// is the whole point [FD2]. The open part is the deque of D. Chase and Y. Lev ("Dynamic circular
// work-stealing deque", SPAA 2005). The hidden part, which needs no fence, is from T. van Dijk and
// J. van de Pol ("Lace: non-blocking split deque for work-stealing", 2014).
//
// The deque does not grow. The owner of a full deque has the oldest forks, which are the largest,
// open already, and keeps a new fork to itself. Progress: the owner is wait-free; thieves are
// lock-free, and a thief that loses says so.
#pragma once

#include <fairlead/detail/base/cache_line.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::lockfree {

template <class Item, std::size_t Capacity = 256>
class fork_deque {
    static_assert((Capacity & (Capacity - 1)) == 0, "the index is masked");

public:
    static constexpr std::size_t capacity = Capacity;

    /// `open_min`: the number of the oldest items that thieves can always take. With 0 nothing is
    /// open before open_all.
    explicit fork_deque(std::size_t open_min) noexcept : open_min_{open_min} {}
    fork_deque(const fork_deque&) = delete;
    fork_deque& operator=(const fork_deque&) = delete;

    // --- the owner -------------------------------------------------------------------------------

    /// Adds the newest item. False: there is no room.
    [[nodiscard]] bool push(Item& item) noexcept {
        if (bottom_ - seen_top_ == Capacity) {
            // [FD3] acquire: a thief has read a slot before it moved top past the slot, so the
            // owner may write the slot again.
            seen_top_ = top_.load(sync::acquire);
            if (bottom_ - seen_top_ == Capacity) return false;
        }
        slots_[bottom_++ & mask].store(&item, sync::relaxed);  // published when it is opened
        return true;
    }

    /// Takes the newest item. Null: thieves have taken all.
    [[nodiscard]] Item* pop() noexcept {
        if (split_.load(sync::relaxed) == bottom_) return pop_open();
        return slots_[--bottom_ & mask].load(sync::relaxed);  // own write
    }

    /// Takes the oldest open items, as many as fit, and returns how many. Lock-free: each theft
    /// makes it try again.
    [[nodiscard]] std::size_t take_oldest(std::span<Item*> out) noexcept {
        std::uint64_t top = top_.load(sync::relaxed);
        for (;;) {
            const std::uint64_t open = split_.load(sync::relaxed) - top;  // own, and not below top
            const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), open));
            for (std::size_t i = 0; i != count; ++i) {
                out[i] = slots_[(top + i) & mask].load(sync::relaxed);  // own writes
            }
            // Relaxed: it publishes nothing, and a thief that has seen an older top fails. The
            // release sequences of thieves go on through it [FD3].
            if (count == 0 ||
                top_.compare_exchange_weak(top, top + count, sync::relaxed, sync::relaxed)) {
                return count;
            }
        }
    }

    /// How many items there are, hidden ones too. Thieves may take some meanwhile.
    [[nodiscard]] std::size_t size() const noexcept {
        return static_cast<std::size_t>(bottom_ - top_.load(sync::relaxed));
    }

    /// Where the next item goes. Only later pushes lie there or above.
    [[nodiscard]] std::uint64_t bottom() const noexcept { return bottom_; }

    /// Sets another `open_min`. No item is closed.
    void set_open_min(std::size_t count) noexcept { open_min_ = count; }

    /// Whether less than `open_min` items are open, and some are hidden.
    [[nodiscard]] bool must_open() const noexcept { return opens_less_than(open_min_); }

    /// Whether so few items are open that many new items had better be opened at once. Otherwise
    /// thieves find enough, and older items are larger.
    [[nodiscard]] bool must_open_all() const noexcept { return opens_less_than(8 * open_min_); }

    /// Opens hidden items if less than `open_min` are open. True: some were opened, and the caller
    /// has to wake a sleeper.
    [[nodiscard]] bool open() noexcept {
        if (!must_open()) return false;
        const std::uint64_t top = top_.load(sync::relaxed);
        // [FD1] release: publishes the items to thieves. seq_cst: an owner that opens items and
        // then looks for sleepers, and a thief that goes to sleep and then looks here, do not miss
        // each other [ID2].
        split_.store(std::min(bottom_, top + open_min_), sync::seq_cst);
        return true;
    }

    /// Opens all hidden items, for an owner that may not come back for long. True: as of `open`.
    [[nodiscard]] bool open_all() noexcept {
        if (split_.load(sync::relaxed) == bottom_) return false;
        split_.store(bottom_, sync::seq_cst);  // [FD1]
        return true;
    }

    // --- any thread ------------------------------------------------------------------------------

    /// Takes the oldest open item. Null: there is none, or another thread was faster.
    [[nodiscard]] Item* steal() noexcept {
        std::uint64_t top = top_.load(sync::seq_cst);  // [FD2]
        // [FD2]; and [FD1] sees the items.
        if (top >= split_.load(sync::seq_cst)) return nullptr;
        // The slot may have been taken and written again meanwhile. Then top has moved, the
        // exchange fails, and the value is not used.
        Item* const item = slots_[top & mask].load(sync::relaxed);
        // [FD2] [FD3]
        if (!top_.compare_exchange_strong(top, top + 1, sync::seq_cst, sync::relaxed)) {
            return nullptr;
        }
        return item;
    }

    /// Whether nothing is open. A hint.
    [[nodiscard]] bool empty() const noexcept {
        const std::uint64_t top = top_.load(sync::acquire);
        return split_.load(sync::seq_cst) <= top;  // [FD1] [ID2]
    }

private:
    static constexpr std::uint64_t mask = Capacity - 1;

    [[nodiscard]] bool opens_less_than(std::uint64_t enough) const noexcept {
        const std::uint64_t split = split_.load(sync::relaxed);
        // Relaxed: a stale top only opens less.
        return top_.load(sync::relaxed) + enough > split && split != bottom_;
    }

    // The newest item is open: a thief may be taking it. Rare: not in the function that pops.
    [[nodiscard, gnu::noinline]] Item* pop_open() noexcept {
        const std::uint64_t split = split_.load(sync::relaxed);  // own
        if (top_.load(sync::relaxed) == split) return nullptr;
        // [FD2] in the single order: a thief that looks later does not see this item, and top shows
        // how far a thief is that looked before.
        split_.store(split - 1, sync::seq_cst);
        std::uint64_t top = top_.load(sync::seq_cst);
        if (top < split - 1) {
            bottom_ = split - 1;
            return slots_[bottom_ & mask].load(sync::relaxed);  // own write
        }
        // It is the last item, and a thief may have read it: the exchange of top decides. [FD2]
        const bool won = top == split - 1 &&
                         top_.compare_exchange_strong(top, split, sync::seq_cst, sync::relaxed);
        split_.store(split, sync::relaxed);  // as top is: empty
        return won ? slots_[(split - 1) & mask].load(sync::relaxed) : nullptr;
    }

    std::uint64_t open_min_;

    alignas(base::cache_line) sync::atomic<std::uint64_t> top_{0};
    alignas(base::cache_line) sync::atomic<std::uint64_t> split_{0};  // written by the owner
    alignas(base::cache_line) std::uint64_t bottom_ = 0;              // the owner's
    std::uint64_t seen_top_ = 0;  // the owner's, not newer than top
    sync::atomic<Item*> slots_[Capacity];
};

}  // namespace fairlead::lockfree
