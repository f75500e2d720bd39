// A value that asynchronous steps make out of a sequence, one element after the other.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/child_group.hpp>

#include <iterator>
#include <type_traits>
#include <utility>

namespace fairlead {
/// @cond internal
namespace combine {

template <class Range>
using element_of = decltype(*std::ranges::begin(std::declval<Range&>()));

template <class Range, class Value, class Step>
using fold_step = coro::awaited_t<std::invoke_result_t<Step&, Value, element_of<Range>>>;

// `Range` is a reference if the range was passed as an lvalue.
template <class Range, class Value, class Step>
task<fold_step<Range, Value, Step>> fold_over(Range range, Value first, Step step) {
    using result = fold_step<Range, Value, Step>;
    const coro::root& self = co_await coro::running_root();
    Value value = std::move(first);
    const auto end = std::ranges::end(range);
    for (auto at = std::ranges::begin(range); at != end; ++at) {
        if (self.hears_stop()) coro::throw_stopped(self.stop_reason());
        if constexpr (coro::is_expected<result>) {
            auto next = co_await step(std::move(value), *at);
            if (!next) co_return std::unexpected{std::move(next).error()};
            value = *std::move(next);
        } else {
            value = co_await step(std::move(value), *at);
        }
        co_await checkpoint();
    }
    co_return result{std::move(value)};
}

}  // namespace combine
/// @endcond

/// Awaits `value = step(std::move(value), element)` for each element of `range`, in order, from
/// `first` on, and gives the last value. A step gives a task or any other awaitable. The first
/// failure ends the loop: an exception is rethrown; if the steps give `std::expected<Value, E>`,
/// so does `fold`. A stop ends the loop before the next step with `stopped_error`. Other tasks have
/// their turn when the slice is over.
///
/// A range that is passed as an lvalue must last until the loop has ended; any other range is moved
/// into the loop.
template <class Range, class Value, class Step>
[[nodiscard]] task<combine::fold_step<Range, Value, Step>> fold(Range&& range, Value first,
                                                                Step step) {
    return combine::fold_over<Range, Value, Step>(std::forward<Range>(range), std::move(first),
                                                  std::move(step));
}

}  // namespace fairlead
