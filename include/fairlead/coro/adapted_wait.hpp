// Waits that change how a stop meets another wait: `shielded` and `as_result`.
//
// A stop is sticky. Once a task was asked to stop, each of its waits ends at once: a wait that
// gives a value gives the stop as a value, any other wait throws `stopped_error`. So a task that
// never looks ends all the same, and its destructors run. What has to wait in order to clean up
// does so inside `shielded`:
//
//     co_await fl::shielded(store.close());
//
// Sources of the idea: Trio's shielded cancel scopes, Kotlin's NonCancellable; ADR 25 compares
// them.
#pragma once

#include <fairlead/coro/overdue.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/root.hpp>

#include <concepts>
#include <coroutine>
#include <expected>
#include <type_traits>
#include <utility>

namespace fairlead {
namespace coro {

// What `Wait` gives when it is awaited. A wait that can be copied is kept by value, as `co_await`
// of it is: awaiting uses it up, and an lvalue may be awaited again. Any other is part of the same
// expression, and is kept by reference.
template <class Wait>
[[nodiscard]] auto adapted_awaiter(Wait&& wait) {
    using value = std::remove_cvref_t<Wait>;
    constexpr bool is_kept_task = is_task<value> && std::is_lvalue_reference_v<Wait>;
    static_assert(!is_kept_task,
                  "a task is used up when it is awaited: write shielded(std::move(task)), or "
                  "as_result(std::move(task))");
    if constexpr (is_kept_task) {
        return transform_awaitable(static_cast<value&&>(wait));  // no second complaint
    } else if constexpr (passes_by_value<value> && std::constructible_from<value, Wait>) {
        return value(std::forward<Wait>(wait));
    } else {
        return transform_awaitable(std::forward<Wait>(wait));
    }
}

template <class Wait>
class shielded_wait {
public:
    using refers_to_its_expression = void;
    using awaiter = decltype(adapted_awaiter(std::declval<Wait>()));

    explicit shielded_wait(Wait&& wait) : awaiter_{adapted_awaiter(std::forward<Wait>(wait))} {}
    shielded_wait(const shielded_wait&) = delete;
    shielded_wait& operator=(const shielded_wait&) = delete;
    ~shielded_wait() { end(); }

    [[nodiscard]] bool await_ready() { return awaiter_.await_ready(); }

    template <on_a_root Promise>
    auto await_suspend(std::coroutine_handle<Promise> leaf) {
        root& bottom = *leaf.promise().bottom;
        shielded_ = &bottom;
        before_ = bottom.set_shielded({true, true});
        return awaiter_.await_suspend(leaf);
    }

    decltype(auto) await_resume() {
        const struct last {
            shielded_wait& wait;
            ~last() { wait.end(); }
        } after_it{*this};
        return awaiter_.await_resume();
    }

private:
    void end() noexcept {
        if (shielded_ != nullptr) std::exchange(shielded_, nullptr)->set_shielded(before_);
    }

    awaiter awaiter_;
    root* shielded_ = nullptr;  // while it is
    shield before_{};
};

template <class Wait>
class result_wait {
public:
    using refers_to_its_expression = void;
    using awaiter = decltype(adapted_awaiter(std::declval<Wait>()));
    using value_type = decltype(std::declval<awaiter&>().await_resume());
    static_assert(
        !std::is_reference_v<value_type>,
        "as_result gives a std::expected, which cannot hold a reference: let the wait give "
        "a pointer, or catch stopped_error");

    explicit result_wait(Wait&& wait) : awaiter_{adapted_awaiter(std::forward<Wait>(wait))} {}
    result_wait(const result_wait&) = delete;
    result_wait& operator=(const result_wait&) = delete;

    [[nodiscard]] bool await_ready() { return awaiter_.await_ready(); }

    template <on_a_root Promise>
    auto await_suspend(std::coroutine_handle<Promise> leaf) {
        return awaiter_.await_suspend(leaf);
    }

    [[nodiscard]] waited<std::remove_reference_t<value_type>> await_resume() {
        try {
            if constexpr (std::is_void_v<value_type>) {
                awaiter_.await_resume();
                return {};
            } else {
                return awaiter_.await_resume();
            }
        } catch (const stopped_error&) {
            return std::unexpected{wait_error::stopped};
        } catch (const overdue_error&) {
            return std::unexpected{wait_error::overdue};
        }
    }

private:
    awaiter awaiter_;
};

}  // namespace coro

/// Awaits `wait`, a task or any other wait, and hides a stop and the deadline of the context from
/// it: for cleaning up. Nests. Either ends the first wait after it. A `with_deadline` inside it
/// counts. Children that `wait` starts by `fork_join` or `when_all` are shielded, too. Children of
/// a scope are not: a stop of the scheduler reaches them. Must be awaited in the expression that
/// makes it.
template <class Wait>
[[nodiscard]] coro::shielded_wait<Wait&&> shielded(Wait&& wait) {
    return coro::shielded_wait<Wait&&>{std::forward<Wait>(wait)};
}

/// Awaits `wait` and gives `waited<T>` for its T: a `stopped_error` that it throws becomes
/// `wait_error::stopped`, and an `overdue_error` becomes `wait_error::overdue`. Other exceptions
/// pass. Must be awaited in the expression that makes it.
template <class Wait>
[[nodiscard]] coro::result_wait<Wait&&> as_result(Wait&& wait) {
    return coro::result_wait<Wait&&>{std::forward<Wait>(wait)};
}

}  // namespace fairlead
