// Tasks of a group that are ready to run, in order; the oldest of those that may be dropped is at hand. Tasks with places may
// have to wait at the entry, in a line of their own. One thread at a time.
#pragma once

#include <fairlead/sched/task.hpp>

#include <cstddef>
#include <utility>

namespace fairlead::sched {

class group_queue {
public:
    // Before it is posted with a place.
    static void give_place(basic_task& task, bool may_be_dropped) noexcept {
        task.standing_ = may_be_dropped ? basic_task::may_be_dropped : basic_task::has_place;
    }

    // Whether none could run.
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
    // With those that wait at the entry.
    [[nodiscard]] std::size_t size() const noexcept { return all_.size() + entering_.size(); }

    // With a place it waits at the entry, if it `must`.
    void add(basic_task& task, bool must) noexcept {
        if (must && task.standing_ != basic_task::needs_none) {
            entering_.push_back(task);
        } else {
            push_back(task);
        }
    }

    // Whether some wait at the entry; the first of them goes on.
    [[nodiscard]] bool has_entering() const noexcept { return !entering_.empty(); }
    void let_one_in() noexcept { push_back(*entering_.pop_front()); }

    void push_back(basic_task& task) noexcept {
        droppable_ += may_be_dropped(task);
        all_.push_back(task);
    }

    // One that was popped.
    void push_front(basic_task& task) noexcept {
        if (may_be_dropped(task)) {
            ++droppable_;
            if (none_up_to_ != nullptr) ++put_back_;
        }
        all_.push_front(task);
    }

    // It is not dropped, unless it is put back.
    [[nodiscard]] basic_task& pop_front() noexcept {
        basic_task& first = *all_.pop_front();
        if (&first == none_up_to_) none_up_to_ = nullptr;
        if (may_be_dropped(first)) {
            --droppable_;
            if (put_back_ != 0) --put_back_;
        }
        return first;
    }

    // The oldest that may be dropped, or null. Looks at each task once, however often it is called, but for those that
    // stand among some that were put back.
    [[nodiscard]] basic_task* take_oldest_droppable() noexcept {
        if (droppable_ == 0) return entering_.pop_front();  // all have places
        --droppable_;
        basic_task* before = put_back_ != 0 ? nullptr : none_up_to_;
        for (basic_task* at = behind(before); !may_be_dropped(*at); at = behind(at)) before = at;
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
        droppable_ = 0;
        all_.append(std::exchange(entering_, {}));
        return std::exchange(all_, {});
    }

private:
    static bool may_be_dropped(const basic_task& task) noexcept {
        return task.standing_ == basic_task::may_be_dropped;
    }
    [[nodiscard]] basic_task* behind(const basic_task* task) const noexcept {
        return task == nullptr ? all_.front() : task->next_;
    }

    basic_task::chain all_;
    basic_task::chain entering_;
    std::size_t droppable_ = 0;
    basic_task* none_up_to_ = nullptr;  // nor before it, but for `put_back_`; null: not known
    std::size_t put_back_ = 0;          // before it, of those that may be dropped
};

}  // namespace fairlead::sched
