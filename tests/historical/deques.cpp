// Deques for work stealing: the owner pushes and pops at the bottom, thieves steal at the top.
#include "historical/corpus.hpp"

#include <array>
#include <cstdint>
#include <utility>

namespace fairlead::model::historical {
namespace {

using namespace sync;  // the memory orders
using cell = sync::atomic<int>;

constexpr int nothing = -1;

// Counts the taken items. A second take of the same item is an error.
class items_taken {
public:
    void add(int item) {
        const explorer::outside_scenario outside{*explorer::running()};  // no part of the program
        if (item != nothing) ++counts_[static_cast<std::size_t>(item)];
    }
    void require_each(int count, const char* what) const {
        for (int i = 0; i != count; ++i) require(counts_[static_cast<std::size_t>(i)] == 1, what);
    }

private:
    std::array<int, 8> counts_{};
};

// The deque of Arora, Blumofe and Plaxton. The bottom starts again from 0 when the deque is found
// empty, and the top has a tag for that. A thief reads the age and then the bottom. With relaxed
// loads the values may be of different times: a new age with an old bottom. Then the thief steals
// an item that the owner has popped. Acquire loads without the fence, as the project has them now,
// still fail here, with a thief that steals twice: C++ allows it to read the old bottom after its
// first exchange.
class tagged_deque {
public:
    explicit tagged_deque(bool fixed) : fixed_{fixed} {}

    void push(int item) {
        const int bottom = bottom_.load(relaxed);
        items_[bottom].store(item, relaxed);
        bottom_.store(bottom + 1, release);
    }
    int pop() {
        const int bottom = bottom_.load(relaxed) - 1;
        if (bottom < 0) return nothing;
        bottom_.store(bottom, relaxed);
        fence(seq_cst);
        const int item = items_[bottom].load(relaxed);
        age now = age_.load(relaxed);
        if (bottom > now.top) return item;
        bottom_.store(0, relaxed);
        const age empty{0, now.tag + 1};
        if (bottom == now.top && age_.compare_exchange_strong(now, empty, seq_cst, relaxed)) {
            return item;
        }
        age_.store(empty, release);
        return nothing;
    }
    int steal() {
        age now = age_.load(fixed_ ? acquire : relaxed);
        if (fixed_) fence(seq_cst);
        if (bottom_.load(fixed_ ? acquire : relaxed) <= now.top) return nothing;
        const int item = items_[now.top].load(relaxed);
        const age next{now.top + 1, now.tag};
        return age_.compare_exchange_strong(now, next, seq_cst, relaxed) ? item : nothing;
    }

private:
    struct age {
        std::int32_t top;
        std::int32_t tag;
    };

    const bool fixed_;
    sync::atomic<age> age_{age{0, 0}};
    cell bottom_{0};
    cell items_[4];
};

void steals_with_relaxed_loads(bool fixed) {
    tagged_deque deque{fixed};
    items_taken taken;
    deque.push(0);
    deque.push(1);
    {
        thread thief{[&] {
            taken.add(deque.steal());
            taken.add(deque.steal());
        }};
        taken.add(deque.pop());
        taken.add(deque.pop());
    }
    taken.add(deque.pop());
    taken.add(deque.pop());
    taken.require_each(2, "each item is taken once");
}

// The owner moves its items into a larger buffer and publishes that with a relaxed store: a thief
// reads slots that it may not see written. Only the growth is here; the rest of the deque is in
// oracle_test.cpp.
void grows_while_a_thief_reads(bool fixed) {
    constexpr int unwritten = -2;
    struct buffer {
        cell items[4] = {{unwritten}, {unwritten}, {unwritten}, {unwritten}};
    };
    buffer small;
    buffer large;
    sync::atomic<buffer*> current{&small};
    cell bottom{2};
    small.items[0].store(0, relaxed);
    small.items[1].store(1, relaxed);
    thread thief{[&] {
        const int last = bottom.load(acquire);
        buffer* const from = current.load(fixed ? acquire : relaxed);
        if (last != 0) {
            require(from->items[0].load(relaxed) != unwritten,
                    "no slot is read before it is written");
        }
    }};
    for (int i = 0; i != 2; ++i) large.items[i].store(small.items[i].load(relaxed), relaxed);
    current.store(&large, fixed ? release : relaxed);
    large.items[2].store(2, relaxed);
    bottom.store(3, release);
}

// A pop from an empty deque moves the bottom below the top. With unsigned indices it is then far
// above.
template <class Index>
int pop_from_empty() {
    sync::atomic<Index> top{0};
    sync::atomic<Index> bottom{0};
    const auto last = static_cast<Index>(bottom.load(relaxed) - 1);
    bottom.store(last, relaxed);
    fence(seq_cst);
    if (top.load(relaxed) <= last) return 0;  // whatever is in that slot
    bottom.store(static_cast<Index>(last + 1), relaxed);
    return nothing;
}

void pops_from_an_empty_deque(bool fixed) {
    const int popped = fixed ? pop_from_empty<std::int64_t>() : pop_from_empty<std::uint64_t>();
    require(popped == nothing, "an empty deque has nothing to pop");
}

// A ring of two. The thief claims with an exchange of the top and reads the slot afterwards. The
// owner sees the room and has written the next item into the slot by then.
void reads_the_slot_after_the_claim(bool fixed) {
    cell top{0};
    cell bottom{2};
    cell slots[2] = {{0}, {1}};
    items_taken taken;
    const auto steal = [&] {
        int first = top.load(acquire);
        if (first == bottom.load(acquire)) return;
        int item = slots[first % 2].load(relaxed);
        if (!top.compare_exchange_strong(first, first + 1, seq_cst, relaxed)) return;
        if (!fixed) item = slots[first % 2].load(relaxed);
        taken.add(item);
    };
    {
        thread thief{steal};
        if (2 - top.load(acquire) < 2) {
            slots[0].store(2, relaxed);
            bottom.store(3, release);
        }
    }
    const int last = bottom.load(relaxed);
    for (int i = 0; i != 3; ++i) steal();
    taken.require_each(last, "each item is taken once");
}

// A ring that grows. The mistake: the items are copied in their order in memory, to index 0. If the
// head was at another index, the oldest item is not at index 0 then.
class growing_ring {
public:
    explicit growing_ring(bool fixed) : fixed_{fixed} {}

    void push(int item) {
        if (count_ == slots_.size()) grow();
        slots_[(head_ + count_++) % slots_.size()] = item;
    }
    int pop() {
        const int item = slots_[head_];
        head_ = (head_ + 1) % slots_.size();
        --count_;
        return item;
    }

private:
    void grow() {
        std::vector<int> larger(2 * slots_.size());
        for (std::size_t i = 0; i != count_; ++i) {
            larger[i] = slots_[fixed_ ? (head_ + i) % slots_.size() : i];
        }
        slots_ = std::move(larger);
        head_ = 0;
    }

    const bool fixed_;
    std::vector<int> slots_ = std::vector<int>(2);
    std::size_t head_ = 0;
    std::size_t count_ = 0;
};

void grows_with_a_head_that_is_not_zero(bool fixed) {
    growing_ring ring{fixed};
    ring.push(0);
    ring.push(1);
    int next = 0;
    require(ring.pop() == next++, "the order is kept");
    for (const int item : {2, 3}) ring.push(item);
    while (next != 4) require(ring.pop() == next++, "the order is kept");
}

}  // namespace

std::vector<bug> deques() {
    return {
        {"parlaylib_54",
         "parlaylib, PR #54; ParlayANN, issue #44",
         "The thief's loads of age and bottom are relaxed, without a fence between them: on ARM, "
         "jobs were "
         "run twice",
         "here: the fence of N. Le et al. (PPoPP 2013), and acquire loads",
         steals_with_relaxed_loads,
         "required: each item is taken once",
         {.stale_reads = 1}},
        {"chase_lev_growth", "Chase and Lev's deque in C11, CDSChecker (OOPSLA 2013)",
         "A grown buffer is published without release, and read without acquire: a thief reads "
         "slots that "
         "were not written yet",
         "release and acquire", grows_while_a_thief_reads,
         "required: no slot is read before it is written"},
        {"crossbeam_33", "crossbeam, PR #33 (in review)",
         "A pop from an empty deque moves an unsigned bottom below zero, which looks like a full "
         "deque",
         "signed indices", pops_from_an_empty_deque, "required: an empty deque has nothing to pop"},
        {"concurrent_deque_2", "ssbl/concurrent-deque, issue #2",
         "The thief reads the slot after its claim, when the owner may have written the next item "
         "into it",
         "read before the claim", reads_the_slot_after_the_claim,
         "required: each item is taken once"},
        {"iris_growth", "iris, `WSQueue`",
         "Growth copies the ring as it lies in memory and resets the head: one task is lost, a "
         "stale one "
         "runs again",
         "copy from the head on", grows_with_a_head_that_is_not_zero,
         "required: the order is kept"},
    };
}

}  // namespace fairlead::model::historical
