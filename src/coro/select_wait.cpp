#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/coro/select_wait.hpp>

#include <utility>

namespace fairlead::coro {

namespace {

// At which branch the select `number` of a task begins. By steps of the golden ratio: so a select
// in a loop does not begin at the same branch each time, however many selects the loop has.
std::uint8_t first_of(std::size_t branches, std::uint8_t number) noexcept {
    return static_cast<std::uint8_t>(number * 159U % 256 * branches / 256);
}

}  // namespace

// --- the beginning -------------------------------------------------------------------------------

// Whether the task must wait.
bool select_wait::begin(root& bottom) noexcept {
    waiting_ = &bottom;
    // Before anything is taken: a task that need never wait must hear of a stop, too, and of the
    // deadline of its context.
    if (bottom.may_end_waits()) [[unlikely]] {
        early_ = bottom.ends_waits();
        has_left_ = early_.has_value();
        if (has_left_) return false;
    }
    if (!in_order_) first_ = first_of(branches_.size(), bottom.next_choice());
    for (number each = 0; each != branches_.size(); ++each) {
        select_branch& branch = *branches_[each];
        if (!branch.is_enabled_) continue;
        const time_point deadline = branch.begin(*this, each);
        if (deadline < deadline_) {
            deadline_ = deadline;
            soonest_ = each;
        }
        if (branch.retried() == nullptr) continue;
        FAIRLEAD_ASSERT(retried_ == none, "a select has two branches that wait for a descriptor");
        retried_ = each;
    }
    return start();
}

// The same, also for a second round.
bool select_wait::start() noexcept {
    try {
        if (try_all()) {
            has_left_ = true;
            return false;
        }
        enter_all();
    } catch (...) {
        // What has thrown has claimed its branch, so no other is told.
        failure_ = std::current_exception();
        return leave_all();
    }
    if (!choice_.is_open() && !branches_[choice_.decided()]->waits_) return leave_all();
    if (retried_ != none) waiting_->wait_for(branches_[retried_]->retried()->source());
    return true;
}

bool select_wait::try_all() {
    for (std::size_t each = 0; each != branches_.size(); ++each) {
        select_branch& branch = *branches_[(first_ + each) % branches_.size()];
        if (branch.is_enabled_ && branch.try_enter()) return true;
    }
    return false;
}

void select_wait::enter_all() {
    for (std::size_t each = 0; each != branches_.size() && choice_.is_open(); ++each) {
        select_branch& branch = *branches_[(first_ + each) % branches_.size()];
        if (branch.is_enabled_) branch.waits_ = branch.enter();
    }
}

// --- the end -------------------------------------------------------------------------------------

// All that wait, but for the branch that has ended. Whether a branch could not leave, and the task
// must wait until it was told.
bool select_wait::leave_all() noexcept {
    std::int32_t late = 0;
    for (number each = 0; each != branches_.size(); ++each) {
        select_branch& branch = *branches_[each];
        if (std::exchange(branch.waits_, false) && !choice_.is_for(each) && !branch.leave()) ++late;
    }
    has_left_ = true;
    // acquire: what the late ones have done is over. [SE1]
    return late != 0 && late_.fetch_add(late, sync::acquire) + late != 0;
}

void select_wait::tell(number branch) noexcept {
    root& waiting = *waiting_;  // the select may be gone after the next line
    // release: this was the last touch of the branch. acquire: the last one tells also for the late
    // ones before it. [SE1]
    if (choice_.claim(branch) || late_.fetch_sub(1, sync::acq_rel) == 1) waiting.complete();
}

// The branch that has ended was told, or the last late one.
bool select_wait::must_wait(root&) noexcept {
    if (!has_left_ && leave_all()) return true;
    return retried_ != none && choice_.is_for(retried_) && retry();
}

// The task was woken by the source of its retried operation, or by a thread. Whether its wait ends.
bool select_wait::is_woken() noexcept {
    if (retried_ == none) return false;
    if (has_left_ || !choice_.claim(retried_)) return false;  // a branch is about to be told
    return !leave_all() && !retry();
}

// The turn of the operation on a descriptor. True: there was nothing; the select has begun again. A
// stop or a deadline that came while it waited for late branches is not told again, but such a
// branch has ended: so the select ends by it at once.
bool select_wait::retry() noexcept {
    if (branches_[retried_]->retried()->attempt()) return false;
    choice_.reopen();
    has_left_ = false;
    return start();
}

bool select_wait::interrupt(interruption why) noexcept {
    if (has_left_ || !choice_.claim(none)) return false;  // the branch that has ended is on its way
    early_ = error_of(why);
    if (why == interruption::deadline) ended_ = soonest_;
    return !leave_all();
}

bool select_wait::withdraw() noexcept {
    if (has_left_ || !choice_.claim(none)) return false;
    return !leave_all();
}

select_wait::number select_wait::ended() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (early_) return ended_;
    return choice_.decided();
}

}  // namespace fairlead::coro
