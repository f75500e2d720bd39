#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/sync/phase_line.hpp>

#include <mutex>

namespace fairlead::sync {

phase_line::~phase_line() {
    const std::lock_guard lock{mutex_};  // [RW1]
    FAIRLEAD_ASSERT(shared_.empty() && exclusive_.empty() && teardown_.empty(),
                    "a reader-writer mutex was destroyed while a task or a thread waits for it");
}

bool phase_line::enlist(waiter& wait) noexcept {
    const std::lock_guard lock{mutex_};
    std::uint64_t word = word_.load(relaxed);
    std::uint64_t wanted = 0;
    do {
        if ((word & closed) != 0) {
            waiter_list::close(wait);
            return false;
        }
        wanted = admits(word, wait.kind_) ? word + one(wait.kind_) : word | has_waiters;
        // acquire: as in try_enter. [RW1] A leave that comes after this sees `has_waiters`. [RW2]
    } while (!word_.compare_exchange_weak(word, wanted, acquire, relaxed));
    if ((wanted & has_waiters) == 0) {
        waiter_list::grant(wait);
        return false;
    }
    fifo_of(wait).push_back(wait);
    return true;
}

bool phase_line::withdraw(waiter& wait) noexcept {
    waiter_list granted;
    {
        const std::lock_guard lock{mutex_};
        if (!fifo_of(wait).erase(wait)) return false;
        // Shared waits that were behind the last exclusive one may come in.
        grant(false, granted);
    }
    granted.tell_all();
    return true;
}

// An entry has ended, or has become a shared one: `change` of the word.
void phase_line::give_to_waiters(std::uint64_t change, entry ended) noexcept {
    waiter_list granted;
    {
        const std::lock_guard lock{mutex_};
        // The last waiter may have gone meanwhile: then this is a leave without waiters. [RW2]
        const std::uint64_t word = word_.fetch_add(change, release);
        if ((word & has_waiters) != 0) grant(ended == entry::exclusive, granted);
    }
    granted.tell_all();
}

phase_line::closing phase_line::close(waiter& teardown) noexcept {
    waiter_list ended;
    closing how = closing::waits;
    {
        const std::lock_guard lock{mutex_};
        if (has_teardown()) return closing::closed;
        const std::uint64_t word = refuse_all(ended);
        teardown.tears_down_ = true;
        if (is_held(word)) {
            teardown_.push_back(teardown);
        } else {
            is_torn_down_ = true;
            waiter_list::grant(teardown);
            word_.store(closed | exclusive, release);  // [RW2]
            how = closing::granted;
        }
    }
    ended.tell_all();
    return how;
}

void phase_line::refuse() noexcept {
    waiter_list ended;
    {
        const std::lock_guard lock{mutex_};
        if (has_teardown()) return;
        refuse_all(ended);
        // relaxed: it belongs to the exchange before it, which publishes. [RW2]
        word_.fetch_and(~has_waiters, relaxed);
    }
    ended.tell_all();
}

// Under the mutex. Gives the word before; `has_waiters` is set afterwards. [RW1]
std::uint64_t phase_line::refuse_all(waiter_list& ended) noexcept {
    // acquire: what was done under all entries is seen by the teardown. release: what was done
    // before the close is seen after a wait that it has ended. [RW2]
    const std::uint64_t word = word_.fetch_or(closed | has_waiters, acq_rel);
    shared_.close_all(ended);
    exclusive_.close_all(ended);
    return word;
}

std::size_t phase_line::waiting() noexcept {
    const std::lock_guard lock{mutex_};
    return shared_.size() + exclusive_.size();
}

// Under the mutex. The word does not change meanwhile, because `has_waiters` is set. [RW1]
// `shared_first`: an exclusive entry has ended.
void phase_line::grant(bool shared_first, waiter_list& granted) noexcept {
    std::uint64_t word = word_.load(acquire);  // [RW2]
    if ((word & exclusive) == 0) word += grant_shared(shared_first, granted) * one_shared;
    if (!is_held(word)) {
        if (exclusive_.grant_first(granted)) {
            word |= exclusive;
        } else if (teardown_.grant_first(granted)) {
            word |= exclusive;
            is_torn_down_ = true;
        }
    }
    const bool waits = !shared_.empty() || !exclusive_.empty() || !teardown_.empty();
    if (!waits) word &= ~has_waiters;
    // release: a store ends the chain of exchanges that began at a leave, so it must publish what
    // those have published. [RW2]
    word_.store(word, release);
}

// No exclusive entry holds the line. Returns how many shared ones come in.
std::uint64_t phase_line::grant_shared(bool shared_first, waiter_list& granted) noexcept {
    std::uint64_t count = 0;
    if (policy_ == policy::arrival) {
        for (; begins_with_shared(); ++count) exclusive_.grant_first(granted);
    } else if (exclusive_.empty() || (shared_first && policy_ == policy::phase_fair)) {
        count = shared_.size();
        shared_.grant_all(granted);
    }
    return count;
}

// Only under `arrival`: the other policies keep shared waits apart.
bool phase_line::begins_with_shared() const noexcept {
    const auto* const first = static_cast<const waiter*>(exclusive_.front());
    return first != nullptr && first->kind_ == entry::shared;
}

}  // namespace fairlead::sync
