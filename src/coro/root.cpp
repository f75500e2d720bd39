#include <fairlead/coro/overdue.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/detail/coro/fork.hpp>
#include <fairlead/detail/coro/held_operation.hpp>
#include <fairlead/detail/coro/loose_fork.hpp>
#include <fairlead/detail/coro/root.hpp>

#include <algorithm>

namespace fairlead::coro {

void throw_stopped(stopped_by why) { throw stopped_error{why}; }

const task_kind root::kind{.run = run_step,
                           .abandon = abandon,
                           .can_abandon = can_abandon,
                           .due = [](const basic_task& task) noexcept {
                               return static_cast<const root&>(task).context().deadline();
                           }};

[[gnu::hot]] void root::run_step(basic_task& task) noexcept {
    auto& self = static_cast<root&>(task);
    self.offers_ = nullptr;
    if (const due now = self.due_now(); now != due::step) {
        return now == due::wait ? self.post() : self.on_end();
    }
    self.turn_first_ = false;
    self.budget_ = budget_of_step;
    self.run_coroutines();
    if (self.next_ == what_next::wait) {
        self.post();
    } else if (self.has_forked()) {
        run_forks(self);
    } else {
        self.on_end();
    }
}

// Whether what woke the task is what its leaf waits for.
[[gnu::hot]] root::due root::due_now() noexcept {
    switch (until_) {
        case until::start:
            return context_ && is_refused() ? due::end : due::step;
        case until::anything:
            return due::step;
        case until::attempt:
            // A stop first: a task whose data is always ready must see it, too.
            if (hears_stop() || operation_->attempt()) return due::step;
            if (turn_first_) {
                turn_first_ = false;  // now it waits
                return due::wait;
            }
            return expired() ? due::step : due::wait;
        case until::deadline:
            return expired() || hears_stop() ? due::step : due::wait;
        case until::signal:
            return expired() || hears_stop() || signalled() ? due::step : due::wait;
        case until::turn:
            return awaited_->begin_after_turn(*this) ? due::wait : due::step;
        case until::completion:
        case until::agreement:
            break;
    }
    if (!take_completed()) return interrupt_awaited() ? due::step : due::wait;
    return until_ == until::agreement && awaited_->must_wait(*this) ? due::wait : due::step;
}

void root::wait_on(awaited_operation& awaited, time_point deadline) noexcept {
    wait_at(resume_point_, *leaf_, until::completion, deadline);
    await_operation(awaited);
}

// True: the wait for the operation has ended early. A deadline is told once, and is none from then
// on: the root would be run again and again.
bool root::interrupt_awaited() noexcept {
    if (awaited_ == nullptr) return false;
    // A step that a stop has posted at once reports `expired`, too: so the stop is told first, and
    // `expired` is not asked in this step.
    if (!told_stop_ && hears_stop()) return tell_stop_once();
    if (deadline_ == never || !expired()) return until_ == until::agreement && awaited_->is_woken();
    const time_point inherited = context_.word().deadline();
    if (!is_overdue() || deadline_ > inherited) {
        deadline_ = never;
        return awaited_->interrupt(interruption::deadline);
    }
    // The operation may go on, and its own deadline is told then: a moment later at the earliest,
    // so that what has the same deadline is overdue.
    deadline_ = std::max(awaited_->own_deadline(), after(inherited, duration{1}));
    return awaited_->interrupt(interruption::overdue);
}

bool root::tell_stop_once() noexcept {
    if (told_stop_ || !hears_stop()) return false;
    told_stop_ = true;
    return awaited_->interrupt(interruption::stop);
}

[[gnu::hot]] void root::run_coroutines() noexcept {
    if (context_) [[unlikely]]
        sched::access::set_bearer(this);
    do {
        next_ = what_next::wait;
        std::exchange(resume_point_, nullptr).resume();
#ifndef NDEBUG
        FAIRLEAD_ASSERT(next_ != what_next::wait || resume_point_ != nullptr,
                        "a coroutine stopped where nothing is awaited: see the faults of GCC 12 in "
                        "docs/manual/coroutines.md, and tools/gcc12.py");
#endif
    } while (next_ == what_next::resume);
    if (context_) [[unlikely]]
        sched::access::set_bearer(nullptr);
}

// --- the context ---------------------------------------------------------------------------------

// Invariant: while a step runs, the worker knows its task as the bearer of a context if and only if
// the task has one. So a step without a context does not tell the worker anything.
held_context root::change_context(held_context now) noexcept {
    const bool had_one = static_cast<bool>(context_);
    held_context before = std::exchange(context_, std::move(now));
    // Frames that are destroyed outside a step give back what they have changed, too.
    if (!context_) {
        sched::access::drop_bearer(this);
    } else if (!had_one && !is_abandoned_) {
        sched::access::set_bearer(this);
    }
    return before;
}

context_word context_of_new_task() noexcept {
    auto* const running = static_cast<root*>(sched::access::bearer());
    return running != nullptr ? running->context().beyond(inherit::children) : context_word{};
}

shield root::set_shielded(shield now) noexcept {
    const shield before{is_shielded_, context_.hide_deadline(now.from_deadline)};
    is_shielded_ = now.from_stop;
    return before;
}

bool root::deadline_has_passed() const noexcept {
    const time_point deadline = context_.word().deadline();
    return deadline != never && home().now() >= deadline;
}

// The first step of a task whose deadline has passed meanwhile.
bool root::is_refused() noexcept {
    return deadline_has_passed() && refuse(std::make_exception_ptr(overdue_error{context_}));
}

void root::shorten_wait() noexcept { deadline_ = std::min(deadline_, context_.word().deadline()); }

void root::look_and_throw() const {
    if (const auto why = ends_waits()) throw_ended(*why);
}

void root::throw_ended(wait_error why) const {
    if (why == wait_error::overdue) throw overdue_error{context_};
    throw stopped_error{stop_reason()};
}

// The forks of a task that no other worker has taken run in the same step, the newest first, when
// the task joins them or ends. Each is a task of its own: when it waits it is posted, and the task
// that it has interrupted goes on. A fork may fork, to any depth: so this is a loop.
void root::run_forks(root& outermost) noexcept {
    sched::offered_forks& offers = *outermost.offers_;
    root* self = &outermost;
    loose_fork* inner = nullptr;  // that is `self`, if it is not the outermost
    for (;;) {
        while (self->next_ != what_next::wait) {
            const bool joins = self->next_ == what_next::join;
            // A scope, which goes on: its children exist.
            if (joins) static_cast<void>(self->tell_stop_once());
            if (auto* const newest = static_cast<loose_fork*>(offers.take_loose())) {
                if (offers.must_open()) offers.open_some();
                newest->outer_ = {self, inner, offers.enter(newest->task_.depth())};
                inner = newest;
                self = &newest->task_;
                self->offers_ = &offers;
                self->budget_ = budget_of_step;
                inner->begin_here();
            } else if (!joins || self->awaited_->must_wait(*self)) {
                break;
            }
            self->run_coroutines();
        }
        const bool is_last = inner == nullptr;
        const loose_fork::interrupted outer = is_last ? loose_fork::interrupted{} : inner->outer_;
        if (self->next_ == what_next::end) {
            self->on_end();
        } else if (is_last) {
            self->post();
        } else {
            inner->become_task();
            self->where_.post_deadline(*self, self->begin_wait());
        }
        if (is_last) return;
        offers.leave(outer.offers);
        self = outer.task;
        inner = outer.fork;
    }
}

// The last touch of this object: another worker may run it before post returns.
void root::post() noexcept { where_.post_last(*this, begin_wait()); }

// Until when to wait.
[[gnu::hot]] time_point root::begin_wait() noexcept {
    if (offers_ != nullptr) post_forks();
    if (has_forks_ && stop_reaches()) stop_forks();
    if (!hears_signals()) ignore_signals();
    if (until_ == until::attempt) wait_for(operation_->source());
    // A stop that came while the task was awake must end this wait, too.
    const bool can_tell = until_ < until::completion || (awaited_ != nullptr && !told_stop_);
    const bool at_once = turn_first_ || (can_tell && hears_stop());
    return at_once ? immediately : deadline_;
}

// The forks of this step that no other worker has taken. The innermost first: they were offered
// last.
void root::post_forks() noexcept {
    for (frame_link* at = leaf_; at != nullptr && at->parent != nullptr; at = at->parent) {
        if (at->forked_by == nullptr) continue;
        at->forked_by->post_rest(*offers_);
        has_forks_ = true;
    }
    offers_->post_loose();
}

// Those that run elsewhere. The child that runs here hears of the stop by itself.
void root::stop_forks() noexcept {
    for (frame_link* at = leaf_; at != nullptr && at->parent != nullptr; at = at->parent) {
        if (at->forked_by != nullptr) at->forked_by->parent_was_stopped();
    }
    has_forks_ = false;
}

// What awaits an operation cannot go before the operation has ended: the operation may live in its
// frames. Nor before children that have gone to another scheduler, and use what the frames hold. It
// comes back through the front when they have ended, one after the other.
bool root::can_abandon(basic_task& task) noexcept {
    auto& self = static_cast<root&>(task);
    const bool completed = self.take_completed();
    if (self.until_ >= until::completion && !completed && !self.withdraw()) return false;
    if (self.until_ == until::agreement && completed && !self.awaited_->can_go()) return false;
    for (auto* each = self.held_; each != nullptr; each = each->outer_) {
        if (each->operation_.outlasts(self)) return self.waits_to_go(each->operation_);
    }
    for (frame_link* at = self.leaf_; at != nullptr && at->parent != nullptr; at = at->parent) {
        if (at->forked_by != nullptr && at->forked_by->outlasts(self)) {
            return self.waits_to_go(*at->forked_by);
        }
    }
    return true;
}

// Only the completion says that `operation` has ended: a wakeup may come before.
bool root::waits_to_go(awaited_operation& operation) noexcept {
    until_ = until::completion;
    awaited_ = &operation;
    told_stop_ = true;
    deadline_ = never;
    return false;
}

// True: the root will not be completed any more. Otherwise what it waits for may be elsewhere, and
// nothing else would ask it to stop.
bool root::withdraw() noexcept {
    if (awaited_ == nullptr) return false;
    if (awaited_->withdraw()) return true;
    if (!told_stop_) {
        told_stop_ = true;
        return awaited_->interrupt(interruption::stop);
    }
    return false;
}

void root::abandon(basic_task& task) noexcept {
    auto& self = static_cast<root&>(task);
    self.is_abandoned_ = true;
    self.destroy_frames();
    self.on_abandon();
}

// From the leaf to the body, in a loop: a deep stack must not overflow the thread's.
void root::destroy_frames() noexcept {
    std::coroutine_handle<> frame = std::exchange(resume_point_, nullptr);
    for (frame_link* at = leaf_; at != nullptr;) {
        const frame_link here = *at;
        if (here.owner != nullptr) *here.owner = nullptr;
        frame.destroy();
        frame = here.continuation;
        at = here.parent;
    }
    leaf_ = nullptr;
}

}  // namespace fairlead::coro
