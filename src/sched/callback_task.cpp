#include <fairlead/sched/callback_task.hpp>

namespace fairlead {

// Its user owns it, and may post it elsewhere.
const task_kind callback_task::kind{.run = run_step, .abandon = [](basic_task&) noexcept {}};

void callback_task::run_step(basic_task& task) noexcept {
    auto& self = static_cast<callback_task&>(task);
    FAIRLEAD_ASSERT(static_cast<bool>(self.step_), "a callback_task was posted without a callback");
    callback step = self.step_;  // a copy: the callback may replace its own, or free the task
    step(self);
}

}  // namespace fairlead
