// Something is made once: one thread at a time has the right to make it, and the waits for that
// right end when it is there. Under `once`.
//
//     empty --enter--> running --set_ready--> ready        for good; all waits end
//       ^                 |
//       +----- give_up ---+   the right goes to the oldest wait that would begin; or back to empty
//
//     waits that begin     a grant is the right to make it; a close says that it is ready
//     waits that do not    a grant says that it is ready
//
// Invariants
//   1. One thread at most has the right, and only it calls `set_ready` or `give_up`.
//   2. A wait that would begin is in its FIFO only while a thread has the right.
//   3. A wait is told after the mutex was unlocked, and from then on the teller touches only the
//      waiters that it still has to tell. So the first one told may destroy the structure. A thread
//      that sees `ready` without the mutex may do so, too: therefore the destructor locks the
//      mutex. [ON1]
//
// Any thread. No allocation. When it is ready an entry is one load; otherwise it is one critical
// section. `set_ready` is linear in the number of waits.
//
// Rejected: std::call_once, which blocks its threads; a mutex around a flag, because each wait
// would have the mutex once, one after the other, though all could go on together.
//
// Spec: OnceState in spec/MAP.md. Model test: once_state_test.cpp.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <cstdint>
#include <mutex>

namespace fairlead::sync {

class once_state {
public:
    class waiter : public sync::waiter {
    public:
        /// `begins`: it takes the right to make it.
        explicit waiter(bool begins) noexcept : begins_{begins} {}

    protected:
        waiter(waiter&&) noexcept = default;
        ~waiter() = default;

    private:
        friend class once_state;

        const bool begins_;
    };

    once_state() = default;
    once_state(const once_state&) = delete;
    once_state& operator=(const once_state&) = delete;
    /// Nothing may wait. Waits for a critical section that ends.
    ~once_state() {
        const std::lock_guard lock{mutex_};  // [ON1]
        FAIRLEAD_ASSERT(beginning_.empty() && watching_.empty(),
                        "a once was destroyed while a task or a thread waits for it");
    }

    /// Whether it is there. What was done before `set_ready` is seen.
    [[nodiscard]] bool is_ready() const noexcept {
        return state_.load(acquire) == state::ready;  // [ON1]
    }

    /// Takes the right to make it, if it is not there and no thread has the right.
    [[nodiscard]] bool try_begin() noexcept {
        const std::lock_guard lock{mutex_};
        if (state_.load(relaxed) != state::empty) return false;
        state_.store(state::running, relaxed);
        return true;
    }

    /// Begins a wait. True: it waits; `tell` will be called, or `withdraw` ends the wait. False:
    /// the wait is over.
    [[nodiscard]] bool enter(waiter& wait) noexcept {
        if (is_ready()) {
            end_as_ready(wait);
            return false;
        }
        const std::lock_guard lock{mutex_};
        switch (state_.load(relaxed)) {  // changed under the mutex
            case state::ready:
                end_as_ready(wait);
                return false;
            case state::empty:
                if (!wait.begins_) break;
                state_.store(state::running, relaxed);
                waiter_list::grant(wait);
                return false;
            case state::running:
                break;
        }
        fifo_of(wait).push_back(wait);
        return true;
    }

    /// Ends a wait. False: it has ended, and `tell` was called or is about to be.
    [[nodiscard]] bool withdraw(waiter& wait) noexcept {
        const std::lock_guard lock{mutex_};
        return fifo_of(wait).erase(wait);
    }

    /// The caller has made it.
    void set_ready() noexcept {
        waiter_list ended;
        {
            const std::lock_guard lock{mutex_};
            // release: what was made is seen by a thread that finds it ready. [ON1]
            state_.store(state::ready, release);
            beginning_.close_all(ended);
            watching_.grant_all(ended);
        }
        ended.tell_all();
    }

    /// The caller has not made it: its right goes to the next wait.
    void give_up() noexcept {
        waiter_list granted;
        {
            const std::lock_guard lock{mutex_};
            if (!beginning_.grant_first(granted)) state_.store(state::empty, relaxed);
        }
        granted.tell_all();
    }

private:
    enum class state : std::uint8_t { empty, running, ready };

    static void end_as_ready(waiter& wait) noexcept {
        wait.begins_ ? waiter_list::close(wait) : waiter_list::grant(wait);
    }
    [[nodiscard]] waiter_list& fifo_of(const waiter& wait) noexcept {
        return wait.begins_ ? beginning_ : watching_;
    }

    // Written under the mutex. `ready` publishes what was made to threads without it. [ON1]
    sync::atomic<state> state_{state::empty};
    sync::mutex mutex_;
    waiter_list beginning_;  // guarded by mutex_
    waiter_list watching_;   // guarded by mutex_
};

}  // namespace fairlead::sync
