// What is inside a channel: elements, and the waits of its senders and receivers, under one mutex.
//
//     senders_ (FIFO)  -> [ elements | reserved ] -> receivers_ (FIFO)
//
// Invariants, outside a critical section
//   1. Elements and reserved places are no more than the capacity.
//   2. A receiver waits only while there is no element, and the first sender has no value: a send
//      hands its value to the first receiver that waits.
//   3. A sender waits only while there is no free place: a receive admits the value of the first
//      sender that waits, in the same critical section. So nothing overtakes a wait.
//   4. Once the channel is closed no sender waits; and no receiver, unless a reserved place may
//      still bring an element.
//   5. Waits are told after the mutex was unlocked, and the teller touches only them from then on:
//      the first one told may destroy the channel. The destructor locks the mutex once, and so
//      waits for a critical section that is about to end, as that of `sync::line` does.
//
// No destructor of an element, and no function of the user, runs under the mutex.
//
// Why one mutex, and no lock-free queue: a hand-over to another thread costs ten to twenty times the
// mutex, a send that has to wait must be able to leave, and FIFO needs both ends at once.
//
// Spec: Channel in spec/MAP.md.
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/base/delegate.hpp>
#include <fairlead/detail/channel/block_fifo.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
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
class reserve_operation;

/// The values of a send that have not been taken yet; or one place to be reserved.
template <class T>
class sender_wait : public sync::waiter {
protected:
    explicit sender_wait(std::span<T> values) noexcept
        : next_{values.data()}, end_{values.data() + values.size()} {}
    sender_wait() noexcept : reserves_{true} {}
    ~sender_wait() = default;

    [[nodiscard]] T* next() const noexcept { return next_; }

private:
    template <class>
    friend class channel_state;

    [[nodiscard]] bool reserves() const noexcept { return reserves_; }
    [[nodiscard]] bool is_done() const noexcept { return next_ == end_; }

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
    friend class channel_state;

    [[nodiscard]] bool is_full() const noexcept { return next_ == end_; }
    void put(T&& value) noexcept {
        if (constructs_) {
            std::construct_at(next_, std::move(value));
        } else {
            *next_ = std::move(value);
        }
        ++next_;
    }

    T* next_;
    T* const end_;
    const bool constructs_;
};

template <class T>
class channel_state {
public:
    enum class [[nodiscard]] entry : std::uint8_t { done, waits, closed, full };
    using drop_function = base::delegate<void(T&&), 2 * sizeof(void*)>;

    channel_state(std::size_t capacity, when_full policy)
        : elements_{checked(capacity)}, policy_{policy} {}
    channel_state(const channel_state&) = delete;
    channel_state& operator=(const channel_state&) = delete;
    ~channel_state() {
        close_and_drop();
        std::lock_guard lock{mutex_};
        FAIRLEAD_ASSERT(senders_.empty() && receivers_.empty() && reserved_ == 0,
                        "a channel was destroyed while a task or a thread waits for it, or has a "
                        "place reserved");
    }

    void on_dropped(drop_function drop) noexcept { drop_ = drop; }

    // --- senders ---------------------------------------------------------------------------------

    /// Sends the values of `wait`, or reserves its place. `waits`: for the rest, if `may_wait`;
    /// otherwise `full`. Throws `std::bad_alloc` in an unbounded channel; the value stays then.
    entry enter(sender_wait<T>& wait, bool may_wait) {
        for (;;) {
            std::optional<T> dropped;
            told_at_end told;
            {
                std::lock_guard lock{mutex_};
                const entry so_far = try_send(wait, told.ended);
                if (so_far != entry::full || policy_ == when_full::refuse || wait.reserves()) {
                    return enlist(so_far, wait, may_wait);
                }
                if (policy_ == when_full::wait) return enlist(so_far, wait, may_wait);
                make_room(wait, dropped);
            }
            drop(std::move(*dropped));
            if (policy_ == when_full::drop_newest && wait.is_done()) {
                wait.end(sync::waiter::state::granted);
                return entry::done;
            }
        }
    }

    [[nodiscard]] bool leave(sender_wait<T>& wait) noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        if (!senders_.withdraw(wait)) return false;
        // All places are taken. But behind a reservation there may be a value for a receiver.
        admit_senders(told.ended);
        return true;
    }

    /// Uses a reserved place, also of a channel that was closed meanwhile. False: no receiver is
    /// left, and the value stays.
    [[nodiscard]] bool send_reserved(T&& value) {
        told_at_end told;
        std::lock_guard lock{mutex_};
        if (drops_elements_) {
            --reserved_;
            return false;
        }
        if (!receivers_.empty()) {
            hand_over(std::move(value), told.ended);
            --reserved_;
            admit_senders(told.ended);
        } else {
            elements_.push(std::move(value));
            --reserved_;
        }
        end_if_drained(told.ended);
        return true;
    }

    void give_back_reserved() noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        --reserved_;
        admit_senders(told.ended);
        end_if_drained(told.ended);
    }

    // --- receivers -------------------------------------------------------------------------------

    /// Takes what there is, up to the size of `wait`. `waits`: for the first element, if `may_wait`;
    /// otherwise `full`.
    entry enter(receiver_wait<T>& wait, bool may_wait) noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        if (take(wait, told.ended)) {
            wait.end(sync::waiter::state::granted);
            return entry::done;
        }
        if (is_drained()) {
            wait.end(sync::waiter::state::closed);
            return entry::closed;
        }
        if (!may_wait) return entry::full;
        receivers_.push_back(wait);
        return entry::waits;
    }

    [[nodiscard]] bool leave(receiver_wait<T>& wait) noexcept {
        std::lock_guard lock{mutex_};
        return receivers_.withdraw(wait);
    }

    /// Takes more, without a wait.
    void take_more(receiver_wait<T>& wait) noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        static_cast<void>(take(wait, told.ended));
    }

    // --- any thread ------------------------------------------------------------------------------

    /// False: it was closed before.
    bool close() noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        return close(told.ended);
    }

    bool close_and_drop() noexcept {
        bool was_open = false;
        {
            told_at_end told;
            std::lock_guard lock{mutex_};
            was_open = close(told.ended);
            drops_elements_ = true;
        }
        for (std::optional<T> next; (next = take_dropped()); next.reset()) drop(std::move(*next));
        return was_open;
    }

    [[nodiscard]] bool is_closed() noexcept {
        std::lock_guard lock{mutex_};
        return closed_;
    }
    [[nodiscard]] std::size_t length() noexcept {
        std::lock_guard lock{mutex_};
        return elements_.size();
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return elements_.capacity(); }

    /// Gives an element to the user's function, or destroys it. Without the mutex.
    void drop(T&& value) noexcept {
        T last{std::move(value)};
        if (drop_) drop_(std::move(last));
    }

private:
    // Made before the lock, so that it tells after the unlocking.
    struct told_at_end {
        sync::waiter_chain ended;
        told_at_end() = default;
        told_at_end(const told_at_end&) = delete;
        ~told_at_end() { ended.tell_all(); }
    };

    bool close(sync::waiter_chain& told) noexcept {
        const bool was_open = !std::exchange(closed_, true);
        senders_.close(told);
        end_if_drained(told);
        return was_open;
    }

    [[nodiscard]] std::optional<T> take_dropped() noexcept {
        told_at_end told;
        std::lock_guard lock{mutex_};
        if (elements_.empty()) return std::nullopt;
        std::optional<T> oldest{std::move(elements_.front())};
        elements_.pop();
        end_if_drained(told.ended);
        return oldest;
    }

    [[nodiscard]] static std::size_t checked(std::size_t capacity) noexcept {
        FAIRLEAD_ASSERT(capacity != 0, "a channel needs room for one element");
        return capacity;
    }

    [[nodiscard]] bool has_room() const noexcept {
        return elements_.size() + reserved_ < elements_.capacity();
    }
    [[nodiscard]] bool is_drained() const noexcept {
        return closed_ && elements_.empty() && reserved_ == 0;
    }
    [[nodiscard]] sender_wait<T>& first_sender() const noexcept {
        return static_cast<sender_wait<T>&>(*senders_.first());
    }
    [[nodiscard]] receiver_wait<T>& first_receiver() const noexcept {
        return static_cast<receiver_wait<T>&>(*receivers_.first());
    }

    void hand_over(T&& value, sync::waiter_chain& told) noexcept {
        first_receiver().put(std::move(value));
        receivers_.grant_first(told);
    }

    // `full`: values are left.
    entry try_send(sender_wait<T>& wait, sync::waiter_chain& told) {
        if (closed_) return entry::closed;
        if (!senders_.empty()) return entry::full;  // it does not overtake
        if (wait.reserves()) {
            if (!has_room()) return entry::full;
            ++reserved_;
            return entry::done;
        }
        while (!wait.is_done() && !receivers_.empty()) {
            receiver_wait<T>& first = first_receiver();
            do {
                first.put(std::move(*wait.next_));
                ++wait.next_;
            } while (!wait.is_done() && !first.is_full());
            receivers_.grant_first(told);
        }
        for (; !wait.is_done(); ++wait.next_) {
            if (!has_room()) return entry::full;
            elements_.push(std::move(*wait.next_));
        }
        return entry::done;
    }

    entry enlist(entry so_far, sender_wait<T>& wait, bool may_wait) noexcept {
        switch (so_far) {
            case entry::done:
                wait.end(sync::waiter::state::granted);
                return so_far;
            case entry::closed:
                wait.end(sync::waiter::state::closed);
                return so_far;
            default:
                break;
        }
        if (!may_wait || policy_ == when_full::refuse) return entry::full;
        senders_.push_back(wait);
        return entry::waits;
    }

    // The next value of `wait` finds no place.
    void make_room(sender_wait<T>& wait, std::optional<T>& dropped) noexcept {
        if (policy_ == when_full::drop_newest || elements_.empty()) {
            dropped.emplace(std::move(*wait.next_));  // all places are reserved, or it is the rule
            ++wait.next_;
        } else {
            dropped.emplace(std::move(elements_.front()));
            elements_.pop();
        }
    }

    // The oldest elements; and if there are no more, values of senders that wait.
    [[nodiscard]] bool take(receiver_wait<T>& wait, sync::waiter_chain& told) noexcept {
        const T* const before = wait.next_;
        for (; !wait.is_full() && !elements_.empty(); elements_.pop()) {
            wait.put(std::move(elements_.front()));
        }
        while (!wait.is_full() && has_waiting_value()) take_first_value(wait, told);
        if (wait.next_ == before) return false;
        admit_senders(told);
        end_if_drained(told);
        return true;
    }

    [[nodiscard]] bool has_waiting_value() const noexcept {
        return !senders_.empty() && !first_sender().reserves();
    }

    void take_first_value(receiver_wait<T>& into, sync::waiter_chain& told) noexcept {
        sender_wait<T>& first = first_sender();
        into.put(std::move(*first.next_));
        ++first.next_;
        if (first.is_done()) senders_.grant_first(told);
    }

    // In a bounded channel: a push does not allocate.
    void admit_senders(sync::waiter_chain& told) noexcept {
        while (!senders_.empty()) {
            sender_wait<T>& first = first_sender();
            if (!first.reserves() && !receivers_.empty()) {
                take_first_value(first_receiver(), told);
                receivers_.grant_first(told);
                continue;
            }
            if (!has_room()) return;
            if (first.reserves()) {
                ++reserved_;
            } else {
                elements_.push(std::move(*first.next_));
                ++first.next_;
                if (!first.is_done()) continue;
            }
            senders_.grant_first(told);
        }
    }

    void end_if_drained(sync::waiter_chain& told) noexcept {
        if (is_drained()) receivers_.close(told);
    }

    sync::mutex mutex_;
    sync::waiter_list senders_;  // guarded by mutex_, as all but the last two
    sync::waiter_list receivers_;
    block_fifo<T> elements_;
    std::size_t reserved_ = 0;
    bool closed_ = false;
    bool drops_elements_ = false;  // what a reserved place would still bring
    const when_full policy_;
    drop_function drop_;
};

}  // namespace channels
}  // namespace fairlead
