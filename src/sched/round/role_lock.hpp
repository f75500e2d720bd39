// Which thread has the role: a lock that is tried, and never waited for.
//
// A thread that fails to get it may go to sleep because of that. So the release and the failed try
// are ordered [RL1]:
//     the holder                               a thread that goes to sleep
//     1. exchange: free                        1. says in the word of `idle` that it sleeps
//     2. look whether a thread is to be woken  2. exchange: held; it was held, so it sleeps
// Either the first exchange reads from the second, and the look sees what the other thread has
// said; or the second comes after it, and gets the role. With a store in place of the first
// exchange both could miss each other.
//
// Model test: ModelParking, whose worker sleeps by it.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>

namespace fairlead::sched {

class role_lock {
public:
    // An exchange even when it fails [RL1].
    [[nodiscard]] bool try_acquire() noexcept { return !held_.exchange(true, sync::acq_rel); }

    // The holder must look then whether a thread is to be woken, in this order: signal after the
    // release, always [RL1].
    void release() noexcept { held_.exchange(false, sync::acq_rel); }

    // If no other thread goes to sleep because of it.
    void release_alone() noexcept { held_.store(false, sync::release); }

    // A hint.
    [[nodiscard]] bool seems_free() const noexcept { return !held_.load(sync::relaxed); }

private:
    sync::atomic<bool> held_{false};
};

}  // namespace fairlead::sched
