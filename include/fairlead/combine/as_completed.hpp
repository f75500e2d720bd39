// The results of several tasks in the order in which they end.
#pragma once

#include <fairlead/combine/completions.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/pulled.hpp>

#include <utility>
#include <vector>

namespace fairlead {

/// The results of `tasks` in the order in which the tasks end. At most `bound` run at once.
/// To be awaited one by one: see `completions`. Allocates room for the results; throws
/// `std::bad_alloc`.
template <awaitable Child>
[[nodiscard]] completions<coro::awaited_t<Child>> as_completed(std::vector<Child> tasks,
                                                               max_concurrency bound = {}) {
    return completions<coro::awaited_t<Child>>{coro::as_tasks(std::move(tasks)), bound};
}

/// The same for a range of tasks, each of which is read when it begins: see `when_all`. Nothing is
/// allocated before the first `next`. A range that is passed as an lvalue must last as long as the
/// stream.
template <coro::range_of_children Range>
[[nodiscard]] completions<coro::child_of_range<Range>, coro::pulled<Range>> as_completed(
    Range&& tasks, max_concurrency bound) {
    return completions<coro::child_of_range<Range>, coro::pulled<Range>>{std::forward<Range>(tasks),
                                                                         bound};
}

/// Runs `body(stream)`, a callable that returns a `task<>`, with the stream of `as_completed`. When
/// it ends or throws, the tasks that have not ended are asked to stop, and have ended when
/// `with_completed` does; an exception of the body is then rethrown.
template <class T, class Body>
[[nodiscard]] task<> with_completed(std::vector<task<T>> tasks, Body body,
                                    max_concurrency bound = {}) {
    completions<T> stream{std::move(tasks), bound};
    co_await stream.give_to(body);
}

/// @cond internal
namespace combine {

template <class Range, class Body>
task<> complete_range(Range range, Body body, max_concurrency bound) {
    completions<coro::child_of_range<Range>, coro::pulled<Range>> stream{std::forward<Range>(range),
                                                                         bound};
    co_await stream.give_to(body);
}

}  // namespace combine
/// @endcond

/// The same with the stream of a range.
template <coro::range_of_children Range, class Body>
[[nodiscard]] task<> with_completed(Range&& tasks, Body body, max_concurrency bound) {
    return combine::complete_range<Range>(std::forward<Range>(tasks), std::move(body), bound);
}

}  // namespace fairlead
