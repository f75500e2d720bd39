#include "sched/permits.hpp"

#include "sched/group_state.hpp"
#include "sched/task_access.hpp"

#include <mutex>

namespace fairlead {

// --- a permit ----------------------------------------------------------------------------------------------

permit::permit(sched::group_state& of) noexcept : of_{&of} { of.hold(); }

executor permit::where() const noexcept {
    FAIRLEAD_ASSERT(of_ != nullptr, "a permit was asked where it is that is none");
    return sched::access::executor_of(*of_);
}

void permit::post(basic_task& task) && noexcept {
    FAIRLEAD_ASSERT(of_ != nullptr, "a permit was used that is none, or for a second task");
    sched::group_state& into = *std::exchange(of_, nullptr);
    sched::task_access::give_permit(task);
    if (into.drops_to != nullptr)
        into.permits.take_one_more();  // one that is not used drops nothing
    sched::access::executor_of(into).post(task);
    into.let_go();
}

void permit::give_back_taken() noexcept {
    sched::group_state& from = *std::exchange(of_, nullptr);
    if (from.drops_to == nullptr) from.permits.give_back();
    from.let_go();
}

namespace sched {

// --- who waits ----------------------------------------------------------------------------------------------

bool permit_waiter::begin(group& of) noexcept {
    auto& from = static_cast<group_state&>(access::home_of(of));
    from.hold();  // for who grants it, or takes it from the line
    waits_for_ = &from;
    if (from.drops_to == nullptr) return from.permits.enlist(*this);
    grant();
    return false;
}

bool permit_waiter::withdraw() noexcept {
    if (!waits_for_->permits.withdraw(*this)) return false;
    waits_for_->let_go();
    return true;
}

// It has been taken for it, or is taken by its post.
void permit_waiter::grant() noexcept {
    granted_ = permit{*waits_for_};
    waits_for_->let_go();
}

// --- permits ---------------------------------------------------------------------------------------------------

bool permits::take(bool first_in_line) noexcept {
    std::uint64_t word = word_.load(sync::relaxed);
    do {
        if ((word & line) != 0 && !first_in_line) return false;
        if (taken(word) >= most_.load(sync::relaxed)) return false;
    } while (!word_.compare_exchange_weak(word, word + one_taken, sync::relaxed, sync::relaxed));
    return true;
}

bool permits::enlist(permit_waiter& who) noexcept {
    std::lock_guard lock{mutex_};
    std::uint64_t word = word_.load(sync::relaxed);
    std::uint64_t wanted = 0;
    bool takes = false;
    do {
        takes = (word & line) == 0 && taken(word) < most_.load(sync::relaxed);
        wanted = takes ? word + one_taken : word | line;
    } while (!word_.compare_exchange_weak(word, wanted, sync::relaxed, sync::relaxed));  // [PL1]
    if (takes) {
        who.grant();
        return false;
    }
    line_.push_back(who);
    return true;
}

bool permits::withdraw(permit_waiter& who) noexcept {
    std::lock_guard lock{mutex_};
    if (who.granted_) return false;
    line_.erase(who);
    end_line_if_empty();
    return true;
}

std::size_t permits::waiting() noexcept {
    std::lock_guard lock{mutex_};
    return line_.size();
}

void permits::set_most(std::size_t most) noexcept {
    {
        std::lock_guard lock{mutex_};
        most_.store(bound_of(most), sync::relaxed);
    }
    hand_out();
}

// What is free, to those who wait.
void permits::hand_out() noexcept {
    base::list<permit_waiter, &permit_waiter::links_> told;
    {
        std::lock_guard lock{mutex_};
        while (!line_.empty() && take(true)) {
            permit_waiter& first = *line_.pop_front();
            first.grant();
            told.push_back(first);
        }
        end_line_if_empty();
    }
    // Without the mutex: it may be called again from there.
    while (permit_waiter* const each = told.pop_front()) each->granted();
}

void permits::end_line_if_empty() noexcept {
    if (line_.empty()) word_.fetch_and(~line, sync::relaxed);
}

}  // namespace sched
}  // namespace fairlead
