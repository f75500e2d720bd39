#include "sched/round/role.hpp"

#include "sched/runtime/core.hpp"
#include "sched/task/fetch_ahead.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace fairlead::sched {

role::role(core& owner, std::size_t workers)
    : core_{owner},
      admit_max_{admitted_at_most(workers)},
      turns_{owner},
      sleep_plan_{*owner.options.driver, owner.idle},
      sleepers_{owner.slots} {}

void role::round(slot& own, occasion why) noexcept {
    own.rounds.add(1);
    ++number_;
    dealing_to_ = &own;
    own_share_ = 0;
    leaves_kept_posts_ = why == occasion::searching || why == occasion::sleeping;
    groups_ = core_.has_groups();
    // First of all: a wish that comes later is for the next round. [RL2] The exchange sees what
    // every wish up to this one is about.
    const bool asked = wanted_.load(sync::relaxed) && wanted_.exchange(false, sync::acq_rel);
    time_point now = immediately;  // the clock is read only if a part of the round needs it
    if (core_.options.driver->has_sources() || sleepers_.need_time() ||
        (groups_ && turns_.need_time())) {
        now = core_.now();
    }
    if (groups_) turns_.begin_round(own, now);
    takes_leased_ = why == occasion::rescuing ||
                    (groups_ && turns_.evens_out(now, 10 * core_.options.round_interval));
    trace("begin", now);

    if (core_.stopping.load(sync::acquire) && !stop_told_) stop_all_sleepers();
    expire(own, now, why);
    if (sleepers_.retry_at() <= now) retry_unindexed(now);
    admit_arrivals(own, now);
    poll_events(now, asked, why);
    deal();
    if (!undealt_.empty()) {
        undealt_.append(std::exchange(arrivals_of(lane::everyone).first, {}));
        arrivals_of(lane::everyone).first = std::exchange(undealt_, {});
    }
    if (groups_) give_turns(own, now);

    if (groups_) {
        const bool pend = !arrivals_of(lane::groups).empty();
        if (groups_pend() != pend) groups_pend_.store(pend, sync::relaxed);  // a hint
    }
    tell_backlog(has_pending() || (groups_ && turns_.wanted()));
    // Asked again: the first source may have come with a task of this round, for which no worker
    // would wait.
    const bool timed =
        now != immediately || core_.options.driver->has_sources() || sleepers_.have_unindexed();
    // [ID2] a worker that leaves the driver after the caller has looked for it there sees this.
    // Only the holder writes it.
    if (timed_.load(sync::relaxed) != timed) timed_.store(timed, sync::seq_cst);
    if (wants_attention() != timed) update_attention(timed);
    // A round before a wait has left the driver to the wait, which may not come.
    if (now != immediately && why != occasion::sleeping) {
        last_round_.store(now, sync::relaxed);  // a hint
    }
    const time_point due = next_deadline();
    if (next_due_.load(sync::relaxed) != due) next_due_.store(due, sync::relaxed);  // a hint
    sleep_plan_.hurry(due);
    dealing_to_ = nullptr;
}

// Sleepers whose deadline has passed become ready, before anything that arrived later. If tasks
// stand in line, the first sleeper overtakes them, as it is late already. The other sleepers stay
// for a later round, of a worker that has no line or may overtake; but a sleeper that has been due
// for long stands in line as well. The sleepers of a group wait for its turn.
void role::expire(slot& own, time_point now, occasion why) noexcept {
    if (!sleepers_.has_due(now)) return;
    const bool others_in_line = why != occasion::sleeping && has_line(own);
    trace("in_line", others_in_line);
    if (others_in_line) return expire_in_line(own, now, why);
    while (sleepers_.has_due(now)) {
        if (basic_task* const task = sleepers_.take_due()) add_to_batch(*task);
    }
}

void role::expire_in_line(slot& own, time_point now, occasion why) noexcept {
    const time_point limit = after(now, -overtaking::longest_wait);
    bool may = why != occasion::in_turn && own.next == nullptr && overtaking_.may(now);
    while (sleepers_.has_due(now)) {
        const bool grouped = task_access::home_of(sleepers_.first()).grouped();
        const bool stays = why == occasion::in_turn || sleepers_.next_due() > limit;
        if (!grouped && !may && stays) return;
        basic_task* const task = sleepers_.take_due();
        if (task == nullptr) continue;
        if (may && !grouped) {
            trace("overtake", task);
            overtaking_.begin(own, *task, now);
            may = false;
        } else {
            add_to_batch(*task);
        }
    }
}

// Whether its worker has tasks to run, of any group.
bool role::has_line(const slot& own) const noexcept {
    return !own.runs.empty() || !own.ready_consumer.empty() ||
           (groups_ && (turns_.wanted() || own.has_bound_work())) || own.outbox.has_open();
}

// A poll is a system call. A round polls if a thread has asked for a round. Else it polls every
// `poll_interval` while tasks are in line. Without a line it polls each time if the last poll woke
// several tasks, else every `round_interval`; but not before a wait in the driver, which answers
// the same question.
void role::poll_events(time_point now, bool asked, occasion why) noexcept {
    if (!asked) {
        if (!core_.options.driver->has_sources()) return;
        const bool in_line = batch_size_ != 0 || has_line(*dealing_to_);
        if (!in_line && why == occasion::sleeping) return;
        const duration without_line =
            last_fired_ > 1 ? duration::zero() : core_.options.round_interval;
        const duration interval = in_line ? poll_interval : without_line;
        if (now != immediately && now - last_poll_ < interval) return;
    }
    last_fired_ = 0;
    core_.options.driver->poll(*this);
    if (now != immediately) last_poll_ = now;
}

// A thread pushes something of a group, or that is timed, and then looks whether attention is
// called. Either this exchange comes before that look, and the thread calls attention again, or
// what it pushed is seen here [GR2].
void role::update_attention(bool timed) noexcept {
    attention_.exchange(timed, sync::seq_cst);
    const bool again = !timed && others_want_round();
    if (again) attention_.exchange(true, sync::acq_rel);
}

bool role::others_want_round() const noexcept {
    const auto posts = [this](lane to) {
        return std::ranges::any_of(core_.slots,
                                   [to](const auto& each) { return !each->outbox.empty(to); });
    };
    if (core_.has_groups() &&
        (core_.inbox.has_grouped() || turns_.has_noticed() || posts(lane::groups))) {
        return true;
    }
    return core_.inbox.has_ungrouped() || posts(lane::everyone);
}

// The outbox of the holder last: its last step has only just ended.
[[gnu::always_inline]] inline void role::take_posts(lane of, bool leaves_kept) noexcept {
    arrivals& to = arrivals_of(of);
    if (core_.width() == 1) {
        // The lists of the only worker are its own while its step runs.
        if (!core_.single_worker_is_here()) return;
        return core_.slots.front()->outbox.move_to(to, of);
    }
    for (const auto& each : core_.slots) {
        if (each.get() == dealing_to_) continue;
        const outbox& from = each->outbox;
        if (leaves_kept &&
            (of == lane::groups ? from.keeps_lease() : from.keeps_post_of_step(each->finished))) {
            continue;
        }
        each->outbox.move_to(to, of);
    }
    if (dealing_to_ != nullptr) dealing_to_->outbox.move_to(to, of);
}

// The inbox, and the outboxes of the slots, behind what is still pending.
void role::take_arrivals() noexcept {
    // `behind` first, though it stands last: what it must stand behind is in the lane by then.
    basic_task* const behind = note_pushes(core_.inbox.take_behind());
    basic_task* const arrived = note_pushes(core_.inbox.take(lane::everyone));
    // What a running step keeps stays in its outbox if this worker only looks for work: to take it
    // would move the task to another cache. But newer posts must not overtake it.
    const bool nothing_else = arrived == nullptr && behind == nullptr && !has_pending();
    const bool leaves_kept = leaves_kept_posts_ && nothing_else;
    // What is in an outbox is older than what is in the lane of the inbox: see seat::goes_to_inbox.
    take_posts(lane::everyone, leaves_kept);
    arrivals_of(lane::everyone).add(arrived);
    arrivals_of(lane::everyone).add(behind);
    trace("arrived");
    if (groups_) take_arrivals_of_groups();
}

void role::give_turns(slot& own, time_point& now) noexcept {
    if (!turns_.need_time() && !turns_.has_noticed()) return turns_.forget_turn(own);
    if (now == immediately) now = core_.now();
    turns_.give(own, now);
}

void role::take_arrivals_of_groups() noexcept {
    arrivals_of(lane::control).add(note_pushes(core_.inbox.take(lane::control)));
    basic_task* const arrived = note_pushes(core_.inbox.take(lane::groups));
    // What a worker keeps for the lease of its turn is next there: it stays. But it must not stand
    // behind newer posts of the same step.
    take_posts(lane::groups, !takes_leased_ && arrived == nullptr);
    arrivals_of(lane::groups).add(arrived);
}

basic_task::chain role::take_all_arrivals() noexcept {
    leaves_kept_posts_ = false;
    takes_leased_ = true;
    groups_ = core_.has_groups();
    take_arrivals();
    basic_task::chain all;
    for (arrivals& each : arrivals_) {
        each.turn_over(SIZE_MAX);
        all.append(std::exchange(each.first, {}));
    }
    return all;
}

void role::admit_arrivals(slot& own, time_point& now) noexcept {
    take_arrivals();
    if (groups_) {
        for (const lane each : {lane::control, lane::groups}) {
            admit_first(arrivals_of(each), admit_max_, now);
        }
    }
    arrivals& everyone = arrivals_of(lane::everyone);
    everyone.turn_over(admit_max_);
    const std::size_t count = std::min(everyone.first.size(), admit_max_);
    // The holder takes its share of a burst at once, unless older tasks wait in ready or its deque.
    const bool older =
        !own.ready_consumer.empty() || !undealt_.empty() || gives_turns() || own.outbox.has_open();
    own_share_ = older ? 0 : core_.share_of(count + batch_size_);
    admit_first(everyone, count, now);
}

void role::admit_first(arrivals& of, std::size_t count, time_point& now) noexcept {
    of.turn_over(count);
    for (; count != 0 && !of.first.empty(); --count) {
        basic_task& task = *of.first.pop_front();
        fetch_ahead(task);
        if (admit(task, now)) add_to_batch(task);
    }
}

bool role::admit_one(basic_task& task) noexcept {
    basic_task* const taken = &task;
    trace("take_some", std::span{&taken, 1});
    time_point now = immediately;
    const bool runs = admit(task, now);
    if (runs) trace("batch", &task);
    if (sleepers_.have_unindexed()) want_round();  // which says when they are looked at again
    return runs;
}

// A task from the front, a fresh post or a sleeper that was woken: whether it is to run.
bool role::admit(basic_task& task, time_point& now) noexcept {
    if (!task_access::is_fresh(task)) {
        sleepers_.leave(task);
        return true;
    }
    ++entered_;
    if (task_access::deadline_of(task) == immediately) return true;
    return !sleeps_if_early(task, now);
}

bool role::sleeps_if_early(basic_task& task, time_point& now) noexcept {
    if (task_access::deadline_of(task) != never) {
        if (now == immediately) now = core_.now();
        if (task_access::deadline_of(task) <= now) {
            task_access::set_expired(task, true);
            return false;
        }
    }
    return sleeps(task);
}

// Puts the task to sleep, unless something happened that it listens to: then it is to run.
bool role::sleeps(basic_task& task) noexcept {
    if (core_.stopping.load(sync::acquire) && !task_access::was_told(task, stop_number_)) {
        // Each stop wakes a task once: it does not sleep now, but may sleep again to clean up.
        static_cast<void>(task_access::request_stop(task));
    }
    return sleepers_.put_to_sleep(task) == sleepers::outcome::sleeps;
}

void role::retry_unindexed(time_point& now) noexcept {
    basic_task::chain tasks = sleepers_.take_unindexed();
    while (basic_task* const task = tasks.pop_front()) {
        if (!sleeps_if_early(*task, now)) add_to_batch(*task);
    }
}

void role::fire(basic_task& task) noexcept {
    ++last_fired_;
    if (sleepers_.take_fired(task)) add_to_batch(task);
}

void role::stop_all_sleepers() noexcept {
    stop_told_ = true;
    basic_task::chain woken = sleepers_.take_told();
    while (basic_task* const task = woken.pop_front()) add_to_batch(*task);
}

void role::add_to_batch(basic_task& task) noexcept {
    if (groups_ && task_access::home_of(task).grouped()) return turns_.queue(task);
    trace("batch", &task);
    batch_[batch_size_++] = &task;
    if (batch_size_ == batch_max) deal();
}

// Hands the batch out in order: first the holder's share, then ready for all. Nothing goes to the
// holder once something of this round went to ready, or it would overtake it.
void role::deal() noexcept {
    std::span<basic_task* const> rest{batch_.data(), batch_size_};
    batch_size_ = 0;
    if (rest.empty()) return;
    if (own_share_ != 0) {
        if (dealing_to_->next == nullptr && dealing_to_->runs.empty()) {
            dealing_to_->next = rest.front();
            rest = rest.subspan(1);
            --own_share_;
        }
        const std::size_t kept = std::min({rest.size(), own_share_, dealing_to_->runs.room()});
        dealing_to_->runs.push(rest.first(kept));
        trace("deal_own", rest.size() - kept);
        rest = rest.subspan(kept);
        own_share_ -= kept;
        if (rest.empty()) return;
        own_share_ = 0;
    }
    const std::size_t dealt = undealt_.empty() ? core_.ready.push(rest) : 0;
    trace("deal", dealt);
    if (gives_turns() && dealt != 0) turns_.ready_has_more();
    keep_undealt(rest.subspan(dealt));
}

// Ready has no memory for them: what it has is older, and they are the first of the next round.
void role::keep_undealt(std::span<basic_task* const> tasks) noexcept {
    for (basic_task* const task : tasks) {
        task_access::mark_dealt(*task);
        undealt_.push_back(*task);
    }
}

bool role::drained() const noexcept {
    // Every post that a round admitted, or that its worker took without one, ends with one finished
    // step. A sleep without a round is like a step that ends when its task is posted by a waker. A
    // step is counted as finished after what it posted is visible, and a task as taken before it
    // disappears from there. So if, read in this order, nothing waits for admission and the numbers
    // are equal, nothing is left anywhere.
    std::uint64_t finished = core_.handover.ended_steps();
    for (const auto& each : core_.slots) finished += each->finished.read() + each->roused.read();
    for (const auto& each : core_.slots) {
        // Its group does not know all yet.
        if (each->has_open_lease.load(sync::acquire)) return false;
    }
    if (has_pending() || core_.inbox.has_ungrouped()) return false;
    if (core_.has_groups() && core_.inbox.has_grouped()) return false;
    std::uint64_t begun = entered_;
    for (const auto& each : core_.slots) {
        if (!each->outbox.empty()) return false;
    }
    for (const auto& each : core_.slots) begun += each->direct.read();
    return finished == begun;
}

void role::hold_all(basic_task::chain dealt) noexcept {
    for (basic_task* task = dealt.front(); task != nullptr; task = task->*basic_task::link) {
        task_access::mark_dealt(*task);  // it was admitted once
        if (task_access::home_of(*task).grouped()) turns_.take_back(*task);
    }
    core_.for_each_group([&](group_state& each) {
        basic_task::chain queued = turns_.take_queued(each);
        for (basic_task* task = queued.front(); task != nullptr; task = task->*basic_task::link) {
            task_access::mark_dealt(*task);
        }
        dealt.append(std::move(queued));
    });
    // The workers have ended: what was held before goes before what was posted since, of any lane.
    if (left_by_stop_ != SIZE_MAX)
        dealt.append(std::exchange(arrivals_of(lane::everyone).first, {}));
    dealt.append(take_all_arrivals());
    arrivals_of(lane::everyone).first = std::move(dealt);
    tell_backlog(has_pending());
}

basic_task::chain role::take_everything() noexcept {
    basic_task::chain all = take_all_arrivals();
    for (basic_task* task = all.front(); task != nullptr; task = task->*basic_task::link) {
        sleepers_.leave(*task);
    }
    // A sleeper that was woken comes through the front, and is left alone until then.
    all.append(sleepers_.take_all());
    core_.for_each_group([&](group_state& each) { all.append(turns_.take_queued(each)); });
    return all;
}

}  // namespace fairlead::sched
