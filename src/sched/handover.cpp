#include "sched/handover.hpp"

#include "sched/core.hpp"
#include "sched/worker.hpp"

#include <fairlead/detail/os/barrier.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace fairlead::sched {

handover::~handover() {
    while (made_ != nullptr) delete std::exchange(made_, made_->next_made_);
}

// --- the worker ---------------------------------------------------------------------------------------------------

// Where another was in the middle of a step.
void worker::begin_at_slot_of_another() noexcept {
    slot_.measured_in = 0;
    slot_.has_open_lease.store(
        false, sync::release);  // that one has it, and `ended_steps` tells of its end
    slot_.asked_to_yield.store(~std::uint64_t{0}, sync::relaxed);  // a hint
    if (slot_.overtakes_since != never) core_.role.end_overtaking(slot_);
}

offered_forks& worker::offers() noexcept {
    const bool has_slot = enter_slot();
    if (has_slot) forked_in_.publish(slot_.finished.value() + 1);  // it stays there until it ends
    leave_slot();
    return has_slot ? slot_.offers : offers_away_;
}

std::uint32_t worker::running_depth() noexcept {
    const std::uint32_t depth = enter_slot() ? slot_.offers.depth() : offers_away_.depth();
    leave_slot();
    return depth;
}

// It may have been relieved; who does so decides it under the mutex.
[[gnu::noinline]] bool worker::still_has_slot() noexcept {
    away_ = away_ || core_.handover.has_taken_from(*this);
    return !away_;
}

// Its step has ended, and another has its slot.
[[gnu::noinline]] bool worker::end_away(home& of) noexcept {
    if (of.grouped()) {
        auto& group = static_cast<group_state&>(of);
        offers_away_.end_forking();
        group.charge(used_);
        if (group.end_step()) core_.notice(group);
        if (lease_.is_open()) lease_.close();
        group.let_task_go();
    } else if (lease_.is_open()) {
        lease_.close();
    }
    core_.handover.end_step(*this);
    return false;
}

// --- the worker whose step runs -----------------------------------------------------------------------------

bool handover::give_up_slot(worker& self) noexcept {
    if (core_.options.run_on_caller || self.step_name() == nullptr || has_forked(self))
        return false;
    std::lock_guard lock{mutex_};
    if (self.lost_ || !pass_on(self)) return false;
    self.relieved_.store(true, sync::relaxed);  // its own
    return true;
}

bool handover::has_taken_from(worker& self) noexcept {
    std::lock_guard lock{mutex_};
    return self.lost_;
}

void handover::end_step(worker& self) noexcept {
    {
        std::lock_guard lock{mutex_};
        worker** at = &away_;
        while (*at != &self) at = &(*at)->next_;
        *at = self.next_;
    }
    ended_steps_.fetch_add(1, sync::acq_rel);
    core_.idle.wake_one();  // for who waits in drain: on its way to sleep it looks at that [ID1]
}

void handover::rest(worker& spare) noexcept {
    std::lock_guard lock{mutex_};
    spare.next_ = std::exchange(resting_, &spare);
    if (--active_ == 0 && awaited_) all_rest_.send();
}

// Whether the step that runs has, while its worker has its slot.
bool handover::has_forked(const worker& self) noexcept {
    return self.forked_in_.read() == self.slot_.finished.read() + 1;
}

// --- who takes a slot -----------------------------------------------------------------------------------------

bool handover::may_relieve(const slot& of) noexcept {
    std::lock_guard lock{mutex_};
    return !keeps_thread(of);
}

// Under the mutex.
bool handover::keeps_thread(const slot& of) noexcept {
    return of.bound_groups != 0 || has_forked(*of.holder.load(sync::relaxed));
}

const char* handover::relieve(slot& of, std::uint64_t step, std::uint64_t passed_on) noexcept {
    std::lock_guard lock{mutex_};
    worker& stuck = *of.holder.load(sync::relaxed);  // changes under the mutex
    if (of.passed_on.value() != passed_on || keeps_thread(of)) return nullptr;
    stuck.relieved_.store(true, sync::relaxed);
    const bool all_see = os::heavy_barrier();  // [HO1]
    // acquire, all three: what it did to the slot before. In this order: another step has another number.
    const char* const name = stuck.step_name();
    const bool in_step = all_see && name != nullptr && !stuck.at_slot_.load(sync::acquire) &&
                         !has_forked(stuck) && of.finished.read() == step;
    if (in_step && pass_on(stuck)) return name;
    stuck.relieved_.store(false, sync::release);  // pass_on may have looked at the slot
    return nullptr;
}

// False: there is no memory, or no thread, or the slot is for this thread.
bool handover::pass_on(worker& from) noexcept {
    slot& passed = from.slot_;
    if (passed.bound_groups != 0) return false;
    worker* const spare = take_spare(passed, from.index_);
    if (spare == nullptr) return false;
    // Before another may use the slot.
    from.offers_away_.begin_step(passed.offers.depth());
    const bool measured =
        from.lease_.is_open() || passed.measured_in == core_.role.turns().number();
    from.used_ = measured ? core_.now() - passed.measured_from : duration::zero();
    spare->take_slot();
    if (!core_.blocking.submit_now(*spare)) {
        passed.holder.store(&from, sync::release);
        spare->next_ = std::exchange(resting_, spare);
        return false;
    }
    ++active_;
    passed.passed_on.add(1);
    if (from.lease_.is_open()) {  // the step may last, and its group waits for no such step
        group_state& group = from.lease_.group();
        if (from.lease_.tell(std::exchange(from.used_, duration::zero()))) core_.notice(group);
    }
    from.lost_ = true;
    from.next_ = std::exchange(away_, &from);
    return true;
}

worker* handover::take_spare(slot& of, unsigned index) noexcept {
    for (worker** at = &resting_; *at != nullptr; at = &(*at)->next_) {
        worker* const rested = *at;
        if (&rested->slot_ != &of) continue;
        *at = rested->next_;
        return rested;
    }
    try {
        auto* const made = new worker{core_, of, index, true};
        made->next_made_ = std::exchange(made_, made);
        return made;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

// --- groups that are bound ------------------------------------------------------------------------------------

void handover::bind(group_state& group, unsigned to) noexcept {
    std::lock_guard lock{mutex_};
    bind_locked(group, to);
}

void handover::bind_somewhere(group_state& group) noexcept {
    std::lock_guard lock{mutex_};
    if (group.is_bound()) return;
    const auto fewest = std::ranges::min_element(
        core_.slots, {}, [](const auto& each) { return each->bound_groups; });
    bind_locked(group, static_cast<unsigned>(fewest - core_.slots.begin()));
}

void handover::bind_locked(group_state& group, unsigned to) noexcept {
    const unsigned before = group.bound_to.load(sync::relaxed);
    if (before != group_state::nobody) --core_.slots[before]->bound_groups;
    if (to != group_state::nobody) ++core_.slots[to]->bound_groups;
    group.bound_to.store(to, sync::relaxed);  // published as its declaration says
}

// --- questions ------------------------------------------------------------------------------------------------

std::size_t handover::running_steps(std::span<const char*> names) noexcept {
    std::size_t count = 0;
    const auto add = [&](const worker& each) {
        const char* const name = each.step_name();
        if (name == nullptr) return;
        if (count < names.size()) names[count] = name;
        ++count;
    };
    std::lock_guard lock{mutex_};
    for (const auto& each : core_.slots) {
        if (each->held.load(sync::acquire)) add(*each->holder.load(sync::relaxed));
    }
    for (const worker* each = away_; each != nullptr; each = each->next_) add(*each);
    return count;
}

void handover::await_spares() noexcept {
    {
        std::lock_guard lock{mutex_};
        if (active_ == 0) return;
        awaited_ = true;
    }
    all_rest_.receive();
    awaited_ = false;  // nobody else is there
}

}  // namespace fairlead::sched
