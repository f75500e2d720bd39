#include "sched/worker/stuck_search.hpp"

#include <algorithm>

namespace fairlead::sched {

bool stuck_search::clock_says_so(std::uint64_t finished) noexcept {
    if (finished - looked_at_step_ < run_queue::capacity) {
        const time_point now = clock::now();
        const duration passed = now - clock_;
        stride_ = passed > long_step ? 1 : std::min(stride_ * 2, stride_max);
        looks_to_clock_ = stride_;
        if (const std::uint64_t steps = finished - clock_step_; steps != 0) {
            steps_are_long_ = passed > long_step * static_cast<std::int64_t>(steps);
        }
        clock_ = now;
        clock_step_ = finished;
        if (now - looked_at_ < stuck_after) return false;
        looked_at_ = now;
    }
    looked_at_step_ = finished;
    return true;
}

stuck_search::found stuck_search::find(std::span<const std::unique_ptr<slot>> slots,
                                       const slot& own) noexcept {
    found all;
    std::size_t behind_it = 0;
    for (std::size_t left = std::min(slots.size(), looked_at_once); left != 0; --left) {
        const std::size_t i = next_;
        next_ = next_ + 1 == slots.size() ? 0 : next_ + 1;
        slot& other = *slots[i];
        if (&other == &own) continue;
        const std::uint64_t finished = other.finished.read();
        const bool stuck = seen_finished_[i] == finished;
        seen_finished_[i] = finished;
        all.some_keep_posts |= stuck && !other.outbox.empty();
        if (stuck && all.with_tasks == nullptr &&
            (!other.runs.empty() || other.outbox.has_open())) {
            all.with_tasks = &other;
            behind_it = next_;
        }
    }
    if (all.with_tasks != nullptr) next_ = behind_it;  // so that each such slot has its turn
    return all;
}

}  // namespace fairlead::sched
