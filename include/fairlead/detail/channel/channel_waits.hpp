// The waits of the senders and receivers of a channel: what they bring, and what they want.
#pragma once

#include <fairlead/detail/channel/sent.hpp>
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
    using value_type = sent<T>::value;

    [[nodiscard]] bool reserves() const noexcept { return reserves_; }
    /// Whether all values were taken.
    [[nodiscard]] bool is_done() const noexcept { return next_ == end_; }

protected:
    explicit sender_wait(std::span<value_type> values) noexcept
        : next_{values.data()}, end_{values.data() + values.size()} {}
    sender_wait() noexcept : reserves_{true} {}
    sender_wait(sender_wait&&) noexcept = default;
    ~sender_wait() = default;

    [[nodiscard]] value_type* next() const noexcept { return next_; }

    /// The send begins, or is tried again, on the thread of the sender.
    void begin() noexcept { added_ = sent<T>::added(); }

private:
    template <class>
    friend class channel_flow;

    /// Takes the next value, as an element.
    [[nodiscard]] decltype(auto) take() noexcept { return sent<T>::element(*next_++, added_); }

    value_type* next_ = nullptr;
    value_type* end_ = nullptr;
    [[no_unique_address]] sent<T>::addition added_{};
    const bool reserves_ = false;
};

/// Where a receive wants its elements.
template <class T>
class receiver_wait : public sync::waiter {
protected:
    /// `constructs`: there are no objects yet.
    receiver_wait(T* first, std::size_t count, bool constructs) noexcept
        : next_{first}, end_{first + count}, constructs_{constructs} {}
    receiver_wait(receiver_wait&&) noexcept = default;
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
