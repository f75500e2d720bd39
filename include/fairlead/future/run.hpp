// Functions and coroutines that run as tasks, and give futures.
//
//     fl::future<page> one = fl::run(pool, load, url);             // a function
//     fl::future<page> two = fl::start(pool, fetch(url));          // a coroutine
//     fl::run_and_forget(pool, [] { ... });
//
// `where` is a scheduler or a group: groups are pools, with priorities, limits and strands.
#pragma once

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/spawn_options.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/future/call_job.hpp>
#include <fairlead/detail/future/started.hpp>
#include <fairlead/future/future.hpp>
#include <fairlead/sched/executor.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>

namespace fairlead {

/// Starts `body` on `where`, and gives the future of its result. If the task returns a
/// `std::expected<U, E>`, the future is that of a `U`. Any thread. Allocates one object; throws
/// `std::bad_alloc`, and then `body` has not begun.
///
/// `options.stop` asks the task to stop. A future that is dropped leaves the task running. If the
/// scheduler is destroyed before the end of the task, the result is the failure for `stopped`.
template <class E = std::exception_ptr, class T>
future<futures::flat_value<T>, E> start(
    executor where, task<T> body, spawn_options options = {},
    std::source_location started_at = std::source_location::current()) {
    static_assert(!futures::flat<T>::is_future, "a task that returns a future: co_await it there");
    auto* const job = new futures::started<T, E>{where, std::move(body), std::move(options.stop),
                                                 coro::task_label{options.name, started_at}};
    future<futures::flat_value<T>, E> result{futures::consumer<futures::flat_value<T>, E>{*job}};
    where.post(static_cast<basic_task&>(*job));
    return result;
}

/// @cond internal
namespace futures {

// Its frame holds the function, so a lambda that is a coroutine may capture.
template <class F, class... Args>
std::remove_cvref_t<std::invoke_result_t<F, Args...>> call_in_task(F f, Args... args) {
    co_return co_await std::invoke(std::move(f), std::move(args)...);
}

template <class E, class Returned>
struct future_of_call {
    using type = future<flat_value<Returned>, E>;
};
template <class E, class T>
struct future_of_call<E, task<T>> {
    using type = future<flat_value<T>, E>;
};
template <class E, class F, class... Args>
using returned_by_call =
    std::remove_cv_t<std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>>;

}  // namespace futures
/// @endcond

/// Calls `f(args...)` once as a step of `where`, with its own copies, which may be such that can
/// only be moved. Gives the future of what it returns:
///
///     a value, or nothing    that
///     std::expected<U, E>    its value or failure
///     future<U>              its result, once that is there; no thread waits for it
///     task<U>                its result; it runs as a task of `where`. A lambda may capture, as it
///                            is kept until the end of the task
///
/// An exception is a failure, by `failure_traits<E>`. Any thread. Allocates one object, and for a
/// task its frames; throws `std::bad_alloc`.
///
/// If `options.stop` was asked for a stop before the step begins, `f` is not called, and the result
/// is the failure for `stopped`; and so it is if the scheduler is destroyed or the group drops the
/// step. A future that is dropped does not keep `f` from running.
template <class E = std::exception_ptr, class F, class... Args>
    requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
auto run(executor where, spawn_options options, F&& f, Args&&... args) {
    using returned = futures::returned_by_call<E, F, Args...>;
    using result = typename futures::future_of_call<E, returned>::type;
    if constexpr (coro::is_task<returned>) {
        return start<E>(where,
                        futures::call_in_task<std::decay_t<F>, std::decay_t<Args>...>(
                            std::forward<F>(f), std::forward<Args>(args)...),
                        std::move(options));
    } else {
        auto* const job =
            new futures::call_job<returned, E, std::decay_t<F>, std::decay_t<Args>...>{
                options.name, std::move(options.stop), std::forward<F>(f),
                std::forward<Args>(args)...};
        result later{futures::consumer<typename result::value_type, E>{*job}};
        where.post(static_cast<basic_task&>(*job));
        return later;
    }
}

/// The same without options.
template <class E = std::exception_ptr, class F, class... Args>
    requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
auto run(executor where, F&& f, Args&&... args) {
    return run<E>(where, spawn_options{.name = "run"}, std::forward<F>(f),
                  std::forward<Args>(args)...);
}

/// Calls `f(args...)` as a step of `where`; if it returns a task, runs that. There is no future: an
/// exception goes to `on_unhandled` of the scheduler. To handle failures where the call is made:
/// `run(where, f).on_failure(handle).detach()`. Any thread. Allocates one object, and for a task
/// its frames; throws `std::bad_alloc`.
template <class F, class... Args>
    requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
void run_and_forget(executor where, F&& f, Args&&... args) {
    using returned = futures::returned_by_call<void, F, Args...>;
    static_assert(!futures::is_nested<returned>,
                  "its failure would be lost: run(where, f).on_failure(handle).detach()");
    if constexpr (coro::is_task<returned>) {
        spawn(where, futures::call_in_task<std::decay_t<F>, std::decay_t<Args>...>(
                         std::forward<F>(f), std::forward<Args>(args)...))
            .detach();
    } else {
        where.post([f = std::decay_t<F>(std::forward<F>(f)),
                    ... args = std::decay_t<Args>(std::forward<Args>(args))]() mutable {
            static_cast<void>(std::invoke(std::move(f), std::move(args)...));
        });
    }
}

}  // namespace fairlead
