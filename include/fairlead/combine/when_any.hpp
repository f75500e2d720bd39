// The first of several tasks to end, however it ends.
#pragma once

#include <fairlead/combine/on_loser.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/combine/decided.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>
#include <fairlead/detail/coro/pulled.hpp>

#include <utility>
#include <vector>

namespace fairlead {
/// @cond internal
namespace combine {

template <class Bodies, class Sink>
task<completion<typename coro::children<Bodies>::one>> any_of(Bodies bodies, Sink sink,
                                                              max_concurrency bound = {}) {
    constexpr auto any_end = coro::child_succeeded | coro::child_failed | coro::child_stopped;
    const coro::root& waiting = co_await coro::running_root();
    coro::children<Bodies> all{
        waiting,
        {.name = "when_any", .decides = any_end, .stops = any_end, .tells = stopped_by::lost_race},
        bodies};
    co_await all.run(never, bound.count);
    auto first = decided(all, sink);
    if (!first) coro::throw_stopped(stopped_by::shutdown);  // their scheduler is gone
    co_return *std::move(first);
}

// No child begins after the first end: so the first ones are all.
template <class Range, class Sink>
task<completion<coro::child_of_range<Range>>> any_of_range(Range range, Sink sink,
                                                           max_concurrency bound) {
    coro::pulled<Range> from{std::forward<Range>(range)};
    coro::many_tasks<coro::child_of_range<Range>> first;
    while (first.size() != bound.count) {
        auto next = from.next();
        if (!next) break;
        first.push_back(std::move(next->body));
    }
    FAIRLEAD_ASSERT(!first.empty(), "when_any of no child would never end");
    co_return co_await any_of(std::move(first), std::move(sink));
}

template <class... Child>
using any_of_types =
    completion<typename coro::children<coro::some_tasks<coro::awaited_t<Child>...>>::one>;

}  // namespace combine
/// @endcond

/// Runs the children at the same time, each as a task. When the first of them ends, with a result,
/// a failure or a stop, the rest are asked to stop. Waits until all have ended, and gives the first
/// one: its index and how it has ended. Children of one type give this type; children of several
/// types give a `std::variant` with an alternative for each child, `std::monostate` for `void`.
///
/// The results of the other children are destroyed; see `on_loser`. To wait for the first success,
/// see `race`.
///
/// A stop of the waiting task is passed on, so the first child that it ends is given. Children of a
/// shielded task are shielded. Children are as those of `when_all`. Allocates the frame; throws
/// `std::bad_alloc`.
template <awaitable... Child>
    requires(sizeof...(Child) != 0)
[[nodiscard]] task<combine::any_of_types<Child...>> when_any(Child&&... children) {
    return combine::any_of(coro::some_tasks<coro::awaited_t<Child>...>{coro::as_task(
                               std::forward<Child>(children))...},
                           combine::drop{});
}

/// The same, and `losers` gets the results of the other children. An exception that it throws
/// leaves `when_any`.
template <class Sink, awaitable... Child>
    requires(sizeof...(Child) != 0)
[[nodiscard]] task<combine::any_of_types<Child...>> when_any(combine::loser_sink<Sink> losers,
                                                             Child&&... children) {
    return combine::any_of(coro::some_tasks<coro::awaited_t<Child>...>{coro::as_task(
                               std::forward<Child>(children))...},
                           std::move(losers.sink));
}

/// The same for children of one type, at least one, of which at most `bound` run at once.
template <awaitable Child>
[[nodiscard]] task<completion<coro::awaited_t<Child>>> when_any(std::vector<Child> children,
                                                                max_concurrency bound = {}) {
    FAIRLEAD_ASSERT(!children.empty(), "when_any of no child would never end");
    return combine::any_of(coro::as_tasks(std::move(children)), combine::drop{}, bound);
}

/// The same for a range of children, of which the first `bound` are read: see `when_all`.
template <coro::range_of_children Range>
[[nodiscard]] task<completion<coro::child_of_range<Range>>> when_any(Range&& children,
                                                                     max_concurrency bound) {
    return combine::any_of_range<Range>(std::forward<Range>(children), combine::drop{}, bound);
}

/// The same, and `losers` gets the results of the other children.
template <class Sink, awaitable Child>
[[nodiscard]] task<completion<coro::awaited_t<Child>>> when_any(combine::loser_sink<Sink> losers,
                                                                std::vector<Child> children,
                                                                max_concurrency bound = {}) {
    FAIRLEAD_ASSERT(!children.empty(), "when_any of no child would never end");
    return combine::any_of(coro::as_tasks(std::move(children)), std::move(losers.sink), bound);
}

/// The same for a range, and `losers` gets the results of the other children that were read.
template <class Sink, coro::range_of_children Range>
[[nodiscard]] task<completion<coro::child_of_range<Range>>> when_any(
    combine::loser_sink<Sink> losers, Range&& children, max_concurrency bound) {
    return combine::any_of_range<Range>(std::forward<Range>(children), std::move(losers.sink),
                                        bound);
}

}  // namespace fairlead
