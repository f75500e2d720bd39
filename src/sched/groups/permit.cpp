#include "sched/groups/group_state.hpp"
#include "sched/task/task_access.hpp"

#include <fairlead/sched/permit.hpp>

#include <utility>

namespace fairlead {

// --- a permit ------------------------------------------------------------------------------------

permit::permit(sched::group_state& of) noexcept : of_{&of} { of.hold(); }

executor permit::where() const noexcept {
    FAIRLEAD_ASSERT(of_ != nullptr, "a permit was asked where it is that is none");
    return sched::access::executor_of(*of_);
}

void permit::post(basic_task& task) && noexcept {
    FAIRLEAD_ASSERT(of_ != nullptr, "a permit was used that is none, or for a second task");
    sched::group_state& into = *std::exchange(of_, nullptr);
    sched::task_access::give_permit(task);
    // A group that drops tasks takes the permit only now: a permit that is not used drops nothing.
    if (into.drops_to != nullptr) into.permits.take_beyond_bound();
    sched::access::executor_of(into).post(task);
    into.let_go();
}

void permit::give_back_taken() noexcept {
    sched::group_state& from = *std::exchange(of_, nullptr);
    if (from.drops_to == nullptr) from.permits.give_back();
    from.let_go();
}

namespace sched {

// --- a wait for a permit -------------------------------------------------------------------------

void permit_waiter::hold(group& of) noexcept {
    if (waits_for_ != nullptr) return;
    waits_for_ = &static_cast<group_state&>(access::home_of(of));
    waits_for_->hold();
}

bool permit_waiter::begin(group& of) noexcept {
    hold(of);
    // In a group that drops its oldest tasks no post ever waits.
    if (waits_for_->drops_to == nullptr) return waits_for_->permits.enter(*this);
    if (claim()) sync::waiter_list::grant(*this);
    return false;
}

bool permit_waiter::try_begin(group& of) noexcept {
    hold(of);
    if (waits_for_->drops_to == nullptr) return waits_for_->permits.try_enter(*this);
    if (claim()) sync::waiter_list::grant(*this);
    return was_granted();
}

bool permit_waiter::withdraw() noexcept {
    if (!waits_for_->permits.withdraw(*this)) return false;
    std::exchange(waits_for_, nullptr)->let_go();
    return true;
}

permit permit_waiter::take() noexcept {
    if (waits_for_ == nullptr) return {};
    group_state& from = *std::exchange(waits_for_, nullptr);
    permit granted;
    if (take_grant()) granted = permit{from};
    from.let_go();
    return granted;
}

}  // namespace sched
}  // namespace fairlead
