// The waits of the senders and receivers of a channel: what they bring, and what they want.
#pragma once

#include <fairlead/detail/sync/waiter_list.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace fairlead::channels {

/// The values of a send that have not been taken yet; or one place to be reserved.
template <class T>
class sender_wait : public sync::waiter {
public:
    [[nodiscard]] bool reserves() const noexcept { return reserves_; }
    /// Whether all values were taken.
    [[nodiscard]] bool is_done() const noexcept { return next_ == end_; }

protected:
    explicit sender_wait(std::span<T> values) noexcept
        : next_{values.data()}, end_{values.data() + values.size()} {}
    sender_wait() noexcept : reserves_{true} {}
    ~sender_wait() = default;

    [[nodiscard]] T* next() const noexcept { return next_; }

private:
    template <class>
    friend class channel_flow;

    T* next_ = nullptr;
    T* end_ = nullptr;
    const bool reserves_ = false;
};

/// Where a receive wants its elements.
template <class T>
class receiver_wait : public sync::waiter {
protected:
    /// `constructs`: there are no objects yet.
    receiver_wait(T* first, std::size_t count, bool constructs) noexcept
        : next_{first}, end_{first + count}, constructs_{constructs} {}
    ~receiver_wait() = default;

    [[nodiscard]] T* next() const noexcept { return next_; }

private:
    template <class>
    friend class channel_flow;

    [[nodiscard]] bool is_full() const noexcept { return next_ == end_; }
    void put(T&& value) noexcept {
        if constexpr (std::is_nothrow_move_assignable_v<T>) {
            if (!constructs_) {
                *next_++ = std::move(value);
                return;
            }
        }
        std::construct_at(next_++, std::move(value));
    }

    T* next_;
    T* const end_;
    const bool constructs_;
};

}  // namespace fairlead::channels
