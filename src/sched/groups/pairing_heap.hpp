// A priority queue of nodes that contain their links: it allocates nothing, so it cannot fail.
//
// Source: Fredman, Sedgewick, Sleator, Tarjan: The Pairing Heap, 1986; two passes.
#pragma once

#include <utility>

namespace fairlead::sched {

template <class Node>
struct heap_links {
    Node* child = nullptr;
    Node* next = nullptr;      // sibling
    Node* previous = nullptr;  // sibling; for the first child: its parent
};

// Nodes in the order of their `Key`. The key of a node does not change while the node is in the
// heap.
template <class Node, auto Links, auto Key>
class pairing_heap {
public:
    [[nodiscard]] bool empty() const noexcept { return root_ == nullptr; }

    // The node with the lowest key, or null.
    [[nodiscard]] Node* top() const noexcept { return root_; }

    void push(Node& node) noexcept { root_ = root_ == nullptr ? &node : meld(root_, &node); }

    void pop() noexcept { root_ = merge(std::exchange((root_->*Links).child, nullptr)); }

    // Removes `node`, which must be in the heap.
    void erase(Node& node) noexcept {
        if (&node == root_) return pop();
        auto& links = node.*Links;
        auto& before = links.previous->*Links;
        (before.child == &node ? before.child : before.next) = links.next;
        if (links.next != nullptr) (links.next->*Links).previous = links.previous;
        Node* const children = std::exchange(links.child, nullptr);
        links.next = links.previous = nullptr;
        if (children != nullptr) root_ = meld(root_, merge(children));
    }

private:
    // Makes one tree of two: the root with the higher key becomes the first child of the other
    // root.
    static Node* meld(Node* first, Node* second) noexcept {
        if (second->*Key < first->*Key) std::swap(first, second);
        Node* const child = (first->*Links).child;
        (second->*Links).next = child;
        (second->*Links).previous = first;
        if (child != nullptr) (child->*Links).previous = second;
        (first->*Links).child = second;
        return first;
    }

    // Makes one tree of siblings without a parent: first pairs, then all pairs from the last to the
    // first.
    static Node* merge(Node* siblings) noexcept {
        Node* pairs = nullptr;
        while (siblings != nullptr) {
            Node* const first = cut(siblings);
            Node* pair = first;
            if (siblings != nullptr) pair = meld(first, cut(siblings));
            (pair->*Links).next = pairs;
            pairs = pair;
        }
        Node* all = nullptr;
        while (pairs != nullptr) {
            Node* const pair = cut(pairs);
            all = all == nullptr ? pair : meld(all, pair);
        }
        return all;
    }

    // Takes the first node from a list of siblings.
    static Node* cut(Node*& list) noexcept {
        Node* const first = list;
        list = std::exchange((first->*Links).next, nullptr);
        (first->*Links).previous = nullptr;
        return first;
    }

    Node* root_ = nullptr;
};

}  // namespace fairlead::sched
