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

    /// The task does not belong to the request that starts it: it has no deadline from it, and of
    /// the context only what reaches messages, such as the trace. Tasks of a scope ignore it: they
    /// have the context of the scope.
    bool detached = false;
};

}  // namespace fairlead
