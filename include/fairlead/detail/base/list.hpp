// A doubly linked FIFO of nodes that carry their own links, so that any node can be taken out. One
// thread at a time; no allocation.
//
// Used for queued calls that block, for the groups of a scheduler, and for the tasks and threads
// that wait for a permit of a group.
#pragma once

#include <fairlead/detail/base/assert.hpp>

#include <cstddef>

namespace fairlead::base {

/// The links that a node carries.
template <class Node>
struct list_links {
    Node* previous = nullptr;
    Node* next = nullptr;
    bool linked = false;
};

/// `Links` is the member of `Node` that has the links.
template <class Node, list_links<Node> Node::*Links>
class list {
public:
    list() = default;
    list(const list&) = delete;
    list& operator=(const list&) = delete;

    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] Node* front() const noexcept { return first_; }

    /// The node behind it, or null.
    [[nodiscard]] static Node* next(const Node& node) noexcept { return (node.*Links).next; }

    /// Whether the node is in a list by these links.
    [[nodiscard]] static bool has(const Node& node) noexcept { return (node.*Links).linked; }

    void push_back(Node& node) noexcept {
        FAIRLEAD_ASSERT(!has(node), "a node was put into a second list");
        node.*Links = {.previous = last_, .next = nullptr, .linked = true};
        (last_ != nullptr ? (last_->*Links).next : first_) = &node;
        last_ = &node;
        ++size_;
    }

    /// Takes the node out of the list, which it must be in.
    void erase(Node& node) noexcept {
        auto& links = node.*Links;
        FAIRLEAD_ASSERT(links.linked, "a node was taken out of a list that it is not in");
        (links.previous != nullptr ? (links.previous->*Links).next : first_) = links.next;
        (links.next != nullptr ? (links.next->*Links).previous : last_) = links.previous;
        links = {};
        --size_;
    }

    /// The oldest node, no longer linked, or null.
    [[nodiscard]] Node* pop_front() noexcept {
        Node* const node = first_;
        if (node != nullptr) erase(*node);
        return node;
    }

private:
    Node* first_ = nullptr;
    Node* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace fairlead::base
