// The ready tasks of a group that have a deadline, the earliest first. The tasks without a deadline
// are in a FIFO beside it.
//
// Question it answers: is the next task of the group the task with the earliest deadline, or the
// oldest task without a deadline? The holder of the role only. Only a group with
// `earliest_deadline_first` puts tasks here.
//
// Invariants
//   1. The task with the earlier deadline goes first; if the deadlines are equal, the task that
//      came first.
//   2. While tasks wait in the FIFO, at most `ahead_max` tasks with deadlines go before the first
//      of them. So a task without a deadline waits for `ahead_max` tasks with deadlines at most for
//      each place in the FIFO, however many come.
//   3. A task that was taken and is put back stands where it stood.
//
// Costs: O(log n); 24 bytes a task, in an array that is made with the first task. A task without
// memory for its entry goes to the FIFO.
//
// Rejected: a deadline for tasks that have none, such as 100 ms from now. A source of tasks that
// are overdue already would go before them for ever, and each admission would read the clock.
//
// Spec: GroupOrder in spec/MAP.md.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/sched/task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace fairlead::sched {

class deadline_order {
public:
    static constexpr unsigned ahead_max = 16;

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    // False: the task has no deadline, or there is no memory for it. Then it belongs in the FIFO.
    [[nodiscard]] bool add(basic_task& task, time_point deadline) noexcept {
        return insert({deadline, number_++, &task});
    }

    // The same for a task that was taken and goes back to its place.
    [[nodiscard]] bool put_back(basic_task& task, time_point deadline) noexcept {
        if (!insert({deadline, --front_, &task})) {
            ahead_ = ahead_max;  // the caller puts it at the front of the FIFO: it is next
            return false;
        }
        if (ahead_ != 0) --ahead_;
        return true;
    }

    // Takes the next task. Null: the first task of the FIFO is next. `others_wait`: the FIFO is not
    // empty.
    [[nodiscard]] basic_task* take_next(bool others_wait) noexcept {
        const bool may = !others_wait || ahead_ != ahead_max;
        ahead_ = may && others_wait && !empty() ? ahead_ + 1 : 0;
        return may ? take_first() : nullptr;
    }

    // Takes the task with the earliest deadline; null: no task is left.
    [[nodiscard]] basic_task* take_first() noexcept {
        if (empty()) return nullptr;
        std::ranges::pop_heap(entries_, goes_after);
        basic_task* const first = entries_.back().task;
        entries_.pop_back();
        --size_;
        if (empty() && entries_.capacity() > kept_entries) entries_ = {};
        return first;
    }

private:
    struct entry {
        time_point deadline;
        std::int64_t number;  // of two equal deadlines the lower number goes first
        basic_task* task;
    };

    static constexpr std::size_t kept_entries = 1024;

    static bool goes_after(const entry& one, const entry& other) noexcept {
        if (one.deadline != other.deadline) return one.deadline > other.deadline;
        return one.number > other.number;
    }

    [[nodiscard]] bool insert(const entry& added) noexcept {
        if (added.deadline == never) return false;
        try {
            entries_.push_back(added);
        } catch (const std::bad_alloc&) {
            return false;
        }
        std::ranges::push_heap(entries_, goes_after);
        ++size_;
        return true;
    }

    std::vector<entry> entries_;  // a heap
    std::size_t size_ = 0;        // of the heap; read often, also without deadlines
    std::int64_t number_ = 0;
    std::int64_t front_ = 0;
    unsigned ahead_ = 0;  // tasks that have gone before the first task of the FIFO
};

}  // namespace fairlead::sched
