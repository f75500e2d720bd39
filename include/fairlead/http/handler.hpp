// What answers requests: a coroutine or a plain function.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/http/request.hpp>
#include <fairlead/http/response.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace fairlead::http {

/// A coroutine `task<response>(request&)`, or a function `response(request&)`. Many connections
/// call it at the same time, on all workers.
///
/// A function must not wait. The server collects the body before it calls a function, and sends the
/// answers to requests that came together in one write. Before it calls a coroutine it sends the
/// answers that are ready, so that none of them waits for the coroutine.
class handler {
public:
    /// Keeps a copy of `call`, in which the coroutines run: it may be a lambda with captures.
    template <class Call>
        requires(!std::same_as<std::remove_cvref_t<Call>, handler> &&
                 std::invocable<const std::remove_cvref_t<Call>&, request&>)
    handler(Call&& call) {
        using answer = std::invoke_result_t<const std::remove_cvref_t<Call>&, request&>;
        if constexpr (std::same_as<answer, task<response>>) {
            coroutine_ = std::forward<Call>(call);
        } else {
            static_assert(std::convertible_to<answer, response>,
                          "a handler gives an http::response, or a task of one");
            function_ = std::forward<Call>(call);
        }
    }

    /// Whether it is a function.
    [[nodiscard]] bool is_function() const noexcept { return static_cast<bool>(function_); }
    /// Calls the function.
    [[nodiscard]] response call(request& asked) const { return function_(asked); }
    /// Calls the coroutine.
    [[nodiscard]] task<response> start(request& asked) const { return coroutine_(asked); }

private:
    std::function<response(request&)> function_;
    std::function<task<response>(request&)> coroutine_;
};

}  // namespace fairlead::http
