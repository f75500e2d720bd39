// What a worker does with the lease of its turn: see lease.hpp.
#include "sched/core.hpp"
#include "sched/worker.hpp"

namespace fairlead::sched {

// Whether the step counts for the lease. The step of another group ends it.
bool worker::begin_in_lease(home& of) noexcept {
    if (lease_.is_of(of)) return true;
    if (!lease_.is_open() && !slot_.turn.has_lease) return false;
    take_lease();
    if (lease_.is_of(of)) return true;
    end_lease();
    return false;
}

void worker::take_lease() noexcept {
    if (!slot_.turn.has_lease) return;
    slot_.turn.has_lease = false;
    lease_steps_to_look_ = slot_.turn.steps_to_look;
    slot_.has_open_lease.store(true, sync::relaxed);  // published by the end of its first step
    begin_measuring();  // its thread may have left and come back since the deal
    group_state& group = *slot_.turn.of;
    lease_.open(group, group.grouped() ? static_cast<home&>(group) : core_);
}

void worker::end_in_lease() noexcept {
    slot_.offers.end_forking();
    lease_.end_step();
    const bool has_more = slot_.next != nullptr || !slot_.runs.empty() || !slot_.outbox.empty();
    if (!has_more) return end_lease();
    // Relaxed: a hint that the step was long.
    if (--lease_steps_to_look_ == 0 ||
        slot_.asked_to_yield.load(sync::relaxed) == slot_.finished.value()) {
        lease_steps_to_look_ = slot_.turn.steps_to_look;
        steps_to_look_ = 1;
    }
}

[[gnu::noinline]] void worker::end_open_lease() noexcept {
    take_lease();
    if (lease_.tell(time_used())) core_.notice(lease_.group());
    lease_.close();
    slot_.has_open_lease.store(false, sync::release);  // pairs with role::drained
}

// Whether posts to the group of the lease may go before the rest of the turn: nothing that is known to
// wait there is older.
bool worker::lease_goes_on() const noexcept {
    if (!lease_.group().keeps_lease() || core_.inbox.has_grouped() || core_.role.groups_pend()) {
        return false;
    }
    return lease_.is_of_group() ||
           (slot_.ready_consumer.empty() && core_.inbox.empty(lane::everyone));
}

}  // namespace fairlead::sched
