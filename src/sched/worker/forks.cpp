#include <fairlead/detail/os/thread.hpp>
#include <fairlead/detail/sched/forks.hpp>
#include <fairlead/sched/scheduler.hpp>

#include "sched/worker/worker.hpp"

namespace fairlead::sched {

// No more of a limited group may run than does: it keeps its forks to itself.
void offered_forks::begin_in_group(const home& of) noexcept {
    of_group_ = true;
    if (!of.is_limited()) return;
    closed_ = true;
    deque_.set_open_min(0);
}

// Before the theft, in its order.
void offered_forks::thief_comes() noexcept { thieves_.fetch_add(1, sync::seq_cst); }

// Pairs with end_in_group and wait_for_thieves.
void offered_forks::thief_goes() noexcept { thieves_.fetch_sub(1, sync::release); }

// A read-modify-write, as that of a thief that comes: of the two the later one sees what came
// before the other.
void offered_forks::wait_for_thieves() noexcept {
    while (thieves_.fetch_add(0, sync::acq_rel) != 0) os::yield();  // for some instructions
}

void offered_forks::end_in_group() noexcept {
    of_group_ = false;
    closed_ = false;
    deque_.set_open_min(open_min_);
    // seq_cst: the owner has seen that a fork is gone, so it sees the thief that took it, or all
    // that the thief has done.
    while (thieves_.load(sync::seq_cst) != 0) os::yield();  // for some instructions
}

[[gnu::noinline]] void offered_forks::wake_thief() noexcept { worker::current()->wake_thief(); }

void offered_forks::post(forked& work) noexcept { work.target().post(work.detach()); }

// As where a child of a fork_join forks for a scope around it, and ends.
bool offered_forks::take_back_below(forked& newest, const forked& work) noexcept {
    for (forked* at = &newest; at != nullptr; at = deque_.pop()) {
        if (at == &work) return true;
        FAIRLEAD_ASSERT(at->is_loose(), "forks were not taken back in order");
        post(*at);
    }
    return false;
}

// There is room: it was there just now.
void offered_forks::put_back(forked& newest) noexcept {
    const bool has_room = deque_.push(newest);
    FAIRLEAD_ASSERT(has_room, "a fork was taken back, and there is no room for it");
    if (must_open()) open_some();
}

}  // namespace fairlead::sched
