// The search for slots whose step lasts long, while all workers are busy.
//
// Under saturation no worker is idle, so none steals. A worker takes over the tasks of a slot on
// which no step has ended since it looked last, so that they do not wait for one long step. Looking
// touches the lines of up to 16 slots, so it is done every full run of short steps, or after a
// while. The clock is read less often while runs are short, and each time once one was long.
#pragma once

#include "sched/slot/slot.hpp"

#include <fairlead/base/time.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace fairlead::sched {

// How a look for long steps has come to a task: by a round, and not a theft; between two tasks, or
// before the round of a look at the clock.
enum class found_by : std::uint8_t { round, look_between_tasks, look_before_round };

class stuck_search {
public:
    // Of `width` slots; the first look begins at the slot of this index. `steals`: with
    // policy::stealing. Throws std::bad_alloc.
    stuck_search(std::size_t width, std::size_t first, bool steals)
        : steals_{steals}, next_{first}, seen_finished_(width) {}

    // Whether it is time to look between two tasks: so many steps have ended on the slot of the
    // calling worker, or a while has passed.
    [[nodiscard]] bool is_due(std::uint64_t finished) noexcept {
        const std::uint64_t steps = finished - looked_at_step_;
        if (steps < run_queue::capacity && --looks_to_clock_ != 0) return false;
        return clock_says_so(finished) && begins(found_by::look_between_tasks);
    }

    // The same before a round: whether the last such time was so long ago.
    [[nodiscard]] bool is_due(time_point now, duration interval) noexcept {
        if (now - looked_at_ < interval || !begins(found_by::look_before_round)) return false;
        looked_at_ = now;
        return true;
    }

    // Each of these ways may lead to a task each time, and what else there is would wait for ever.
    // So a way that did is left out once. A look stands back for what comes next where it was made:
    // the two looks do not count as each other's turns.
    void had_turn(found_by way) noexcept { had_turn_[std::to_underlying(way)] = true; }
    // The look that was due last. Between two tasks only a deque of posts could be filled for ever.
    void had_turn() noexcept {
        if (steals_ || look_ == found_by::look_before_round) had_turn(look_);
    }
    // Whether it is left out now. The question ends that.
    [[nodiscard]] bool stands_back(found_by way) noexcept {
        return std::exchange(had_turn_[std::to_underlying(way)], false);
    }

    // Whether a step takes longer than 25 us, on average since the clock was read before.
    [[nodiscard]] bool steps_are_long() const noexcept { return steps_are_long_; }

    struct found {
        slot* with_tasks = nullptr;  // that any worker may take
        bool some_keep_posts = false;
    };
    // Looks at the next 16 slots, but for the own one, so its cost does not grow with the workers;
    // how long a slot must have been stuck does. `with_tasks`: the first that is stuck with tasks.
    [[nodiscard]] found find(std::span<const std::unique_ptr<slot>> slots,
                             const slot& own) noexcept;

private:
    static constexpr duration stuck_after = std::chrono::microseconds{100};
    static constexpr duration long_step = stuck_after / 4;
    static constexpr unsigned stride_max = 16;
    static constexpr std::size_t looked_at_once = 16;

    [[nodiscard]] bool clock_says_so(std::uint64_t finished) noexcept;
    [[nodiscard]] bool begins(found_by look) noexcept {
        look_ = look;
        return !stands_back(look);
    }

    const bool steals_;
    unsigned stride_ = 1;
    unsigned looks_to_clock_ = 1;
    time_point clock_{};  // when it was read, and how many steps had ended then
    std::uint64_t clock_step_ = 0;
    bool steps_are_long_ = true;
    std::uint64_t looked_at_step_ = 0;
    time_point looked_at_{};
    std::array<bool, 3> had_turn_{};
    found_by look_{};
    std::size_t next_;                          // the slot at which the next look begins
    std::vector<std::uint64_t> seen_finished_;  // of each slot, when it was looked at last
};

}  // namespace fairlead::sched
