// What a task knows of the request that it works for: a deadline, values, a trace.
//
//     const fl::context here = co_await fl::current_context();
//     if (const tenant* const payer = here.get(current_tenant)) count(*payer);
//
// A task inherits the context of the task that starts it; so do children of `when_all`, and forks.
// The children of a scope inherit the context in which the scope was made. A callable that is
// posted has none.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/context/entered.hpp>
#include <fairlead/detail/coro/context_node.hpp>

#include <utility>

namespace fairlead {

/// Names a value of the context. An object with static storage; its address counts.
template <class T>
class context_key {
public:
    /// How far the value goes: see `inherit`.
    constexpr explicit context_key(inherit reach) noexcept : reach_{reach} {}
    context_key(const context_key&) = delete;
    context_key& operator=(const context_key&) = delete;

    /// How far the value goes.
    [[nodiscard]] constexpr inherit reach() const noexcept { return reach_; }

private:
    inherit reach_;
};

/// A context, which never changes. A copy costs one atomic increment, and allocates nothing. Any
/// thread may use its own copy.
class context {
public:
    /// None: no deadline, no values.
    context() noexcept = default;
    /// @cond internal
    explicit context(coro::held_context held) noexcept : held_{std::move(held)} {}
    [[nodiscard]] const coro::held_context& held() const noexcept { return held_; }
    /// @endcond

    /// The innermost value of `key`; null: there is none. Valid while this context exists, or the
    /// `with_value` runs. Linear in the values and deadlines around the caller.
    template <class T>
    [[nodiscard]] const T* get(const context_key<T>& key) const noexcept {
        const coro::context_node* const found = held_.word().find(&key);
        if (found == nullptr) return nullptr;
        return &static_cast<const coro::value_node<T>*>(found)->value();
    }

    /// The earliest of the deadlines around the caller; `never`: none counts.
    [[nodiscard]] time_point deadline() const noexcept { return held_.word().deadline(); }

    /// What goes along with a message: the deadline, and the values that reach messages. The
    /// receiver handles the message inside `with_context`.
    [[nodiscard]] context to_send() const noexcept {
        return context{coro::held_context{held_.word().beyond(inherit::messages)}};
    }

    /// The same without the deadline: for work that outlives the request.
    [[nodiscard]] context detached() const noexcept {
        return context{coro::held_context{held_.word().detached()}};
    }

private:
    coro::held_context held_;
};

/// The context of the task that runs this coroutine. Does not suspend.
[[nodiscard]] inline auto current_context() noexcept {
    return coro::root_question{
        [](coro::root& self) noexcept { return context{coro::held_context{self.context()}}; }};
}

/// Runs `body` with `value` for `key`, and gives its result. Allocates one node.
template <class T, class Result>
task<Result> with_value(const context_key<T>& key, T value, task<Result> body) {
    coro::root& self = co_await coro::running_root();
    const coro::entered inside{
        self, *new coro::value_node<T>{self.context(), &key, key.reach(), std::move(value)}};
    co_return co_await std::move(body);
}

/// Runs `body` in `other` instead of the context of the task, with the deadline of `other`, and
/// gives its result. Allocates nothing but a frame.
template <class Result>
task<Result> with_context(context other, task<Result> body) {
    coro::root& self = co_await coro::running_root();
    const coro::entered inside{self, other.held()};
    co_return co_await std::move(body);
}

}  // namespace fairlead
