// How several tasks have ended, failures and all.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>

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

}  // namespace fairlead
