// Calls that block, from coroutines: a call runs on a thread that may block, and the worker runs
// other tasks meanwhile.
//
//     const std::string text = co_await fl::blocking([&] { return read_whole_file(path); });
//
// The task sleeps while the call blocks, so that the worker is free at once, and parallelism is
// neither lost nor exceeded. Threads are made when they are needed, up to
// `options.blocking_threads`; calls beyond wait in line, and hold no worker either.
#pragma once

#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sched/blocking_job.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace fairlead {
namespace coro {

// It lives in the frame that awaits it, and outlives the call.
template <class Function>
class blocking_call final : public awaited_operation, sched::blocking_job {
public:
    using result = std::invoke_result_t<Function&>;

    explicit blocking_call(Function function) : function_{std::move(function)} {}
    blocking_call(const blocking_call&) = delete;
    blocking_call& operator=(const blocking_call&) = delete;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        waiting_ = &bottom;
        is_called_ = !bottom.ends_waits();
        if (!is_called_) {
            return bottom.take_turn_if_due(leaf, leaf.promise(), await_cost::compound);
        }
        bottom.wait_at(leaf, leaf.promise(), root::until::completion, never);
        bottom.await_operation(*this);
        sched::access::call_blocking(bottom.home(), *this);
        return true;
    }
    result await_resume() {
        if (!is_called_) {
            waiting_->throw_if_ended();
            throw_stopped();
        }
        if (failure_) std::rethrow_exception(std::move(failure_));
        if constexpr (std::is_reference_v<result>) {
            return static_cast<result>(*value_);
        } else if constexpr (!std::is_void_v<result>) {
            return std::move(*std::get_if<1>(&value_));
        }
    }

private:
    void run() noexcept override {
        try {
            if constexpr (std::is_void_v<result>) {
                function_();
            } else if constexpr (std::is_reference_v<result>) {
                value_ = std::addressof(function_());
            } else {
                value_.template emplace<1>(function_());
            }
        } catch (...) {
            failure_ = std::current_exception();
        }
        waiting_->complete();  // the last touch
    }

    // A call that has not begun need not begin.
    [[nodiscard]] bool withdraw() noexcept override {
        return sched::access::withdraw_blocking(waiting_->home(), *this);
    }

    struct nothing {};
    template <class T>
    struct storage_of {
        using type = std::variant<std::monostate, T>;
    };
    template <class T>
    struct storage_of<T&> {
        using type = T*;
    };

    Function function_;
    root* waiting_ = nullptr;
    bool is_called_ = false;
    std::exception_ptr failure_;
    [[no_unique_address]]
    typename storage_of<std::conditional_t<std::is_void_v<result>, nothing, result>>::type value_{};
};

}  // namespace coro

/// Calls `function` on a thread that may block, and gives what it gives, or throws what it throws.
/// A task that was asked to stop calls nothing and throws `stopped_error`, an overdue one
/// `overdue_error`; a stop or a deadline of the context that comes later does not end the wait, as
/// the function may use what the frames hold. A call for which no thread can be started runs on the
/// worker. With `run_on_caller` it runs at once, on the caller. Allocates for a new thread only.
template <class Function>
    requires std::invocable<std::decay_t<Function>&> &&
             (!std::is_rvalue_reference_v<std::invoke_result_t<std::decay_t<Function>&>>)
[[nodiscard]] coro::blocking_call<std::decay_t<Function>> blocking(Function&& function) {
    return coro::blocking_call<std::decay_t<Function>>{std::forward<Function>(function)};
}

}  // namespace fairlead
