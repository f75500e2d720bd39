// The first of several tasks to succeed.
#pragma once

#include <fairlead/combine/on_loser.hpp>
#include <fairlead/combine/race_error.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/combine/decided.hpp>
#include <fairlead/detail/combine/race_result.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>
#include <fairlead/detail/coro/pulled.hpp>

#include <cstddef>
#include <exception>
#include <expected>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead {
/// @cond internal
namespace combine {

// A success decides, and stops the rest.
inline constexpr coro::group_rule first_success{.name = "race",
                                                .decides = coro::child_succeeded,
                                                .stops = coro::child_succeeded,
                                                .tells = stopped_by::lost_race};
inline constexpr coro::group_rule first_value{.name = "race_ok",
                                              .decides = coro::child_succeeded,
                                              .stops = coro::child_succeeded,
                                              .counts_errors = true,
                                              .tells = stopped_by::lost_race};

template <class Bodies>
using one_of = typename coro::children<Bodies>::one;

template <class Bodies, class Sink>
task<one_of<Bodies>> race_of(Bodies bodies, Sink sink, max_concurrency bound = {}) {
    const coro::root& waiting = co_await coro::running_root();
    coro::children<Bodies> all{waiting, first_success, bodies};
    co_await all.run(never, bound.count);
    auto winner = decided(all, sink);
    if (!winner) throw race_error{failures_of(all)};
    if constexpr (!std::is_void_v<one_of<Bodies>>) co_return *std::move(winner->result);
}

// Without a winner: the first exception, in order.
template <class Children>
auto errors_of(Children& ended) {
    std::vector<typename Children::one::error_type> errors;
    ended.for_each([&](auto, auto& each) { errors.push_back(each.take().error()); });
    return errors;
}

template <class Range, class Sink>
task<coro::child_of_range<Range>> race_of_range(Range range, Sink sink, max_concurrency bound) {
    using child = coro::child_of_range<Range>;
    const coro::root& waiting = co_await coro::running_root();
    coro::pulled<Range> from{std::forward<Range>(range)};
    race_result<child, Sink> result{sink};
    co_await run_race(first_success, from, result, bound,
                      [](const settled<child>& ended) { return ended.has_value(); });
    auto winner = result.take_winner();
    if (!winner) {
        std::vector<std::exception_ptr> failures;
        for (settled<child>& each : result.take_failures()) {
            failures.push_back(std::move(each).error());
        }
        for (const std::exception_ptr& each : failures) {
            if (coro::is_stop(each)) std::rethrow_exception(each);
        }
        if (from.has_more()) coro::throw_stopped(waiting.stop_reason());
        throw race_error{std::move(failures)};
    }
    if constexpr (!std::is_void_v<child>) co_return **std::move(winner);
}

template <class Result>
using raced = std::expected<typename Result::value_type, std::vector<typename Result::error_type>>;

template <class Result>
raced<Result> value_of_winner(Result&& winner) {
    if constexpr (std::is_void_v<typename Result::value_type>) {
        return {};
    } else {
        return *std::move(winner);
    }
}

template <class Bodies, class Sink>
task<raced<one_of<Bodies>>> race_ok_of(Bodies bodies, Sink sink, max_concurrency bound = {}) {
    const coro::root& waiting = co_await coro::running_root();
    coro::children<Bodies> all{waiting, first_value, bodies};
    co_await all.run(never, bound.count);
    auto winner = decided(all, sink);
    if (!winner) co_return std::unexpected{errors_of(all)};
    co_return value_of_winner(*std::move(winner->result));
}

template <class Range, class Sink>
task<raced<coro::child_of_range<Range>>> race_ok_of_range(Range range, Sink sink,
                                                          max_concurrency bound) {
    using child = coro::child_of_range<Range>;
    const coro::root& waiting = co_await coro::running_root();
    coro::pulled<Range> from{std::forward<Range>(range)};
    race_result<child, Sink> result{sink};
    co_await run_race(first_value, from, result, bound, [](const settled<child>& ended) {
        return ended.has_value() && ended->has_value();
    });
    auto winner = result.take_winner();
    if (winner) co_return value_of_winner(**std::move(winner));
    std::vector<typename child::error_type> errors;
    for (settled<child>& each : result.take_failures()) {
        if (!each) std::rethrow_exception(std::move(each).error());
        errors.push_back((*std::move(each)).error());
    }
    if (from.has_more()) coro::throw_stopped(waiting.stop_reason());
    co_return std::unexpected{std::move(errors)};
}

template <awaitable... Child>
using one_of_awaited = one_of<coro::some_tasks<coro::awaited_t<Child>...>>;

// Children of one type, a std::expected.
template <class... Child>
concept of_one_expected = sizeof...(Child) != 0 && coro::is_expected<one_of_awaited<Child...>>;

}  // namespace combine
/// @endcond

/// Runs the children at the same time, each as a task. When the first of them succeeds, the rest
/// are asked to stop. Waits until all have ended, and gives the result of the first success. Fails
/// only when all have failed: throws `race_error`, which has every failure. Children of one type
/// give this type; children of several types give a `std::variant` with an alternative for each
/// child, `std::monostate` for `void`.
///
/// The results of the other children are destroyed; see `on_loser`. An error in a `std::expected`
/// is a result: see `race_ok`.
///
/// A stop of the waiting task is passed on. If no child has succeeded and one was stopped, throws
/// `stopped_error`. Children of a shielded task are shielded. Children are as those of `when_all`.
/// Allocates the frame; throws `std::bad_alloc`.
template <awaitable... Child>
    requires(sizeof...(Child) != 0)
[[nodiscard]] task<combine::one_of_awaited<Child...>> race(Child&&... children) {
    return combine::race_of(coro::some_tasks<coro::awaited_t<Child>...>{coro::as_task(
                                std::forward<Child>(children))...},
                            combine::drop{});
}

/// The same, and `losers` gets how the other children have ended, if there is a winner.
template <class Sink, awaitable... Child>
    requires(sizeof...(Child) != 0)
[[nodiscard]] task<combine::one_of_awaited<Child...>> race(combine::loser_sink<Sink> losers,
                                                           Child&&... children) {
    return combine::race_of(coro::some_tasks<coro::awaited_t<Child>...>{coro::as_task(
                                std::forward<Child>(children))...},
                            std::move(losers.sink));
}

/// The same for any number of children of one type, of which at most `bound` run at once: the rest
/// begin when children fail. Without children it fails with no failure.
template <awaitable Child>
[[nodiscard]] task<coro::awaited_t<Child>> race(std::vector<Child> children,
                                                max_concurrency bound = {}) {
    return combine::race_of(coro::as_tasks(std::move(children)), combine::drop{}, bound);
}

/// The same for a range of children, each of which is read when it begins: see `when_all`. What the
/// range throws is thrown if there is no winner.
template <coro::range_of_children Range>
[[nodiscard]] task<coro::child_of_range<Range>> race(Range&& children, max_concurrency bound) {
    return combine::race_of_range<Range>(std::forward<Range>(children), combine::drop{}, bound);
}

/// The same, and `losers` gets how the other children have ended, if there is a winner.
template <class Sink, awaitable Child>
[[nodiscard]] task<coro::awaited_t<Child>> race(combine::loser_sink<Sink> losers,
                                                std::vector<Child> children,
                                                max_concurrency bound = {}) {
    return combine::race_of(coro::as_tasks(std::move(children)), std::move(losers.sink), bound);
}

/// The same for a range. How the children have ended that have lost is kept until the race is over.
template <class Sink, coro::range_of_children Range>
[[nodiscard]] task<coro::child_of_range<Range>> race(combine::loser_sink<Sink> losers,
                                                     Range&& children, max_concurrency bound) {
    return combine::race_of_range<Range>(std::forward<Range>(children), std::move(losers.sink),
                                         bound);
}

/// The same for children of one type `std::expected<V, E>`, for which an error is a failure. Gives
/// `std::expected<V, std::vector<E>>`: without a winner every error, in order. If a child has
/// thrown and none has succeeded, the first exception in order is rethrown.
template <awaitable... Child>
    requires combine::of_one_expected<Child...>
[[nodiscard]] task<combine::raced<combine::one_of_awaited<Child...>>> race_ok(Child&&... children) {
    return combine::race_ok_of(coro::some_tasks<coro::awaited_t<Child>...>{coro::as_task(
                                   std::forward<Child>(children))...},
                               combine::drop{});
}

/// The same, and `losers` gets how the other children have ended, if there is a winner.
template <class Sink, awaitable... Child>
    requires combine::of_one_expected<Child...>
[[nodiscard]] task<combine::raced<combine::one_of_awaited<Child...>>> race_ok(
    combine::loser_sink<Sink> losers, Child&&... children) {
    return combine::race_ok_of(coro::some_tasks<coro::awaited_t<Child>...>{coro::as_task(
                                   std::forward<Child>(children))...},
                               std::move(losers.sink));
}

/// The same for any number of children, of which at most `bound` run at once.
template <awaitable Child>
    requires coro::is_expected<coro::awaited_t<Child>>
[[nodiscard]] task<combine::raced<coro::awaited_t<Child>>> race_ok(std::vector<Child> children,
                                                                   max_concurrency bound = {}) {
    return combine::race_ok_of(coro::as_tasks(std::move(children)), combine::drop{}, bound);
}

/// The same, and `losers` gets how the other children have ended, if there is a winner.
template <class Sink, awaitable Child>
    requires coro::is_expected<coro::awaited_t<Child>>
[[nodiscard]] task<combine::raced<coro::awaited_t<Child>>> race_ok(combine::loser_sink<Sink> losers,
                                                                   std::vector<Child> children,
                                                                   max_concurrency bound = {}) {
    return combine::race_ok_of(coro::as_tasks(std::move(children)), std::move(losers.sink), bound);
}

/// The same for a range of children, each of which is read when it begins: see `when_all`. What the
/// range throws is thrown if there is no winner.
template <coro::range_of_children Range>
    requires coro::is_expected<coro::child_of_range<Range>>
[[nodiscard]] task<combine::raced<coro::child_of_range<Range>>> race_ok(Range&& children,
                                                                        max_concurrency bound) {
    return combine::race_ok_of_range<Range>(std::forward<Range>(children), combine::drop{}, bound);
}

/// The same for a range, and `losers` gets how the other children have ended, if there is a winner.
template <class Sink, coro::range_of_children Range>
    requires coro::is_expected<coro::child_of_range<Range>>
[[nodiscard]] task<combine::raced<coro::child_of_range<Range>>> race_ok(
    combine::loser_sink<Sink> losers, Range&& children, max_concurrency bound) {
    return combine::race_ok_of_range<Range>(std::forward<Range>(children), std::move(losers.sink),
                                            bound);
}

}  // namespace fairlead
