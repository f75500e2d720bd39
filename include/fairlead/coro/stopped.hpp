// The outcome of a task that is neither a result nor a failure.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

namespace fairlead {

/// The third outcome, which is no failure: a task that was asked to stop waited, and the wait has
/// no value to say so; or the scheduler was destroyed before the task could end.
class stopped_error : public std::runtime_error {
public:
    stopped_error() : std::runtime_error{"the task was stopped before it ended"} {}
};

namespace coro {

[[noreturn]] void throw_stopped();

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
