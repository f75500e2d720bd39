// Dmitry Vyukov's intrusive queue for many producers and one consumer, from 1024cores.net: the
// candidate for the front that was measured against the stack.
//
//     tail (consumer) -> a -> b -> c <- head (producers)
//
// A push is one exchange that cannot fail, and then a store that links the node. Between the two
// the list is cut: the consumer cannot reach what was pushed behind the cut, however long the
// producer sleeps there, and cannot take all nodes in one step.
#pragma once

#include "q1/node.hpp"

#include <atomic>

namespace bench::q1 {

class vyukov_queue {
public:
    /// Any thread. Wait-free.
    void push(node& item) noexcept {
        item.atomic_next.store(nullptr, std::memory_order_relaxed);  // published below
        // [VQ1] release: publishes the node to the next producer; acquire: sees the node before.
        node* const before = head_.exchange(&item, std::memory_order_acq_rel);
        // [VQ2] release: publishes the node to the consumer.
        before->atomic_next.store(&item, std::memory_order_release);
    }

    /// The oldest node, or null: empty, or cut off by a producer between its two steps. One thread.
    [[nodiscard]] node* pop() noexcept {
        node* tail = tail_;
        node* next = tail->atomic_next.load(std::memory_order_acquire);  // [VQ2]
        if (tail == &stub_) {
            if (next == nullptr) return nullptr;
            tail_ = tail = next;
            next = tail->atomic_next.load(std::memory_order_acquire);  // [VQ2]
        }
        if (next != nullptr) {
            tail_ = next;
            return tail;
        }
        // The last node can only be taken with another node behind it. [VQ1] acquire: pairs with
        // push.
        if (tail != head_.load(std::memory_order_acquire)) return nullptr;
        push(stub_);
        next = tail->atomic_next.load(std::memory_order_acquire);  // [VQ2]
        if (next == nullptr) return nullptr;
        tail_ = next;
        return tail;
    }

private:
    node stub_;
    alignas(128) std::atomic<node*> head_{&stub_};  // producers
    alignas(128) node* tail_ = &stub_;              // the consumer
};

}  // namespace bench::q1
