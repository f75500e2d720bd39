// How a sleep ended, as a value: for tests that compare.
#pragma once

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/task.hpp>

namespace fairlead::test {

/// Awaits `wait`, which has no result. Returns `expired` after its full time, `stopped` if a stop
/// ended it, `overdue` if a deadline of the context did.
template <class Wait>
task<wake_reason> ending_of(Wait wait) {
    const auto ended = co_await as_result(wait);
    if (ended) co_return wake_reason::expired;
    co_return ended.error() == wait_error::overdue ? wake_reason::overdue : wake_reason::stopped;
}

}  // namespace fairlead::test
