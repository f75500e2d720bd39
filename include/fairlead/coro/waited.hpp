// How a wait that gives a value says that it has none.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>
#include <expected>

namespace fairlead {

/// Why a wait ended without what it waited for.
enum class wait_error : std::uint8_t {
    stopped,  ///< the task was asked to stop
    expired,  ///< the deadline of the wait has passed
    overdue,  ///< a deadline that the task has inherited has passed: see `with_deadline`
    closed,   ///< what it waits for was closed, and will not come
    /// A call that does not wait would have to: a channel is full, or empty.
    would_wait,
    broken,  ///< what was to give it is gone: a promise was destroyed without a result
};

/// What a wait gives: a value, or why there is none.
template <class T>
using waited = std::expected<T, wait_error>;

}  // namespace fairlead
