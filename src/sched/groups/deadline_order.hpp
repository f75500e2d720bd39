// The tasks of a group that are ready and have a deadline, the earliest first, beside the FIFO of those without one.
//
// Question it answers: is the next task of the group the one with the earliest deadline, or the oldest without one?
// The holder of the role only. Only a group with `earliest_deadline_first` puts tasks here.
//
// Invariants
//   1. Of two tasks the one with the earlier deadline goes first, of equal deadlines the one that came first.
//   2. While a task waits in the FIFO, at most `ahead_max` tasks are taken before its first one. So a task without a
//      deadline waits for `ahead_max` others for each place in the FIFO, however many tasks with deadlines come.
//   3. A task that was taken and is put back stands where it stood.
//
// Costs: O(log n), 24 bytes a task, in an array that is made with the first task. Without memory for it a task goes to the
// FIFO.
//
// Rejected: a deadline that stands for "none", such as 100 ms from now. A source of work that is overdue already would go
// before it for ever, and each admission would read the clock.
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

    // False: it has no deadline, or there is no memory. Then it belongs into the FIFO.
    [[nodiscard]] bool add(basic_task& task, time_point deadline) noexcept {
        return insert({deadline, number_++, &task});
    }

    // The same for a task that was taken.
    [[nodiscard]] bool put_back(basic_task& task, time_point deadline) noexcept {
        if (!insert({deadline, --front_, &task})) {
            ahead_ = ahead_max;  // the first of the FIFO is owed its turn
            return false;
        }
        if (ahead_ != 0) --ahead_;
        return true;
    }

    // The next task. Null: the first of the FIFO is next, in which tasks wait if `others_wait`.
    [[nodiscard]] basic_task* take_next(bool others_wait) noexcept {
        const bool may = !others_wait || ahead_ != ahead_max;
        ahead_ = may && others_wait && !empty() ? ahead_ + 1 : 0;
        return may ? take_first() : nullptr;
    }

    // The first of all; null: none is left.
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
        std::int64_t number;  // of equal deadlines the lower goes first
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
    std::size_t size_ = 0;        // of the heap: a group without deadlines asks often
    std::int64_t number_ = 0;
    std::int64_t front_ = 0;
    unsigned ahead_ = 0;  // have gone before the first of the FIFO
};

}  // namespace fairlead::sched
