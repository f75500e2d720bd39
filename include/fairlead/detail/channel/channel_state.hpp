// A channel between threads: its flow under one mutex, and what is done without the mutex: waits
// are told, and elements are dropped.
//
// A wait is told after the mutex was unlocked, and from then on the teller touches only the waits
// that it still has to tell. So what was told may destroy the channel, if no other wait can still
// withdraw: a stop or a deadline may look into the channel until the task or thread of its wait has
// gone on, also after a grant. The destructor locks the mutex once, and so waits for a critical
// section that is about to end, as that of `sync::line`.
//
// Elements are moved under the mutex, and dropped without it. The moves of T, and the destructor of
// a T that was moved from, run under the mutex; for `receive_many` also the assignment, which ends
// what its objects had before.
//
// Rejected: a lock-free queue. A hand-over to another thread costs ten to twenty times the mutex, a
// send that waits must be able to leave, and FIFO order needs both ends at once.
//
// Spec: Channel in spec/MAP.md.
#pragma once

#include <fairlead/detail/base/delegate.hpp>
#include <fairlead/detail/channel/channel_flow.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace fairlead {

/// What a channel does with a value that is sent while there is no free place.
enum class when_full : std::uint8_t {
    wait,         ///< the sender waits
    refuse,       ///< the send ends as `would_wait`, and the sender keeps the value
    drop_oldest,  ///< the oldest element makes room
    drop_newest,  ///< the value that is sent is dropped
};

namespace channels {

template <class T>
class channel_state {
public:
    using drop_function = base::delegate<void(T&&), 2 * sizeof(void*)>;

    channel_state(std::size_t capacity, when_full policy) : policy_{policy}, flow_{capacity} {}
    channel_state(const channel_state&) = delete;
    channel_state& operator=(const channel_state&) = delete;
    ~channel_state() {
        {
            std::lock_guard lock{mutex_};
            FAIRLEAD_ASSERT(flow_.is_unused(),
                            "a channel was destroyed while a task or a thread waits for it, or "
                            "has a place reserved");
        }
        close_and_drop();
    }

    void on_dropped(drop_function drop) noexcept { drop_ = drop; }

    /// Sends the values of `wait`, or reserves its place; waits for the rest if `may_wait`. Throws
    /// `std::bad_alloc` in an unbounded channel; the value stays then.
    progress enter(sender_wait<T>& wait, bool may_wait) {
        for (;;) {
            std::optional<T> dropped;
            {
                told_at_end told;
                std::lock_guard lock{mutex_};
                progress so_far = flow_.send(wait, drops(), told.ended);
                if (so_far != progress::full || !drops() || wait.reserves()) {
                    if (so_far == progress::full && may_wait) {
                        if (policy_ == when_full::refuse)
                            return wait.claim() ? so_far : progress::left;
                        flow_.begin_wait(wait, told.ended);
                        so_far = progress::waits;
                    }
                    return end(wait, so_far);
                }
                dropped.emplace(drop_one(wait));
            }
            drop(std::move(*dropped));
            // The last value was taken: a close that has come since does not matter.
            if (wait.is_done()) return end(wait, progress::done);
        }
    }

    [[nodiscard]] bool leave(sender_wait<T>& wait) noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        return flow_.withdraw(wait, told.ended);
    }

    /// Uses a reserved place, also of a channel that was closed meanwhile. False: no receiver is
    /// left, and the value stays.
    [[nodiscard]] bool send_reserved(sent<T>::value&& value) {
        const typename sent<T>::addition added = sent<T>::added();
        told_at_end told;
        std::lock_guard lock{mutex_};
        if (flow_.drops()) {
            flow_.give_back_reserved(told.ended);
            return false;
        }
        flow_.send_reserved(std::move(value), added, told.ended);
        return true;
    }

    void give_back_reserved() noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        flow_.give_back_reserved(told.ended);
    }

    /// Takes what there is, up to the size of `wait`; waits for the first element if `may_wait`.
    progress enter(receiver_wait<T>& wait, bool may_wait) noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        progress so_far = flow_.receive(wait, told.ended);
        if (so_far == progress::full && may_wait) {
            flow_.begin_wait(wait);
            so_far = progress::waits;
        }
        return end(wait, so_far);
    }

    [[nodiscard]] bool leave(receiver_wait<T>& wait) noexcept {
        std::lock_guard lock{mutex_};
        return flow_.withdraw(wait);
    }

    /// Takes more, without a wait.
    void take_more(receiver_wait<T>& wait) noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        static_cast<void>(flow_.receive(wait, told.ended));
    }

    // --- for joins, which take from several channels at once -------------------------------------

    /// The mutex, for a thread that locks those of several channels in the order of their
    /// addresses.
    [[nodiscard]] sync::mutex& mutex() noexcept { return mutex_; }
    /// Under the mutex.
    [[nodiscard]] bool has_element() const noexcept { return flow_.length() != 0; }
    /// Under the mutex; there is an element.
    [[nodiscard]] const T& oldest() noexcept { return flow_.oldest(); }
    /// Under the mutex; there is an element. `ended`: to be told after the unlocking.
    void take_locked(receiver_wait<T>& into, sync::waiter_list& ended) noexcept {
        static_cast<void>(end(into, flow_.receive(into, ended)));
    }

    /// Waits for an element, which it does not take: `watch_operation`.
    progress watch(sync::waiter& wait, bool may_wait) noexcept {
        std::lock_guard lock{mutex_};
        return end(wait, flow_.watch(wait, may_wait));
    }
    [[nodiscard]] bool withdraw_watch(sync::waiter& wait) noexcept {
        std::lock_guard lock{mutex_};
        return flow_.withdraw_watch(wait);
    }

    /// Waits until it is closed and empty: `watch_operation`.
    progress watch_end(sync::waiter& wait, bool may_wait) noexcept {
        std::lock_guard lock{mutex_};
        return end(wait, flow_.watch_end(wait, may_wait));
    }
    [[nodiscard]] bool withdraw_end_watch(sync::waiter& wait) noexcept {
        std::lock_guard lock{mutex_};
        return flow_.withdraw_end_watch(wait);
    }

    /// False: it was closed before.
    bool close() noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        return flow_.close(false, told.ended);
    }

    bool close_and_drop() noexcept {
        bool was_open = false;
        {
            told_at_end told;
            std::lock_guard lock{mutex_};
            was_open = flow_.close(true, told.ended);
        }
        while (std::optional<T> next = take_oldest()) drop(std::move(*next));
        return was_open;
    }

    [[nodiscard]] bool is_closed() noexcept {
        std::lock_guard lock{mutex_};
        return flow_.is_closed();
    }
    [[nodiscard]] std::size_t length() noexcept {
        std::lock_guard lock{mutex_};
        return flow_.length();
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return flow_.capacity(); }

    /// Gives an element to the user's function, or destroys it. Without the mutex.
    void drop(T&& value) noexcept {
        T last(std::move(value));  // braces may make a list
        if (drop_) drop_(std::move(last));
    }

private:
    // Made before the lock, so that it tells after the unlocking.
    struct told_at_end {
        sync::waiter_list ended;
        told_at_end() = default;
        told_at_end(const told_at_end&) = delete;
        ~told_at_end() { ended.tell_all(); }
    };

    [[nodiscard]] bool drops() const noexcept {
        return policy_ == when_full::drop_oldest || policy_ == when_full::drop_newest;
    }

    // The next value of `wait` finds no place: the oldest element is dropped, or the value itself,
    // as it is if all places are reserved.
    [[nodiscard]] T drop_one(sender_wait<T>& wait) noexcept {
        if (policy_ == when_full::drop_oldest && flow_.length() != 0) {
            return flow_.replace_oldest(wait);
        }
        return flow_.take_next(wait);
    }

    [[nodiscard]] std::optional<T> take_oldest() noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        return flow_.take_oldest(told.ended);
    }

    static progress end(sync::waiter& wait, progress how) noexcept {
        if (how == progress::done) sync::waiter_list::grant(wait);
        if (how == progress::closed) sync::waiter_list::close(wait);
        return how;
    }

    sync::mutex mutex_;
    const when_full policy_;
    channel_flow<T> flow_;  // guarded by mutex_
    drop_function drop_;
};

}  // namespace channels
}  // namespace fairlead
