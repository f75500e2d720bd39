#include <fairlead/coro/fork.hpp>

namespace fairlead::coro {

void fork_strand::on_end() noexcept { group_.strand_ended(); }

void fork_strand::on_abandon() noexcept {
    group_.child_failed();
    group_.strand_ended();
}

// What belongs to the parent is constant since the offer, which published it.
basic_task& fork_child::detach(scheduler& home) noexcept {
    root& parent = *group_->parent_link_->bottom;
    fork_strand& strand = *std::construct_at(&strand_, home, *group_, parent.depth() + 1);
    body_.link->bottom = &strand;
    body_.link->forked_by = group_;
    body_.link->owner = &body_.frame;
    strand.start_at(body_.frame, *body_.link);
    // [FJ2] release: publishes the strand to who asks it to stop; acquire: not before it is asked.
    if (state_.exchange(detached, sync::acq_rel) == asked_to_stop) strand.request_stop();
    return strand;
}

void fork_child::request_stop() noexcept {
    state seen = untouched;
    // [FJ2] acquire on failure: sees the strand.
    if (!state_.compare_exchange_strong(seen, asked_to_stop, sync::release, sync::acquire) &&
        seen == detached) {
        strand_.request_stop();
    }
}

// The next child is gone, and with it all behind it.
std::coroutine_handle<> fork::join(root& bottom) noexcept {
    if (!waits_for_others()) return bottom.transfer(parent_);
    bottom.wait_at(parent_, *parent_link_, root::until::completion, never);
    bottom.await_operation(*this);
    return std::noop_coroutine();
}

// True: the last strand to end completes the root of the parent.
bool fork::waits_for_others() noexcept {
    const auto gone = static_cast<std::ptrdiff_t>(children_.size() - hidden_);
    // [FJ1] acquire: sees what the strands that have ended have written; release: the last one sees that
    // the parent waits.
    return ended_.fetch_sub(gone, sync::acq_rel) != gone;
}

// The last touch of the fork and of the strand, unless the parent waits for it: then it exists until it
// is completed.
void fork::strand_ended() noexcept {
    root& parent = *parent_link_->bottom;
    // [FJ1] release: publishes this strand's result; acquire: the last one has seen the others'.
    if (ended_.fetch_add(1, sync::acq_rel) == -1) parent.complete();
}

void fork::pass_stop_on() noexcept {
    for (fork_child& each : children_.subspan(hidden_)) each.request_stop();
}

void fork::post_rest(sched::offered_forks& offers) noexcept {
    if (posted_) return;
    posted_ = true;
    scheduler& here = *scheduler::current();
    for (std::size_t i = next_; i != children_.size(); ++i) {
        if (i >= hidden_ && !offers.take_back(children_[i])) break;  // with all behind it
        here.post(children_[i].detach(here));
    }
    hidden_ = next_;
}

// The frames of a child that ran here are to be destroyed, and the parent's with them.
bool fork::outlasts(root& holder) noexcept {
    static_cast<void>(holder);
    if (hidden_ == children_.size()) return false;
    pass_stop_on();
    const bool waits = waits_for_others();
    hidden_ = children_.size();
    return waits;
}

}  // namespace fairlead::coro
