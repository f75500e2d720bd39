// What is inside a channel: elements, reserved places, and the waits of senders and receivers. One
// thread at a time: `channel_state` has the mutex.
//
//     senders_ (FIFO)  -> [ elements | reserved ] -> receivers_ (FIFO)
//
// Invariants, between two operations
//   1. Elements and reserved places are no more than the capacity.
//   2. A receiver waits only while there is no element, and the first sender has no value: a send
//      hands its value to the first receiver that waits.
//   3. A sender waits only while there is no free place: a receive admits the value of the first
//      sender that waits. So nothing overtakes a wait.
//   4. A wait that is a branch of a select is claimed before a value moves; see choice.hpp. Where a
//      value has no free place on its way, its sender and its receiver must both be claimed: so two
//      selects meet only in a free place, and both wait while all places are reserved.
//   5. Once the channel is closed no sender waits; and no receiver, unless a reserved place may
//      still bring an element, which it does not if the channel drops what is left.
//
// No operation drops an element or calls `on_dropped`. But elements are moved here: so the moves of
// T run here, and the destructors of what was moved from. Waits that end go into a chain, for the
// caller to tell.
//
// Spec: Channel in spec/MAP.md.
#pragma once

#include <fairlead/detail/channel/block_fifo.hpp>
#include <fairlead/detail/channel/channel_waits.hpp>
#include <fairlead/detail/channel/progress.hpp>
#include <fairlead/detail/channel/waiting_sides.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace fairlead::channels {

template <class T>
class channel_flow : waiting_sides<T> {
    using waiting_sides<T>::senders_;
    using waiting_sides<T>::receivers_;
    using waiting_sides<T>::watches_;
    using waiting_sides<T>::end_watches_;
    using waiting_sides<T>::first_sender;
    using waiting_sides<T>::claim_receiver;
    using waiting_sides<T>::claim_value;
    using waiting_sides<T>::has_sure_receiver;
    using waiting_sides<T>::has_sure_value;

public:
    explicit channel_flow(std::size_t capacity) : elements_{checked(capacity)} {}

    [[nodiscard]] bool is_closed() const noexcept { return closed_; }
    /// Whether it was closed so that reserved places bring nothing any more.
    [[nodiscard]] bool drops() const noexcept { return drops_; }
    [[nodiscard]] bool is_unused() const noexcept { return !this->has_waits() && reserved_ == 0; }
    [[nodiscard]] std::size_t length() const noexcept { return elements_.size(); }
    /// There is one.
    [[nodiscard]] const T& oldest() noexcept { return elements_.front(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return elements_.capacity(); }

    // --- senders ---------------------------------------------------------------------------------

    /// Sends the values of `wait`, or reserves its place. `full`: values are left. `never_waits`:
    /// no send of values waits in this channel. Throws `std::bad_alloc` in an unbounded channel,
    /// and the value stays.
    progress send(sender_wait<T>& wait, bool never_waits, sync::waiter_list& told) {
        if (wait.has_choice()) {
            if (!can_send(wait, never_waits)) return progress::full;
            if (!wait.claim()) return progress::left;
        }
        if (closed_) return progress::closed;
        if (wait.reserves()) {
            if (!senders_.empty() || !has_room()) return progress::full;
            ++reserved_;
            return progress::done;
        }
        if (wait.is_done()) return progress::done;  // nothing: it must not wait
        // It does not overtake. But where no send waits, only reservations do: for a free place, of
        // which there is none for this send either.
        if (!senders_.empty() && !never_waits) return progress::full;
        while (!wait.is_done()) {
            receiver_wait<T>* const first = claim_receiver();
            if (first == nullptr) break;
            do {
                first->put(wait.take());
            } while (!wait.is_done() && !first->is_full());
            receivers_.grant_first(told);
        }
        while (!wait.is_done()) {
            if (!has_room()) return progress::full;
            push(wait);
            watches_.grant_all(told);
        }
        return progress::done;
    }

    /// It may end at once, and be told so.
    void begin_wait(sender_wait<T>& wait, sync::waiter_list& told) noexcept {
        senders_.push_back(wait);
        // A select that receives may wait, because only selects have waited to send so far.
        if (!receivers_.empty()) admit_senders(told);
    }

    /// False: it has ended.
    [[nodiscard]] bool withdraw(sender_wait<T>& wait, sync::waiter_list& told) noexcept {
        if (!senders_.erase(wait)) return false;
        // All places are taken. But behind a reservation there may be a value for a receiver.
        admit_senders(told);
        return true;
    }

    /// Uses a reserved place. Throws as `send`, and then the place stays.
    void send_reserved(sent<T>::value&& value, sent<T>::addition added, sync::waiter_list& told) {
        if (receiver_wait<T>* const first = claim_receiver()) {
            first->put(sent<T>::element(value, added));
            receivers_.grant_first(told);
            give_back_reserved(told);
        } else {
            elements_.push_made([&]() -> decltype(auto) { return sent<T>::element(value, added); });
            --reserved_;
            watches_.grant_all(told);
        }
    }

    void give_back_reserved(sync::waiter_list& told) noexcept {
        --reserved_;
        admit_senders(told);
        end_if_drained(told);
    }

    // --- receivers -------------------------------------------------------------------------------

    /// Takes the oldest elements there are, up to the size of `wait`.
    progress receive(receiver_wait<T>& wait, sync::waiter_list& told) noexcept {
        if (wait.has_choice()) {
            if (!can_receive()) return progress::full;
            if (!wait.claim()) return progress::left;
        }
        const T* const before = wait.next_;
        for (; !wait.is_full() && !elements_.empty(); elements_.pop()) {
            wait.put(std::move(elements_.front()));
        }
        // All places are reserved: a value needs none on its way from a sender that waits.
        while (!wait.is_full()) {
            sender_wait<T>* const first = claim_value();
            if (first == nullptr) break;
            take_value(*first, wait, told);
        }
        if (wait.next_ == before) return is_drained() ? progress::closed : progress::full;
        admit_senders(told);
        if (closed_) end_if_drained(told);
        return progress::done;  // no other receiver waits: there was something for this one
    }

    void begin_wait(receiver_wait<T>& wait) noexcept { receivers_.push_back(wait); }

    /// False: it has ended.
    [[nodiscard]] bool withdraw(receiver_wait<T>& wait) noexcept { return receivers_.erase(wait); }

    /// Waits for an element, which it does not take, if it may. `done`: there is one.
    progress watch(sync::waiter& wait, bool may_wait) noexcept {
        if (!elements_.empty()) return wait.claim() ? progress::done : progress::left;
        if (is_drained()) return wait.claim() ? progress::closed : progress::left;
        if (!may_wait) return progress::full;
        watches_.push_back(wait);
        return progress::waits;
    }

    /// Waits until it is closed and empty, if it may.
    progress watch_end(sync::waiter& wait, bool may_wait) noexcept {
        if (is_drained()) return wait.claim() ? progress::closed : progress::left;
        if (!may_wait) return progress::full;
        end_watches_.push_back(wait);
        return progress::waits;
    }
    using waiting_sides<T>::withdraw_watch;
    using waiting_sides<T>::withdraw_end_watch;

    // --- the end ---------------------------------------------------------------------------------

    /// `drops`: reserved places bring nothing any more. False: it was closed before.
    bool close(bool drops, sync::waiter_list& told) noexcept {
        const bool was_open = !std::exchange(closed_, true);
        drops_ = drops_ || drops;
        senders_.close_all(told);
        end_if_drained(told);
        return was_open;
    }

    /// Takes the oldest element of a closed channel out, to be dropped; nothing if there is none.
    [[nodiscard]] std::optional<T> take_oldest(sync::waiter_list& told) noexcept {
        if (elements_.empty()) return std::nullopt;
        std::optional<T> oldest{std::in_place, std::move(elements_.front())};
        elements_.pop();
        end_if_drained(told);
        return oldest;
    }

    /// The next value of a send gets the place of the oldest element, which is dropped; both
    /// exist. No place becomes free meanwhile, so a reservation that waits is not overtaken.
    [[nodiscard]] T replace_oldest(sender_wait<T>& wait) noexcept {
        T oldest(std::move(elements_.front()));
        elements_.pop();
        push(wait);
        return oldest;
    }

    /// Takes the next value of a send out, to be dropped; there is one.
    [[nodiscard]] static T take_next(sender_wait<T>& wait) noexcept { return wait.take(); }

private:
    [[nodiscard]] static std::size_t checked(std::size_t capacity) noexcept {
        FAIRLEAD_ASSERT(capacity != 0, "a channel needs room for one element");
        return capacity;
    }

    [[nodiscard]] bool has_room() const noexcept {
        return elements_.size() + reserved_ < elements_.capacity();
    }
    [[nodiscard]] bool is_drained() const noexcept {
        return closed_ && elements_.empty() && (reserved_ == 0 || drops_);
    }
    // For branches of a select: whether the operation ends at once for sure.
    [[nodiscard]] bool can_send(const sender_wait<T>& wait, bool never_waits) const noexcept {
        if (closed_ || (never_waits && !wait.reserves())) return true;
        if (!senders_.empty()) return false;
        return has_room() || (!wait.reserves() && has_sure_receiver());
    }
    [[nodiscard]] bool can_receive() const noexcept {
        return !elements_.empty() || is_drained() || has_sure_value();
    }

    // Without memory nothing was taken.
    void push(sender_wait<T>& from) {
        elements_.push_made([&]() -> decltype(auto) { return from.take(); });
    }

    void take_value(sender_wait<T>& from, receiver_wait<T>& into,
                    sync::waiter_list& told) noexcept {
        into.put(from.take());
        if (from.is_done()) senders_.grant_first(told);
    }

    // What waits has a bound: a push does not allocate.
    void admit_senders(sync::waiter_list& told) noexcept {
        while (!senders_.empty()) {
            if (!has_room()) {
                if (hand_over(told)) continue;
                return;
            }
            sender_wait<T>& first = first_sender();
            if (!first.claim()) {
                senders_.drop_first();
            } else if (first.reserves()) {
                ++reserved_;
                senders_.grant_first(told);
            } else if (receiver_wait<T>* const into = claim_receiver()) {
                take_value(first, *into, told);
                receivers_.grant_first(told);
            } else {
                push(first);
                watches_.grant_all(told);
                if (first.is_done()) senders_.grant_first(told);
            }
        }
    }

    // The first value that waits goes to the first receiver that waits, without a free place. The
    // claim of the second of the two cannot fail. False: there is no such pair.
    [[nodiscard]] bool hand_over(sync::waiter_list& told) noexcept {
        if (first_sender().reserves() || receivers_.empty()) return false;
        receiver_wait<T>* into = nullptr;
        sender_wait<T>* from = nullptr;
        if (has_sure_value()) {
            into = claim_receiver();
            if (into != nullptr) from = claim_value();
        } else if (has_sure_receiver()) {
            from = claim_value();
            if (from != nullptr) into = claim_receiver();
        }
        if (from == nullptr || into == nullptr) return false;
        take_value(*from, *into, told);
        receivers_.grant_first(told);
        return true;
    }

    void end_if_drained(sync::waiter_list& told) noexcept {
        if (is_drained()) this->close_receiving(told);
    }

    block_fifo<T> elements_;
    std::uint32_t reserved_ = 0;  // permits, which are objects: fewer than 2^32 fit into memory
    bool closed_ = false;
    bool drops_ = false;  // since it was closed
};

}  // namespace fairlead::channels
