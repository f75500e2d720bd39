// Queues and channels that lose an item, give it out twice, or let a slot be overwritten while it
// is read.
#include "historical/corpus.hpp"

#include <array>
#include <cstdint>
#include <memory>

namespace fairlead::model::historical {
namespace {

using namespace sync;  // the memory orders
using cell = sync::atomic<int>;

// --- rings --------------------------------------------------------------------------------------

// A ring of two slots. The head has two halves: the claimed items, and the items that were read. A
// thief claims, copies, and then sets the second half to the first. A thread that computes the room
// from the first half overwrites slots that the thief still copies. In the project another theft
// added items to the queue; here it is a push.
class ring_with_two_heads {
public:
    explicit ring_with_two_heads(bool fixed) : fixed_{fixed} {}

    void push(int item) {
        const head now = head_.load(acquire);
        const int tail = tail_.load(relaxed);
        if (tail - (fixed_ ? now.read : now.claimed) == 2) return;  // full
        slots_[tail % 2] = item;
        tail_.store(tail + 1, release);
    }
    void steal() {
        head now = head_.load(acquire);
        if (now.claimed == tail_.load(acquire)) return;
        const head claimed{now.claimed + 1, now.read};
        if (!head_.compare_exchange_strong(now, claimed, acq_rel, relaxed)) return;
        require(slots_[now.claimed % 2] <= 3, "it is read");
        head_.store({claimed.claimed, claimed.claimed}, release);
    }

private:
    struct head {
        std::int32_t claimed;
        std::int32_t read;
    };

    const bool fixed_;
    sync::atomic<head> head_{head{0, 0}};
    cell tail_{0};
    plain<int> slots_[2];
};

void pushes_over_a_slow_thief(bool fixed) {
    const auto ring = std::make_unique<ring_with_two_heads>(fixed);  // not local: see races.hpp
    ring->push(1);
    ring->push(2);
    thread thief{[&] { ring->steal(); }};
    ring->push(3);
}

// A thief reads head and slot and is stopped. Meanwhile the owner pops and pushes until the head,
// which is counted modulo four here and modulo 2^16 in the project, has its old value: the exchange
// succeeds.
void pops_until_the_head_is_the_same(bool fixed) {
    const int wrap = fixed ? 1 << 16 : 4;
    cell head{0};
    cell tail{0};
    cell slots[2];
    int taken[5] = {};
    const auto take = [&] {
        int first = head.load(acquire);
        if (first == tail.load(acquire)) return;
        const int item = slots[first % 2].load(relaxed);
        if (head.compare_exchange_strong(first, (first + 1) % wrap, acq_rel, relaxed)) {
            const explorer::outside_scenario outside{
                *explorer::running()};  // no part of the program
            ++taken[item];
        }
    };
    {
        thread thief{take};
        for (int item = 1; item <= 4; ++item) {
            const int last = tail.load(relaxed);
            slots[last % 2].store(item, relaxed);
            tail.store((last + 1) % wrap, release);
            take();
        }
    }
    require(taken[1] <= 1 && taken[2] <= 1 && taken[3] <= 1 && taken[4] <= 1,
            "nothing is taken twice");
}

// --- lists --------------------------------------------------------------------------------------

// A stack of free entries. 1. A thread reads the head, 0, and its successor, 1. 2. A second thread
// takes 0 and 1, and gives 0 back. 3. The exchange of the first thread succeeds, and the head is 1,
// which is in use.
void takes_from_a_free_list(bool fixed) {
    struct place {
        std::int16_t index;
        std::int16_t tag;  // changes with each exchange, in the fixed version
    };
    constexpr std::int16_t none = -1;
    sync::atomic<place> head{place{0, 0}};
    sync::atomic<std::int16_t> next[3] = {{1}, {2}, {none}};
    const auto after = [&](place seen, std::int16_t index) {
        return place{index, static_cast<std::int16_t>(fixed ? seen.tag + 1 : 0)};
    };
    const auto pop = [&] {
        place seen = head.load(acquire);
        while (seen.index != none) {
            const std::int16_t rest = next[seen.index].load(relaxed);
            if (head.compare_exchange_strong(seen, after(seen, rest), acq_rel, acquire)) break;
        }
        return seen.index;
    };
    const auto push = [&](std::int16_t index) {
        place seen = head.load(relaxed);
        do {
            next[index].store(seen.index, relaxed);
        } while (!head.compare_exchange_strong(seen, after(seen, index), acq_rel, relaxed));
    };

    std::int16_t kept = none;
    {
        thread other{[&] { static_cast<void>(pop()); }};
        const std::int16_t given_back = pop();
        kept = pop();
        push(given_back);
    }
    require(kept == none || pop() != kept, "nothing in use is taken");
}

// A list with a head, from which consumers take, and nodes that are used again. `garbage` is the
// old value of a link. The second consumer reaches a node through the head that the first consumer
// has moved on.
void takes_after_another_consumer(bool fixed) {
    enum : int { nothing = -1, garbage = -2, dummy = 0, added = 1 };
    cell head{dummy};
    cell next[2] = {{nothing}, {garbage}};
    const auto take = [&] {
        int first = head.load(acquire);
        const int second = next[first].load(acquire);
        require(second != garbage, "a link is read after it was written");
        if (second == nothing) return;
        head.compare_exchange_strong(first, second, fixed ? acq_rel : acquire, relaxed);
    };
    thread producer{[&] {
        next[added].store(nothing, relaxed);
        next[dummy].store(added, release);
    }};
    thread other{take};
    take();
}

// Vyukov's queue. Producers exchange the back and then link. The consumer keeps an entry of its
// own, the stub, so that the list is never empty.
class queue_with_stub {
public:
    struct node {
        sync::atomic<node*> next{nullptr};
    };

    void push(node* added) {
        added->next.store(nullptr, relaxed);
        back_.exchange(added, acq_rel)->next.store(added, release);
    }
    // Null if the queue is empty, or a producer has not linked the next node yet.
    node* pop() {
        node* first = front_;
        node* second = first->next.load(acquire);
        if (first == &stub_) {
            if (second == nullptr) return nullptr;
            front_ = first = second;
            second = first->next.load(acquire);
        }
        if (second == nullptr) {
            if (first != back_.load(acquire)) return nullptr;
            push(&stub_);
            second = first->next.load(acquire);
            if (second == nullptr) return nullptr;
        }
        front_ = second;
        return first;
    }

protected:
    node stub_;
    sync::atomic<node*> back_{&stub_};
    node* front_ = &stub_;
};

// The mistake: the consumer pushes the stub whenever the next link is missing, though the link may
// only be late. A second push of the stub while it is in the list resets its link. The nodes behind
// it are lost, or the list has become a ring.
class queue_with_hasty_stub : public queue_with_stub {
public:
    node* pop() {
        if (front_ == &stub_) {
            node* const first = stub_.next.load(acquire);
            if (first == nullptr) return nullptr;
            front_ = first;
        }
        node* const first = front_;
        node* second = first->next.load(acquire);
        if (second == nullptr) {
            push(&stub_);
            while ((second = first->next.load(acquire)) == nullptr) explorer::running()->yield();
        }
        front_ = second;
        return first;
    }
};

template <class Queue>
void pops_while_producers_link() {
    Queue queue;
    queue_with_stub::node nodes[4];
    int popped = 0;
    queue.push(&nodes[0]);
    {
        thread one{[&] {
            queue.push(&nodes[1]);
            queue.push(&nodes[2]);
        }};
        thread two{[&] { queue.push(&nodes[3]); }};
        for (int i = 0; i != 2; ++i) {
            if (queue.pop() != nullptr) ++popped;
        }
    }
    while (popped <= 4 && queue.pop() != nullptr) ++popped;
    require(popped == 4, "each node is popped once");
}

void pushes_the_stub_when_a_link_is_late(bool fixed) {
    if (fixed) {
        pops_while_producers_link<queue_with_stub>();
    } else {
        pops_while_producers_link<queue_with_hasty_stub>();
    }
}

// --- channels -----------------------------------------------------------------------------------

// A channel. Its first sender makes the first block and sets two pointers to it: the tail's, then
// the head's. The contents and the end of a block are left out.
class channel {
public:
    struct block {};

    ~channel() { delete head_block.load(relaxed); }

    void send() {
        block* first = tail_block.load(acquire);
        if (first == nullptr) {
            auto* const made = new block;
            if (tail_block.compare_exchange_strong(first, made, acq_rel, acquire)) {
                head_block.store(made, release);
            } else {
                delete made;
            }
        }
        int now = messages.load(relaxed);
        while (now < closed && !messages.compare_exchange_weak(now, now + 1, release, relaxed)) {
        }
    }
    // Ends all sends. Returns the number of remaining messages.
    [[nodiscard]] int close() { return messages.fetch_or(closed, acq_rel); }

    sync::atomic<block*> tail_block{nullptr};
    sync::atomic<block*> head_block{nullptr};

private:
    static constexpr int closed = 8;
    cell messages{0};
};

// 1. A sender has set the tail's pointer, but not the head's. 2. A second sender sends through it.
//    3. The
// receiver leaves. There is a message, so it expects a block at the head.
void discards_what_was_sent(bool fixed) {
    channel channel;
    thread sender{[&] { channel.send(); }};
    channel.send();
    if (channel.close() == 0) return;
    channel::block* first = channel.head_block.load(acquire);
    while (fixed && first == nullptr) {
        explorer::running()->yield();
        first = channel.head_block.load(acquire);
    }
    require(first != nullptr, "where there is a message there is a block");
    channel.head_block.store(nullptr, relaxed);
    delete first;
}

// The next mistake at the same place. The discarding thread takes the block with an exchange at
// first, but with a load after it has waited for the block. Then the channel frees the block again.
void takes_the_block_by_a_load(bool fixed) {
    channel channel;
    thread sender{[&] { channel.send(); }};
    channel.send();
    if (channel.close() == 0) return;
    channel::block* first = channel.head_block.exchange(nullptr, acq_rel);
    while (first == nullptr) {
        explorer::running()->yield();
        first = fixed ? channel.head_block.exchange(nullptr, acq_rel)
                      : channel.head_block.load(acquire);
    }
    delete first;
    sender.join();
}

// --- counts -------------------------------------------------------------------------------------

// A worker moves a task from one queue to another. It lowers the count of the first before it
// raises that of the second. For a moment there are no tasks, and a thread that waits for that goes
// on.
void moves_a_task_between_queues(bool fixed) {
    cell staged{1};
    cell pending{0};
    thread worker{[&] {
        if (fixed) pending.fetch_add(1, acq_rel);
        staged.fetch_sub(1, acq_rel);
        if (!fixed) pending.fetch_add(1, acq_rel);
    }};
    const int still_staged = staged.load(acquire);
    require(still_staged + pending.load(acquire) != 0, "the task is counted until it has run");
}

}  // namespace

std::vector<bug> queues() {
    return {
        {"tokio_2387", "Tokio, PR #2387",
         "A theft into a queue that is being stolen from overwrites slots that the other thief has "
         "not released yet",
         "here: the room is computed from what has been released", pushes_over_a_slow_thief,
         "a data race"},
        {"tokio_5041", "Tokio, issue #5041",
         "The indices of the ring are so narrow that a thief's exchange succeeds after they have "
         "wrapped "
         "around: ABA",
         "wider indices", pops_until_the_head_is_the_same, "required: nothing is taken twice"},
        {"argobots_178", "Argobots, issue #178",
         "The memory pool is a lock-free stack whose entries come back while another pop is under "
         "way: ABA",
         "here: a tag beside the head", takes_from_a_free_list,
         "required: nothing in use is taken"},
        {"libcds_186", "libcds, issue #186",
         "The exchange that moves the head of Michael and Scott's queue is acquire only, so the "
         "next "
         "consumer reads a link that it may not see written",
         "the exchange is a release as well", takes_after_another_consumer,
         "required: a link is read after it was written"},
        {"stdexec_1812",
         "stdexec, issue #1709, PR #1812",
         "The consumer of an intrusive queue pushes its stub although a link is only late; done "
         "twice, this loses nodes, or makes a ring of the list",
         "Vyukov's queue as published: the stub is pushed only behind the last node",
         pushes_the_stub_when_a_link_is_late,
         "required: each node is popped once",
         {.preemptions = 3, .stale_reads = 1}},
        {"rust_110089", "Rust `std::sync::mpsc`, issue #110001, PR #110089; crossbeam #971",
         "The first block is set in two steps; a receiver that leaves in between follows a null "
         "pointer",
         "it waits for the second step", discards_what_was_sent,
         "required: where there is a message there is a block"},
        {"crossbeam_1187", "crossbeam-channel, PR #1187, RUSTSEC-2025-0024",
         "The fix of the former: after the wait the block is loaded, not exchanged for null, and "
         "freed "
         "again by the channel",
         "an exchange in both places", takes_the_block_by_a_load, "freed twice"},
        {"hpx_3242", "HPX, PR #3242",
         "A task that moves between queues is counted out before it is counted in, and the runtime "
         "suspends although there is work",
         "count in first", moves_a_task_between_queues,
         "required: the task is counted until it has run"},
    };
}

}  // namespace fairlead::model::historical
