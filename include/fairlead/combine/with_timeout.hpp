// A limit of time around a task, or around any other wait.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>

#include <expected>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fairlead {
/// @cond internal
namespace combine {

// A child that gives `waited` says so itself that it was stopped.
template <class T>
struct timed_result {
    using type = waited<T>;
};
template <class T>
struct timed_result<waited<T>> {
    using type = waited<T>;
};
template <class T>
using timed = typename timed_result<T>::type;

template <class T>
task<timed<T>> await_until(time_point deadline, task<T> body) {
    const coro::root& waiting = co_await coro::running_root();
    coro::some_tasks<T> only{std::move(body)};
    coro::children<coro::some_tasks<T>> all{
        waiting,
        {.name = "with_timeout", .decides = coro::child_failed, .stops = coro::missing_result},
        only};
    co_await all.run(deadline, 1);
    auto ended = coro::outcome_of(all);
    if (!ended) co_return std::unexpected{ended.error()};
    if constexpr (std::is_void_v<T>) {
        co_return timed<T>{};
    } else if constexpr (std::is_same_v<T, timed<T>>) {
        const bool was_cut = !std::get<0>(*ended).has_value() && all.group().is_late() &&
                             std::get<0>(*ended).error() == wait_error::stopped;
        if (was_cut) co_return std::unexpected{wait_error::expired};
        co_return std::get<0>(*std::move(ended));
    } else {
        co_return std::get<0>(*std::move(ended));
    }
}

template <class T>
task<timed<T>> await_for(time_span limit, task<T> body) {
    const coro::root& waiting = co_await coro::running_root();
    co_return co_await await_until(after(waiting.home().now(), limit), std::move(body));
}

}  // namespace combine
/// @endcond

/// Runs `child` as a task, and asks it to stop at `deadline`. Waits until it has ended, and gives
/// `waited` of its result:
///
/// - the result, even if it comes after the deadline;
/// - `expired` if the child has ended without one because of the deadline;
/// - `stopped` if the waiting task was asked to stop before the deadline, and the child has passed
///   that on.
///
/// An exception of the child is rethrown. A child that gives `waited<T>` gives `waited<T>` here,
/// too: its `stopped` becomes `expired` if the deadline has caused it. A wait of the library that
/// takes a deadline itself needs no `with_timeout`, and no task. Children are as those of
/// `when_all`. Allocates the frame; throws `std::bad_alloc`.
template <awaitable Child>
[[nodiscard]] task<combine::timed<coro::awaited_t<Child>>> with_timeout(Child&& child,
                                                                        time_point deadline) {
    return combine::await_until(deadline, coro::as_task(std::forward<Child>(child)));
}

/// The same, `limit` after the call is awaited, by the clock of the task's scheduler.
template <awaitable Child>
[[nodiscard]] task<combine::timed<coro::awaited_t<Child>>> with_timeout(Child&& child,
                                                                        time_span limit) {
    return combine::await_for(limit, coro::as_task(std::forward<Child>(child)));
}

}  // namespace fairlead
