// A wait that an object with a mutex ends, and the FIFO of such waits.
//
//     idle --push--> waiting --take_first--> granted --waiter_chain::tell_all--> idle
//                       |----take_all------> closed  --waiter_chain::tell_all--> idle
//                       |----withdraw------> idle
//
// A waiter lies in the frame or on the stack of what waits: no allocation. It is in at most one
// FIFO, under the mutex of the object that it waits for. Whether it is there decides, once, between
// a grant, a close, and a withdrawal by a stop or a deadline. The object tells the waits that it
// has ended after it has unlocked its mutex, since a wait that was told may destroy the object,
// or come back to it.
//
// Used by lines and channels.
#pragma once

#include <fairlead/detail/base/list.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::sync {

class waiter_chain;
class waiter_list;

/// One wait at a time.
class waiter {
public:
    enum class state : std::uint8_t { idle, waiting, granted, closed };

    waiter() = default;
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    /// For the object that it waits for: the wait ends at its beginning.
    void end(state how) noexcept { state_ = how; }

protected:
    /// The wait has ended by a grant or a close. Called once by any thread, without a mutex; the
    /// last touch of this object.
    virtual void tell() noexcept = 0;

    ~waiter() = default;

    /// Whether the wait has ended by a grant. Asked by the owner after `tell`, or when the wait has
    /// ended at its beginning, or by a withdrawal.
    [[nodiscard]] bool was_granted() const noexcept { return state_ == state::granted; }

    /// The same, once: what was granted belongs to the caller now.
    [[nodiscard]] bool take_grant() noexcept {
        const bool granted = was_granted();
        state_ = state::idle;
        return granted;
    }

private:
    friend class waiter_chain;
    friend class waiter_list;

    base::list_links<waiter> links_;  // in the FIFO; then in a chain of waits to be told
    state state_ = state::idle;       // guarded by the mutex of the object while it is `waiting`
};

/// Waits that have ended, and are to be told. One thread.
class waiter_chain {
public:
    [[nodiscard]] bool empty() const noexcept { return ended_.empty(); }

    /// Without a mutex: what is told may destroy the object that it has waited for.
    void tell_all() noexcept {
        while (waiter* const each = ended_.pop_front()) each->tell();
    }

private:
    friend class waiter_list;

    base::list<waiter, &waiter::links_> ended_;
};

/// The FIFO. Guarded by the mutex of its object.
class waiter_list {
public:
    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }
    [[nodiscard]] waiter* first() const noexcept { return waiting_.front(); }

    void push_back(waiter& wait) noexcept {
        wait.state_ = waiter::state::waiting;
        waiting_.push_back(wait);
    }

    /// Grants the first one, which there must be.
    void grant_first(waiter_chain& granted) noexcept { end_first(waiter::state::granted, granted); }

    /// Ends all.
    void close(waiter_chain& ended) noexcept {
        while (!waiting_.empty()) end_first(waiter::state::closed, ended);
    }

    /// Ends a wait without a grant. False: it has ended.
    [[nodiscard]] bool withdraw(waiter& wait) noexcept {
        if (wait.state_ != waiter::state::waiting) return false;
        wait.state_ = waiter::state::idle;
        waiting_.erase(wait);
        return true;
    }

private:
    void end_first(waiter::state how, waiter_chain& ended) noexcept {
        waiter& first = *waiting_.pop_front();
        first.state_ = how;
        ended.ended_.push_back(first);
    }

    base::list<waiter, &waiter::links_> waiting_;
};

}  // namespace fairlead::sync
