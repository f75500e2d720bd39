// How several tasks have ended, failures and all.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>
#include <fairlead/detail/coro/pulled.hpp>

#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead {
/// @cond internal
namespace combine {

template <class Bodies>
task<typename coro::children<Bodies>::all_settled> settle_all(Bodies bodies,
                                                              max_concurrency bound = {}) {
    const coro::root& waiting = co_await coro::running_root();
    coro::children<Bodies> all{waiting, {.name = "when_all_settled"}, bodies};
    co_await all.run(never, bound.count);
    co_return all.settle_all();
}

template <class Range>
task<std::vector<settled<coro::child_of_range<Range>>>> settle_range(Range range,
                                                                     max_concurrency bound) {
    using ended = settled<coro::child_of_range<Range>>;
    coro::pulled<Range> from{std::forward<Range>(range)};
    coro::kept<ended> results;
    const auto keep = [&](std::size_t index, ended&& each) {
        results.put(index, std::move(each));
        return coro::child_undecided;
    };
    static_cast<void>(co_await coro::all_of(coro::runners_of(from, bound.count, keep)));
    co_return results.take();
}

}  // namespace combine
/// @endcond

/// Runs the children at the same time, each as a task, and waits until all have ended. Gives how
/// each has ended, in the order of the arguments: a `std::tuple` of `settled`. A failure of a child
/// does not touch the other children, and is not thrown.
///
/// A stop of the waiting task is passed on to the children: a child that it ends gives a
/// `stopped_error`, see `was_stopped`, and a child that has a result all the same gives the result.
/// Children of a shielded task are shielded. Children are as those of `when_all`. Allocates the
/// frame; throws `std::bad_alloc`.
template <awaitable... Child>
[[nodiscard]] task<std::tuple<settled<coro::awaited_t<Child>>...>> when_all_settled(
    Child&&... children) {
    return combine::settle_all(coro::some_tasks<coro::awaited_t<Child>...>{
        coro::as_task(std::forward<Child>(children))...});
}

/// The same for any number of children of one type, at most `bound` at once. Gives a `std::vector`.
template <awaitable Child>
[[nodiscard]] task<std::vector<settled<coro::awaited_t<Child>>>> when_all_settled(
    std::vector<Child> children, max_concurrency bound = {}) {
    return combine::settle_all(coro::as_tasks(std::move(children)), bound);
}

/// The same for a range of children, each of which is read when it begins: see `when_all`. After a
/// stop no more are read, and those that were not read are not in the result. What the range throws
/// is thrown.
template <coro::range_of_children Range>
[[nodiscard]] task<std::vector<settled<coro::child_of_range<Range>>>> when_all_settled(
    Range&& children, max_concurrency bound) {
    return combine::settle_range<Range>(std::forward<Range>(children), bound);
}

}  // namespace fairlead
