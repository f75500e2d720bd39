// The waits of the senders and subscriptions of a broadcast: what they bring, and what they get.
#pragma once

#include <fairlead/channel/held.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <cstdint>
#include <utility>

namespace fairlead::channels {

/// Where a subscription is. Guarded by the mutex; `skipped` and `fell_behind` change only in calls
/// of the subscription itself.
struct cursor {
    std::uint64_t next = 0;
    std::uint64_t skipped = 0;
    bool fell_behind = false;
};

/// A send that may wait. The value is a value that was overwritten, or none, when it was sent.
template <class T>
class broadcast_sender : public sync::waiter {
protected:
    explicit broadcast_sender(held<const T> value) noexcept : value_{std::move(value)} {}
    broadcast_sender(broadcast_sender&&) noexcept = default;
    ~broadcast_sender() = default;

private:
    template <class>
    friend class broadcast_state;

    held<const T> value_;
};

/// A receive of a subscription, and what it is given.
template <class T>
class broadcast_receiver : public sync::waiter {
protected:
    explicit broadcast_receiver(cursor& at) noexcept : at_{at} {}
    broadcast_receiver(broadcast_receiver&&) noexcept = default;
    ~broadcast_receiver() = default;

    [[nodiscard]] cursor& at() const noexcept { return at_; }
    [[nodiscard]] held<const T> take_value() noexcept { return std::move(value_); }

private:
    template <class>
    friend class broadcast_state;

    cursor& at_;
    held<const T> value_;
};

}  // namespace fairlead::channels
