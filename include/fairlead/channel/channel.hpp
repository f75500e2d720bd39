// A channel: tasks and threads send values to each other, in order.
//
//     fl::channel<event> events{1024};
//     co_await events.send(event{...});                       // waits while there is no place
//     while (auto next = co_await events.receive()) handle(*next);  // until closed and empty
//
// Any number of senders and receivers, tasks and threads. First in, first out, over all senders;
// and senders and receivers that wait are served in the order of their beginning. A value is moved
// from only when the channel has taken it: after a send that has failed it is still the caller's.
//
// A wait ends with what it waits for, or as
//     closed   the channel was closed; for a receive: and has no element left
//     stopped  the task was asked to stop. Before anything is taken: so also a receiver that always
//              finds elements hears of a stop
//     expired  the deadline has passed
// Exactly one of these happens: an element that was taken out always arrives.
//
// Costs: a lock and a move for each operation. To move many elements, use `send_many` and
// `receive_many`: one lock for all. A bounded channel allocates when it is made, and never later;
// an unbounded one for every 32 elements. A wait allocates nothing.
//
// Spec: Channel in spec/MAP.md.
#pragma once

#include <fairlead/channel/channel_permit.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/channel/channel_state.hpp>
#include <fairlead/detail/channel/operations.hpp>
#include <fairlead/detail/coro/task_wait.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace fairlead {

/// `T` is moved without exceptions, and its moves do not use the channel. All members may be
/// called by any thread, but for the destructor and `on_dropped`; the `_blocking` forms by threads
/// that are no workers.
template <class T>
class channel {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                  "a channel moves its elements under a lock: moves must not throw");

public:
    /// The capacity of a channel without a bound.
    static constexpr std::size_t unbounded = channels::block_fifo<T>::unbounded;
    /// What is sent: `T`; of a port, whose elements are envelopes, the message.
    using value_type = channels::sent<T>::value;

    /// `capacity`: how many elements wait in it at most, at least one. Allocates room for them
    /// unless it is `unbounded`. `policy`: what happens to a value that finds no place.
    explicit channel(std::size_t capacity, when_full policy = when_full::wait)
        : state_{capacity, policy} {}

    /// Drops the elements that are left. Nothing may wait, and no permit may exist. A wait is over
    /// when its task or thread goes on: a sender with a deadline, or that can be stopped, may look
    /// into the channel until then, also after its value was received.
    ~channel() = default;

    /// Calls `drop`, a small function object that is trivially copyable, with each element that the
    /// channel drops: by its policy, by `close_and_drop`, by its destructor, or because the task
    /// that was to receive it is destroyed with its scheduler. Any thread calls it, without a lock.
    /// To be set before the first use.
    void on_dropped(base::delegate<void(T&&), 2 * sizeof(void*)> drop) noexcept {
        state_.on_dropped(drop);
    }

    // --- senders ---------------------------------------------------------------------------------

    /// Sends `value`, which must live until the wait has ended: `waited<void>`, which may be
    /// `closed`, `stopped`, `expired`, or `would_wait` in a channel that refuses. Throws
    /// `std::bad_alloc` in an unbounded channel. With an error or an exception `value` is
    /// unchanged.
    [[nodiscard]] auto send(value_type&& value, time_point deadline = never) noexcept {
        return coro::task_wait<channels::send_operation<T>>{deadline, state_,
                                                            std::span{std::addressof(value), 1}};
    }

    /// Without a wait: `would_wait` if there is no place, or a sender waits.
    waited<void> try_send(value_type&& value) {
        return channels::try_now<channels::send_operation<T>>(state_,
                                                              std::span{std::addressof(value), 1});
    }

    /// The same as `send` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<void> send_blocking(value_type&& value, time_point deadline = never) {
        return coro::wait_on_thread<channels::send_operation<T>>(
            deadline, state_, std::span{std::addressof(value), 1});
    }

    /// Sends all of `values`, in order, with nothing of other senders between those that need not
    /// wait: `waited<std::size_t>`, which is how many were sent, or why none was. Fewer than all:
    /// the channel was closed, the deadline has passed, the task was asked to stop, or an unbounded
    /// channel had no memory. Throws `std::bad_alloc` if it had none for the first.
    [[nodiscard]] auto send_many(std::span<value_type> values,
                                 time_point deadline = never) noexcept {
        return coro::task_wait<channels::send_many_operation<T>>{deadline, state_, values};
    }

    /// As many as there are places for now: `would_wait` if there is none.
    waited<std::size_t> try_send_many(std::span<value_type> values) {
        return channels::try_now<channels::send_many_operation<T>>(state_, values);
    }

    /// The same as `send_many` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<std::size_t> send_many_blocking(std::span<value_type> values,
                                                         time_point deadline = never) {
        return coro::wait_on_thread<channels::send_many_operation<T>>(deadline, state_, values);
    }

    /// Reserves a place, for a value that is made later: `waited<channel_permit<T>>`. It waits also
    /// in a channel that drops; in a channel that refuses it ends as `would_wait`.
    [[nodiscard]] auto reserve(time_point deadline = never) noexcept {
        return coro::task_wait<channels::reserve_operation<T>>{deadline, state_};
    }

    /// Without a wait: `would_wait` if there is no place, or a sender waits.
    [[nodiscard]] waited<channel_permit<T>> try_reserve() {
        return channels::try_now<channels::reserve_operation<T>>(state_);
    }

    /// The same as `reserve` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<channel_permit<T>> reserve_blocking(time_point deadline = never) {
        return coro::wait_on_thread<channels::reserve_operation<T>>(deadline, state_);
    }

    // --- receivers -------------------------------------------------------------------------------

    /// Takes the oldest element: `waited<T>`, which may be `closed`, `stopped` or `expired`.
    [[nodiscard]] auto receive(time_point deadline = never) noexcept {
        static_assert(alignof(T) <= alignof(std::max_align_t),
                      "the frame of a coroutine is aligned for ordinary objects only: let the "
                      "elements be pointers to objects with this alignment");
        return coro::task_wait<channels::receive_operation<T>>{deadline, state_};
    }

    /// Without a wait: `would_wait` if there is none.
    [[nodiscard]] waited<T> try_receive() noexcept {
        return channels::try_now<channels::receive_operation<T>>(state_);
    }

    /// The same as `receive` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<T> receive_blocking(time_point deadline = never) {
        return coro::wait_on_thread<channels::receive_operation<T>>(deadline, state_);
    }

    /// Waits for the first element, and takes all there are then, into the first objects of `into`:
    /// `waited<std::size_t>`, which is how many, at least one. What the objects had before ends
    /// under the lock of the channel.
    [[nodiscard]] auto receive_many(std::span<T> into, time_point deadline = never) noexcept {
        return coro::task_wait<channels::receive_many_operation<T>>{deadline, state_, into};
    }

    /// Without a wait: `would_wait` if there is none.
    [[nodiscard]] waited<std::size_t> try_receive_many(std::span<T> into) noexcept {
        return channels::try_now<channels::receive_many_operation<T>>(state_, into);
    }

    /// The same as `receive_many` on this thread, which must not be a worker's. The deadline is by
    /// the clock of the system.
    [[nodiscard]] waited<std::size_t> receive_many_blocking(std::span<T> into,
                                                            time_point deadline = never) {
        return coro::wait_on_thread<channels::receive_many_operation<T>>(deadline, state_, into);
    }

    // --- the end ---------------------------------------------------------------------------------

    /// Ends every send, also each later one, as `closed`; the senders keep their values. Receivers
    /// take what is left, and what permits still bring, and are `closed` then. For good. False: it
    /// was closed before.
    bool close() noexcept { return state_.close(); }

    /// The same, and drops the elements that are left, and those that permits would bring: so
    /// receivers are `closed` at once.
    bool close_and_drop() noexcept { return state_.close_and_drop(); }

    /// Whether it was closed. Takes the lock.
    [[nodiscard]] bool is_closed() noexcept { return state_.is_closed(); }

    /// How many elements it has now. Takes the lock.
    [[nodiscard]] std::size_t length() noexcept { return state_.length(); }
    /// How many elements may wait in it; or `unbounded`.
    [[nodiscard]] std::size_t capacity() const noexcept { return state_.capacity(); }

    /// @cond internal
    [[nodiscard]] channels::channel_state<T>& state() noexcept { return state_; }
    /// @endcond

private:
    channels::channel_state<T> state_;
};

}  // namespace fairlead
