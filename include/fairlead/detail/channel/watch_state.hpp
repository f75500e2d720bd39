// What is inside a watch: the newest value, its version, and the waits for a newer one, under one
// mutex.
//
// Invariants, between two operations
//   1. The version grows by one with each value, and changes together with it.
//   2. A watcher waits only while it has seen the version that there is, and the watch is open. So
//      the last value is never missed, though values before it may be.
//
// A wait that was granted takes the value when its task or thread goes on, under the mutex again:
// so it gets the newest, and marks the version of exactly this value as seen.
//
// What is taken is a share of the value: no value is copied, and no code of the user runs, under
// the mutex. Waits are told after it was unlocked.
//
// Any thread. No allocation. A new value is linear in the number of waits that it ends.
//
// Rejected: to give the value with the grant (it may be old when the task goes on); to let an
// update change the value under the mutex (it runs code of the user, which may use the watch).
//
// Spec: Watch in spec/MAP.md.
#pragma once

#include <fairlead/channel/held.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <utility>

namespace fairlead {

/// Whether a new watcher has seen the value that there is.
enum class initial : std::uint8_t {
    unseen,  ///< its first `changed` gives the value there is
    seen,    ///< its first `changed` waits for the next value
};

namespace channels {

/// A wait for another version than was seen.
class watch_waiter : public sync::waiter {
protected:
    explicit watch_waiter(std::uint64_t& seen) noexcept : seen_{seen} {}
    watch_waiter(watch_waiter&&) noexcept = default;
    ~watch_waiter() = default;

    [[nodiscard]] std::uint64_t& seen() const noexcept { return seen_; }

private:
    template <class>
    friend class watch_state;

    std::uint64_t& seen_;  // of the watcher, which waits or goes on: one thread at a time
};

template <class T>
class watch_state {
public:
    struct snapshot {
        held<const T> value;
        std::uint64_t version;
    };
    enum class [[nodiscard]] publication : std::uint8_t { done, closed, outdated };

    explicit watch_state(held<const T> first) noexcept : value_{std::move(first)} {}
    watch_state(const watch_state&) = delete;
    watch_state& operator=(const watch_state&) = delete;
    ~watch_state() {
        const std::lock_guard lock{mutex_};
        FAIRLEAD_ASSERT(watchers_ == 0, "a watch was destroyed while it has a watcher");
    }

    [[nodiscard]] snapshot now() noexcept {
        const std::lock_guard lock{mutex_};
        return {value_, version_};
    }

    /// Makes `value` the newest, unless `basis` is given and is not the newest version. Afterwards
    /// `value` is the former one, whose share the caller gives up without the mutex.
    publication publish(held<const T>& value, std::optional<std::uint64_t> basis) noexcept {
        FAIRLEAD_ASSERT(static_cast<bool>(value), "a watch is set to a value");
        sync::waiter_list told;
        {
            const std::lock_guard lock{mutex_};
            if (closed_) return publication::closed;
            if (basis && *basis != version_) return publication::outdated;
            std::swap(value_, value);
            ++version_;
            waiting_.grant_all(told);
        }
        told.tell_all();
        return publication::done;
    }

    // --- watchers --------------------------------------------------------------------------------

    /// The version that it has seen.
    [[nodiscard]] std::uint64_t subscribe(initial first) noexcept {
        const std::lock_guard lock{mutex_};
        ++watchers_;
        return first == initial::seen ? version_ : version_ - 1;
    }
    void unsubscribe() noexcept {
        const std::lock_guard lock{mutex_};
        --watchers_;
    }

    /// Whether it waits; otherwise the wait is over.
    [[nodiscard]] bool enter(watch_waiter& wait) noexcept {
        const std::lock_guard lock{mutex_};
        if (version_ == wait.seen_ && !closed_) {
            waiting_.push_back(wait);
            return true;
        }
        static_cast<void>(end_at_once(wait));
        return false;
    }
    /// Without a wait. False: it would have to.
    [[nodiscard]] bool try_enter(watch_waiter& wait) noexcept {
        const std::lock_guard lock{mutex_};
        return (version_ != wait.seen_ || closed_) && end_at_once(wait);
    }
    [[nodiscard]] bool leave(watch_waiter& wait) noexcept {
        const std::lock_guard lock{mutex_};
        return waiting_.erase(wait);
    }

    /// Without a wait: the newest value, if it is another one than was seen.
    [[nodiscard]] waited<held<const T>> try_changed(std::uint64_t& seen) noexcept {
        const std::lock_guard lock{mutex_};
        if (version_ == seen) {
            return std::unexpected{closed_ ? wait_error::closed : wait_error::would_wait};
        }
        seen = version_;
        return value_;
    }
    /// The newest value, which is seen now.
    [[nodiscard]] held<const T> see(std::uint64_t& seen) noexcept {
        const std::lock_guard lock{mutex_};
        seen = version_;
        return value_;
    }
    [[nodiscard]] bool has_changed(std::uint64_t seen) noexcept {
        const std::lock_guard lock{mutex_};
        return version_ != seen;
    }

    // --- the end ---------------------------------------------------------------------------------

    /// False: it was closed before.
    bool close() noexcept {
        sync::waiter_list told;
        bool was_open = false;
        {
            const std::lock_guard lock{mutex_};
            was_open = !std::exchange(closed_, true);
            waiting_.close_all(told);
        }
        told.tell_all();
        return was_open;
    }
    [[nodiscard]] bool is_closed() noexcept {
        const std::lock_guard lock{mutex_};
        return closed_;
    }

private:
    // False: it is a branch of a select that has ended by another branch.
    [[nodiscard]] bool end_at_once(watch_waiter& wait) noexcept {
        if (!wait.claim()) return false;
        if (version_ != wait.seen_) sync::waiter_list::grant(wait);
        return true;
    }

    sync::mutex mutex_;
    bool closed_ = false;  // guarded by mutex_, as the next ones
    sync::waiter_list waiting_;
    held<const T> value_;
    std::uint64_t version_ = 1;
    std::size_t watchers_ = 0;
};

// The operation: see task_wait.hpp.
template <class T>
class change_operation : public watch_waiter {
public:
    // `is_waiting` is of the watcher, for its assertions.
    change_operation(watch_state<T>& of, std::uint64_t& seen, bool& is_waiting) noexcept
        : watch_waiter{seen}, of_{of}, is_waiting_{is_waiting} {}

    [[nodiscard]] bool enter() noexcept {
        FAIRLEAD_ASSERT(!is_waiting_, "a watcher was asked twice at the same time");
        return is_waiting_ = has_entered_ = of_.enter(*this);
    }
    [[nodiscard]] bool try_enter() noexcept {
        FAIRLEAD_ASSERT(!is_waiting_, "a watcher was asked twice at the same time");
        return of_.try_enter(*this);
    }
    // Of a branch of a select it is the end, also if the wait was dropped before.
    [[nodiscard]] bool leave() noexcept {
        end();
        return of_.leave(*this);
    }
    [[nodiscard]] waited<held<const T>> collect(std::optional<wait_error> early) noexcept {
        end();
        if (take_grant()) return of_.see(seen());
        return std::unexpected{early.value_or(wait_error::closed)};
    }

protected:
    change_operation(change_operation&&) noexcept = default;
    ~change_operation() { end(); }

private:
    void end() noexcept {
        if (std::exchange(has_entered_, false)) is_waiting_ = false;
    }

    watch_state<T>& of_;
    bool& is_waiting_;
    bool has_entered_ = false;
};

}  // namespace channels
}  // namespace fairlead
