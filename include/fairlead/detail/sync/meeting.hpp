// The arrivals of a phase, and the waits for its end: what is under a barrier.
//
// Under one mutex. An arrival that is not the last one is in the FIFO while it waits. So a wait
// that leaves the FIFO has not arrived, and a wait that is no longer there belongs to a phase that
// has ended.
//
// Invariants
//   1. In the FIFO are as many waits as have arrived in this phase, fewer than there are parties.
//   2. A phase ends in the critical section of its last arrival, or of the leave that makes the
//      arrivals enough. From then on its waits cannot withdraw.
//   3. What ended the phase tells the waits after the caller's completion function has run; then
//      it touches the meeting no more. So the first one told may destroy it.
//
// Any thread. No allocation. An arrival is one critical section; the last one is linear in the
// number of waits. Rejected: a count without the mutex, because an arrival that waits has to enter
// the FIFO anyway.
//
// Spec: Meeting in spec/MAP.md. Model test: meeting_test.cpp.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <cstdint>
#include <mutex>

namespace fairlead::sync {

class meeting {
public:
    explicit meeting(std::uint32_t parties) noexcept : parties_{parties} {}
    meeting(const meeting&) = delete;
    meeting& operator=(const meeting&) = delete;
    ~meeting() {
        FAIRLEAD_ASSERT(waiting_.empty(),
                        "a barrier was destroyed while a task or a thread waits for it");
    }

    /// Arrives, and waits. True: this is the last arrival. Then the waits of the phase are in
    /// `ended`, for the caller to tell; `wait` is not among them, and has been granted.
    [[nodiscard]] bool arrive(waiter& wait, waiter_list& ended) noexcept {
        const std::lock_guard lock{mutex_};
        if (!is_last_arrival()) {
            waiting_.push_back(wait);
            return false;
        }
        waiter_list::grant(wait);
        waiting_.grant_all(ended);
        return true;
    }

    /// Arrives if this is the last arrival. False: it is not, and nothing has happened.
    [[nodiscard]] bool arrive_if_last(waiter_list& ended) noexcept {
        const std::lock_guard lock{mutex_};
        if (!is_last_arrival()) return false;
        waiting_.grant_all(ended);
        return true;
    }

    /// There is one party fewer, from now on. True: that ends the phase, as in `arrive`.
    [[nodiscard]] bool leave(waiter_list& ended) noexcept {
        const std::lock_guard lock{mutex_};
        FAIRLEAD_ASSERT(waiting_.size() < parties_, "more left a barrier than it was made for");
        --parties_;
        if (parties_ == 0 || waiting_.size() != parties_) return false;
        waiting_.grant_all(ended);
        return true;
    }

    /// Ends a wait, which has not arrived then. False: the phase has ended.
    [[nodiscard]] bool withdraw(waiter& wait) noexcept {
        const std::lock_guard lock{mutex_};
        return waiting_.erase(wait);
    }

    [[nodiscard]] std::uint32_t parties() noexcept {
        const std::lock_guard lock{mutex_};
        return parties_;
    }
    [[nodiscard]] std::uint32_t arrived() noexcept {
        const std::lock_guard lock{mutex_};
        return static_cast<std::uint32_t>(waiting_.size());
    }

private:
    [[nodiscard]] bool is_last_arrival() const noexcept {
        FAIRLEAD_ASSERT(waiting_.size() < parties_, "a barrier that all have left was arrived at");
        return waiting_.size() + 1 == parties_;
    }

    sync::mutex mutex_;
    std::uint32_t parties_;  // guarded by mutex_
    waiter_list waiting_;    // guarded by mutex_
};

}  // namespace fairlead::sync
