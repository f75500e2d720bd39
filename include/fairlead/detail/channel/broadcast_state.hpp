// What is inside a broadcast: the last values, one place for each in a ring, and the waits of
// senders and subscriptions, under one mutex.
//
//     number of a value    oldest                             end
//     ring                 [ v | v | v | v | v | v ]
//     cursors                    ^       ^           ^ waits for the value `end`
//
// Each value has a number, which counts from 0. A subscription is a cursor: the number of the value
// that it is given next. A place knows how many cursors are still at or before its value.
//
// Invariants, between two operations
//   1. The ring has the values from `oldest` to `end`, at most as many as its capacity.
//   2. `unread` of a place is the number of subscriptions whose cursor is at or before its value.
//   3. A subscription waits only with its cursor at `end`. A send gives the value to all that wait.
//   4. With `lag::wait`: no cursor is before `oldest`. A sender waits only while the ring is full
//      and its oldest value is unread: so a later sender does not overtake it.
//   5. Once it is closed no send and no subscription waits.
//
// What a receive gives is a share of the value: no value is copied, and no destructor of a value
// runs under the mutex. A send swaps its value with the one in the place, so the old value ends
// with the operation of the send.
//
// Waits are told after the mutex was unlocked, as those of a channel. All that wait are told in one
// pass: a wait that begins anew meanwhile is not in it.
//
// Any thread. Allocates when it is made. A send is linear in the number of waits that it ends; a
// receive is constant; the end of a subscription is linear in the number of values that it has not
// read.
//
// Rejected: a lock for each place (a send must then take two, and a reader that lags needs the ring
// anyway); a copy of the value for each subscription.
//
// Spec: Broadcast in spec/MAP.md.
#pragma once

#include <fairlead/channel/held.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/channel/broadcast_waits.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>
#include <utility>
#include <vector>

namespace fairlead {

/// What a broadcast does when a value would overwrite another that a subscription has not received.
enum class lag : std::uint8_t {
    skip,   ///< it is overwritten: the subscription goes on with the oldest value there is
    wait,   ///< the sender waits
    close,  ///< it is overwritten: the subscription has fallen behind, and is closed
};

namespace channels {

template <class T>
class broadcast_state {
public:
    using sender = broadcast_sender<T>;
    using receiver = broadcast_receiver<T>;

    broadcast_state(std::size_t capacity, lag when_behind)
        : when_behind_{when_behind}, ring_(checked(capacity)) {}
    broadcast_state(const broadcast_state&) = delete;
    broadcast_state& operator=(const broadcast_state&) = delete;
    ~broadcast_state() {
        const std::lock_guard lock{mutex_};
        FAIRLEAD_ASSERT(subscriptions_ == 0 && senders_.empty(),
                        "a broadcast was destroyed while it has a subscription, or while a task or "
                        "a thread waits for it");
    }

    // --- senders ---------------------------------------------------------------------------------

    /// Whether it waits; otherwise the send is over.
    [[nodiscard]] bool enter(sender& wait) noexcept {
        return begin(wait, true) == beginning::waits;
    }
    /// Without a wait. False: it would have to.
    [[nodiscard]] bool try_enter(sender& wait) noexcept {
        return begin(wait, false) == beginning::over;
    }
    /// Without a wait. `value` is what was overwritten, or none, if it was sent.
    waited<void> try_send(held<const T>& value) noexcept {
        sync::waiter_list told;
        const waited<void> sent = [&]() noexcept -> waited<void> {
            const std::lock_guard lock{mutex_};
            if (!closed_ && !has_room()) return std::unexpected{wait_error::would_wait};
            return send(value, told);
        }();
        told.tell_all();
        return sent;
    }
    [[nodiscard]] bool leave(sender& wait) noexcept {
        const std::lock_guard lock{mutex_};
        return senders_.erase(wait);
    }

    // --- subscriptions ---------------------------------------------------------------------------

    /// A cursor behind the newest value, or up to `replay` values before.
    [[nodiscard]] cursor subscribe(std::size_t replay) noexcept {
        const std::lock_guard lock{mutex_};
        ++subscriptions_;
        const std::uint64_t first = end_ - std::min<std::uint64_t>(replay, end_ - oldest());
        for (std::uint64_t i = first; i != end_; ++i) ++place(i).unread;
        return {.next = first};
    }
    void unsubscribe(const cursor& at) noexcept {
        sync::waiter_list told;
        {
            const std::lock_guard lock{mutex_};
            for (std::uint64_t i = std::max(at.next, oldest()); i != end_; ++i) --place(i).unread;
            --subscriptions_;
            admit_senders(told);
        }
        told.tell_all();
    }

    /// Whether it waits; otherwise the receive is over.
    [[nodiscard]] bool enter(receiver& wait) noexcept {
        return begin(wait, true) == beginning::waits;
    }
    /// Without a wait. False: it would have to.
    [[nodiscard]] bool try_enter(receiver& wait) noexcept {
        return begin(wait, false) == beginning::over;
    }
    /// Without a wait.
    waited<held<const T>> try_receive(cursor& at) noexcept {
        sync::waiter_list told;
        held<const T> value;
        const waited<void> received = [&]() noexcept -> waited<void> {
            const std::lock_guard lock{mutex_};
            if (!closed_ && at.next == end_) return std::unexpected{wait_error::would_wait};
            return receive(at, value, told);
        }();
        told.tell_all();
        if (!received) return std::unexpected{received.error()};
        return value;
    }
    [[nodiscard]] bool leave(receiver& wait) noexcept {
        const std::lock_guard lock{mutex_};
        return receivers_.erase(wait);
    }

    // --- the end, and questions ------------------------------------------------------------------

    /// False: it was closed before.
    bool close() noexcept {
        sync::waiter_list told;
        bool was_open = false;
        {
            const std::lock_guard lock{mutex_};
            was_open = !std::exchange(closed_, true);
            senders_.close_all(told);
            receivers_.close_all(told);
        }
        told.tell_all();
        return was_open;
    }
    [[nodiscard]] bool is_closed() noexcept {
        const std::lock_guard lock{mutex_};
        return closed_;
    }
    [[nodiscard]] std::size_t subscriptions() noexcept {
        const std::lock_guard lock{mutex_};
        return subscriptions_;
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return ring_.size(); }

private:
    struct one_place {
        held<const T> value;
        std::size_t unread = 0;
    };

    [[nodiscard]] static std::size_t checked(std::size_t capacity) noexcept {
        FAIRLEAD_ASSERT(capacity != 0, "a broadcast needs room for one value");
        return capacity;
    }

    enum class beginning : std::uint8_t { over, waits, would_wait };

    // Ends the wait of a send or a receive if it need not wait. A branch of a select is claimed
    // first; if another branch has ended, the wait is over without a grant.
    template <class Wait>
    beginning begin(Wait& wait, bool may_wait) noexcept {
        sync::waiter_list told;
        beginning how = beginning::over;
        {
            const std::lock_guard lock{mutex_};
            if (!ends_at_once(wait)) {
                how = may_wait ? beginning::waits : beginning::would_wait;
                if (may_wait) line_of(wait).push_back(wait);
            } else if (wait.claim() && ended(wait, told)) {
                sync::waiter_list::grant(wait);
            }
        }
        told.tell_all();
        return how;
    }
    [[nodiscard]] bool ends_at_once(const sender&) noexcept { return closed_ || has_room(); }
    [[nodiscard]] bool ends_at_once(const receiver& wait) const noexcept {
        return closed_ || wait.at_.next != end_;
    }
    [[nodiscard]] bool ended(sender& wait, sync::waiter_list& told) noexcept {
        return send(wait.value_, told).has_value();
    }
    [[nodiscard]] bool ended(receiver& wait, sync::waiter_list& told) noexcept {
        return receive(wait.at_, wait.value_, told).has_value();
    }
    [[nodiscard]] sync::waiter_list& line_of(const sender&) noexcept { return senders_; }
    [[nodiscard]] sync::waiter_list& line_of(const receiver&) noexcept { return receivers_; }

    // There is room, so no sender waits; or it is closed.
    waited<void> send(held<const T>& value, sync::waiter_list& told) noexcept {
        FAIRLEAD_ASSERT(static_cast<bool>(value), "what is sent to a broadcast is a value");
        if (closed_) return std::unexpected{wait_error::closed};
        publish(value, told);
        return {};
    }

    // There is a value, or it is closed.
    waited<void> receive(cursor& at, held<const T>& into, sync::waiter_list& told) noexcept {
        if (at.next < oldest() && !catch_up(at)) return std::unexpected{wait_error::closed};
        if (at.next == end_) return std::unexpected{wait_error::closed};
        read(at, into);
        admit_senders(told);
        return {};
    }

    [[nodiscard]] std::uint64_t oldest() const noexcept {
        return end_ < ring_.size() ? 0 : end_ - ring_.size();
    }
    [[nodiscard]] one_place& place(std::uint64_t number) noexcept {
        return ring_[number % ring_.size()];
    }
    [[nodiscard]] bool has_room() noexcept {
        return when_behind_ != lag::wait || end_ < ring_.size() || place(oldest()).unread == 0;
    }

    // Values were overwritten that were next. False: it is closed therefore.
    [[nodiscard]] bool catch_up(cursor& at) noexcept {
        at.fell_behind = when_behind_ == lag::close;
        if (at.fell_behind) return false;
        at.skipped += oldest() - at.next;
        at.next = oldest();
        return true;
    }

    void read(cursor& at, held<const T>& into) noexcept {
        one_place& from = place(at.next);
        into = from.value;
        --from.unread;
        ++at.next;
    }

    // `value` is what was overwritten afterwards. All that wait, wait for this one.
    void publish(held<const T>& value, sync::waiter_list& told) noexcept {
        one_place& into = place(end_);
        std::swap(into.value, value);
        into.unread = subscriptions_;
        ++end_;
        while (sync::waiter* const waits = receivers_.claim_first()) {
            auto& first = static_cast<receiver&>(*waits);
            read(first.at_, first.value_);
            receivers_.grant_first(told);
        }
    }

    void admit_senders(sync::waiter_list& told) noexcept {
        while (has_room()) {
            sync::waiter* const first = senders_.claim_first();
            if (first == nullptr) return;
            publish(static_cast<sender&>(*first).value_, told);
            senders_.grant_first(told);
        }
    }

    sync::mutex mutex_;
    const lag when_behind_;
    bool closed_ = false;  // guarded by mutex_, as the next ones
    sync::waiter_list senders_;
    sync::waiter_list receivers_;
    std::vector<one_place> ring_;
    std::uint64_t end_ = 0;
    std::size_t subscriptions_ = 0;
};

}  // namespace channels
}  // namespace fairlead
