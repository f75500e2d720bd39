#include <fairlead/detail/os/thread.hpp>
#include <fairlead/detail/sched/forks.hpp>
#include <fairlead/sched/scheduler.hpp>

#include "sched/worker/worker.hpp"

namespace fairlead::sched {

// A step of a limited group keeps its forks to itself: no more steps of the group may run at once.
void offered_forks::begin_in_group(const home& of) noexcept {
    of_group_ = true;
    if (!of.is_limited()) return;
    closed_ = true;
    deque_.set_open_min(0);
}

// Before the theft. seq_cst: in one order with the accesses of the theft [FD2].
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

// Another worker, for the forks that this one has opened to thieves.
[[gnu::noinline]] void offered_forks::wake_thief() noexcept {
    idle& sleepers = worker::current()->owner().idle;
    if (sleepers.seems_asleep()) sleepers.wake_one();
}

void offered_forks::post(forked& work) noexcept { work.target().post(work.detach()); }

// Posts what lies above `work`: say, what a child of a fork_join forked for a scope around it.
bool offered_forks::take_back_below(forked& newest, const forked& work) noexcept {
    for (forked* at = &newest; at != nullptr; at = deque_.pop()) {
        if (at == &work) return true;
        FAIRLEAD_ASSERT(at->is_loose(), "forks were not taken back in order");
        post(*at);
    }
    return false;
}

// There is room: this fork was in the deque just now.
void offered_forks::put_back(forked& newest) noexcept {
    const bool has_room = deque_.push(newest);
    FAIRLEAD_ASSERT(has_room, "a fork was taken back, and there is no room for it");
    if (must_open()) open_some();
}

}  // namespace fairlead::sched
