// What receives the values of a broadcast: see broadcast.hpp.
#pragma once

#include <fairlead/channel/held.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/channel/broadcast_operations.hpp>
#include <fairlead/detail/channel/broadcast_state.hpp>
#include <fairlead/detail/coro/task_wait.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace fairlead {

/// Has its own place in the sequence of the values. Used by one task or thread at a time, any one;
/// while it waits it must be neither asked again, nor moved, nor destroyed. A subscription must be
/// gone before its broadcast. `receive` allocates nothing.
template <class T>
class [[nodiscard]] subscription {
public:
    /// No subscription.
    subscription() = default;
    /// For `broadcast::subscribe`.
    subscription(channels::broadcast_state<T>& of, std::size_t replay) noexcept
        : of_{&of}, at_{of.subscribe(replay)} {}
    /// Takes over the place of `other`, which is none afterwards.
    subscription(subscription&& other) noexcept
        : of_{std::exchange(other.of_, nullptr)}, at_{other.at_} {
        other.check_idle();
    }
    /// Ends its own subscription, and takes over that of `other`.
    subscription& operator=(subscription&& other) noexcept {
        if (this != &other) {
            end();
            other.check_idle();
            of_ = std::exchange(other.of_, nullptr);
            at_ = other.at_;
        }
        return *this;
    }
    /// Its values need not be received any more: senders that wait for it go on. Linear in the
    /// number of values that it has not received.
    ~subscription() { end(); }

    /// Whether it is one: not if it was moved from.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// Gives the next value: `waited<held<const T>>`, which may be `stopped` or `expired`; or
    /// `closed`: the broadcast is closed and all values were received, or this subscription has
    /// fallen behind in a broadcast of `lag::close`.
    [[nodiscard]] auto receive(time_point deadline = never) noexcept {
        return coro::task_wait<channels::broadcast_receive<T>>{deadline, of(), at_, is_waiting_};
    }

    /// Without a wait: `would_wait` if there is none.
    [[nodiscard]] waited<held<const T>> try_receive() noexcept {
        check_idle();
        return of().try_receive(at_);
    }

    /// The same as `receive` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<held<const T>> receive_blocking(time_point deadline = never) {
        return coro::wait_on_thread<channels::broadcast_receive<T>>(deadline, of(), at_,
                                                                    is_waiting_);
    }

    /// How many values were overwritten before this subscription could receive them, since the last
    /// call. They lie between the value that was received last and the one before it. Exact.
    [[nodiscard]] std::uint64_t take_skipped() noexcept {
        check_idle();
        return std::exchange(at_.skipped, 0);
    }

    /// Whether it was closed because it has fallen behind, as a receive has found.
    [[nodiscard]] bool fell_behind() const noexcept { return at_.fell_behind; }

private:
    [[nodiscard]] channels::broadcast_state<T>& of() const noexcept {
        FAIRLEAD_ASSERT(of_ != nullptr, "a subscription was used that is none");
        return *of_;
    }
    void check_idle() const noexcept {
        FAIRLEAD_ASSERT(!is_waiting_, "a subscription was used while a receive waits for it");
    }
    void end() noexcept {
        check_idle();
        if (of_ != nullptr) std::exchange(of_, nullptr)->unsubscribe(at_);
    }

    channels::broadcast_state<T>* of_ = nullptr;
    channels::cursor at_;
    bool is_waiting_ = false;
};

}  // namespace fairlead
