// Waits in FIFOs that the mutex of one structure guards: under lines, channels, barriers,
// conditions, reader and writer locks, initialisers and flights.
//
//     the waiter               under the mutex                    after it
//     push_back ------------>  waiting
//                              grant_first, grant_all, close_all  tell_all
//                              erase: the wait has left           nothing is told
//
// Invariants
//   1. A waiter ends once: by a grant, by a close, or by its own withdrawal. Whether it is in the
//      FIFO decides, under the mutex.
//   2. A wait is told after the mutex was unlocked, and from then on the teller touches only the
//      waiters that it still has to tell. So the first one told may destroy the structure.
//
// No allocation. All but `tell_all` is called under the mutex of the structure.
#pragma once

#include <fairlead/detail/base/list.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::sync {

/// A wait. Its owner begins and ends it; one wait at a time.
class waiter {
public:
    waiter() = default;
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

protected:
    /// The wait has ended by a grant or a close. Called once by any thread, without a mutex; the
    /// last touch of this object.
    virtual void tell() noexcept = 0;

    ~waiter() = default;

    /// Whether the wait has ended by a grant. Asked by the owner when the wait is over.
    [[nodiscard]] bool was_granted() const noexcept { return state_ == state::granted; }

    /// The same, once: what the grant gave belongs to the caller now.
    [[nodiscard]] bool take_grant() noexcept {
        const bool granted = was_granted();
        state_ = state::idle;
        return granted;
    }

private:
    friend class waiter_list;

    enum class state : std::uint8_t { idle, waiting, granted, closed };

    base::list_links<waiter> links_;  // in a FIFO; then in a chain of waits to be told
    state state_ = state::idle;       // guarded by the mutex of the structure while it is `waiting`
};

/// A FIFO of a structure; or a chain of waits that one thread still has to tell.
class waiter_list {
public:
    [[nodiscard]] bool empty() const noexcept { return waits_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return waits_.size(); }

    /// The oldest wait; null if there is none.
    [[nodiscard]] waiter* front() const noexcept { return waits_.front(); }

    void push_back(waiter& wait) noexcept {
        wait.state_ = waiter::state::waiting;
        waits_.push_back(wait);
    }

    /// The wait leaves. False: it has ended, and is told or is about to be. A wait that waits must
    /// be in this FIFO.
    [[nodiscard]] bool erase(waiter& wait) noexcept {
        if (wait.state_ != waiter::state::waiting) return false;
        wait.state_ = waiter::state::idle;
        waits_.erase(wait);
        return true;
    }

    /// Grants the oldest wait, and puts it into `to_tell`. False: there is none.
    bool grant_first(waiter_list& to_tell) noexcept {
        return end_first(waiter::state::granted, to_tell);
    }
    void grant_all(waiter_list& to_tell) noexcept {
        while (grant_first(to_tell)) {
        }
    }
    /// Ends all waits without a grant.
    void close_all(waiter_list& to_tell) noexcept {
        while (end_first(waiter::state::closed, to_tell)) {
        }
    }

    /// A wait that is over before it was in a FIFO, and that is not told.
    static void grant(waiter& wait) noexcept { wait.state_ = waiter::state::granted; }
    static void close(waiter& wait) noexcept { wait.state_ = waiter::state::closed; }

    /// Without the mutex: what is told may come back to the structure, or destroy it.
    void tell_all() noexcept {
        while (waiter* const each = waits_.pop_front()) each->tell();
    }

private:
    bool end_first(waiter::state how, waiter_list& to_tell) noexcept {
        waiter* const first = waits_.pop_front();
        if (first == nullptr) return false;
        first->state_ = how;
        to_tell.waits_.push_back(*first);
        return true;
    }

    base::list<waiter, &waiter::links_> waits_;
};

}  // namespace fairlead::sync
