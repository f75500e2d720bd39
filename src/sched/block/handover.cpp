#include "sched/block/handover.hpp"

#include "sched/runtime/core.hpp"
#include "sched/worker/worker.hpp"

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/os/barrier.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace fairlead::sched {
namespace {

// Whether the step of `holder` has forked. Right only while that worker has its slot.
bool has_forked(const slot& of, const seat& holder) noexcept {
    return holder.step().has_forked(of.finished.read());
}

}  // namespace

handover::~handover() {
    while (made_ != nullptr) delete std::exchange(made_, made_->of_handover.next_made);
}

// --- the worker whose step runs ------------------------------------------------------------------

bool handover::give_up_slot(worker& self) noexcept {
    const seat& at = self.seat();
    if (core_.options.run_on_caller || at.step().name() == nullptr ||
        has_forked(self.own_slot(), at))
        return false;
    std::lock_guard lock{mutex_};
    return at.has_slot() && pass_on(self);
}

bool handover::keeps_slot(const seat& self) noexcept {
    std::lock_guard lock{mutex_};
    return self.has_slot();
}

void handover::end_step(worker& self) noexcept {
    {
        std::lock_guard lock{mutex_};
        worker** at = &away_;
        while (*at != &self) at = &(*at)->of_handover.next;
        *at = self.of_handover.next;
    }
    ended_steps_.fetch_add(1, sync::acq_rel);
    // A thread may wait in drain: the woken worker reads `ended_steps` on its way to sleep [ID1].
    core_.idle.wake_one();
}

void handover::rest(worker& spare) noexcept {
    std::lock_guard lock{mutex_};
    spare.of_handover.next = std::exchange(resting_, &spare);
    if (--active_ == 0 && awaited_) all_rest_.send();
}

// --- the thread that takes a slot ----------------------------------------------------------------

bool handover::may_relieve(const slot& of) noexcept {
    std::lock_guard lock{mutex_};
    return !keeps_thread(of);
}

// The caller holds the mutex.
bool handover::keeps_thread(const slot& of) noexcept {
    return of.bound_groups != 0 || has_forked(of, of.owner.holder());
}

const char* handover::relieve(slot& of, std::uint64_t step, std::uint64_t times_passed) noexcept {
    std::lock_guard lock{mutex_};
    const seat& stuck = of.owner.holder();
    if (of.owner.times_passed() != times_passed || keeps_thread(of)) return nullptr;
    of.owner.doubt();
    const bool all_see = os::heavy_barrier();  // [HO1]
    // The number is read last: if it is `step`, the name and the flags are those of that step.
    const char* const name = stuck.step().name();
    const bool in_step = all_see && name != nullptr && !stuck.step().is_at_slot() &&
                         !has_forked(of, stuck) && of.finished.read() == step;
    if (in_step && pass_on(stuck.of())) return name;
    of.owner.settle();
    return nullptr;
}

// Passes the slot of `from` to a spare worker. The caller holds the mutex. False: there is no
// memory or no thread for a spare worker, or groups are bound to the slot.
bool handover::pass_on(worker& from) noexcept {
    slot& passed = from.own_slot();
    if (passed.bound_groups != 0) return false;
    worker* const spare = take_spare(passed);
    if (spare == nullptr) return false;
    spare->seat().prepare();
    if (!core_.blocking.submit_now(spare->job())) {
        spare->of_handover.next = std::exchange(resting_, spare);
        return false;
    }
    ++active_;
    from.seat().begin_away();
    from.charges().begin_away();
    passed.owner.pass_to(spare->seat());  // the spare worker waits for this mutex
    from.of_handover.next = std::exchange(away_, &from);
    return true;
}

worker* handover::take_spare(slot& of) noexcept {
    for (worker** at = &resting_; *at != nullptr; at = &(*at)->of_handover.next) {
        worker* const rested = *at;
        if (&rested->own_slot() != &of) continue;
        *at = rested->of_handover.next;
        return rested;
    }
    try {
        auto* const made = new worker{core_, of, true};
        made->of_handover.next_made = std::exchange(made_, made);
        return made;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

// --- groups that are bound -----------------------------------------------------------------------

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
    group.bound_to.store(to, sync::relaxed);  // published as the declaration of `bound_to` says
}

// --- questions -----------------------------------------------------------------------------------

std::size_t handover::running_steps(std::span<const char*> names) noexcept {
    std::size_t count = 0;
    const auto add = [&](const seat& each) {
        const char* const name = each.step().name();
        if (name == nullptr) return;
        if (count < names.size()) names[count] = name;
        ++count;
    };
    std::lock_guard lock{mutex_};
    for (const auto& each : core_.slots) {
        if (each->in_loop.load(sync::acquire)) add(each->owner.holder());
    }
    for (const worker* each = away_; each != nullptr; each = each->of_handover.next)
        add(each->seat());
    return count;
}

void handover::await_spares() noexcept {
    {
        std::lock_guard lock{mutex_};
        if (active_ == 0) return;
        awaited_ = true;
    }
    all_rest_.receive();
    awaited_ = false;  // all spare workers rest: no other thread reads it
}

}  // namespace fairlead::sched
