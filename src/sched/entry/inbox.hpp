// The inbox of a scheduler: what any thread posts, in one front for each lane.
//
//     any thread      push ---> lane::everyone  ---+
//                     push ---> lane::groups    ---+---> take: the holder of the role
//                     push ---> lane::control   ---+
//
// Invariants
//   1. Tasks of one lane come out in the order of their pushes.
//   2. Of the pushes that one `take` answers, exactly one had to announce: see idle::all_left.
//
// Progress: push is lock-free, take wait-free. Model test: tests/model/front_queue_test.cpp.
#pragma once

#include "sched/entry/arrivals.hpp"
#include "sched/entry/wake_duty.hpp"
#include "sched/task/trace.hpp"

#include <fairlead/sched/executor.hpp>

#include <array>
#include <cstddef>

namespace fairlead::sched {

class inbox {
public:
    // Pushes newest -> ... -> oldest. Any thread. Without a duty the push is the last touch.
    [[nodiscard]] wake_duty push(lane to, basic_task& newest, basic_task& oldest) noexcept {
        const bool was_empty = front(to).push_reversed(newest, oldest);
        trace("push", &newest, was_empty);
        return was_empty ? wake_duty::announce : wake_duty::none;
    }

    // Any thread. A hint, unless ordered by [ID1] or [ID2].
    [[nodiscard]] bool empty(lane of) const noexcept {
        return fronts_[static_cast<std::size_t>(of)].empty();
    }
    [[nodiscard]] bool has_grouped() const noexcept {
        return !empty(lane::groups) || !empty(lane::control);
    }

    // Takes all tasks of a lane, newest -> ... -> oldest, or null. The holder of the role.
    [[nodiscard]] basic_task* take(lane from) noexcept {
        basic_task* const newest = front(from).take_reversed();
        trace("take", reversed_tasks{newest});
        return newest;
    }

private:
    [[nodiscard]] front_queue& front(lane of) noexcept {
        return fronts_[static_cast<std::size_t>(of)];
    }

    std::array<front_queue, 3> fronts_;
};

}  // namespace fairlead::sched
