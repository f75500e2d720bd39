// The users and the waits of one flight: a call whose result all that ask for it meanwhile share.
//
//     join   a user more; as long as the flight is in the table
//     leave  a user fewer: the last one takes the flight out of the table, and asks it to stop
//     end    the result is there: it is taken out of the table, and its waits are granted
//
// The mutex is that of the table of all flights, so that what is in the table is in the same
// critical section as what joins, leaves and ends.
//
// Invariants
//   1. A flight is in the table while it has users and no result. So a user never joins a flight
//      that was asked to stop, and never begins a second flight beside the result of the first.
//   2. A flight is asked to stop only after its last user has left without the result.
//   3. Waits are told after the mutex was unlocked.
//
// Any thread. No allocation. `end` is linear in the number of waits.
//
// Spec: Flight in spec/MAP.md. Model test: flight_test.cpp.
#pragma once

#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <cstddef>
#include <mutex>

namespace fairlead::sync {

class flight {
public:
    using waiter = sync::waiter;

    /// `table`: the mutex of the table.
    explicit flight(sync::mutex& table) noexcept : table_{table} {}
    flight(const flight&) = delete;
    flight& operator=(const flight&) = delete;

    // --- under the mutex -------------------------------------------------------------------------

    void join() noexcept { ++users_; }

    /// Whether this was the last user, and there is no result: take it out of the table, and ask it
    /// to stop.
    [[nodiscard]] bool leave() noexcept { return --users_ == 0 && !has_ended_; }

    /// The result is there.
    void end(waiter_list& to_tell) noexcept {
        has_ended_ = true;
        waiting_.grant_all(to_tell);
    }

    [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

    // --- waits of users, which lock the mutex ----------------------------------------------------

    [[nodiscard]] bool enter(waiter& wait) noexcept {
        const std::lock_guard lock{table_};
        if (has_ended_) {
            waiter_list::grant(wait);
            return false;
        }
        waiting_.push_back(wait);
        return true;
    }

    [[nodiscard]] bool withdraw(waiter& wait) noexcept {
        const std::lock_guard lock{table_};
        return waiting_.erase(wait);
    }

private:
    sync::mutex& table_;
    std::size_t users_ = 0;  // guarded by table_, as the next ones
    bool has_ended_ = false;
    waiter_list waiting_;
};

}  // namespace fairlead::sync
