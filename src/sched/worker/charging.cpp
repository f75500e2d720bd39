#include "sched/worker/charging.hpp"

#include "sched/runtime/core.hpp"
#include "sched/worker/clock_looks.hpp"

#include <utility>

namespace fairlead::sched {

// The lease is not of this home, or has not begun.
bool charging::begin_other_step(home& of) noexcept {
    const bool leased = begin_in_lease(of);
    if (!leased && is_measured(of)) begin_measuring();
    return leased;
}

void charging::end_step_without_lease(home& of) noexcept {
    if (is_measured(of)) account(core_.role.turns().group_of(of));
}

bool charging::is_measured(home& of) const noexcept {
    return of.grouped() || core_.role.turns().are_given();
}

// --- time ----------------------------------------------------------------------------------------

// The time between two steps is charged with the second step, but not the time before this worker
// knew of these turns.
void charging::begin_measuring() noexcept {
    const std::uint32_t number = core_.role.turns().number();
    if (slot_.measured_in == number) return;
    slot_.measured_in = number;
    slot_.measured_from = core_.now();
}

// The time since `measured_from`, which begins anew. Zero: it was not measured in these turns.
duration charging::time_used() noexcept {
    const std::uint32_t number = core_.role.turns().number();
    const time_point now = core_.now();
    const bool measured = lease_.is_open() || slot_.measured_in == number;
    const duration used = measured ? now - slot_.measured_from : duration::zero();
    slot_.measured_in = number;
    slot_.measured_from = now;
    return used;
}

// A step of a group, or while turns are given, has ended: charges its time, and tells the group.
void charging::account(group_state& group) noexcept {
    group.charge(time_used());
    const std::uint32_t number = slot_.measured_in;
    const time_point now = slot_.measured_from;
    if (slot_.turn.number != number || slot_.turn.until <= now) looks_.be_due_next();
    // A thread that takes one of its forks holds the group and counts a step of it before this one
    // ends.
    if (group.grouped()) slot_.offers.end_forking();
    const bool waited_for = group.end_step();
    if (!group.grouped()) return;
    if (waited_for) core_.notice(group);
    group.let_task_go();
}

// --- the lease -----------------------------------------------------------------------------------

// Whether the step begins a lease of its group. The step of another group ends the lease.
bool charging::begin_in_lease(home& of) noexcept {
    if (!lease_.is_open() && !slot_.turn.has_lease) return false;
    take_lease();
    if (lease_.is_of(of)) return true;
    end_lease();
    return false;
}

void charging::take_lease() noexcept {
    if (!slot_.turn.has_lease) return;
    slot_.turn.has_lease = false;
    steps_to_look_ = slot_.turn.steps_to_look;
    slot_.has_open_lease.store(true, sync::relaxed);  // published by the end of its first step
    begin_measuring();  // its thread may have left and come back since the deal
    group_state& group = *slot_.turn.of;
    lease_.open(group, group.grouped() ? static_cast<home&>(group) : core_);
}

[[gnu::hot]] void charging::end_in_lease() noexcept {
    slot_.offers.end_forking();
    lease_.end_step();
    const bool has_more = slot_.next != nullptr || !slot_.runs.empty() || !slot_.outbox.empty();
    if (!has_more) return end_lease();
    // Relaxed: a hint that the step was long.
    if (--steps_to_look_ == 0 ||
        slot_.asked_to_yield.load(sync::relaxed) == slot_.finished.value()) {
        steps_to_look_ = slot_.turn.steps_to_look;
        looks_.be_due_next();
    }
}

[[gnu::noinline]] void charging::end_open_lease() noexcept {
    take_lease();
    if (lease_.tell(time_used())) core_.notice(lease_.group());
    lease_.close();
    slot_.has_open_lease.store(false, sync::release);  // pairs with role::drained
}

// --- a step that has lost its slot ---------------------------------------------------------------

void charging::begin_away() noexcept {
    const bool measured = lease_.is_open() || slot_.measured_in == core_.role.turns().number();
    used_ = measured ? core_.now() - slot_.measured_from : duration::zero();
    if (!lease_.is_open()) return;
    group_state& group = lease_.group();
    if (lease_.tell(std::exchange(used_, duration::zero()))) core_.notice(group);
}

void charging::end_away(home& of) noexcept {
    if (of.grouped()) {
        auto& group = static_cast<group_state&>(of);
        group.charge(used_);
        if (group.end_step()) core_.notice(group);
        if (lease_.is_open()) lease_.close();
        group.let_task_go();
    } else if (lease_.is_open()) {
        lease_.close();
    }
}

}  // namespace fairlead::sched
