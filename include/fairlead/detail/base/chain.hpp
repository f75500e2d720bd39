// A singly linked FIFO of nodes that carry their own link. One thread at a time; no allocation.
//
//     head -> a -> b -> c <- tail
//
// Used by the role for the tasks that it took from a front, and by a slot for the tasks of its
// step.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstddef>

namespace fairlead::base {

/// `Next` is the member of `Node` that links to the node behind it.
template <class Node, Node* Node::*Next>
class chain {
public:
    chain() = default;

    /// Adopts the nodes `head` ... null, of which there are `size`, the last being `tail`.
    chain(Node* head, Node* tail, std::size_t size) noexcept
        : head_{head}, tail_{tail}, size_{size} {}

    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] Node* front() const noexcept { return head_; }
    [[nodiscard]] Node* back() const noexcept { return tail_; }

    void push_back(Node& node) noexcept {
        node.*Next = nullptr;
        if (tail_ != nullptr) {
            tail_->*Next = &node;
        } else {
            head_ = &node;
        }
        tail_ = &node;
        ++size_;
    }

    void push_front(Node& node) noexcept {
        node.*Next = head_;
        head_ = &node;
        if (tail_ == nullptr) tail_ = &node;
        ++size_;
    }

    /// Moves all nodes of `other` behind those of this chain. O(1).
    void append(chain&& other) noexcept {
        if (other.empty()) return;
        if (tail_ != nullptr) {
            tail_->*Next = other.head_;
        } else {
            head_ = other.head_;
        }
        tail_ = other.tail_;
        size_ += other.size_;
        other = chain{};
    }

    /// The oldest node, no longer linked, or null.
    [[nodiscard]] Node* pop_front() noexcept {
        Node* node = head_;
        if (node == nullptr) return nullptr;
        head_ = node->*Next;
        if (head_ == nullptr) tail_ = nullptr;
        --size_;
        node->*Next = nullptr;
        return node;
    }

    /// The node behind `before`, no longer linked, or the oldest if that is null. There is one.
    [[nodiscard]] Node* pop_behind(Node* before) noexcept {
        if (before == nullptr) return pop_front();
        Node* const node = before->*Next;
        before->*Next = node->*Next;
        if (tail_ == node) tail_ = before;
        --size_;
        node->*Next = nullptr;
        return node;
    }

private:
    Node* head_ = nullptr;
    Node* tail_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace fairlead::base
