// Several tasks that say by a std::expected whether they have failed.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>

#include <expected>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead {
/// @cond internal
namespace combine {

template <class Result>
using value_in = coro::value_of<typename Result::value_type>;

template <class Result>
value_in<Result> value_from(Result&& ended) {
    if constexpr (std::is_void_v<typename Result::value_type>) {
        return {};
    } else {
        return *std::move(ended);
    }
}

template <class Bodies>
struct ok_results;
template <class... T>
struct ok_results<coro::some_tasks<T...>> {
    using error = std::common_type_t<typename T::error_type...>;
    using values = std::tuple<value_in<T>...>;
    static values from(std::tuple<T...>&& all) {
        return std::apply([](T&... each) { return values{value_from(std::move(each))...}; }, all);
    }
};
template <class T>
struct ok_results<coro::many_tasks<T>> {
    using error = typename T::error_type;
    using values = std::vector<value_in<T>>;
    static values from(std::vector<T>&& all) {
        values found;
        found.reserve(all.size());
        for (T& each : all) found.push_back(value_from(std::move(each)));
        return found;
    }
};

template <class Bodies>
using all_ok =
    std::expected<typename ok_results<Bodies>::values, typename ok_results<Bodies>::error>;

template <class Bodies>
task<all_ok<Bodies>> all_ok_of(Bodies bodies, max_concurrency bound = {}) {
    const coro::root& waiting = co_await coro::running_root();
    coro::children<Bodies> all{waiting,
                               {.name = "when_all_ok",
                                .decides = coro::child_failed,
                                .stops = coro::missing_result,
                                .counts_errors = true},
                               bodies};
    co_await all.run(never, bound.count);
    std::optional<typename ok_results<Bodies>::error> first;
    all.for_each([&](auto, auto& each) {
        if (!each.has_decided()) return;
        each.rethrow_if_decided();
        first = each.take().error();
    });
    if (first) co_return std::unexpected{*std::move(first)};
    co_return ok_results<Bodies>::from(all.take_values());
}

}  // namespace combine
/// @endcond

/// `when_all` for children that give a `std::expected`: an error counts as a failure. Gives
/// `std::expected` of the tuple of the values, `std::monostate` for `void`, or the first error in
/// time: the rest are then asked to stop, and all have ended. The errors have a common type.
///
/// An exception of a child is rethrown, if it came before every error; `stopped_error` only if
/// there is neither another exception nor an error. Otherwise as `when_all`.
template <awaitable... Child>
    requires(sizeof...(Child) != 0 && (coro::is_expected<coro::awaited_t<Child>> && ...))
[[nodiscard]] task<combine::all_ok<coro::some_tasks<coro::awaited_t<Child>...>>> when_all_ok(
    Child&&... children) {
    return combine::all_ok_of(coro::some_tasks<coro::awaited_t<Child>...>{
        coro::as_task(std::forward<Child>(children))...});
}

/// The same for any number of children of one type, at most `bound` at once. Gives
/// `std::expected` of a `std::vector`.
template <awaitable Child>
    requires coro::is_expected<coro::awaited_t<Child>>
[[nodiscard]] task<combine::all_ok<coro::many_tasks<coro::awaited_t<Child>>>> when_all_ok(
    std::vector<Child> children, max_concurrency bound = {}) {
    return combine::all_ok_of(coro::as_tasks(std::move(children)), bound);
}

}  // namespace fairlead
