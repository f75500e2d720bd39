// Any awaitable as a coroutine: what `when_all`, `when_any` and `race` take as a child.
//
// A task stays what it is. An awaitable that can be moved is moved into a coroutine. Another, such
// as the wait for a channel, is awaited where it is: it is part of the expression that awaits the
// combinator, and lives as long.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/foreign_wait.hpp>

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead {
namespace coro {

// What `co_await` of it gives. Without an awaiter there is no `type`.
template <class Awaitable>
struct awaited {};
template <class Awaitable>
    requires requires(std::remove_reference_t<awaiter_type<Awaitable>>& awaiter) {
        static_cast<bool>(awaiter.await_ready());
        awaiter.await_resume();
    }
struct awaited<Awaitable> {
    using result =
        decltype(std::declval<std::remove_reference_t<awaiter_type<Awaitable>>&>().await_resume());
    // A reference to what the awaiter holds would dangle.
    using type =
        std::conditional_t<std::is_lvalue_reference_v<result>, result, std::remove_cvref_t<result>>;
};
template <class T>
struct awaited<task<T>> {
    using type = T;
};
template <class T>
struct awaited<task<T>&> {  // `as_task` refuses it
    using type = T;
};

}  // namespace coro

/// What a coroutine of the library can await: a task, a wait of the library, or any type with the
/// standard awaiter interface.
template <class T>
concept awaitable = requires { typename coro::awaited<T>::type; };

namespace coro {

template <class Awaitable>
using awaited_t = typename awaited<Awaitable>::type;

template <class Awaitable>
task<awaited_t<Awaitable>> await_moved(Awaitable kept) {
    co_return co_await std::move(kept);
}
template <class Awaitable>
task<awaited_t<Awaitable&&>> await_in_place(Awaitable&& kept) {
    co_return co_await std::forward<Awaitable>(kept);
}

template <awaitable Awaitable>
[[nodiscard]] task<awaited_t<Awaitable>> as_task(Awaitable&& child) {
    using value = std::remove_cvref_t<Awaitable>;
    constexpr bool is_kept_task = is_task<value> && std::is_lvalue_reference_v<Awaitable>;
    static_assert(!is_kept_task, "a task is used up when it is awaited: write std::move(task)");
    if constexpr (is_task<value>) {
        return std::move(child);
    } else if constexpr (!std::is_lvalue_reference_v<Awaitable> && std::move_constructible<value>) {
        return await_moved<value>(std::move(child));
    } else {
        return await_in_place<Awaitable>(std::forward<Awaitable>(child));
    }
}

// The children of a combinator, not begun: of different types, and any number of one type.
template <class... T>
using some_tasks = std::tuple<task<T>...>;
template <class T>
using many_tasks = std::vector<task<T>>;

template <awaitable Awaitable>
[[nodiscard]] many_tasks<awaited_t<Awaitable>> as_tasks(std::vector<Awaitable>&& children) {
    if constexpr (is_task<Awaitable>) {
        return std::move(children);
    } else {
        many_tasks<awaited_t<Awaitable>> tasks;
        tasks.reserve(children.size());
        for (Awaitable& each : children) tasks.push_back(as_task(std::move(each)));
        return tasks;
    }
}

}  // namespace coro
}  // namespace fairlead
