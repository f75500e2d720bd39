// A priority queue of nodes that bring their links along: it allocates nothing, so it cannot fail.
//
// Source: Fredman, Sedgewick, Sleator, Tarjan: The Pairing Heap, 1986; two passes.
#pragma once

#include <utility>

namespace fairlead::sched {

template <class Node>
struct heap_links {
    Node* child = nullptr;
    Node* next = nullptr;      // sibling
    Node* previous = nullptr;  // sibling; of the first child the parent
};

// Nodes in the order of their `Key`, which does not change while they are in it.
template <class Node, auto Links, auto Key>
class pairing_heap {
public:
    [[nodiscard]] bool empty() const noexcept { return root_ == nullptr; }

    // The first, or null.
    [[nodiscard]] Node* top() const noexcept { return root_; }

    void push(Node& node) noexcept { root_ = root_ == nullptr ? &node : meld(root_, &node); }

    void pop() noexcept { root_ = merge(std::exchange((root_->*Links).child, nullptr)); }

    // Removes `node`, which must be in it.
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
    // Of two roots the later becomes the first child of the other.
    static Node* meld(Node* first, Node* second) noexcept {
        if (second->*Key < first->*Key) std::swap(first, second);
        Node* const child = (first->*Links).child;
        (second->*Links).next = child;
        (second->*Links).previous = first;
        if (child != nullptr) (child->*Links).previous = second;
        (first->*Links).child = second;
        return first;
    }

    // Siblings, without a parent, become one tree: in pairs, and then the pairs from the last to the first.
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

    // Takes the first from a list.
    static Node* cut(Node*& list) noexcept {
        Node* const first = list;
        list = std::exchange((first->*Links).next, nullptr);
        (first->*Links).previous = nullptr;
        return first;
    }

    Node* root_ = nullptr;
};

}  // namespace fairlead::sched
