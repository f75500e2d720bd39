// What a task can be given when it is spawned.
#pragma once

#include <fairlead/sched/task_name.hpp>

#include <stop_token>

namespace fairlead {

/// All have defaults: `spawn(scheduler, body(), {.name = "session", .stop = source.get_token()})`.
struct spawn_options {
    /// For reports.
    task_name name = "coroutine";

    /// Asks the task to stop when its source does. A request before the first step counts, too.
    std::stop_token stop = {};
};

}  // namespace fairlead
