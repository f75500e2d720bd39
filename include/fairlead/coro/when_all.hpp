// Waiting for several coroutines that run at the same time.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>
#include <fairlead/detail/coro/pulled.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead {
namespace coro {

// The first failure decides. A child without a result asks the rest to stop.
inline constexpr std::uint8_t missing_result = child_failed | child_stopped;
inline constexpr group_rule all_must_succeed{
    .name = "when_all", .decides = child_failed, .stops = missing_result};

inline wait_error missing_because(const child_group& ended) noexcept {
    return ended.is_late() ? wait_error::expired : wait_error::stopped;
}

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
        return std::unexpected{missing_because(ended.group())};
    }
}

template <class Bodies>
task<waited<typename children<Bodies>::all_values>> all_until(time_point deadline, Bodies bodies,
                                                              max_concurrency bound = {}) {
    const root& waiting = co_await running_root();
    children<Bodies> all{waiting, all_must_succeed, bodies};
    co_await all.run(deadline, bound.count);
    co_return outcome_of(all);
}

template <class Bodies>
task<typename children<Bodies>::all_values> all_of(Bodies bodies, max_concurrency bound = {}) {
    auto results = co_await all_until(never, std::move(bodies), bound);
    if (!results) {
        const root& self = co_await running_root();
        throw_stopped(self.stop_reason());
    }
    co_return *std::move(results);
}

template <class Range>
task<waited<std::vector<value_of<child_of_range<Range>>>>> all_of_range_until(
    time_point deadline, Range range, max_concurrency bound) {
    using child = child_of_range<Range>;
    const root& waiting = co_await running_root();
    pulled<Range> from{std::forward<Range>(range)};
    kept<value_of<child>> results;
    const auto keep = [&](std::size_t index, settled<child>&& ended) {
        if (!ended) std::rethrow_exception(std::move(ended).error());
        if constexpr (std::is_void_v<child>) {
            results.put(index, {});
        } else {
            results.put(index, *std::move(ended));
        }
        return child_undecided;
    };
    auto runners = runners_of(from, bound.count, keep);
    children<many_tasks<child_end>> all{waiting, all_must_succeed, runners};
    co_await all.run(deadline, runners.size());
    auto outcome = outcome_of(all);
    if (!outcome) co_return std::unexpected{outcome.error()};
    if (from.has_more()) co_return std::unexpected{missing_because(all.group())};
    co_return results.take();
}

template <class Range>
task<std::vector<value_of<child_of_range<Range>>>> all_of_range(Range range,
                                                                max_concurrency bound) {
    auto results = co_await all_of_range_until<Range>(never, std::forward<Range>(range), bound);
    if (!results) {
        const root& self = co_await running_root();
        throw_stopped(self.stop_reason());
    }
    co_return *std::move(results);
}

}  // namespace coro

/// Runs the children at the same time, each as a task, and waits until all have ended; gives their
/// results in order, `std::monostate` for `void`. When one throws, the rest are asked to stop, and
/// the first exception in time is rethrown once all have ended, `stopped_error` only if there is no
/// other. A stop of the waiting task is passed on. Children of a shielded task are shielded.
///
/// A child is a task or any other awaitable, which is moved into the call. What cannot be moved,
/// such as a `select`, is awaited where it is: then await the call in the same expression.
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

/// The same for a range of children, such as `urls | std::views::transform(load)`, at most `bound`
/// at once. An element is read when its child begins, so the range may make the children. Nothing
/// is read after a failure or a stop. One child reads at a time, under a lock. What the range
/// throws counts as a failure.
///
/// A range that is passed as an lvalue must last until the call has ended; any other range is moved
/// into the call. A stop that a child asks for itself reaches the children that are run after it.
template <coro::range_of_children Range>
[[nodiscard]] task<std::vector<coro::value_of<coro::child_of_range<Range>>>> when_all(
    Range&& children, max_concurrency bound) {
    return coro::all_of_range<Range>(std::forward<Range>(children), bound);
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

/// The same for a range of children, each of which is read when it begins: see `when_all`. Nothing
/// is read after the deadline.
template <coro::range_of_children Range>
[[nodiscard]] task<waited<std::vector<coro::value_of<coro::child_of_range<Range>>>>> when_all_until(
    time_point deadline, Range&& children, max_concurrency bound) {
    return coro::all_of_range_until<Range>(deadline, std::forward<Range>(children), bound);
}

}  // namespace fairlead
