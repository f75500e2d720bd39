// What the scheduler does with a task. No other code reads or writes the private members of
// `basic_task`.
//
// Only the state word is shared. The other members belong to one thread at a time: to the thread
// that posts the task, and then to the thread that takes it from where it waits. Those of a sleeper
// belong to the holder of the role; those of a sleeper that is only to be woken, to the thread that
// ends the sleep. `park` and `unpark` decide between the role and a waker.
#pragma once

#include <fairlead/sched/task.hpp>

#include <cstdint>
#include <utility>

namespace fairlead::sched {

class task_access {
public:
    // --- a post ----------------------------------------------------------------------------------

    static void enter(basic_task& task, home& of, time_point deadline) noexcept {
        FAIRLEAD_ASSERT(task.home_ == nullptr, "a task was posted that is posted already");
        task.home_ = &of;
        task.deadline_ = deadline;
        task.expired_ = deadline == immediately;
    }

    [[nodiscard]] static home& home_of(const basic_task& task) noexcept { return *task.home_; }
    // Not of a task in a table.
    [[nodiscard]] static time_point deadline_of(const basic_task& task) noexcept {
        return task.deadline_;
    }
    [[nodiscard]] static bool has_source(const basic_task& task) noexcept {
        return task.source_ != nullptr;
    }

    // What `basic_task::expired` answers in the next step.
    static void set_expired(basic_task& task, bool expired) noexcept { task.expired_ = expired; }

    // --- a step ----------------------------------------------------------------------------------

    static void begin_step(basic_task& task) noexcept {
        task.home_ = nullptr;
        task.deaf_ = false;
        task.source_ = nullptr;
        task.state_.begin_run();
    }

    static void run(basic_task& task) noexcept { task.kind_->run(task); }  // the last touch

    // Until when the work of the task is wanted. Asked while the task is ready.
    [[nodiscard]] static time_point due(const basic_task& task) noexcept {
        return task.kind_->due == nullptr ? never : task.kind_->due(task);
    }

    // A fork becomes a task without a post, and runs at once.
    static void enter_running(basic_task& task, home& of) noexcept {
        task.home_ = &of;
        task.expired_ = true;
    }

    // --- a sleep: the holder of the role, or without a deadline a worker -------------------------

    // The index of a sleeper in the heap of deadlines.
    static constexpr auto index = &basic_task::index_;

    [[nodiscard]] static bool is_fresh(const basic_task& task) noexcept {
        return task.index_ == basic_task::not_waiting;
    }
    [[nodiscard]] static bool is_in_table(const basic_task& task) noexcept {
        return task.index_ == basic_task::in_table;
    }
    // Whether it is in the heap or in a table.
    [[nodiscard]] static bool is_listed(const basic_task& task) noexcept {
        return task.index_ >= 0 || is_in_table(task);
    }
    [[nodiscard]] static bool is_in_transit(const basic_task& task) noexcept {
        return task.index_ == basic_task::in_transit;
    }
    static void mark_fresh(basic_task& task) noexcept { task.index_ = basic_task::not_waiting; }
    // The place takes the memory of the deadline, which was `never`: see `leave_table`.
    static void mark_in_table(basic_task& task, sleeper_place& place) noexcept {
        task.index_ = basic_task::in_table;
        task.place_ = &place;
        task.only_woken_ = task.source_ == nullptr;
    }
    // Asked by a waker that has ended the sleep. Of a task with a deadline or a source the role may
    // write the other members meanwhile.
    [[nodiscard]] static bool was_only_to_be_woken(const basic_task& task) noexcept {
        return task.only_woken_;
    }
    // The caller clears the place that this returns. The task is as if it had never been asleep.
    [[nodiscard]] static sleeper_place& leave_table(basic_task& task) noexcept {
        sleeper_place& place = *task.place_;
        // With a source the flag is false, and not written: a waker may be about to read it.
        if (task.only_woken_) task.only_woken_ = false;
        task.deadline_ = never;
        task.index_ = basic_task::not_waiting;
        return place;
    }
    // A task without a deadline that was woken: it is to run as if it were posted now.
    static void make_due(basic_task& task) noexcept { task.deadline_ = immediately; }
    static void mark_in_transit(basic_task& task) noexcept { task.index_ = basic_task::in_transit; }
    static void mark_dealt(basic_task& task) noexcept { task.index_ = basic_task::dealt_before; }

    // False: what the task listens to has happened, so it does not sleep.
    [[nodiscard]] static bool park(basic_task& task) noexcept {
        return task.state_.park(task.deaf_);
    }
    [[nodiscard]] static bool stays_awake(const basic_task& task) noexcept {
        return task.state_.stays_awake(task.deaf_);
    }
    // Whether a task of a post is to run: it is due, or what it listens to has happened before the
    // role could put it to sleep. Else the role decides.
    [[nodiscard]] static bool runs_at_once(const basic_task& task) noexcept {
        return is_fresh(task) &&
               (task.deadline_ == immediately || (task.deadline_ == never && stays_awake(task)));
    }
    // False: a waker was faster, and brings the task through the front.
    [[nodiscard]] static bool unpark(basic_task& task) noexcept { return task.state_.unpark(); }

    // False: the event of the source is there already. Then the task has no source any more.
    [[nodiscard]] static bool arm_source(basic_task& task) noexcept {
        const bool armed = task.source_ == nullptr || task.source_->arm(task);
        if (!armed) task.source_ = nullptr;
        return armed;
    }
    // The task keeps its source, and arms it again later.
    static void disarm_source(basic_task& task) noexcept {
        if (task.source_ != nullptr) task.source_->disarm(task);
    }
    static void leave_source(basic_task& task) noexcept {
        if (task.source_ != nullptr) std::exchange(task.source_, nullptr)->disarm(task);
    }
    static void forget_source(basic_task& task) noexcept { task.source_ = nullptr; }

    // --- a stop ----------------------------------------------------------------------------------

    // True: the task slept, and the caller has the duty to make it ready.
    [[nodiscard]] static bool request_stop(basic_task& task) noexcept {
        return task.state_.request_stop(stopped_by::shutdown);
    }
    // The step that begins sees the stop, which has this number.
    static void tell_stop(basic_task& task, std::uint8_t number) noexcept {
        task.state_.mark_stopping();
        task.told_ = number;
    }
    [[nodiscard]] static bool was_told(const basic_task& task, std::uint8_t number) noexcept {
        return task.told_ == number;
    }
    [[nodiscard]] static bool was_told_of_any(const basic_task& task) noexcept {
        return task.told_ != 0;
    }
    static void forget_stops(basic_task& task) noexcept { task.told_ = 0; }

    // --- the queue of a group --------------------------------------------------------------------

    // Called before the post.
    static void give_permit(basic_task& task) noexcept { task.standing_ = basic_task::has_permit; }
    static void drop(basic_task& task, home& to) noexcept {
        task.standing_ = basic_task::dropped;
        task.home_ = &to;
    }
    // Whether the task has a permit, or had one until it was dropped.
    [[nodiscard]] static bool has_permit(const basic_task& task) noexcept {
        return task.standing_ != basic_task::needs_none;
    }
    [[nodiscard]] static bool is_dropped(const basic_task& task) noexcept {
        return task.standing_ == basic_task::dropped;
    }
    static void leave_queue(basic_task& task) noexcept { task.standing_ = basic_task::needs_none; }

    // --- the end of the scheduler ----------------------------------------------------------------

    // Whether `abandon` may be called now. False: the task waits for an operation that goes on.
    // Then it sleeps, and comes back through the front when the operation ends.
    [[nodiscard]] static bool may_abandon(basic_task& task) noexcept {
        if (task.kind_->can_abandon == nullptr) return true;
        do {
            task.state_.begin_run();  // what woke the task does not matter any more
            if (task.kind_->can_abandon(task)) return true;
            task.deferred_ = true;  // before the park: after it the task may come back
        } while (!task.state_.park(true));
        return false;
    }

    // Whether `may_abandon` was false the last time that the task was taken.
    [[nodiscard]] static bool take_deferred(basic_task& task) noexcept {
        const bool deferred = task.deferred_;
        task.deferred_ = false;
        return deferred;
    }

    // The task is as if it had never been posted. Returns the home that it had.
    static home& leave(basic_task& task) noexcept {
        task.source_ = nullptr;
        task.deaf_ = false;
        task.standing_ = basic_task::needs_none;
        task.told_ = 0;
        task.index_ = basic_task::not_waiting;
        task.state_.reset();
        return *std::exchange(task.home_, nullptr);
    }

    static void abandon(basic_task& task) noexcept { task.kind_->abandon(task); }  // the last touch
};

}  // namespace fairlead::sched
