// The failure of a task whose inherited deadline has passed.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/coro/context_node.hpp>

#include <exception>
#include <utility>

namespace fairlead {

/// A deadline of the context has passed, and a wait had no value to say so; or the deadline passed
/// before the first step of the task, which has not begun then. It is a failure, unlike
/// `stopped_error`: it reaches the joining task, or is reported, with the names of the tasks that
/// it has left. Of a task whose handle was dropped it goes to the error sink or to `on_unhandled`;
/// without either, a line is printed, and the program goes on. The `with_deadline` that has set the
/// deadline turns it into `expired`.
class overdue_error : public std::exception {
public:
    /// @cond internal
    explicit overdue_error(coro::held_context of) noexcept : of_{std::move(of)} {}

    /// The node whose deadline has passed. The error holds it.
    [[nodiscard]] const coro::context_node* limit() const noexcept { return of_.word().limit(); }
    /// @endcond

    /// A text for a log.
    [[nodiscard]] const char* what() const noexcept override {
        return "the deadline of the work has passed";
    }

    /// The deadline that has passed. Any thread.
    [[nodiscard]] time_point deadline() const noexcept { return of_.word().deadline(); }

private:
    coro::held_context of_;
};

namespace coro {

/// Rethrows it, so it is for failures that no task joins.
[[nodiscard]] inline bool is_overdue_failure(const std::exception_ptr& failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const overdue_error&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace coro

}  // namespace fairlead
