// Waiting for several coroutines that run at the same time.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>

#include <cstdint>
#include <expected>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead {
namespace coro {

// The first failure decides. A child without a result asks the rest to stop.
inline constexpr std::uint8_t missing_result = child_failed | child_stopped;

// The results of children that have all ended; throws if one has none.
template <class Children>
auto results_of(Children& ended) {
    if (ended.group().decider() != nullptr) {
        ended.for_each([](auto, auto& each) { each.rethrow_if_decided(); });
    }
    return ended.take_values();
}

// The same, with a missing result as a value.
template <class Children>
waited<typename Children::all_values> outcome_of(Children& ended) {
    try {
        return results_of(ended);
    } catch (const stopped_error&) {
        return std::unexpected{ended.group().is_late() ? wait_error::expired : wait_error::stopped};
    }
}

template <class Bodies>
task<waited<typename children<Bodies>::all_values>> all_until(time_point deadline, Bodies bodies,
                                                              max_concurrency bound = {}) {
    const root& waiting = co_await running_root();
    children<Bodies> all{
        waiting, {.name = "when_all", .decides = child_failed, .stops = missing_result}, bodies};
    co_await all.run(deadline, bound.count);
    co_return outcome_of(all);
}

template <class Bodies>
task<typename children<Bodies>::all_values> all_of(Bodies bodies, max_concurrency bound = {}) {
    auto results = co_await all_until(never, std::move(bodies), bound);
    if (!results) throw_stopped();
    co_return *std::move(results);
}

}  // namespace coro

/// Runs the children at the same time, each as a task, and waits until all have ended; gives their
/// results in order, `std::monostate` for `void`. When one throws, the rest are asked to stop, and
/// the first exception in time is rethrown once all have ended, `stopped_error` only if there is no
/// other. A stop of the waiting task is passed on. Children of a shielded task are shielded.
///
/// A child is a task or any other awaitable. With a child that cannot be moved, such as
/// `channel.receive()`, the call must be awaited in the expression that makes it.
template <awaitable... Child>
[[nodiscard]] task<std::tuple<coro::value_of<coro::awaited_t<Child>>...>> when_all(
    Child&&... children) {
    return coro::all_of(coro::some_tasks<coro::awaited_t<Child>...>{
        coro::as_task(std::forward<Child>(children))...});
}

/// The same for any number of children of one type. Gives `std::vector` of the results.
template <awaitable Child>
[[nodiscard]] task<std::vector<coro::value_of<coro::awaited_t<Child>>>> when_all(
    std::vector<Child> children, max_concurrency bound = {}) {
    return coro::all_of(coro::as_tasks(std::move(children)), bound);
}

/// The same with a deadline, at which those that have not ended are asked to stop. Waits for them,
/// too. Gives `waited` of the results. A missing result gives `expired` if the deadline was the
/// first to ask for the stop, else `stopped`. If every child has a result, the results are given,
/// even after the deadline.
template <awaitable... Child>
    requires(sizeof...(Child) != 0)
[[nodiscard]] task<waited<std::tuple<coro::value_of<coro::awaited_t<Child>>...>>> when_all_until(
    time_point deadline, Child&&... children) {
    return coro::all_until(deadline, coro::some_tasks<coro::awaited_t<Child>...>{
                                         coro::as_task(std::forward<Child>(children))...});
}

/// The same for any number of children of one type.
template <awaitable Child>
[[nodiscard]] task<waited<std::vector<coro::value_of<coro::awaited_t<Child>>>>> when_all_until(
    time_point deadline, std::vector<Child> children, max_concurrency bound = {}) {
    return coro::all_until(deadline, coro::as_tasks(std::move(children)), bound);
}

}  // namespace fairlead
