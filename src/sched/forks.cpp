#include <fairlead/sched/forks.hpp>
#include <fairlead/sched/scheduler.hpp>

namespace fairlead::sched {

void offered_forks::post(forked& work) noexcept {
    scheduler& here = *scheduler::current();
    here.post(work.detach(here));
}

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
    FAIRLEAD_ASSERT(has_room, "a fork was taken that had no place");
    if (must_open()) open_some();
}

}  // namespace fairlead::sched
