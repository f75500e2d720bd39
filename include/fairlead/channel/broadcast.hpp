// A broadcast: each value goes to all subscriptions, in the order of the sends.
//
//     fl::broadcast<price> prices{256};
//     auto mine = prices.subscribe();
//     co_await prices.send(price{...});                         // the same object for all
//     while (auto next = co_await mine.receive()) show(**next); // until closed
//
// The broadcast keeps the last values, up to its capacity. A subscription that reads more slowly
// than values are sent lags behind; when a value would overwrite a value that the subscription has
// not received, the rule says what happens:
//     lag::skip    the subscription loses the oldest values, and is told exactly how many
//     lag::wait    the sender waits for the slowest subscription: none loses a value
//     lag::close   the subscription is closed
//
// Subscriptions share each value, which does not change: a receive copies a pointer. A wait ends as
// that of a channel: with a value, or as `closed`, `stopped` or `expired`.
//
// Costs: a send allocates the value, takes one lock, and wakes all subscriptions that wait in one
// pass. A receive takes one lock, and allocates nothing.
//
// Spec: Broadcast in spec/MAP.md.
#pragma once

#include <fairlead/channel/held.hpp>
#include <fairlead/channel/subscription.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/channel/broadcast_operations.hpp>
#include <fairlead/detail/channel/broadcast_state.hpp>
#include <fairlead/detail/coro/task_wait.hpp>

#include <cstddef>
#include <utility>

namespace fairlead {

/// `T` may be read by several threads at the same time: see `may_be_read_together`. All members may
/// be called by any thread, but for the destructor; the `_blocking` forms by threads that are no
/// workers. No destructor of a `T` runs under a lock.
template <class T>
class broadcast {
public:
    /// `capacity`: how many values it keeps, at least one. Allocates room for them.
    /// `when_behind`: what happens to a subscription that lags further behind.
    explicit broadcast(std::size_t capacity, lag when_behind = lag::skip)
        : state_{capacity, when_behind} {}
    broadcast(const broadcast&) = delete;
    broadcast& operator=(const broadcast&) = delete;
    /// No subscription may exist, and nothing may wait.
    ~broadcast() = default;

    // --- senders ---------------------------------------------------------------------------------

    /// Sends `value` to all subscriptions: `waited<void>`, which may be `closed`. It waits only by
    /// `lag::wait`, and may be `stopped` or `expired` then; the senders that wait are served in the
    /// order of their beginning. Without a subscription the value is kept for those that replay it.
    [[nodiscard]] auto send(held<const T> value, time_point deadline = never) noexcept {
        return coro::task_wait<channels::broadcast_send<T>>{deadline, state_, std::move(value)};
    }
    /// The same. Allocates, and throws `std::bad_alloc`, in the call. The value is used up, also if
    /// it is not sent: to keep it, send a `held` that you have a copy of.
    [[nodiscard]] auto send(T value, time_point deadline = never) {
        return send(make_held<T>(std::move(value)), deadline);
    }

    /// Without a wait: `would_wait` if a sender would have to wait.
    waited<void> try_send(held<const T> value) noexcept { return state_.try_send(value); }
    /// The same. Allocates, and throws `std::bad_alloc`.
    waited<void> try_send(T value) { return try_send(make_held<T>(std::move(value))); }

    /// The same as `send` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<void> send_blocking(held<const T> value, time_point deadline = never) {
        return coro::wait_on_thread<channels::broadcast_send<T>>(deadline, state_,
                                                                 std::move(value));
    }
    /// The same. Allocates, and throws `std::bad_alloc`.
    [[nodiscard]] waited<void> send_blocking(T value, time_point deadline = never) {
        return send_blocking(make_held<T>(std::move(value)), deadline);
    }

    // --- subscriptions ---------------------------------------------------------------------------

    /// A subscription to the values that are sent from now on, and before them to the last `replay`
    /// ones, or as many as there are. Also of a closed broadcast.
    [[nodiscard]] subscription<T> subscribe(std::size_t replay = 0) noexcept {
        return {state_, replay};
    }

    /// How many subscriptions there are. Takes the lock.
    [[nodiscard]] std::size_t subscriptions() noexcept { return state_.subscriptions(); }

    // --- the end ---------------------------------------------------------------------------------

    /// Ends every send, also each later one, as `closed`. Subscriptions receive what is left, and
    /// are `closed` then. For good. False: it was closed before.
    bool close() noexcept { return state_.close(); }

    /// Whether it was closed. Takes the lock.
    [[nodiscard]] bool is_closed() noexcept { return state_.is_closed(); }

    /// How many values it keeps.
    [[nodiscard]] std::size_t capacity() const noexcept { return state_.capacity(); }

private:
    channels::broadcast_state<T> state_;
};

}  // namespace fairlead
