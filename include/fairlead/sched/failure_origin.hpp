// From which task an exception came, and through which it has passed.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <source_location>
#include <span>
#include <string>

namespace fairlead {

/// A task that an exception has left.
struct failed_task {
    /// The name of the task.
    const char* name;
    /// The call that spawned the task. Its line is 0 if the call does not tell, such as `when_all`.
    std::source_location spawned_at;
};

/// The tasks that an exception has left, one after the other. Refers to the list; see where you
/// got it for how long that lasts.
class failure_origin {
public:
    /// @cond internal
    explicit failure_origin(std::span<const failed_task> tasks) noexcept : tasks_{tasks} {}
    /// @endcond

    /// The tasks: first the task that threw, then the task that has joined it, and so on. At least
    /// one.
    [[nodiscard]] std::span<const failed_task> tasks() const noexcept { return tasks_; }

    /// The task that threw.
    [[nodiscard]] const failed_task& thrower() const noexcept { return tasks_.front(); }

    /// The task that the exception left last.
    [[nodiscard]] const failed_task& last() const noexcept { return tasks_.back(); }

    /// One line for a log: `"upload" of "request", spawned at server.cpp:30`. The place is that of
    /// the task that threw. Throws `std::bad_alloc`.
    [[nodiscard]] std::string to_string() const;

private:
    std::span<const failed_task> tasks_;
};

}  // namespace fairlead
