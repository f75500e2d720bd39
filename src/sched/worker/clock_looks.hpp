// When a worker looks at the clock between two steps: every few steps, which adapts to their
// length.
//
// While steps are short it looks less often, up to every `stride_max` steps. After a long step it
// looks at each step, until two looks in a row have found short steps.
#pragma once

#include <fairlead/base/time.hpp>

#include <algorithm>
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

private:
    static constexpr unsigned stride_max = 16;

    unsigned stride_ = 1;
    unsigned steps_left_ = 1;
    bool short_steps_ = true;
    time_point last_look_{};
};

}  // namespace fairlead::sched
