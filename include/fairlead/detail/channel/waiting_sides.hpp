// The senders and the receivers that wait in a channel, and the watches of joins. Some of them may
// be branches of selects that have ended by another branch: a claim drops those.
#pragma once

#include <fairlead/detail/channel/channel_waits.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

namespace fairlead::channels {

template <class T>
class waiting_sides {
public:
    /// False: it has ended.
    [[nodiscard]] bool withdraw_watch(sync::waiter& wait) noexcept { return watches_.erase(wait); }
    [[nodiscard]] bool withdraw_end_watch(sync::waiter& wait) noexcept {
        return end_watches_.erase(wait);
    }

protected:
    waiting_sides() = default;
    ~waiting_sides() = default;

    [[nodiscard]] sender_wait<T>& first_sender() const noexcept {
        return static_cast<sender_wait<T>&>(*senders_.front());
    }

    // The first receiver that can be claimed, to be granted; null if there is none.
    [[nodiscard]] receiver_wait<T>* claim_receiver() noexcept {
        return static_cast<receiver_wait<T>*>(receivers_.claim_first());
    }
    // The same for a sender with a value before which no reservation waits.
    [[nodiscard]] sender_wait<T>* claim_value() noexcept {
        while (!senders_.empty() && !first_sender().reserves()) {
            if (first_sender().claim()) return &first_sender();
            senders_.drop_first();
        }
        return nullptr;
    }

    // Whether a receiver waits that is no branch of a select: then its claim cannot fail.
    [[nodiscard]] bool has_sure_receiver() const noexcept {
        const sync::waiter* at = receivers_.front();
        while (at != nullptr && at->has_choice()) at = sync::waiter_list::next(*at);
        return at != nullptr;
    }
    // The same for a sender with a value.
    [[nodiscard]] bool has_sure_value() const noexcept {
        const auto* at = static_cast<const sender_wait<T>*>(senders_.front());
        while (at != nullptr && !at->reserves() && at->has_choice()) {
            at = static_cast<const sender_wait<T>*>(sync::waiter_list::next(*at));
        }
        return at != nullptr && !at->reserves();
    }

    [[nodiscard]] bool has_waits() const noexcept {
        return !senders_.empty() || !receivers_.empty() || !watches_.empty() ||
               !end_watches_.empty();
    }
    // There will be no element any more.
    void close_receiving(sync::waiter_list& told) noexcept {
        receivers_.close_all(told);
        watches_.close_all(told);
        end_watches_.close_all(told);
    }

    sync::waiter_list senders_;
    sync::waiter_list receivers_;
    sync::waiter_list watches_;      // waits for an element that they do not take, or the end
    sync::waiter_list end_watches_;  // waits for the end alone, also while there are elements
};

}  // namespace fairlead::channels
