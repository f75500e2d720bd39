#include "sched/groups/turns.hpp"

#include "sched/runtime/core.hpp"
#include "sched/task/task_access.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace fairlead::sched {

turns::turns(core& owner)
    : core_{owner},
      levels_(levels, {.all = shares{owner.options.workers},
                       .waits_since = std::vector(owner.options.workers + 1, never)}),
      everyone_{new group_state{owner, lane::everyone, {.name = "default"}}} {}

turns::~turns() { everyone_->let_go(); }

// All queues are empty. Only the holds of the role on groups are left.
void turns::let_all_go(std::span<const std::unique_ptr<slot>> slots) noexcept {
    for (const auto& each : slots) {
        each->turn.has_lease = false;
        if (group_state* const group = std::exchange(each->turn.of, nullptr)) group->let_go();
    }
    for (level& each : levels_) {
        for (std::size_t server = 0; server <= slots.size(); ++server) {
            while (share* const left = each.all.next(server)) {
                leave(static_cast<group_state&>(*left));
            }
        }
    }
    while (group_state* const left = resting_.pop_front()) {
        left->is_in_resting = false;
        if (left->state == share_state::resting) leave(*left);
        left->let_go();
    }
    auto noticed = noticed_.take_all();
    while (group_state* const left = noticed.pop_front()) left->let_go();
    core_.groups.let_go_of_dropped();
}

bool turns::notice(group_state& group) noexcept {
    // acq_rel: if the mark is set already, the role sees the caller's wish when it takes the mark
    // back.
    if (group.noticed.exchange(true, sync::acq_rel)) return false;
    group.hold();
    noticed_.push(group);
    return true;
}

void turns::queue(basic_task& task) noexcept {
    auto& group = group_of(task_access::home_of(task));
    group.add(task);
    want(group);
    if (group.drops_to != nullptr) drop_excess(group);
}

// Posts that no round has admitted yet have permits, too: the newest posts stay, and tasks of the
// queue are dropped for them. `to` gives the dropped tasks back in steps, because that runs the
// user's code.
void turns::drop_excess(group_state& group) noexcept {
    group_state& to = *group.drops_to;
    std::size_t count = 0;
    while (group.permits.taken() > group.permits.bound()) {
        basic_task* const oldest = group.queue.take_oldest_with_permit();
        if (oldest == nullptr) break;
        group.permits.give_back();
        task_access::drop(*oldest, to);
        to.hold_for_task();
        to.queue.push_back(*oldest);
        ++count;
    }
    if (count == 0) return;
    want(to);
    group.queued.store(group.queue.size(), sync::relaxed);
    plan_entry(group);
    group.dropped.add(count);
    group.let_tasks_go(count);  // the last touch
}

void turns::ready_has_more() noexcept { want(*everyone_); }

// --- which groups compete ------------------------------------------------------------------------

// The group has tasks: it competes, unless it is held back, paused, or waits for its rate.
void turns::want(group_state& group) noexcept {
    group.queued.store(group.queue.size(), sync::relaxed);
    if (group.is_held || group.paused.load(sync::relaxed)) return;
    plan_entry(group);
    if (!has_tasks(group)) return;
    static_cast<void>(follow(group));
    if (group.state == share_state::away) {
        begin_to_wait(group, group.server);
        join(group);
    } else if (group.state == share_state::resting) {
        begin_to_wait(group, group.server);
        shares_of(group).go_on(group);
    } else {
        return;
    }
    look_at_bound(group.server);
    if (group.grouped()) group.begin_wait(now());
}

time_point turns::now() noexcept {
    if (now_ == immediately) now_ = core_.now();
    return now_;
}

// The group is about to wait for a turn. Forgets since when its level waits for one at this server,
// unless other groups of the level wait there already.
void turns::begin_to_wait(const group_state& group, std::size_t server) noexcept {
    level& its = levels_[group.level];
    if (its.all.all_rest_of(server)) its.waits_since[server] = never;
}

// Moves the group to the server of the worker that it is bound to, or to any. True: it was
// elsewhere.
bool turns::follow(group_state& group) noexcept {
    const std::size_t wanted = group.server_wanted();
    if (group.server == wanted) return false;
    const std::size_t before = group.server;
    some_are_bound_ = true;
    begin_to_wait(group, wanted);
    shares_of(group).move_to(group, wanted);
    look_at_bound(before);
    look_at_bound(wanted);
    return true;
}

// Says in the slot of this server whether groups that are bound to it wait.
void turns::look_at_bound(std::size_t server) noexcept {
    if (server == shares::any || !some_are_bound_) return;
    const bool wait = std::ranges::any_of(
        levels_, [server](const level& each) { return !each.all.all_rest_of(server); });
    sync::atomic<bool>& said = core_.slots[server - 1]->bound_wait;
    if (said.load(sync::relaxed) == wait) return;
    said.store(wait, sync::relaxed);  // as its declaration says
    slots_waited_for_.store(slots_waited_for_.load(sync::relaxed) + (wait ? 1 : -1U),
                            sync::relaxed);
}

// Plans when the role looks at the group again, if its next task has to wait for the rate. The plan
// needs no hold on the group: that task has one.
void turns::plan_entry(group_state& group) noexcept {
    const time_point next = group.next_entry();
    const time_point planned = next != never && next > now() ? next : never;
    if (group.entry_at == planned) return;
    if (group.entry_at != never) entering_.erase(group);
    group.entry_at = planned;
    if (planned == never) return;
    entering_.push(group);
    group.count_wait();
}

void turns::look_at_entering(time_point now) noexcept {
    while (next_entry() <= now) {
        group_state& group = *entering_.top();
        entering_.pop();
        group.entry_at = never;
        want(group);
    }
}

void turns::join(group_state& group) noexcept {
    group.hold();
    shares_of(group).join(group);
    if (&group == everyone_) return;
    ++listed_;
    if (are_given()) return;
    number_.store(number() + 1, sync::relaxed);  // a hint
    if (!holder_->ready_consumer.empty()) want(*everyone_);
}

void turns::leave(group_state& group) noexcept {
    shares_of(group).leave(group);
    if (&group != everyone_) --listed_;
    group.let_go();
}

// All tasks of the group are in the hands of workers, or as many as may run.
void turns::rest(group_state& group) noexcept {
    shares_of(group).rest(group);
    if (group.is_in_resting) return;
    group.is_in_resting = true;
    group.hold();
    resting_.push_back(group);
}

// Turns end when only the default group has tasks, and all of these are in ready.
void turns::end_if_over() noexcept {
    if (listed_ != 0 || !everyone_->queue.empty()) return;
    if (everyone_->state != share_state::away) leave(*everyone_);
    while (group_state* const gone = resting_.pop_front()) {  // no group rests any more
        gone->is_in_resting = false;
        gone->let_go();
    }
    number_.store(number() + 1, sync::relaxed);  // a hint
}

void turns::look_at_noticed() noexcept {
    auto noticed = noticed_.take_all();
    while (group_state* const group = noticed.pop_front()) {
        // Before the wishes are read: a later wish is noticed again.
        group->noticed.exchange(false, sync::acq_rel);
        group->is_held = false;
        const double weight = group->weight_wanted.load(sync::relaxed);
        if (weight != group->weight) shares_of(*group).set_weight(*group, weight);
        group->follow_rate(now());
        if (has_tasks(*group) || group->queue.has_entering()) want(*group);
        group->let_go();
    }
}

// A group that rests and whose last step has ended leaves. A round looks at some only: as many may
// rest as workers have tasks in hand.
void turns::look_at_resting(time_point now) noexcept {
    for (std::size_t left = std::min<std::size_t>(resting_.size(), 8); left != 0; --left) {
        group_state& group = *resting_.pop_front();
        const bool rests = group.state == share_state::resting;
        const bool runs = &group == everyone_ ? now - everyone_turn_ < 2 * turn_max
                                              : group.running() != 0 || group.has_open_lease();
        if (rests && (runs || group.is_held)) {
            resting_.push_back(group);
            continue;
        }
        group.is_in_resting = false;
        if (rests) {
            shares_of(group).serve(group, group.collect());
            leave(group);
        }
        group.let_go();
    }
}

// --- turns ---------------------------------------------------------------------------------------

void turns::give(slot& own, time_point now) noexcept {
    now_ = now;
    look_at_noticed();
    look_at_entering(now);
    look_at_resting(now);
    if (!are_given()) return forget_turn(own);
    const bool over = own.turn.number != number() || own.turn.until <= now;
    if (own.next == nullptr && (over || own.runs.empty())) {
        end_turn(own);
        while (group_state* const group = next(own.index + 1, now)) {
            if (deal(own, *group)) break;
        }
        look_at_bound(own.index + 1);
    }
    end_if_over();
}

void turns::forget_turn(slot& own) noexcept {
    group_state* const group = std::exchange(own.turn.of, nullptr);
    if (group == nullptr) return;
    if (std::exchange(own.turn.has_lease, false)) group->take_back_lease();
    // A turn costs 1 ns beside its steps: where time stands, equal groups would not take turns.
    shares_of(*group).serve(*group, duration{1} - own.turn.expected);
    group->let_go();
}

// Tasks that have not begun go back to the front of the queues of their groups.
void turns::end_turn(slot& own) noexcept {
    forget_turn(own);
    std::array<basic_task*, run_queue::capacity> left;
    std::size_t count = 0;
    while (basic_task* const task = own.runs.pop()) left[count++] = task;
    while (count != 0) {
        basic_task& task = *left[--count];
        auto& group = group_of(task_access::home_of(task));
        take_back(task);
        group.put_back(task);
        want(group);
    }
}

void turns::take_back(basic_task& task) noexcept {
    auto& group = group_of(task_access::home_of(task));
    if (!group.grouped()) return;
    group.take_back_step(task);
    group.is_held = false;  // there is room, and no notice will come for it
}

// By priority, except that a level that has waited for too long goes first.
group_state* turns::next(std::size_t server, time_point now) noexcept {
    for (level& each : levels_) {
        if (each.all.all_rest()) continue;
        for (const std::size_t own : {shares::any, server}) {
            if (!waits_for_long(each, own, now)) continue;
            if (group_state* const group = next_of(each, own, &shares::next_own)) return group;
        }
    }
    for (std::size_t i = levels; i-- != 0;) {
        if (levels_[i].all.all_rest()) continue;
        if (group_state* const group = next_of(levels_[i], server, &shares::next)) return group;
    }
    return nullptr;
}

// Whether the groups of this level that are for this server have had no turn for `ageing`.
bool turns::waits_for_long(level& from, std::size_t server, time_point now) noexcept {
    if (from.all.all_rest_of(server)) return false;
    time_point& since = from.waits_since[server];
    if (since == never) since = now;
    return now - since >= ageing;
}

group_state* turns::next_of(level& from, std::size_t server, choice choose) noexcept {
    int corrections = 16;  // workers may end steps as fast as this looks
    while (share* const first = (from.all.*choose)(server)) {
        auto& group = static_cast<group_state&>(*first);
        if (follow(group)) continue;
        const virtual_duration used = group.collect();
        if (used != virtual_duration::zero()) {
            from.all.serve(group, used);
            if (--corrections > 0) continue;  // the group may not be the first any more
        }
        if (!has_tasks(group)) {
            rest(group);
        } else if (group.paused.load(sync::relaxed)) {
            leave(group);
        } else if (group.room() == 0 && group.hold_back()) {
            group.is_held = true;
            rest(group);
        } else {
            return &group;
        }
    }
    return nullptr;
}

bool turns::has_tasks(const group_state& group) noexcept {
    if (!group.queue.empty()) return true;
    if (&group == everyone_) return !holder_->ready_consumer.empty();
    return group.queue.has_entering() && group.next_entry() <= now();
}

// Gives a turn: as many tasks as fill it, as far as the length of a step is known. False: other
// workers have taken all tasks.
bool turns::deal(slot& own, group_state& group) noexcept {
    const auto request = std::chrono::duration_cast<duration>(shares_of(group).request(group));
    const duration length = std::min(request, turn_max);
    const duration step = group.step();
    std::size_t wanted = 1;  // the length of a step is not known
    if (step != duration::zero()) {
        wanted = std::clamp<std::size_t>(static_cast<std::size_t>(length / step), 1, deal_max);
    }
    // So a lease ends late by a quarter of its length at most, if its steps are as long as before.
    const auto steps_to_look = std::clamp<std::size_t>(wanted / 4, 1, looks_max);
    std::array<basic_task*, deal_max> out;
    const std::size_t count = take(own, group, {out.data(), std::min(wanted, group.room())});
    if (count == 0) return false;
    group.begin_steps(count);
    group.hold();
    const bool leased = group.may_have_lease();
    if (leased) group.begin_lease();
    const time_point now = core_.now();  // no group is charged for the time before
    const duration expected = std::min(step * static_cast<std::int64_t>(count), length);
    shares_of(group).serve(group, expected);
    own.turn = {.of = &group,
                .expected = expected,
                .until = now + length,
                .number = number(),
                .steps_to_look = static_cast<unsigned>(steps_to_look),
                .has_lease = leased,
                .took_all = group.queue.empty()};
    own.measured_in = number();
    own.measured_from = now;
    own.next = out[0];
    own.runs.push({out.data() + 1, count - 1});
    trace("turn", std::span{out.data(), count});
    levels_[group.level].waits_since[group.server] = never;
    if (&group == everyone_) everyone_turn_ = now;
    if (group.grouped()) group.end_wait(now);
    shares_of(group).limit_owed(group);
    plan_entry(group);
    if (!has_tasks(group)) rest(group);
    return true;
}

std::size_t turns::take(slot& own, group_state& group, std::span<basic_task*> out) noexcept {
    std::size_t count = 0;
    const time_point when = group.queue.has_entering() ? now() : immediately;
    while (count != out.size()) {
        basic_task* const next = group.take_next(when);
        if (next == nullptr) break;
        out[count++] = next;
    }
    group.queued.store(group.queue.size(), sync::relaxed);
    if (!group.grouped() && count == 0) count = own.ready_consumer.claim(out);
    return count;
}

bool turns::wanted() const noexcept {
    if (!noticed_.empty()) return true;
    return are_given() && std::ranges::any_of(levels_, [](const level& each) {
               return !each.all.all_rest_of(shares::any);
           });
}

basic_task::chain turns::take_queued(group_state& of) noexcept {
    of.queued.store(0, sync::relaxed);
    basic_task::chain all = of.queue.take_all();
    plan_entry(of);
    return all;
}

}  // namespace fairlead::sched
