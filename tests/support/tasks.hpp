// Tasks that record their steps.
#pragma once

#include "support/simulated.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

namespace fairlead::test {

// A failed test may leave its task posted, which aborts the program. Its messages must be printed
// before, so the output is buffered by lines.
inline const bool lines_come_out = std::setvbuf(stdout, nullptr, _IOLBF, 0) == 0;

/// Writes its number into a log at each step.
class numbered final : public callback_task {
public:
    numbered(std::vector<int>& log, int number) noexcept
        : callback_task{[](callback_task& self) {
                            auto& own = static_cast<numbered&>(self);
                            own.log_.push_back(own.number_);
                        },
                        "numbered"},
          log_{log},
          number_{number} {}

private:
    std::vector<int>& log_;
    const int number_;
};

/// Runs a function at each step, and records why it ran. Unlike a callback of the library its
/// function may capture anything.
class scripted final : public callback_task {
public:
    explicit scripted(std::function<void(scripted&)> step = {}, task_name name = "scripted")
        : callback_task{[](callback_task& self) { static_cast<scripted&>(self).run(); }, name},
          step_{std::move(step)} {}

    void then(std::function<void(scripted&)> step) { step_ = std::move(step); }

    int runs = 0;
    bool was_expired = false;
    bool was_signalled = false;

private:
    void run() {
        ++runs;
        was_expired = expired();
        was_signalled = signalled();
        if (step_) {
            const auto step = step_;  // the step may set the next one
            step(*this);
        }
    }

    std::function<void(scripted&)> step_;
};

/// A scheduler on the caller, in simulated time.
struct simulation {
    explicit simulation(policy policy = policy::fair)
        : scheduler{simulated(clock, driver, policy)} {}

    /// What `body` gives, which must end without waiting for time.
    template <class T>
    T run(task<T> body) {
        auto handle = spawn(scheduler, std::move(body));
        scheduler.run_until_idle();
        return handle.get();
    }

    manual_clock clock;
    simulated_driver* driver = nullptr;
    fairlead::scheduler scheduler;
};

}  // namespace fairlead::test
