// The role: the single right to schedule. The thread that holds it runs rounds.
//
// A round moves tasks towards the workers:
//
//     front ---admit---> waiting (until a deadline, an event, a wake-up)
//       |                   | due, fired
//       +----> batch <------+
//                |  deal
//                v
//     the holder's own run, and ready for all workers
//
// No thread holds it for longer than a round: a worker that sleeps does not hold it. Everything in
// this class but the atomics belongs to the holder, and is plain single-threaded code: this is the
// place to extend the scheduler.
//
// A round cannot fail. Tasks for which there is no memory wait in chains, which need none: what
// cannot be dealt is the first that the next round admits, and a task that cannot be put to sleep
// is looked at again after a while: sleepers.hpp.
#pragma once

#include "sched/entry/arrivals.hpp"
#include "sched/groups/turns.hpp"
#include "sched/round/overtaking.hpp"
#include "sched/round/role_lock.hpp"
#include "sched/round/sleep_plan.hpp"
#include "sched/round/sleepers.hpp"
#include "sched/slot/slot.hpp"
#include "sched/task/task_access.hpp"
#include "sched/task/trace.hpp"

#include <fairlead/sched/driver.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::sched {

class core;

class role final : private event_sink {
public:
    role(core& owner, std::size_t workers);
    role(const role&) = delete;
    role& operator=(const role&) = delete;

    // --- any worker ------------------------------------------------------------------------------

    // Takes the role if it is free. A worker may go to sleep because another holds it [RL1].
    [[nodiscard]] bool try_acquire() noexcept { return lock_.try_acquire(); }

    // Gives the role back. Another thread may hold it when this returns; the caller must then look
    // whether a worker is to be woken, in this order: signal after the release, always [RL1].
    void release() noexcept {
        lock_.release();
        trace("release");
    }

    // The same for the only worker: no other goes to sleep because it has the role.
    void release_alone() noexcept {
        lock_.release_alone();
        trace("release");
    }

    // Whether a try is worth it. A hint.
    [[nodiscard]] bool seems_free() const noexcept { return lock_.seems_free(); }

    // Whether the last round left tasks for the next, or a thread has asked for one.
    [[nodiscard]] bool has_backlog() const noexcept {
        // acquire: pairs with the stores of both.
        return (last_.load(sync::acquire) & 1) != 0 || wanted_.load(sync::acquire);
    }

    // A round is to look at deadlines or events, at a group that was noticed, or at a stop. An
    // exchange, so that a wish does not hide an earlier one [RL2].
    void want_round() noexcept { wanted_.exchange(true, sync::acq_rel); }

    // Whether deadlines or events may come, so that time matters; the holder updates it. seq_cst:
    // [ID2].
    [[nodiscard]] bool timed() const noexcept { return timed_.load(sync::seq_cst); }

    // Whether workers are to look at the clock between steps now and then, and at what groups have.
    // A hint.
    [[nodiscard]] bool wants_attention() const noexcept { return attention_.load(sync::relaxed); }

    // For a push of a timed task or of a task of a group, or for a notice. Without attention a busy
    // worker finds it only when its run is empty. seq_cst [GR2]: see update_attention. In the order
    // of the word the exchange comes after the value that was read, so acq_rel is enough.
    void call_attention() noexcept {
        if (!attention_.load(sync::seq_cst)) attention_.exchange(true, sync::acq_rel);
    }

    // The time of the last look of a round at the clock, but for rounds before a wait. A hint.
    [[nodiscard]] time_point last_timed_round() const noexcept {
        return last_round_.load(sync::relaxed);
    }

    // Whether the last round has left arrivals of groups for the next. A hint.
    [[nodiscard]] bool groups_pend() const noexcept { return groups_pend_.load(sync::relaxed); }

    // How many rounds there were. A hint.
    [[nodiscard]] std::uint64_t rounds() const noexcept { return last_.load(sync::relaxed) >> 1; }

    // When a round must look at sleepers or at the rate of a group: `next_deadline`. A hint.
    [[nodiscard]] time_point next_due() const noexcept { return next_due_.load(sync::relaxed); }

    // Whether a round would take a sleeper that is due, though tasks stand in line. A hint.
    [[nodiscard]] bool wants_round_for_deadlines(time_point now) const noexcept {
        const time_point due = next_due();
        return due <= now && (overtaking_.may(now) || now - due >= overtaking::longest_wait);
    }

    // Sleepers that overtake tasks in line.
    [[nodiscard]] sched::overtaking& overtaking() noexcept { return overtaking_; }

    // Turns of groups.
    [[nodiscard]] sched::turns& turns() noexcept { return turns_; }
    [[nodiscard]] const sched::turns& turns() const noexcept { return turns_; }

    // --- the holder ------------------------------------------------------------------------------

    // One round for `own`, the slot of the holder.
    void round(slot& own, occasion why = occasion::working) noexcept;

    // Between rounds: admits one post of a step, which is to sleep without a deadline and a source,
    // was woken from such a sleep, or is due. Whether it is to run.
    [[nodiscard]] bool admit_one(basic_task& task) noexcept;

    // A worker has entered the driver, and waits next, until this time at most.
    void plan_sleep(time_point limit) noexcept { sleep_plan_.begin(limit, next_deadline()); }

    // No worker is awake: the sleeper in the driver need not wake up for a deadline that is gone.
    void put_off_sleeper() noexcept { sleep_plan_.put_off(next_deadline()); }

    // Whether nothing is queued, runs or waits. Exact.
    [[nodiscard]] bool drained() const noexcept;

    // Pushes taken from the front that found it empty, ever. See idle::all_left.
    [[nodiscard]] std::uint32_t announced_pushes() const noexcept { return announced_pushes_; }

    // A stop is over: the next stop tells every task again, also a task that this stop has told.
    void forget_stop() noexcept {
        stop_told_ = false;
        left_by_stop_ = SIZE_MAX;
        if (++stop_number_ == 0) stop_number_ = 1;
    }

    // Which stop goes on, or comes next; never 0. Changes while no worker runs.
    [[nodiscard]] std::uint8_t stop_number() const noexcept { return stop_number_; }

    [[nodiscard]] const sched::sleepers& sleepers() const noexcept { return sleepers_; }

    // All tasks wait for the next round: those dealt, those in the fronts, those queued in groups.
    void hold_all(basic_task::chain dealt) noexcept;

    // The workers have ended, and no step runs: what is held now is what the stop has left, and
    // what comes after it is late.
    void count_left() noexcept {
        const std::size_t held = arrivals_of(lane::everyone).first.size();
        if (left_by_stop_ == SIZE_MAX) left_by_stop_ = held;
    }

    // Calls visit(task, is_late) for every task that the next round will look at first. Late: it
    // was posted after `count_left`.
    template <class Visit>
    void for_each_held(Visit&& visit) const {
        const basic_task::chain& held = arrivals_of(lane::everyone).first;
        std::size_t index = 0;
        for (basic_task* task = held.front(); task != nullptr; task = task->*basic_task::link) {
            const bool is_late = index++ >= left_by_stop_ && task_access::is_fresh(*task);
            // A listed task was woken, and is still among the sleepers: it counts there.
            if (!task_access::is_listed(*task)) visit(*task, is_late);
        }
    }

    // Empties the front, what was taken from it and not dealt yet, and the sleepers, but for those
    // that are on their way through the front.
    [[nodiscard]] basic_task::chain take_everything() noexcept;

private:
    static constexpr std::size_t batch_max = 256;  // tasks dealt at once
    // Tasks admitted in a round. The first of them wait in the hands of the holder for the end of
    // the round, while other workers run what it deals to them: so it must not be many more than a
    // run holds. But it must be as many as many workers post between two rounds: while a round has
    // left something, no worker takes its own posts, and workers that cannot get the role park.
    [[nodiscard]] static std::size_t admitted_at_most(std::size_t workers) noexcept {
        return std::max<std::size_t>(512, 32 * workers);
    }
    static constexpr duration poll_interval = std::chrono::microseconds{50};

    // When a round must look at sleepers, or at a task that waits for the rate of its group.
    [[nodiscard]] time_point next_deadline() const noexcept {
        const time_point entry = groups_ ? turns_.next_entry() : never;
        return std::min(sleepers_.next_look(), entry);
    }

    // Whether something waits for admission.
    [[nodiscard]] bool has_pending() const noexcept {
        if (!arrivals_of(lane::everyone).empty()) return true;
        return groups_ &&
               !(arrivals_of(lane::groups).empty() && arrivals_of(lane::control).empty());
    }
    void tell_backlog(bool backlog) noexcept {
        last_.store(number_ << 1 | (backlog ? 1 : 0), sync::release);  // pairs with has_backlog
    }
    // Whether a post waits that this round has not seen, or something of groups.
    [[nodiscard]] bool others_want_round() const noexcept;
    [[nodiscard]] bool gives_turns() const noexcept { return groups_ && turns_.are_given(); }
    [[nodiscard]] arrivals& arrivals_of(lane which) noexcept {
        return arrivals_[static_cast<std::size_t>(which)];
    }
    [[nodiscard]] const arrivals& arrivals_of(lane which) const noexcept {
        return arrivals_[static_cast<std::size_t>(which)];
    }

    void take_arrivals() noexcept;
    void take_arrivals_of_groups() noexcept;
    // Counts what was taken from a front of the inbox: exactly one of its pushes found that empty.
    [[nodiscard]] basic_task* note_pushes(basic_task* taken) noexcept {
        if (taken != nullptr) ++announced_pushes_;
        return taken;
    }
    inline void take_posts(lane of, bool leaves_kept) noexcept;
    [[nodiscard]] basic_task::chain take_all_arrivals() noexcept;
    void update_attention(bool timed) noexcept;
    void poll_events(time_point now, bool asked, occasion why) noexcept;
    void expire(slot& own, time_point now, occasion why) noexcept;
    void expire_in_line(slot& own, time_point now, occasion why) noexcept;
    void give_turns(slot& own, time_point& now) noexcept;
    [[nodiscard]] bool has_line(const slot& own) const noexcept;
    void admit_arrivals(slot& own, time_point& now) noexcept;
    void admit_first(arrivals& of, std::size_t count, time_point& now) noexcept;
    [[nodiscard]] inline bool admit(basic_task& task, time_point& now) noexcept;
    [[nodiscard]] inline bool sleeps_if_early(basic_task& task, time_point& now) noexcept;
    [[nodiscard]] bool sleeps(basic_task& task) noexcept;
    void retry_unindexed(time_point& now) noexcept;
    void stop_all_sleepers() noexcept;
    void fire(basic_task& task) noexcept override;
    void add_to_batch(basic_task& task) noexcept;
    void deal() noexcept;
    void keep_undealt(std::span<basic_task* const> tasks) noexcept;

    core& core_;
    const std::size_t admit_max_;
    sched::turns turns_;
    // Workers read these between any two steps. A round writes them only to change them, and so
    // they are not in the line of the lock.
    alignas(base::cache_line) sync::atomic<bool> attention_{false};
    sync::atomic<bool> timed_{false};
    sync::atomic<bool> groups_pend_{false};
    alignas(base::cache_line) role_lock lock_;
    // The number of the last round, and in the lowest bit whether it has left tasks for the next.
    sync::atomic<std::uint64_t> last_{0};
    sync::atomic<bool> wanted_{false};
    sync::atomic<time_point> last_round_{time_point{}};
    sync::atomic<time_point> next_due_{never};
    sched::overtaking overtaking_;

    // What every round touches, in few lines: they move from worker to worker with the role.
    alignas(base::cache_line) slot* dealing_to_ = nullptr;
    bool leaves_kept_posts_ = false;
    bool takes_leased_ = false;  // also what workers keep for the leases of their turns
    std::size_t own_share_ = 0;  // how many more of this round's tasks the holder may keep
    std::uint64_t number_ = 0;   // of the last round
    std::uint64_t entered_ = 0;  // posts admitted, ever; each ends with one step
    time_point last_poll_{};
    std::size_t last_fired_ = 0;  // tasks that the last poll has woken
    sched::sleep_plan sleep_plan_;
    std::size_t batch_size_ = 0;
    basic_task::chain undealt_;  // of this round: ready has no memory for them
    // So many are held that are not late; SIZE_MAX: workers run.
    std::size_t left_by_stop_ = SIZE_MAX;
    std::uint32_t announced_pushes_ = 0;
    bool groups_ = false;     // there are some
    bool stop_told_ = false;  // the sleepers know that the scheduler stops
    std::uint8_t stop_number_ = 1;
    sched::sleepers sleepers_;
    std::array<basic_task*, batch_max> batch_;
    std::array<arrivals, 3> arrivals_;  // of each lane
};

}  // namespace fairlead::sched
