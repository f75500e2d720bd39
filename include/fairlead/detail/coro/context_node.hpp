// The context of a task: a list of nodes that never change, which many tasks share.
//
//     task ---word---> with_value ---word---> with_deadline ---word---> with_trace ---> none
//     child --word----------^                 effective deadline: the earlier of its own and
//                                             that of the list behind it
//
// Question it answers: what does a task know of the request that it works for? Its root has one
// word: the address of a node, or null, and in the low bits what of the list does not count. To
// copy the context counts one more holder; a node is freed with its last holder.
//
// Invariants
//   1. All fields of a node but the count are constant from its construction on. So any thread may
//      read a list while it holds the first node.
//   2. `deadline()` of a node is the earliest of the deadlines in the list from this node on which
//      no word between them hides, and `limit()` is the node whose own deadline that is; the outer
//      node of two equal ones.
//   3. A word that hides the deadline, or that has crossed to a child or with a message, counts for
//      each reader that comes through it: see `context_word`.
//
// Rejected: a copy of each value in each task costs memory in tasks that ask for none. A hash table
// costs more than a walk of a list of a few nodes.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/recycler.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace fairlead {

/// How far a value of the context goes.
enum class inherit : std::uint8_t {
    none,      ///< the task itself, and what it awaits
    children,  ///< also the tasks that it starts
    messages,  ///< also detached tasks, and what it sends: see `context::to_send`
};

namespace coro {

class context_node;

/// A list of nodes as a task or an outer node sees it. Holds nothing: see `held_context`.
class context_word {
public:
    constexpr context_word() noexcept = default;
    explicit context_word(const context_node& first) noexcept
        : word_{reinterpret_cast<std::uintptr_t>(&first)} {}

    [[nodiscard]] explicit operator bool() const noexcept { return word_ != 0; }

    [[nodiscard]] const context_node& first() const noexcept {
        return *reinterpret_cast<const context_node*>(word_ & ~bits);
    }

    /// The same list without its deadline, or with it.
    [[nodiscard]] context_word with_deadline_hidden(bool hidden) const noexcept {
        if (word_ == 0) return *this;
        return context_word{hidden ? word_ | hides_deadline : word_ & ~hides_deadline};
    }
    [[nodiscard]] bool hides_its_deadline() const noexcept { return (word_ & hides_deadline) != 0; }

    /// The same list beyond a border: only values that reach so far are found in it.
    [[nodiscard]] context_word beyond(inherit border) const noexcept {
        if (word_ == 0) return *this;
        const auto far = static_cast<std::uintptr_t>(std::max(border, crossed()));
        return context_word{(word_ & ~crossed_bits) | far << crossed_shift};
    }
    [[nodiscard]] inherit crossed() const noexcept {
        return static_cast<inherit>((word_ & crossed_bits) >> crossed_shift);
    }

    /// What a task begins with that does not belong to the task that starts it.
    [[nodiscard]] context_word detached() const noexcept {
        return with_deadline_hidden(true).beyond(inherit::messages);
    }

    /// `never` if there is none, or it is hidden.
    [[nodiscard]] time_point deadline() const noexcept;
    /// The node that has set it; null: none.
    [[nodiscard]] const context_node* limit() const noexcept;

    /// The innermost node with this key that reaches here; null: none. Linear in the nodes.
    [[nodiscard]] const context_node* find(const void* key) const noexcept;

private:
    static constexpr std::uintptr_t hides_deadline = 1;
    static constexpr unsigned crossed_shift = 1;
    static constexpr std::uintptr_t crossed_bits = 6;
    static constexpr std::uintptr_t bits = hides_deadline | crossed_bits;

    explicit context_word(std::uintptr_t word) noexcept : word_{word} {}

    std::uintptr_t word_ = 0;
};

/// A word that holds its list. One thread at a time.
class held_context {
public:
    held_context() noexcept = default;
    explicit held_context(context_word shared) noexcept : word_{shared} {
        if (word_) hold();
    }
    held_context(const held_context& from) noexcept : held_context{from.word_} {}
    held_context(held_context&& from) noexcept : word_{std::exchange(from.word_, {})} {}
    held_context& operator=(held_context from) noexcept {
        std::swap(word_, from.word_);
        return *this;
    }
    ~held_context() {
        if (word_) [[unlikely]]
            drop();
    }

    /// A new node, which nothing else holds.
    [[nodiscard]] static held_context adopt(const context_node& made) noexcept {
        held_context first;
        first.word_ = context_word{made};
        return first;
    }

    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(word_); }
    [[nodiscard]] context_word word() const noexcept { return word_; }

    /// Gives what held before.
    bool hide_deadline(bool hidden) noexcept {
        const bool before = word_.hides_its_deadline();
        word_ = word_.with_deadline_hidden(hidden);
        return before;
    }

private:
    void hold() noexcept;
    void drop() noexcept;

    context_word word_;
};

/// What a task inherits that the calling thread starts now: the context of the task that runs on
/// it.
[[nodiscard]] context_word context_of_new_task() noexcept;

class context_node {
public:
    context_node(const context_node&) = delete;
    context_node& operator=(const context_node&) = delete;

    [[nodiscard]] time_point deadline() const noexcept { return deadline_; }
    [[nodiscard]] const context_node* limit() const noexcept { return limit_; }
    [[nodiscard]] const void* key() const noexcept { return key_; }
    [[nodiscard]] inherit reach() const noexcept { return reach_; }
    [[nodiscard]] context_word outer() const noexcept { return outer_.word(); }

protected:
    /// With a deadline of its own.
    context_node(context_word outer, time_point own) noexcept
        : outer_{outer},
          deadline_{std::min(own, outer.deadline())},
          limit_{own < outer.deadline() ? this : outer.limit()} {}

    /// With a value: the address of its key says which.
    context_node(context_word outer, const void* key, inherit reach) noexcept
        : reach_{reach},
          outer_{outer},
          deadline_{outer.deadline()},
          limit_{outer.limit()},
          key_{key} {}

    virtual ~context_node() = default;

private:
    friend class held_context;

    // Lists that hold it, and tasks. Relaxed to count one more, as the caller holds it already.
    // [CX1] release when one goes, acquire for the last: it frees what all have read.
    mutable sync::atomic<std::uint32_t> holders_{1};
    const inherit reach_ = inherit::none;
    held_context outer_;  // taken out by the last holder
    const time_point deadline_;
    const context_node* const limit_;
    const void* const key_ = nullptr;
};

class deadline_node final : public context_node, public sync::recycled {
public:
    deadline_node(context_word outer, time_point own) noexcept : context_node{outer, own} {}

    /// Whether it ends what runs inside it, and no node around it does.
    [[nodiscard]] bool is_limit() const noexcept { return limit() == this; }
};

template <class T>
class value_node final : public context_node {
public:
    value_node(context_word outer, const void* key, inherit reach, T value)
        : context_node{outer, key, reach}, value_(std::move(value)) {}

    [[nodiscard]] const T& value() const noexcept { return value_; }

private:
    const T value_;
};

inline time_point context_word::deadline() const noexcept {
    if (word_ == 0 || hides_its_deadline()) return never;
    return first().deadline();
}

inline const context_node* context_word::limit() const noexcept {
    if (word_ == 0 || hides_its_deadline()) return nullptr;
    return first().limit();
}

}  // namespace coro
}  // namespace fairlead
