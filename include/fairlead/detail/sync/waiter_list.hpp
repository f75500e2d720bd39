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
//   2. A branch of a select is granted, or closed, only when it was claimed. Otherwise it is
//      dropped: taken out, and not told. A value is put into a wait after `claim_first`.
//   3. A wait is told after the mutex was unlocked, and from then on the teller touches only the
//      waiters that it still has to tell. So the first one told may destroy the structure.
//
// No allocation. All but `tell_all` is called under the mutex of the structure.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/base/list.hpp>
#include <fairlead/detail/sync/choice.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::sync {

/// A wait. Its owner begins and ends it; one wait at a time.
class waiter {
public:
    waiter() = default;
    /// `other` must not have begun: then it is in no FIFO, and nothing was granted.
    waiter(waiter&& other) noexcept {
        FAIRLEAD_ASSERT(other.state_ == state::idle && !other.has_choice(),
                        "a wait was moved after it had begun");
    }
    waiter& operator=(const waiter&) = delete;

    /// From now on it is a branch of a select.
    void set_choice(choice& of, choice::branch branch) noexcept {
        choice_ = &of;
        branch_ = branch;
    }
    [[nodiscard]] bool has_choice() const noexcept { return choice_ != nullptr; }

    /// Whether it may end now by a grant or a close, which must follow under the same mutex. False:
    /// another branch of its select has ended.
    [[nodiscard]] bool claim() noexcept { return choice_ == nullptr || choice_->claim(branch_); }

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
    choice::branch branch_ = 0;
    choice* choice_ = nullptr;  // null: it is no branch of a select
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

    /// The wait behind `wait`, or null.
    [[nodiscard]] static waiter* next(const waiter& wait) noexcept {
        return base::list<waiter, &waiter::links_>::next(wait);
    }

    /// Drops waits from the front until one can be claimed, and gives it; null if there is none. It
    /// must be granted under the same mutex.
    [[nodiscard]] waiter* claim_first() noexcept {
        for (waiter* first = front(); first != nullptr; first = front()) {
            if (first->claim()) return first;
            drop_first();
        }
        return nullptr;
    }

    /// The oldest wait leaves, and is not told: its select has ended by another branch.
    void drop_first() noexcept { waits_.pop_front()->state_ = waiter::state::idle; }

    /// Takes `wait`, which was granted or closed by this thread itself, out of a chain.
    void forget(waiter& wait) noexcept { waits_.erase(wait); }
    /// Whether the wait is in its FIFO.
    [[nodiscard]] static bool waits(const waiter& wait) noexcept {
        return wait.state_ == waiter::state::waiting;
    }
    /// Whether the wait has ended by a grant or a close.
    [[nodiscard]] static bool has_ended(const waiter& wait) noexcept {
        return wait.state_ == waiter::state::granted || wait.state_ == waiter::state::closed;
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
        waiter* const first = claim_first();
        if (first == nullptr) return false;
        waits_.erase(*first);
        first->state_ = how;
        to_tell.waits_.push_back(*first);
        return true;
    }

    base::list<waiter, &waiter::links_> waits_;
};

}  // namespace fairlead::sync
