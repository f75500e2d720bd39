// The multi-producer queue by which tasks enter: a stack of intrusive nodes that is emptied as a
// whole and turned over.
//
//     top -> d -> c -> b -> a -> null        push(e): one exchange of `top` for e
//     take_all: top <- null, then the nodes are turned over: a, b, c, d
//
// Question it answers: how do many threads hand nodes to one, in order, without a lock?
// Any thread pushes; only the holder of the role takes.
//
// Invariants
//   1. A node is linked once: the caller does not push a node that is in a queue.
//   2. Nodes of one producer come out in the order of its pushes.
//   3. Exactly one push of each taken batch answered "it was empty": that of the oldest node.
//
// Progress: push is lock-free, take_all wait-free apart from turning the nodes over, O(n).
// ABA is harmless: a push never looks into the old top, and a take removes everything.
//
// Rejected, with figures in docs/adr/0003-front-queue.md: Vyukov's intrusive queue, whose consumer
// must wait for a producer that was preempted between its two steps.
#pragma once

#include <fairlead/detail/base/chain.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <cstddef>

namespace fairlead::lockfree {

template <class Node, Node* Node::*Next>
class front_queue {
public:
    using chain = base::chain<Node, Next>;

    front_queue() = default;
    front_queue(const front_queue&) = delete;
    front_queue& operator=(const front_queue&) = delete;

    /// Appends `node`; true if the queue was empty. Any thread. The node belongs to the queue from
    /// the exchange on: another thread may already have run and freed it when this returns.
    bool push(Node& node) noexcept { return push_reversed(node, node); }

    /// Appends the nodes newest -> ... -> oldest, linked by `Next` from the newest to the oldest,
    /// in one exchange; true if the queue was empty. Any thread.
    bool push_reversed(Node& newest, Node& oldest) noexcept {
        Node* top = top_.load(relaxed);  // a stale top only makes the exchange fail
        do {
            oldest.*Next = top;
            // [FQ1] release: publishes the nodes to take_all. acquire: a push that finds the queue
            // empty comes after the take that emptied it. seq_cst: see `empty`; it costs nothing on
            // top of these. Failure is relaxed: it only retries.
        } while (!top_.compare_exchange_weak(top, &newest, sync::seq_cst, sync::relaxed));
        return top == nullptr;  // of the exchange that succeeded, not of the first load
    }

    /// Takes all nodes, oldest first. Only the holder of the role.
    [[nodiscard]] chain take_all() noexcept { return turn_over(take_reversed()); }

    /// Takes all nodes: the newest, or null. `turn_over` puts them in order, and reads each node:
    /// best done shortly before they are used.
    [[nodiscard]] Node* take_reversed() noexcept {
        if (empty()) return nullptr;
        // [FQ1] acquire: sees the nodes. release: see push_reversed.
        return top_.exchange(nullptr, sync::acq_rel);
    }

    /// The nodes newest -> ... -> oldest as a chain, oldest first.
    [[nodiscard]] static chain turn_over(Node* newest) noexcept {
        Node* oldest = nullptr;
        std::size_t size = 0;
        for (Node* node = newest; node != nullptr; ++size) {
            Node* const below = node->*Next;
            node->*Next = oldest;
            oldest = node;
            node = below;
        }
        return {oldest, newest, size};
    }

    /// Whether there was nothing to take. Any thread; only a hint unless the caller is ordered with
    /// the producers by other means.
    [[nodiscard]] bool empty() const noexcept {
        // acquire: a caller that sees a node here sees all that its producer did before. seq_cst:
        // a producer that pushes and then looks for sleepers, and a worker that goes to sleep and
        // then looks here, do not miss each other [ID2].
        return top_.load(sync::seq_cst) == nullptr;
    }

private:
    static constexpr auto relaxed = sync::relaxed;

    sync::atomic<Node*> top_{nullptr};
};

}  // namespace fairlead::lockfree
