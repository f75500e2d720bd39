#include "sched/worker.hpp"

#include "sched/core.hpp"

#include <fairlead/os/thread.hpp>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::sched {

worker::worker(core& owner, slot& own, unsigned index)
    : core_{owner},
      slot_{own},
      index_{index},
      alone_{owner.width() == 1},
      watched_finished_(owner.width()),
      seen_finished_(owner.width()) {}

void worker::start() {
    ended_.store(false, sync::relaxed);                 // the thread does not run yet
    core_.running_workers.fetch_add(1, sync::relaxed);  // likewise
    try {
        auto started =
            os::start_thread(core_.options.name + "/" + std::to_string(index_), [this] { run(); });
        if (!started) {
            throw std::system_error{started.error(), "fairlead: cannot start a worker thread"};
        }
        thread_ = std::move(*started);
    } catch (...) {
        ended_.store(true, sync::relaxed);
        core_.running_workers.fetch_sub(1, sync::relaxed);  // the caller joins the others
        throw;
    }
}

void worker::join() {
    if (thread_.joinable()) thread_.join();
}

// --- the loop -----------------------------------------------------------------------------------------

void worker::run() noexcept {
    of_thread::set(this);
    // acquire: pairs with the store in stop, so that everything before the stop is visible.
    while (!core_.halting.load(sync::acquire)) {
        basic_task* task = next();
        if (task == nullptr) task = search();
        if (task != nullptr) execute(*task);
    }
    of_thread::set(nullptr);
    ended_.store(true, sync::release);  // pairs with ended()
    // acq_rel: the last one has seen the others end.
    if (core_.running_workers.fetch_sub(1, sync::acq_rel) != 1) return;
    {
        std::lock_guard lock{core_.drain_mutex};
        core_.tell_drainers(core_.is_drained());
    }
    core_.all_ended.send();
}

void worker::execute(basic_task& task) noexcept {
    FAIRLEAD_ASSERT(slot_.next == nullptr, "a task is hidden behind a step");
    slot_.running.store(task.kind_->name(task), sync::release);  // pairs with core::report
    running_depth_ = task.depth_;
    task.owner_ = nullptr;
    task.deaf_ = false;
    task.source_ = nullptr;
    task.state_.begin_run();
    trace("step", &task);
    // acquire: pairs with stop.
    if (core_.stopping.load(sync::acquire)) {
        task.state_.mark_stopping();
        task.told_ = core_.role.stop_number();
    }
    task.kind_->run(task);                        // the last touch of the task
    slot_.running.store(nullptr, sync::relaxed);  // only for reports
    slot_.finished.add(1);                        // after what the step posted: see role::drained
    trace("finished");
}

// The next task without sleeping, or null.
basic_task* worker::next() noexcept {
    if (core_.role.seems_timed() && --steps_to_look_ == 0) look_at_clock();
    return look();
}

// Looks everywhere for a task, in order of age: the own run, ready, the front, others' runs.
basic_task* worker::look() noexcept {
    if (slot_.next != nullptr) return std::exchange(slot_.next, nullptr);
    if (basic_task* const task = slot_.runs.pop()) return task;
    basic_task* task = nullptr;
    if (!alone_ && time_to_look_for_stuck()) task = take_over_stuck();
    if (task == nullptr) {
        if (basic_task* const own = take_own_posts()) return own;
        task = look_elsewhere();
    }
    // It turns to something else than the post that it has kept.
    if (task != nullptr && !alone_ && !slot_.posted.empty()) {
        wake_one_if(core_.idle.needs_watcher());
    }
    return task;
}

basic_task* worker::look_elsewhere() noexcept {
    if (basic_task* const task = claim()) return task;
    if (core_.arrivals_visible(slot_) && round_if_free()) {
        if (slot_.next != nullptr) return std::exchange(slot_.next, nullptr);
        if (basic_task* const task = claim()) return task;
    }
    return alone_ ? nullptr : steal();
}

// Nothing to do: looks again as a searcher, and sleeps. Null: the scheduler halts.
basic_task* worker::search() noexcept {
    core_.idle.begin_search();
    basic_task* task = nullptr;
    while (!core_.halting.load(sync::acquire)) {
        task = look();
        if (task != nullptr) break;
        sleep();
    }
    // Others relied on this searcher. If it was the last one, what is left needs another.
    if (core_.idle.end_search()) wake_another();
    return task;
}

// Until woken, or, if it watches, for a while.
void worker::sleep() noexcept {
    const bool watching = core_.watcher_wanted() && core_.idle.begin_watch();
    time_point limit = never;
    if (watching) {
        for (unsigned i = 0; i != core_.width(); ++i) {
            watched_finished_[i] = core_.slots[i]->finished.read();
        }
        limit = clock::now() + watch_interval_;
    }
    if (!sleep_in_driver(limit)) park(limit);
    if (watching) {
        core_.idle.end_watch();
        rescue_posts();
    }
}

// The posts that a step has kept which runs since the watch began. If the steps are short after all,
// the next watch can be longer.
void worker::rescue_posts() noexcept {
    bool stuck = false;
    for (unsigned i = 0; i != core_.width(); ++i) {
        const slot& each = *core_.slots[i];
        stuck |= each.has_kept_post() && each.finished.read() == watched_finished_[i];
    }
    trace("rescue", stuck);
    watch_interval_ = stuck ? watch_min : std::min(watch_interval_ * 2, watch_max);
    if (stuck) round_if_free();  // if it is not free, its holder takes them
}

// --- where tasks come from --------------------------------------------------------------------------

// What the last steps posted, if nothing older is known to wait: it needs no round then. Only plain
// posts: one with a deadline, or a woken sleeper, is for the role. While steps are long what another worker
// keeps since an earlier step is older, by much: then a round takes all of it, of this worker or of who has
// the role.
basic_task* worker::take_own_posts() noexcept {
    if ((alone_ ? slot_.posted_alone.empty() : slot_.posted.empty()) || own_posts_ >= not_direct ||
        !slot_.ready_consumer.empty() || !core_.front.empty() || core_.role.has_backlog()) {
        return nullptr;
    }
    if (alone_) return take_own_post();
    if (steps_are_long() && others_keep_older_posts()) return nullptr;
    return move_own_posts_to_run();
}

bool worker::others_keep_older_posts() const noexcept {
    return std::any_of(core_.slots.begin(), core_.slots.end(), [this](const auto& each) {
        return each.get() != &slot_ && each->has_older_posts();
    });
}

basic_task* worker::take_own_post() noexcept {
    slot_.direct.add(1);  // before it disappears: see role::drained
    basic_task* const task = slot_.posted_alone.pop_front();
    trace("take_one", std::span{&task, 1});
    task->expired_ = true;
    return task;
}

// Only so many in a row, so that what others posted meanwhile has its turn.
basic_task* worker::move_own_posts_to_run() noexcept {
    if (own_posts_ > direct_left_) return nullptr;
    slot_.direct.add(1);  // before they disappear: see role::drained
    basic_task::chain taken = slot_.posted.take_all();
    trace("take_own", taken);
    own_posts_ = 0;
    basic_task* const first = taken.pop_front();
    if (first == nullptr) {  // a round of another worker was faster
        slot_.direct.publish(slot_.direct.value() - 1);
        return nullptr;
    }
    first->expired_ = true;
    --direct_left_;
    if (!taken.empty()) {
        slot_.direct.add(taken.size());  // likewise before they can run
        direct_left_ -= static_cast<unsigned>(taken.size());
        std::array<basic_task*, run_queue::capacity> rest;
        std::size_t count = 0;
        while (basic_task* const task = taken.pop_front()) {
            task->expired_ = true;
            rest[count++] = task;
        }
        put_into_run({rest.data(), count});
    }
    return first;
}

basic_task* worker::claim() noexcept {
    std::array<basic_task*, claim_max> out;
    const std::size_t visible = slot_.ready_consumer.visible();
    const std::size_t share = std::max<std::size_t>(core_.share_of(visible), 1);
    const std::size_t wanted = std::min<std::size_t>(share, claim_max);
    const std::size_t count = slot_.ready_consumer.claim({out.data(), wanted});
    if (count == 0) return nullptr;
    trace("claim", std::span{out.data(), count});
    put_into_run({out.data() + 1, count - 1});
    return out[0];
}

// Puts tasks that this worker took into its run. In between nobody saw them: who went to sleep because
// of that is woken.
void worker::put_into_run(std::span<basic_task* const> tasks) noexcept {
    if (tasks.empty()) return;
    slot_.runs.push(tasks);
    wake_one_if(core_.idle.seems_asleep());
}

// Under saturation nobody is idle, so nobody steals. A run whose owner has not finished a step since
// this worker looked last is taken over, and what its steps posted, so that they do not wait for one
// long step. Looking touches the lines of all slots, so it is done every full run of short steps, or
// after a while.
bool worker::time_to_look_for_stuck() noexcept {
    const std::uint64_t finished = slot_.finished.value();
    if (finished - looked_at_step_ < run_queue::capacity) {
        // The clock is read less often while runs are short, and each time once one was long.
        if (--looks_to_clock_ != 0) return false;
        const time_point now = clock::now();  // the real one: it is about threads
        look_stride_ =
            now - stuck_clock_ > stuck_after / 4 ? 1 : std::min(look_stride_ * 2, stride_max);
        looks_to_clock_ = look_stride_;
        stuck_clock_ = now;
        if (now - looked_at_ < stuck_after) return false;
        looked_at_ = now;
    }
    looked_at_step_ = finished;
    return true;
}

basic_task* worker::take_over_stuck() noexcept {
    slot* stuck_run = nullptr;
    bool posts_are_stuck = false;
    for (unsigned i = 0; i != core_.width(); ++i) {
        slot& other = *core_.slots[i];
        if (i == index_) continue;
        const std::uint64_t finished = other.finished.read();
        const bool stuck = seen_finished_[i] == finished;
        seen_finished_[i] = finished;
        if (stuck && !other.runs.empty()) stuck_run = &other;
        posts_are_stuck |= stuck && !other.posted.empty();
    }
    // The round may leave a task in `next`, which must run before any other. If the role is not free,
    // its holder takes the posts.
    if (posts_are_stuck && round_if_free() && slot_.next != nullptr) {
        return std::exchange(slot_.next, nullptr);
    }
    return stuck_run != nullptr ? take_from(*stuck_run) : nullptr;
}

basic_task* worker::steal() noexcept {
    for (unsigned i = 0; i != core_.width(); ++i) {
        if (++victim_ >= core_.width()) victim_ = 0;
        if (victim_ == index_) continue;
        slot& victim = *core_.slots[victim_];
        if (basic_task* const task = take_from(victim)) return task;
        if (basic_task* const task = steal_fork(victim)) return task;
    }
    return nullptr;
}

// The oldest fork of the step that runs there, which waits for it.
basic_task* worker::steal_fork(slot& victim) noexcept {
    if (victim.offers.empty()) return nullptr;
    slot_.direct.add(1);  // before it disappears: see role::drained
    forked* const work = victim.offers.steal();
    if (work == nullptr) {  // another was faster, or the step itself
        slot_.direct.publish(slot_.direct.value() - 1);
        return nullptr;
    }
    slot_.stolen.add(1);
    basic_task& task = work->detach(core_.owner);
    task.expired_ = true;
    return &task;
}

basic_task* worker::take_from(slot& victim) noexcept {
    std::array<basic_task*, claim_max> out;
    const std::size_t room = std::min<std::size_t>(slot_.runs.room() + 1, claim_max);
    const std::size_t count = victim.runs.steal({out.data(), room});
    if (count == 0) return nullptr;
    trace("steal", std::span{out.data(), count});
    slot_.stolen.add(count);
    put_into_run({out.data() + 1, count - 1});
    return out[0];
}

// --- the role -----------------------------------------------------------------------------------------

// Deadlines and events are served within `round_interval` even when no run ever empties.
void worker::look_at_clock() noexcept {
    const time_point now = core_.now();
    const duration interval = core_.options.round_interval;
    // Steps are short: look less often, up to every stride_max steps. One is long: look at each.
    stride_ = now - last_look_ > interval / 4 ? 1 : std::min(stride_ * 2, stride_max);
    steps_to_look_ = stride_;
    last_look_ = now;
    if (now - core_.role.last_timed_round() >= interval) round_if_free();
}

bool worker::round_if_free() noexcept {
    if (!core_.role.seems_free() || !core_.role.try_acquire()) return false;
    core_.role.round(slot_);
    core_.role.release();
    direct_left_ = direct_max;
    // After the release, always: another may have failed to get the role a moment before, and gone
    // to sleep [RL1].
    wake_another();
    return true;
}

// By what the word of `idle` said just now.
void worker::wake_one_if(bool needed) noexcept {
    trace("decide", needed);
    if (needed) core_.idle.wake_one();
}

// Wakes another worker if there is more to do than this one will: tasks for it, or the duty to sleep
// on deadlines and events.
void worker::wake_another() noexcept {
    if (alone_) return;
    if (core_.nobody_waits() || core_.work_visible(slot_)) core_.idle.wake_one();
}

// Sleeps in the driver if nobody else does, until `limit` at most. False: it cannot be had. True: look
// again. The role is held only to plan the sleep, so that a round which adds an earlier deadline
// either comes before, or finds somebody to hurry.
bool worker::sleep_in_driver(time_point limit) noexcept {
    if (!core_.role.try_acquire()) return false;
    core_.role.round(slot_, role::afterwards::waits);
    const bool found = slot_.next != nullptr || !slot_.runs.empty();
    const bool entered = !found && core_.idle.enter_driver();
    // What the last wait collected must be polled before the next. Its wish came before it left the driver; if
    // that is gone, so is the round that took it, as this worker has the role. After the release another round
    // may have taken the wish, and not polled yet.
    const bool polled = !core_.role.has_backlog();
    if (entered) core_.role.plan_sleep(limit);
    core_.role.release();
    wake_another();  // after the release [RL1]
    if (!entered) return found;
    answer_drain();
    // Once more, after the word [ID1]. acquire: pairs with stop, which wakes all after it.
    if (polled && !core_.work_visible(slot_) && !core_.halting.load(sync::acquire)) {
        trace("stay");
        slot_.wakeups.add(1);
        core_.options.driver->wait();
        core_.role.want_round();
    }
    core_.idle.leave_driver();
    return true;
}

// On the way to sleep: tells who waits in drain if everything is done.
void worker::answer_drain() noexcept {
    // acquire: pairs with drain, which wakes all after it.
    if (!core_.drain_wanted.load(sync::acquire)) return;
    core_.tell_if_drained();
    wake_another();  // it has held the role [RL1]
}

void worker::park(time_point limit) noexcept {
    // Nobody needs to be woken for it otherwise: its owner would look at it.
    if (!slot_.posted.empty()) slot_.keeps_post.store(false, sync::relaxed);  // published below
    core_.idle.prepare_park(index_);
    // Once more, after the word [ID1].
    bool stay = !core_.tasks_visible(slot_) && !core_.halting.load(sync::acquire);
    // What only the role can do: a round, and sleeping in the driver as long as it must. If the role is
    // not free, its holder finds this worker parked after the release [RL1]; to go on looking would be
    // to spin until then.
    const bool wants_role = core_.arrivals_visible(slot_) || !core_.idle.driver_taken();
    if (stay && wants_role && core_.role.try_acquire()) {
        core_.role.release();
        stay = false;
    } else if (stay && core_.idle.all_asleep() && core_.role.try_acquire()) {
        core_.role.put_off_sleeper();
        core_.role.release();
        wake_another();  // after the release [RL1]
    }
    answer_drain();
    if (!stay) {
        core_.idle.cancel_park(index_);
        return;
    }
    trace("stay");
    slot_.wakeups.add(1);
    if (!core_.idle.park_until(index_, limit)) core_.idle.cancel_park(index_);
}

// --- posts from a step, and running without a thread ---------------------------------------------------

// From a step. To the slot while the shared front is empty, so that what is in a slot is older than
// what is in the front; a post that comes after one from outside stands behind it. The worker looks at
// what it posted when the step and its run are done; others can take it in a round before that, but a
// single worker keeps it in a plain list.
//
// Whether to wake another for it: not for one task, which this worker will take itself, if somebody
// watches in case the step takes long, or the step ends with this post. For a second one, yes.
void worker::post(basic_task& newest, basic_task& oldest, posted how) noexcept {
    if (!core_.front.empty()) {
        core_.push(newest, oldest);
        return;
    }
    if (alone_) {
        if (slot_.posted_alone.empty()) own_posts_ = 0;
        if (!how.plain) own_posts_ = not_direct;
        slot_.posted_alone.append(front_queue::turn_over(&newest));
        trace("keep", &newest);
        return;
    }
    const bool first = slot_.posted.empty();  // this worker alone adds to it
    trace("post", &newest, first);
    if (first) own_posts_ = 0;
    own_posts_ = how.plain ? own_posts_ + 1 : not_direct;
    const bool kept = first && &newest == &oldest;
    if (kept) slot_.kept_after.publish(slot_.finished.value());
    if (slot_.keeps_post.load(sync::relaxed) != kept) {
        slot_.keeps_post.store(kept, sync::relaxed);  // published by the push
    }
    slot_.posted.push_reversed(newest, oldest);
    trace("keep", &newest);
    if (kept && how.last && slot_.runs.empty()) return;
    wake_one_if(kept ? core_.idle.needs_watcher() : core_.idle.seems_asleep());
}

void worker::wake_thief() noexcept {
    if (core_.idle.seems_asleep()) core_.idle.wake_one();
}

[[gnu::noinline]] void offered_forks::wake_thief() noexcept { worker::current()->wake_thief(); }

// A round admits only so many: what is ready may stand behind thousands that go to sleep.
basic_task* worker::next_behind_arrivals() noexcept {
    basic_task* task = next();
    while (task == nullptr && core_.arrivals_visible(slot_)) task = next();
    return task;
}

[[gnu::noinline]] std::size_t worker::run_ready(time_point limit, std::size_t steps_max) noexcept {
    worker* const outer = current();
    FAIRLEAD_ASSERT(outer != this, "a scheduler was run from a task of its own");
    of_thread::set(this);
    basic_task* task = next_behind_arrivals();
    if (task == nullptr) {
        core_.idle.begin_search();
        static_cast<void>(sleep_in_driver(limit));
        static_cast<void>(core_.idle.end_search());
        task = next_behind_arrivals();
    }
    std::size_t steps = 0;
    while (task != nullptr) {
        execute(*task);
        if (++steps == steps_max) break;
        task = next_behind_arrivals();
    }
    of_thread::set(outer);
    return steps;
}

}  // namespace fairlead::sched
