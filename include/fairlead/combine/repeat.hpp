// A loop of asynchronous steps, one after the other.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/child_group.hpp>

#include <concepts>
#include <cstddef>
#include <expected>
#include <type_traits>
#include <utility>

namespace fairlead {
/// @cond internal
namespace combine {

template <class Step>
auto make_step(Step& step, std::size_t index) {
    if constexpr (std::invocable<Step&, std::size_t>) {
        return step(index);
    } else {
        return step();
    }
}

// What the loop gives: nothing, unless a step may fail by a value.
template <class T>
struct loop_result {
    using type = void;
};
template <class T, class E>
struct loop_result<std::expected<T, E>> {
    using type = std::expected<void, E>;
};
template <class Step>
using step_result = coro::awaited_t<decltype(make_step(std::declval<Step&>(), std::size_t{}))>;
template <class Step>
using repeated = typename loop_result<step_result<Step>>::type;

}  // namespace combine
/// @endcond

/// Awaits `step()`, or `step(index)` with an index from 0, `count` times, one after the other. A
/// step gives a task or any other awaitable. The first failure ends the loop: an exception is
/// rethrown; if the steps give `std::expected<T, E>`, the loop gives `std::expected<void, E>`. A
/// stop ends the loop before the next step with `stopped_error`. Other tasks have their turn when
/// the slice is over.
template <class Step>
[[nodiscard]] task<combine::repeated<Step>> repeat(std::size_t count, Step step) {
    using result = combine::repeated<Step>;
    const coro::root& self = co_await coro::running_root();
    for (std::size_t index = 0; index != count; ++index) {
        if (self.hears_stop()) coro::throw_stopped(self.stop_reason());
        if constexpr (std::is_void_v<result>) {
            static_cast<void>(co_await combine::make_step(step, index));
        } else {
            auto ended = co_await combine::make_step(step, index);
            if (!ended) co_return std::unexpected{std::move(ended).error()};
        }
        co_await checkpoint();
    }
    if constexpr (!std::is_void_v<result>) co_return result{};
}

}  // namespace fairlead
