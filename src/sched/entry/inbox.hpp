// The inbox of a scheduler: what any thread posts, in one front for each lane.
//
//     any thread      push ---> lane::everyone ----+
//                     push ---> lane::groups   ----+---> take: the holder of the role
//                     push ---> lane::control  ----+
//     a step   push_behind ---> behind everyone ---+---> take_behind, before it takes everyone
//
// With several workers, what steps post behind posts of other threads has a front of its own. In
// one front with these it would keep the lane from becoming empty: ADR 56.
//
// Invariants
//   1. Tasks of one front come out in the order of their pushes.
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
        const bool was_empty = fronts_[index(to)].push_reversed(newest, oldest);
        trace("push", &newest, was_empty);
        return was_empty ? wake_duty::announce : wake_duty::none;
    }
    // The same behind what lane::everyone has now.
    [[nodiscard]] wake_duty push_behind(basic_task& newest, basic_task& oldest) noexcept {
        const bool was_empty = behind_.push_reversed(newest, oldest);
        trace("push_behind", &newest, was_empty);
        return was_empty ? wake_duty::announce : wake_duty::none;
    }

    // Any thread. A hint, unless ordered by [ID1] or [ID2].
    [[nodiscard]] bool empty(lane of) const noexcept { return fronts_[index(of)].empty(); }
    [[nodiscard]] bool has_behind() const noexcept { return !behind_.empty(); }
    [[nodiscard]] bool has_ungrouped() const noexcept {
        return !empty(lane::everyone) || has_behind();
    }
    [[nodiscard]] bool has_grouped() const noexcept {
        return !empty(lane::groups) || !empty(lane::control);
    }

    // Takes all tasks of a lane, newest -> ... -> oldest, or null. The holder of the role.
    [[nodiscard]] basic_task* take(lane from) noexcept {
        basic_task* const newest = fronts_[index(from)].take_reversed();
        trace("take", reversed_tasks{newest});
        return newest;
    }
    [[nodiscard]] basic_task* take_behind() noexcept {
        basic_task* const newest = behind_.take_reversed();
        if (newest != nullptr) trace("take_behind", reversed_tasks{newest});
        return newest;
    }

private:
    [[nodiscard]] static std::size_t index(lane of) noexcept {
        return static_cast<std::size_t>(of);
    }

    struct alignas(base::cache_line) front : front_queue {};  // threads meet at each
    std::array<front, 3> fronts_;
    front behind_;  // lane::everyone
};

}  // namespace fairlead::sched
