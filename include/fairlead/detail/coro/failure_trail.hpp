// The tasks that an exception has left so far, on its way from one task to the next.
//
// A task that fails hands its failure to the task that joins it. The trail goes the same way: each
// task adds itself at its end. A joining task keeps the trail with the failure. If the joining task
// ends with the same exception, it passes the trail on; with any other exception it has thrown
// itself, and a new trail begins.
//
// A trail is made when a task fails. Without memory there is none, and the report names the last
// task alone.
#pragma once

#include <fairlead/sched/failure_origin.hpp>
#include <fairlead/sched/task_name.hpp>

#include <exception>
#include <memory>
#include <source_location>
#include <vector>

namespace fairlead::coro {

/// What reports say of a task.
struct task_label {
    task_name name;
    std::source_location spawned_at = {};
};

struct failure_trail {
    std::exception_ptr failure;      // also keeps its address from being used again
    std::vector<failed_task> tasks;  // the task that threw first
};

/// Of the last failure of a task that this one has joined, until this one ends. One thread at a
/// time.
class kept_trail {
public:
    kept_trail() = default;
    kept_trail(const kept_trail&) = delete;
    kept_trail& operator=(const kept_trail&) = delete;
    ~kept_trail() {
        if (trail_ != nullptr) [[unlikely]]
            forget();
    }

    /// Of the failure that is about to be thrown here. Null: there was no memory for it.
    void keep(std::unique_ptr<failure_trail> trail) noexcept;

    /// The trail of `failure`, which stays here. Null: there is none.
    [[nodiscard]] const failure_trail* of(const std::exception_ptr& failure) const noexcept;

    /// The same, which is the caller's from now on.
    [[nodiscard]] std::unique_ptr<failure_trail> take(const std::exception_ptr& failure) noexcept;

    /// The same, of `failure`, with which the task has ended: the task itself comes last.
    [[nodiscard]] std::unique_ptr<failure_trail> take_with(const std::exception_ptr& failure,
                                                           failed_task last) noexcept;

private:
    void forget() noexcept;

    failure_trail* trail_ = nullptr;
};

}  // namespace fairlead::coro
