// The outcome of a task that is neither a result nor a failure.
#pragma once

#include <fairlead/sched/stopped_by.hpp>

#include <exception>
#include <utility>

namespace fairlead {

/// The third outcome, which is no failure: a task that was asked to stop waited, and the wait has
/// no value to say so; or the scheduler was destroyed before the task could end. Allocates no text:
/// a stop must reach its task also when memory runs out.
class stopped_error : public std::exception {
public:
    /// `why`: the reason of the stop, which `reason` tells.
    explicit stopped_error(stopped_by why = stopped_by::unsaid) noexcept : reason_{why} {}

    /// A text for a log.
    [[nodiscard]] const char* what() const noexcept override {
        return "the task was stopped before it ended";
    }
    /// Why the task was stopped that has thrown this.
    [[nodiscard]] stopped_by reason() const noexcept { return reason_; }

private:
    stopped_by reason_;
};

namespace coro {

[[noreturn]] void throw_stopped(stopped_by why = stopped_by::unsaid);

// A task that ends with this has not failed.
inline bool is_stop(const std::exception_ptr& failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const stopped_error&) {
        return true;
    } catch (...) {
        return false;
    }
}

// Whether a later failure counts more.
inline bool gives_way(const std::exception_ptr& first) noexcept {
    return first == nullptr || is_stop(first);
}

}  // namespace coro
}  // namespace fairlead
