// What a stage of a pipeline is told, and what it tells.
#pragma once

#include <fairlead/sched/task_name.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead {

/// How a stage of a pipeline runs. All have defaults.
struct stage_options {
    /// How many calls of its function run at once, at least one.
    std::size_t at_most = 1;
    /// How many items wait in front of it at most, at least one.
    std::size_t capacity = 16;
    /// For reports.
    task_name name = "stage";
};

/// How far a stage of a pipeline is.
struct stage_progress {
    task_name name = "stage";   ///< of its options
    std::uint64_t in = 0;       ///< items that it has taken
    std::uint64_t out = 0;      ///< of these, items whose result it has given
    std::uint64_t dropped = 0;  ///< of these, items that were overdue, failed, or came too late
    std::size_t in_flight = 0;  ///< the rest of these: calls that run, results that wait
    std::size_t waiting = 0;    ///< items in front of it
};

}  // namespace fairlead
