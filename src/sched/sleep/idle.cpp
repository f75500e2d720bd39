#include "sched/sleep/idle.hpp"

#include "sched/task/trace.hpp"

#include <algorithm>
#include <mutex>

namespace fairlead::sched {

void idle::announce(unsigned rather) noexcept {
    std::uint64_t seen = word_.load(sync::relaxed);  // stale only makes the exchange fail
    std::uint64_t wanted = 0;
    do {
        wanted = seen + one_announced;
        if (somebody_to_wake(seen)) wanted += one_waking;
        // [ID1] after the push. Release: the destructor (all_left) sees what the thread did.
    } while (!word_.compare_exchange_weak(seen, wanted, sync::acq_rel, sync::relaxed));
    trace("announce", somebody_to_wake(seen));
    if (!somebody_to_wake(seen)) return;
    wake_sleeper(rather);
    word_.fetch_sub(one_waking, sync::acq_rel);  // the last touch
}

void idle::wake_one(unsigned rather) noexcept {
    // [ID1] adding nothing is still a read-modify-write: it orders this worker with the sleepers.
    if (somebody_to_wake(word_.fetch_add(0, sync::acq_rel))) return wake_sleeper(rather);
    trace("wake_one", "nobody");
}

void idle::wake(unsigned index) noexcept {
    // [ID1] again a read-modify-write. Another thread may take the worker from the list first: then
    // too the worker looks everywhere after this, before it sleeps again.
    const std::uint64_t word = word_.fetch_add(0, sync::acq_rel);
    if (parked_of(word) == 0 && (word & in_driver) == 0) return;
    bool parked = false;
    {
        std::lock_guard lock{mutex_};
        parked = take_parked(index);
        if (!parked) {
            if (in_driver_ != index || !sleeps_in_driver()) return;
            take_from_driver();
        }
    }
    if (parked) {
        signals_[index].send();
    } else {
        driver_.wake();
    }
}

// This function and the next require the mutex. The worker counts as a searcher from now on.
bool idle::take_parked(unsigned index) noexcept {
    const auto at = std::find(parked_.begin(), parked_.end(), index);
    if (at == parked_.end()) return false;
    parked_.erase(at);
    word_.fetch_add(one_searching - one_parked, sync::acq_rel);
    trace("wake_one", "parked");
    return true;
}

void idle::take_from_driver() noexcept {
    word_.fetch_add(one_searching - in_driver, sync::acq_rel);
    trace("wake_one", "in_driver");
}

void idle::wake_all() noexcept {
    bool wake_driver = false;
    {
        std::lock_guard lock{mutex_};
        for (; !parked_.empty(); parked_.pop_back()) {
            word_.fetch_add(one_searching - one_parked, sync::acq_rel);
            trace("wake_all", "parked");
            signals_[parked_.back()].send();
        }
        wake_driver = (word_.load(sync::relaxed) & in_driver) != 0;  // changes under the mutex only
        if (wake_driver) {
            word_.fetch_add(one_searching - in_driver, sync::acq_rel);
            trace("wake_all", "in_driver");
        }
    }
    if (wake_driver) driver_.wake();
}

// A worker counts as a searcher from the moment it is chosen, so that no second one is woken for
// the same work. Parked workers first: the worker in the driver may go on waiting for deadlines.
void idle::wake_sleeper(unsigned rather) noexcept {
    unsigned chosen = anybody;
    {
        std::lock_guard lock{mutex_};
        // Relaxed: `parked` and `in_driver` change only under the mutex; a worker that begins to
        // search (`searching`) only now makes this wake-up needless, not wrong.
        if (!somebody_to_wake(word_.load(sync::relaxed))) {
            trace("wake_one", "nobody");
            return;
        }
        if (rather != anybody && take_parked(rather)) {
            chosen = rather;
        } else if (parked_.empty() || (in_driver_ == rather && sleeps_in_driver())) {
            take_from_driver();
        } else {
            chosen = parked_.back();
            parked_.pop_back();
            word_.fetch_add(one_searching - one_parked, sync::acq_rel);
            trace("wake_one", "parked");
        }
    }
    if (chosen == anybody) {
        driver_.wake();
    } else {
        signals_[chosen].send();
    }
}

void idle::prepare_park(unsigned index) noexcept {
    std::lock_guard lock{mutex_};
    parked_.push_back(index);
    word_.fetch_add(one_parked - one_searching, sync::seq_cst);  // [ID1] [ID2]
    trace("prepare_park");
}

bool idle::park_until(unsigned index, time_point limit) noexcept {
    const bool woken = signals_[index].receive_until(limit);
    if (woken) trace("awake");
    return woken;
}

void idle::cancel_park(unsigned index) noexcept {
    {
        std::lock_guard lock{mutex_};
        const auto own = std::find(parked_.begin(), parked_.end(), index);
        if (own != parked_.end()) {
            parked_.erase(own);
            word_.fetch_add(one_searching - one_parked, sync::acq_rel);
            trace("cancel_park");
            return;
        }
    }
    // Another thread has chosen this worker meanwhile, and its signal is on the way.
    signals_[index].receive();
    trace("awake");
}

bool idle::enter_driver(unsigned index) noexcept {
    std::lock_guard lock{mutex_};
    if ((word_.load(sync::relaxed) & occupied) != 0) return false;  // changes under the mutex only
    in_driver_ = index;
    word_.fetch_add(occupied + in_driver - one_searching, sync::seq_cst);  // [ID1] [ID2]
    trace("enter_driver");
    return true;
}

void idle::leave_driver() noexcept {
    std::lock_guard lock{mutex_};
    const bool woken = (word_.load(sync::relaxed) & in_driver) == 0;  // then its waker counted it
    word_.fetch_add(woken ? -occupied : one_searching - in_driver - occupied, sync::acq_rel);
    trace("leave_driver", woken);
}

}  // namespace fairlead::sched
