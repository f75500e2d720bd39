// How a task has ended, as a value.
#pragma once

#include <fairlead/coro/stopped.hpp>

#include <cstddef>
#include <exception>
#include <expected>
#include <type_traits>

namespace fairlead {

/// The result of a task, or the exception with which it has ended; after a stop that is a
/// `stopped_error`.
template <class T>
using settled = std::expected<T, std::exception_ptr>;

/// Whether the task has ended without a result because it was asked to stop. Costs a throw if there
/// is no result.
template <class T>
[[nodiscard]] bool was_stopped(const settled<T>& ended) noexcept {
    return !ended.has_value() && coro::is_stop(ended.error());
}

/// One of several tasks, and how it has ended.
template <class T>
struct completion {
    static_assert(!std::is_reference_v<T>,
                  "a std::expected cannot hold a reference: let the task give a pointer");

    /// Which one, from 0.
    std::size_t index;
    /// How it has ended.
    settled<T> result;
};

}  // namespace fairlead
