// A task that runs a callback for each step: a state machine without coroutines.
#pragma once

#include <fairlead/detail/base/delegate.hpp>
#include <fairlead/sched/task.hpp>

namespace fairlead {

/// A task of at most 96 bytes, owned by the user, that runs a callback for each step. The callback
/// may set the next callback and post the task again, or free it: after the call it is not touched.
///
/// The callable must be trivially copyable and fit 24 bytes: capture a pointer to your own object.
/// It stays for the next post until it is replaced. An exception that leaves it goes
/// to `on_unhandled` with the name of the task, and ends the step.
class callback_task : public basic_task {
public:
    /// What a step calls: a callable of at most 24 bytes that is trivially copyable.
    using callback = base::delegate<void(callback_task&), 24>;

    callback_task() noexcept : callback_task{callback{}} {}

    /// `name`: for reports.
    explicit callback_task(callback step, task_name name = "callback_task") noexcept
        : basic_task{kind, name}, step_{step} {}

    /// Sets what the next step does. For the task itself during a step, or for its user while it is
    /// not posted. May replace the callback that is running.
    void set_callback(callback step) noexcept { step_ = step; }

    /// Sets the name. A step that runs keeps the name it began with.
    using basic_task::set_name;

private:
    static void run_step(basic_task& task) noexcept;
    static const task_kind kind;

    callback step_;
};

static_assert(sizeof(callback_task) <= 96 || sizeof(task_state) != 4);  // as for basic_task

}  // namespace fairlead
