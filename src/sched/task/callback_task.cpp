#include <fairlead/detail/sched/access.hpp>
#include <fairlead/sched/callback_task.hpp>

#include <exception>

namespace fairlead {

// `abandon` does nothing: the user owns the task, and may post it elsewhere.
const task_kind callback_task::kind{.run = run_step, .abandon = [](basic_task&) noexcept {}};

[[gnu::hot]] void callback_task::run_step(basic_task& task) noexcept {
    auto& self = static_cast<callback_task&>(task);
    FAIRLEAD_ASSERT(static_cast<bool>(self.step_), "a callback_task was posted without a callback");
    callback step = self.step_;  // a copy: the callback may replace its own, or free the task
    try {
        step(self);
    } catch (...) {
        sched::access::report_of_step(std::current_exception());
    }
}

}  // namespace fairlead
