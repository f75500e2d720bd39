// Tasks for scenarios of a whole scheduler, and a check of the time when a scenario is over.
#pragma once

#include "model/explore.hpp"

#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/options.hpp>

#include <functional>
#include <utility>

namespace fairlead::model {

inline void require_before(duration limit) { require(clock::now() < time_point{limit}, "in time"); }
inline void require_no_time_out() {
    require(clock::now() == time_point{}, "no time-out was needed");
}

// A task that runs a function. Two steps of the task at the same time are a race.
class task_of {
public:
    explicit task_of(std::function<void(callback_task&)> body) : body_{std::move(body)} {}
    explicit task_of(std::function<void()> body)
        : body_{[body = std::move(body)](callback_task&) { body(); }} {}

    operator callback_task&() { return task_; }
    void wakeup() { task_.wakeup(); }

private:
    void step(callback_task& task) {
        last_step_ = last_step_ + 1;
        body_(task);
    }

    std::function<void(callback_task&)> body_;
    plain<int> last_step_{0};  // two steps at once would be a race
    callback_task task_{[this](callback_task& task) { step(task); }};
};

struct counter {
    plain<int> steps{0};
    task_of task{[this] { steps = steps + 1; }};
};

// The policies. They differ where steps post plainly.
inline constexpr auto policies = {policy::fair, policy::stealing};

}  // namespace fairlead::model
