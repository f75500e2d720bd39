// The tasks of a group that are ready to run, in order. The oldest task with a permit is found
// fast: it is the task that a group drops. Tasks with permits may have to wait at the entry, in a
// line of their own, for the rate of the group. A group that goes by deadlines keeps the tasks with
// a deadline apart. One thread at a time.
#pragma once

#include "sched/groups/deadline_order.hpp"
#include "sched/task/task_access.hpp"

#include <fairlead/sched/task.hpp>

#include <cstddef>
#include <utility>

namespace fairlead::sched {

class group_queue {
public:
    // `by_deadline`: the earliest deadline goes first. Such a queue drops no task.
    explicit group_queue(bool by_deadline = false) noexcept
        : by_deadline_{by_deadline}, is_fifo_{!by_deadline} {}

    // Whether the queue has been a FIFO so far: then `push_back`, `pop_front` and `push_front` do
    // what `add`, `take` and `put_back` do, for less.
    [[nodiscard]] bool is_fifo() const noexcept { return is_fifo_; }
    // From now on some tasks may have to wait at the entry.
    void have_entry() noexcept { is_fifo_ = false; }

    // Whether there is no task, those at the entry not counted.
    [[nodiscard]] bool empty() const noexcept { return all_.empty() && urgent_.empty(); }
    // How many tasks there are, with those at the entry.
    [[nodiscard]] std::size_t size() const noexcept {
        return all_.size() + urgent_.size() + entering_.size();
    }

    // Adds a task. A task with a permit waits at the entry if it `must`, or if other tasks wait
    // there.
    void add(basic_task& task, bool must) noexcept {
        if (task_access::has_permit(task) && (must || has_entering())) {
            entering_.push_back(task);
        } else if (!by_deadline_ || !urgent_.add(task, task_access::due(task))) {
            push_back(task);
        }
    }

    // Takes the next task that is not at the entry. Requires that there is one.
    [[nodiscard]] basic_task& take() noexcept {
        basic_task* const urgent = by_deadline_ ? urgent_.take_next(!all_.empty()) : nullptr;
        return urgent != nullptr ? *urgent : pop_front();
    }
    // Puts back a task that was taken, and was not dealt after all.
    void put_back(basic_task& task) noexcept {
        if (!by_deadline_ || !urgent_.put_back(task, task_access::due(task))) push_front(task);
    }

    // Whether tasks wait at the entry; `enter` takes the first of them.
    [[nodiscard]] bool has_entering() const noexcept { return !entering_.empty(); }
    [[nodiscard]] basic_task& enter() noexcept { return *entering_.pop_front(); }
    // Puts back a task that has entered, and was not dealt after all.
    void leave(basic_task& task) noexcept { entering_.push_front(task); }

    // Adds a task that has no deadline, and does not wait at the entry.
    void push_back(basic_task& task) noexcept {
        with_permits_ += task_access::has_permit(task);
        all_.push_back(task);
    }

    // Puts back a task that was popped.
    void push_front(basic_task& task) noexcept {
        if (task_access::has_permit(task)) {
            ++with_permits_;
            if (none_up_to_ != nullptr) ++put_back_;
        }
        all_.push_front(task);
    }

    // `take_oldest_with_permit` does not find this task any more, unless it is put back.
    [[nodiscard]] basic_task& pop_front() noexcept {
        basic_task& first = *all_.pop_front();
        if (&first == none_up_to_) none_up_to_ = nullptr;
        if (task_access::has_permit(first)) {
            --with_permits_;
            if (put_back_ != 0) --put_back_;
        }
        return first;
    }

    // Takes the oldest task with a permit, or null. All calls together look at each task once,
    // except for tasks that were put back, and tasks between these.
    [[nodiscard]] basic_task* take_oldest_with_permit() noexcept {
        if (with_permits_ == 0) return entering_.pop_front();
        --with_permits_;
        basic_task* before = put_back_ != 0 ? nullptr : none_up_to_;
        for (basic_task* at = behind(before); !task_access::has_permit(*at); at = behind(at))
            before = at;
        if (put_back_ != 0) {
            --put_back_;
        } else {
            none_up_to_ = before;
        }
        return all_.pop_behind(before);
    }

    // Takes all tasks: by deadline, then in the order of the FIFO, then those at the entry.
    [[nodiscard]] basic_task::chain take_all() noexcept {
        none_up_to_ = nullptr;
        put_back_ = 0;
        with_permits_ = 0;
        basic_task::chain all;
        while (basic_task* const next = urgent_.take_first()) all.push_back(*next);
        all.append(std::exchange(all_, {}));
        all.append(std::exchange(entering_, {}));
        return all;
    }

private:
    [[nodiscard]] basic_task* behind(const basic_task* task) const noexcept {
        return task == nullptr ? all_.front() : task->*basic_task::link;
    }

    const bool by_deadline_;
    bool is_fifo_;
    basic_task::chain all_;
    deadline_order urgent_;  // tasks with a deadline
    basic_task::chain entering_;
    std::size_t with_permits_ = 0;
    // Of all_ up to this task, only `put_back_` tasks have a permit. Null: not known.
    basic_task* none_up_to_ = nullptr;
    std::size_t put_back_ = 0;
};

}  // namespace fairlead::sched
