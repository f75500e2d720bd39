// When a worker looks at the clock between two steps: every few steps, which adapts to their
// length.
//
// While steps are short it looks less often, up to every `stride_max` steps. After a long step it
// looks at each step, until two looks in a row have found short steps.
#pragma once

#include <fairlead/base/time.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace fairlead::sched {

class clock_looks {
public:
    // A step is about to begin: whether the clock is to be looked at before.
    [[nodiscard]] bool is_due() noexcept { return --steps_left_ == 0; }

    void be_due_next() noexcept { steps_left_ = 1; }

    // The clock was looked at. Whether steps are short: at this look and the one before, no more
    // than the limit had passed since the look before it.
    bool look(time_point now, duration limit) noexcept {
        const bool were_short = std::exchange(short_steps_, now - last_look_ <= limit);
        const bool short_steps = were_short && short_steps_;
        stride_ = short_steps ? std::min(stride_ * 2, stride_max) : 1;
        steps_left_ = stride_;
        last_look_ = now;
        return short_steps;
    }

    // A look may find a task that goes before what waits: one of a step that lasts, or a sleeper
    // that overtakes. Both may be found for ever. So after two such steps in a row what waits has
    // its turn. `step`: the number of the step that is about to begin.
    [[nodiscard]] bool may_give(std::uint64_t step) noexcept {
        if (step != gave_at_ + 1) gave_ = 0;
        return gave_ != 2;
    }
    void gave(std::uint64_t step) noexcept {
        gave_at_ = step;
        ++gave_;
    }

private:
    static constexpr unsigned stride_max = 16;

    unsigned stride_ = 1;
    unsigned steps_left_ = 1;
    bool short_steps_ = true;
    time_point last_look_{};
    std::uint64_t gave_at_ = 0;
    unsigned gave_ = 0;  // in a row
};

}  // namespace fairlead::sched
