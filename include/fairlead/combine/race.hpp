// The first of several tasks to succeed.
#pragma once

#include <fairlead/combine/on_loser.hpp>
#include <fairlead/combine/race_error.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/combine/decided.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>

#include <expected>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead {
/// @cond internal
namespace combine {

// A success decides, and stops the rest.
inline constexpr coro::group_rule first_success{
    .name = "race", .decides = coro::child_succeeded, .stops = coro::child_succeeded};
inline constexpr coro::group_rule first_value{.name = "race_ok",
                                              .decides = coro::child_succeeded,
                                              .stops = coro::child_succeeded,
                                              .counts_errors = true};

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

template <class Result>
using raced = std::expected<typename Result::value_type, std::vector<typename Result::error_type>>;

template <class Bodies, class Sink>
task<raced<one_of<Bodies>>> race_ok_of(Bodies bodies, Sink sink, max_concurrency bound = {}) {
    const coro::root& waiting = co_await coro::running_root();
    coro::children<Bodies> all{waiting, first_value, bodies};
    co_await all.run(never, bound.count);
    auto winner = decided(all, sink);
    if (!winner) co_return std::unexpected{errors_of(all)};
    if constexpr (std::is_void_v<typename one_of<Bodies>::value_type>) {
        co_return raced<one_of<Bodies>>{};
    } else {
        co_return **std::move(winner->result);
    }
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

/// The same, and `losers` gets how the other children have ended, if there is a winner.
template <class Sink, awaitable Child>
[[nodiscard]] task<coro::awaited_t<Child>> race(combine::loser_sink<Sink> losers,
                                                std::vector<Child> children,
                                                max_concurrency bound = {}) {
    return combine::race_of(coro::as_tasks(std::move(children)), std::move(losers.sink), bound);
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

/// The same for any number of children, of which at most `bound` run at once.
template <awaitable Child>
    requires coro::is_expected<coro::awaited_t<Child>>
[[nodiscard]] task<combine::raced<coro::awaited_t<Child>>> race_ok(std::vector<Child> children,
                                                                   max_concurrency bound = {}) {
    return combine::race_ok_of(coro::as_tasks(std::move(children)), combine::drop{}, bound);
}

}  // namespace fairlead
