// Tasks of a group that are ready to run, in order; the oldest of those with permits is at hand, which may be dropped. They may
// have to wait at the entry, in a line of their own. One thread at a time.
#pragma once

#include "sched/task_access.hpp"

#include <fairlead/sched/task.hpp>

#include <cstddef>
#include <utility>

namespace fairlead::sched {

class group_queue {
public:
    // Whether nobody is there who need not enter.
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
    // With those that wait at the entry.
    [[nodiscard]] std::size_t size() const noexcept { return all_.size() + entering_.size(); }

    // With a permit it has to enter first, if it `must`, or others wait for that.
    void add(basic_task& task, bool must) noexcept {
        if (task_access::has_permit(task) && (must || has_entering())) {
            entering_.push_back(task);
        } else {
            push_back(task);
        }
    }

    // Whether some wait at the entry; takes the first.
    [[nodiscard]] bool has_entering() const noexcept { return !entering_.empty(); }
    [[nodiscard]] basic_task& enter() noexcept { return *entering_.pop_front(); }
    // One that has entered, and was not dealt after all.
    void leave(basic_task& task) noexcept { entering_.push_front(task); }

    void push_back(basic_task& task) noexcept {
        with_permits_ += task_access::has_permit(task);
        all_.push_back(task);
    }

    // One that was popped.
    void push_front(basic_task& task) noexcept {
        if (task_access::has_permit(task)) {
            ++with_permits_;
            if (none_up_to_ != nullptr) ++put_back_;
        }
        all_.push_front(task);
    }

    // It is not dropped, unless it is put back.
    [[nodiscard]] basic_task& pop_front() noexcept {
        basic_task& first = *all_.pop_front();
        if (&first == none_up_to_) none_up_to_ = nullptr;
        if (task_access::has_permit(first)) {
            --with_permits_;
            if (put_back_ != 0) --put_back_;
        }
        return first;
    }

    // The oldest that has a permit, or null. Looks at each task once, however often it is called, but for those that
    // stand among some that were put back.
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

    // All, as they are.
    [[nodiscard]] basic_task::chain take_all() noexcept {
        none_up_to_ = nullptr;
        put_back_ = 0;
        with_permits_ = 0;
        all_.append(std::exchange(entering_, {}));
        return std::exchange(all_, {});
    }

private:
    [[nodiscard]] basic_task* behind(const basic_task* task) const noexcept {
        return task == nullptr ? all_.front() : task->*basic_task::link;
    }

    basic_task::chain all_;
    basic_task::chain entering_;
    std::size_t with_permits_ = 0;
    basic_task* none_up_to_ = nullptr;  // nor before it, but for `put_back_`; null: not known
    std::size_t put_back_ = 0;          // before it, of those with permits
};

}  // namespace fairlead::sched
