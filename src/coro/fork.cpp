#include <fairlead/detail/coro/fork.hpp>

namespace fairlead::coro {

fork_strand::fork_strand(executor where, fork& group, std::uint32_t depth) noexcept
    : root{where, {"fork_join"}, depth, group.context()}, group_{group} {
    inherit_shield(group.shields_children());
}

bool fork_strand::stopped_by_owner() const noexcept { return group_.is_stopping(); }

void fork_strand::on_end() noexcept { group_.strand_ended(); }

void fork_strand::on_abandon() noexcept {
    group_.child_given_back();
    group_.strand_ended();
}

// What belongs to the parent is constant since the offer, which published it.
executor fork_child::target() const noexcept { return group_->where_; }

basic_task& fork_child::detach() noexcept {
    root& parent = *group_->parent_link_->bottom;
    fork_strand& strand = *std::construct_at(&strand_, group_->where_, *group_, parent.depth() + 1);
    *body_.link = {&strand, nullptr, nullptr, &body_.frame, group_};
    strand.start_at(body_.frame, *body_.link);
    // [FJ2] release: publishes the strand to `request_stop`; acquire: sees a stop that came before.
    if (state_.exchange(detached, sync::acq_rel) == asked_to_stop) {
        strand.request_stop(group_->stop_reason());
    }
    return strand;
}

void fork_child::request_stop() noexcept {
    state seen = untouched;
    // [FJ2] acquire on failure: sees the strand.
    if (!state_.compare_exchange_strong(seen, asked_to_stop, sync::release, sync::acquire) &&
        seen == detached) {
        strand_.request_stop(group_->stop_reason());
    }
}

std::coroutine_handle<> fork::start_first(std::coroutine_handle<> parent, frame_link& link,
                                          unstarted& first) noexcept {
    link.bottom->start_forking();
    return start(parent, link, first);
}

// Other tasks have their turn first if the step has used up its slice; what it has forked is posted
// then, as for any wait.
std::coroutine_handle<> fork::join_in_turn(root& bottom) noexcept {
    if (!scheduler::should_yield()) return bottom.transfer(parent_);
    bottom.wait_at(parent_, *parent_link_, root::until::deadline, immediately);
    return std::noop_coroutine();
}

std::coroutine_handle<> fork::open_some(sched::offered_forks& offers,
                                        std::coroutine_handle<> next) noexcept {
    offers.open_some();
    return next;
}

std::coroutine_handle<> fork::open_all(sched::offered_forks& offers,
                                       std::coroutine_handle<> next) noexcept {
    offers.open_all();
    return next;
}

// The children that are still offered do not start.
std::coroutine_handle<> fork::skip_rest(root& bottom) noexcept {
    while (next_ != end_) {
        if (!take_next(bottom)) return join(bottom);
    }
    return bottom.transfer(parent_);
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
    const std::ptrdiff_t gone = end_ - hidden_;
    // [FJ1] acquire: sees what the strands that have ended have written; release: the last one sees
    // that the parent waits.
    return ended_.fetch_sub(gone, sync::acq_rel) != gone;
}

// The last touch of the fork and of the strand, unless the parent waits for it: then it exists
// until it is completed.
void fork::strand_ended() noexcept {
    root& parent = *parent_link_->bottom;
    // [FJ1] release: publishes this strand's result; acquire: the last strand has seen all results.
    if (ended_.fetch_add(1, sync::acq_rel) == -1) parent.complete();
}

void fork::child_failed(const frame_link& child, bool is_stop) noexcept {
    if (!is_stop) {
        const frame_link* none = nullptr;
        first_failure_.compare_exchange_strong(none, &child, sync::relaxed, sync::relaxed);
    }
    stop_all(is_stop ? child.bottom->stop_reason() : stopped_by::failure);
}

// A strand is no task of its own in a report: which children have one is chance.
void fork::tell_origin(const unstarted& failed, const std::exception_ptr& failure) noexcept {
    root& strand = *failed.link->bottom;
    root& parent = *parent_link_->bottom;
    if (&strand != &parent) parent.trail().keep(strand.trail().take(failure));
}

// A result is missing: the rest is in vain. A request lasts, so the first failure asks for all.
void fork::stop_all(stopped_by why) noexcept {
    if (failed_.exchange(true, sync::relaxed)) return;  // a hint until they end
    stop_.ask(why);
    for (fork_child& each : children()) each.request_stop();
}

bool fork::interrupt(interruption why) noexcept {
    if (why == interruption::stop) stop_children(parent_link_->bottom->stop_reason());
    return false;
}

void fork::stop_children(stopped_by why) noexcept {
    stop_.ask(why);
    for (fork_child* at = hidden_; at != end_; ++at) at->request_stop();
}

void fork::post_rest(sched::offered_forks& offers) noexcept {
    if (posted_) return;
    posted_ = true;
    for (fork_child* at = next_; at != end_; ++at) {
        if (at >= hidden_ && !offers.take_back(*at)) break;  // with all behind it
        where_.post(at->detach());
    }
    hidden_ = next_;
}

// The frames of a child that ran here are to be destroyed, and the parent's with them.
bool fork::outlasts(root& holder) noexcept {
    static_cast<void>(holder);
    if (hidden_ == end_) return false;
    stop_children(stopped_by::shutdown);
    const bool waits = waits_for_others();
    hidden_ = end_;
    return waits;
}

}  // namespace fairlead::coro
