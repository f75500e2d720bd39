// What the role has taken from the fronts, on its way to admission.
#pragma once

#include <fairlead/detail/base/cache_line.hpp>
#include <fairlead/detail/lockfree/front_queue.hpp>
#include <fairlead/sched/task.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace fairlead::sched {

using front_queue = lockfree::front_queue<basic_task, basic_task::link>;

// The stacks that were taken from fronts, in order. Each is newest first, as it came: a burst is in
// no cache by the time that it is admitted, so a stack is turned over only then.
class arrived_tasks {
public:
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] bool full() const noexcept { return size_ == stacks_.size(); }

    void push(basic_task& newest) noexcept {
        stacks_[(first_ + size_) % stacks_.size()] = &newest;
        ++size_;
    }

    // Takes the oldest stack, and turns it over: oldest first.
    [[nodiscard]] basic_task::chain pop() noexcept {
        basic_task* const newest = stacks_[first_];
        // An empty ring begins at 0 again, so a short one stays in one cache line.
        first_ = --size_ == 0 ? 0 : (first_ + 1) % stacks_.size();
        return front_queue::turn_over(newest);
    }

private:
    std::size_t first_ = 0;
    std::size_t size_ = 0;
    std::array<basic_task*, 1024> stacks_;
};

// The tasks that wait for admission: those of `first` are older, and turned over already.
struct alignas(base::cache_line) arrivals {
    [[nodiscard]] bool empty() const noexcept { return first.empty() && then.empty(); }

    void add(basic_task* newest) noexcept {
        if (newest == nullptr) return;
        if (then.full()) first.append(then.pop());
        then.push(*newest);
    }
    // The tasks of a list, oldest first.
    void add(basic_task::chain tasks) noexcept {
        turn_over(SIZE_MAX);
        first.append(std::move(tasks));
    }

    // Turns stacks over until `first` has `wanted` tasks, or no stack is left.
    void turn_over(std::size_t wanted) noexcept {
        while (first.size() < wanted && !then.empty()) first.append(then.pop());
    }

    basic_task::chain first;
    arrived_tasks then;
};

}  // namespace fairlead::sched
