// Several tasks that say by a std::expected whether they have failed.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>
#include <fairlead/detail/coro/pulled.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <cstddef>
#include <exception>
#include <expected>
#include <mutex>
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

inline constexpr coro::group_rule all_must_have_values{.name = "when_all_ok",
                                                       .decides = coro::child_failed,
                                                       .stops = coro::missing_result,
                                                       .counts_errors = true};

template <class Bodies>
task<all_ok<Bodies>> all_ok_of(Bodies bodies, max_concurrency bound = {}) {
    const coro::root& waiting = co_await coro::running_root();
    coro::children<Bodies> all{waiting, all_must_have_values, bodies};
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

// The values of a range of children, and the first error. Any runner.
template <class Result>
class ok_result {
public:
    coro::child_end put(std::size_t index, settled<Result>&& ended) {
        if (!ended) std::rethrow_exception(std::move(ended).error());
        if (*ended) {
            values_.put(index, value_from(*std::move(ended)));
            return coro::child_undecided;
        }
        const std::lock_guard lock{mutex_};
        if (!error_) error_.emplace((*std::move(ended)).error());
        return coro::child_failed;
    }

    // When all runners have ended.
    [[nodiscard]] typename Result::error_type take_error() { return *std::move(error_); }
    [[nodiscard]] std::vector<value_in<Result>> take_values() { return values_.take(); }

private:
    coro::kept<value_in<Result>> values_;
    sync::mutex mutex_;
    std::optional<typename Result::error_type> error_;  // guarded by mutex_
};

template <class Range>
using all_ok_in = all_ok<coro::many_tasks<coro::child_of_range<Range>>>;

template <class Range>
task<all_ok_in<Range>> all_ok_of_range(Range range, max_concurrency bound) {
    using child = coro::child_of_range<Range>;
    const coro::root& waiting = co_await coro::running_root();
    coro::pulled<Range> from{std::forward<Range>(range)};
    ok_result<child> result;
    const auto keep = [&](std::size_t index, settled<child>&& ended) {
        return result.put(index, std::move(ended));
    };
    auto runners = coro::runners_of(from, bound.count, keep);
    coro::children<coro::many_tasks<coro::child_end>> all{waiting, all_must_have_values, runners};
    co_await all.run(never, runners.size());
    if (all.group().decider() != nullptr) {
        all.for_each([](auto, auto& each) { each.rethrow_if_decided(); });
        co_return std::unexpected{result.take_error()};
    }
    static_cast<void>(all.take_values());  // throws if a child was stopped
    if (from.has_more()) coro::throw_stopped(waiting.stop_reason());
    co_return result.take_values();
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

/// The same for a range of children, each of which is read when it begins: see `when_all`.
template <coro::range_of_children Range>
    requires coro::is_expected<coro::child_of_range<Range>>
[[nodiscard]] task<combine::all_ok_in<Range>> when_all_ok(Range&& children, max_concurrency bound) {
    return combine::all_ok_of_range<Range>(std::forward<Range>(children), bound);
}

}  // namespace fairlead
