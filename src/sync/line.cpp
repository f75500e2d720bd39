#include <fairlead/detail/sync/line.hpp>

#include <mutex>

namespace fairlead::sync {

line::~line() {
    std::lock_guard lock{mutex_};  // [LN1]
    FAIRLEAD_ASSERT(waiters_.empty(),
                    "a mutex, a semaphore, an event or another line was "
                    "destroyed while a task or a thread waits for it");
}

bool line::enlist(waiter& wait) noexcept {
    std::lock_guard lock{mutex_};
    std::uint64_t word = word_.load(relaxed);
    std::uint64_t wanted = 0;
    do {
        if ((word & closed) != 0) {
            waiter_list::close(wait);
            return false;
        }
        const bool takes = (word & has_waiters) == 0 && has_free(word, wait.needs_);
        wanted = takes ? word + wait.takes_ * one_taken : word | has_waiters;
        // acquire: as in try_take. [LN1] A return that comes after this sees `has_waiters`. [LN2]
    } while (!word_.compare_exchange_weak(word, wanted, acquire, relaxed));
    if ((wanted & has_waiters) == 0) {
        waiter_list::grant(wait);
        return false;
    }
    waiters_.push_back(wait);
    return true;
}

// A grant by another exchange could fail after the claim, so the word is frozen first. [LN1]
bool line::enlist_branch(waiter& wait) noexcept {
    waiter_list granted;
    {
        std::lock_guard lock{mutex_};
        // acquire: as in try_take. [LN1] A return that comes after this sees `has_waiters`. [LN2]
        if ((word_.fetch_or(has_waiters, acquire) & closed) != 0) {
            word_.fetch_and(~has_waiters, relaxed);  // a closed line has no waits
            if (wait.claim()) waiter_list::close(wait);
            return false;
        }
        waiters_.push_back(wait);
        grant_first_ones(granted);
        if (waiter_list::waits(wait)) return true;
        if (waiter_list::has_ended(wait)) granted.forget(wait);
    }
    granted.tell_all();
    return false;
}

bool line::try_enter(waiter& wait) noexcept {
    if (!try_grant(wait)) {
        if (!is_closed()) return false;
        waiter_list::close(wait);
    }
    return wait.claim();
}

bool line::withdraw(waiter& wait) noexcept {
    waiter_list granted;
    {
        std::lock_guard lock{mutex_};
        if (!waiters_.erase(wait)) return false;
        grant_first_ones(granted);  // what was too little for `wait` may be enough for the next
    }
    granted.tell_all();
    return true;
}

void line::give_back_to_waiters(std::uint32_t permits) noexcept {
    waiter_list granted;
    {
        std::lock_guard lock{mutex_};
        // The last waiter may have gone meanwhile: then this is a return without waiters. [LN2]
        word_.fetch_sub(permits * one_taken, release);
        grant_first_ones(granted);
    }
    granted.tell_all();
}

bool line::give_back_if_taken() noexcept {
    std::uint64_t word = word_.load(relaxed);
    do {
        if (taken(word) == 0) return false;
        if ((word & has_waiters) != 0) return give_back_to_waiters_if_taken();         // [LN1]
    } while (!word_.compare_exchange_weak(word, word - one_taken, release, relaxed));  // [LN2]
    return true;
}

bool line::give_back_to_waiters_if_taken() noexcept {
    waiter_list granted;
    {
        std::lock_guard lock{mutex_};
        // The last waiter may have gone meanwhile, and another thread may change the word.
        std::uint64_t word = word_.load(relaxed);
        do {
            if (taken(word) == 0) return false;
        } while (!word_.compare_exchange_weak(word, word - one_taken, release, relaxed));  // [LN2]
        grant_first_ones(granted);
    }
    granted.tell_all();
    return true;
}

void line::set_bound(std::uint64_t bound) noexcept {
    waiter_list granted;
    {
        std::lock_guard lock{mutex_};
        bound_.store(bound, relaxed);
        grant_first_ones(granted);
    }
    granted.tell_all();
}

bool line::close() noexcept {
    waiter_list ended;
    {
        std::lock_guard lock{mutex_};
        // release: what was done before the close is seen after a wait that it has ended.
        if ((word_.fetch_or(closed, release) & closed) != 0) return false;
        waiters_.close_all(ended);
        word_.fetch_and(~has_waiters, relaxed);
    }
    ended.tell_all();
    return true;
}

std::size_t line::waiting() noexcept {
    std::lock_guard lock{mutex_};
    return waiters_.size();
}

// Under the mutex. The word does not change meanwhile, because `has_waiters` is set. [LN1]
void line::grant_first_ones(waiter_list& granted) noexcept {
    // relaxed: `enlist` acquired all changes of the word before it set `has_waiters`, and the mutex
    // orders all changes since.
    std::uint64_t word = word_.load(relaxed);
    if ((word & has_waiters) == 0) return;
    while (!waiters_.empty() && has_free(word, first().needs_)) {
        const std::uint64_t takes = first().takes_;
        if (!first().claim()) {
            waiters_.drop_first();
            continue;
        }
        word += takes * one_taken;
        waiters_.grant_first(granted);
    }
    if (waiters_.empty()) word &= ~has_waiters;
    // release: a store ends the chain of exchanges that began at a return, so it must publish what
    // those have published. [LN2]
    word_.store(word, release);
}

}  // namespace fairlead::sync
