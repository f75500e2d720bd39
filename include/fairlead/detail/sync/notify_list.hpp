// Waits for a notification, which then wait for a lock: what is under a condition.
//
//     enter                         in the FIFO of the condition; the lock is unlocked
//       notify_one, notify_all ---> in the FIFO of the lock, or granted the lock at once
//         unlock by its holder ---> told: the waiter has the lock
//       leave --------------------> in no FIFO; the owner locks again by itself
//
// A notification moves a wait from one FIFO to the other and wakes nothing by itself. So waits that
// `notify_all` moves do not all wake up to find the lock taken.
//
// Invariants
//   1. A waiter is in the FIFO of the condition, or in that of the lock, or in none. The first is
//      decided under the mutex of the condition; the rest by the line.
//   2. A waiter enters before its lock is unlocked. So a notification after a change that was made
//      under the lock finds it.
//   3. A waiter moves under the mutex of the condition: a `leave` that finds it gone may withdraw
//      it from the line. (Mutexes: the condition before the line. The line tells without a mutex.)
//   4. A waiter that was granted the lock at once is told after the mutex of the condition was
//      unlocked.
//
// Why the destructor locks the mutex:
//     A notifies, and has moved the only wait into the FIFO of the lock, under the mutex
//     B unlocks the lock, and so tells the wait
//     C, whose wait it is, destroys the condition
//     A unlocks a mutex that is gone
//
// Any thread. No allocation. `notify_one` is one critical section; `notify_all` is linear in the
// number of waits. Rejected: to wake each wait, and let it lock by itself: all but one of them wake
// up in vain.
//
// Spec: NotifyList in spec/MAP.md. Line has the FIFO of the lock, where a move is Enter or Ask.
// Model test: notify_list_test.cpp.
#pragma once

#include <fairlead/detail/base/list.hpp>
#include <fairlead/detail/sync/line.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <cstddef>
#include <mutex>

namespace fairlead::sync {

/// A wait for a notification and then for `lock`, a line of one permit. `tell`: it has the permit.
class notified_waiter : public line_waiter {
public:
    explicit notified_waiter(line& lock) noexcept : lock_{lock} {}

    [[nodiscard]] line& lock() const noexcept { return lock_; }

protected:
    ~notified_waiter() = default;

private:
    friend class notify_list;

    line& lock_;
    base::list_links<notified_waiter> links_;  // in the FIFO; then in a chain of waits to be told
    bool is_listed_ = false;                   // guarded by the mutex of the condition
};

class notify_list {
public:
    notify_list() = default;
    notify_list(const notify_list&) = delete;
    notify_list& operator=(const notify_list&) = delete;
    /// Nothing may wait. Waits for a critical section that ends.
    ~notify_list() {
        const std::lock_guard lock{mutex_};
        FAIRLEAD_ASSERT(waiting_.empty(),
                        "a condition was destroyed while a task or a thread waits for it");
    }

    /// Begins a wait of a caller that has the lock, and unlocks it.
    void enter(notified_waiter& wait) noexcept {
        {
            const std::lock_guard lock{mutex_};
            wait.is_listed_ = true;
            waiting_.push_back(wait);
        }
        wait.lock_.give_back();
    }

    /// Ends a wait that was not notified. False: it was; it is granted the lock, or
    /// `line::withdraw` ends it.
    [[nodiscard]] bool leave(notified_waiter& wait) noexcept {
        const std::lock_guard lock{mutex_};
        if (!wait.is_listed_) return false;
        wait.is_listed_ = false;
        waiting_.erase(wait);
        return true;
    }

    /// Moves the oldest wait to its lock. False: there is none.
    bool notify_one() noexcept { return notify(1) != 0; }

    /// Moves all waits to their locks, in their order. How many.
    std::size_t notify_all() noexcept { return notify(SIZE_MAX); }

    [[nodiscard]] std::size_t waiting() noexcept {
        const std::lock_guard lock{mutex_};
        return waiting_.size();
    }

private:
    using fifo = base::list<notified_waiter, &notified_waiter::links_>;

    std::size_t notify(std::size_t count_max) noexcept {
        fifo granted;
        std::size_t count = 0;
        {
            const std::lock_guard lock{mutex_};
            for (; count != count_max; ++count) {
                notified_waiter* const first = waiting_.pop_front();
                if (first == nullptr) break;
                first->is_listed_ = false;
                // From `waits` on the waiter may be gone.
                if (!first->lock_.enter(*first)) granted.push_back(*first);
            }
        }
        while (notified_waiter* const each = granted.pop_front()) each->tell();
        return count;
    }

    sync::mutex mutex_;
    fifo waiting_;  // guarded by mutex_
};

}  // namespace fairlead::sync
