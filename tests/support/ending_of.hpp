// How a sleep ended, as a value: for tests that compare.
#pragma once

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/task.hpp>

namespace fairlead::test {

/// Awaits `wait`, which has no result. Returns `expired` after its full time, `stopped` if a stop
/// ended it.
template <class Wait>
task<wake_reason> ending_of(Wait wait) {
    const auto ended = co_await as_result(wait);
    co_return ended.has_value() ? wake_reason::expired : wake_reason::stopped;
}

}  // namespace fairlead::test
