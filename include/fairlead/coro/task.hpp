// `fl::task<T>`: a coroutine that runs as a task, or inside one.
#pragma once

#include <fairlead/coro/stopped.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/coro/foreign_wait.hpp>
#include <fairlead/detail/coro/fork.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sync/recycler.hpp>

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace fairlead {

template <class T = void>
class task;

namespace coro {

/// What stands for the result of a coroutine in a tuple or a vector.
template <class T>
using value_of = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// Where a coroutine leaves its result. By hand rather than a variant, which asks at each step what
// it holds.
template <class T>
class result {
public:
    result() noexcept {}
    result(const result&) = delete;
    result& operator=(const result&) = delete;
    ~result() { reset(); }

    template <class Value>
        requires std::convertible_to<Value&&, T>
    void return_value(Value&& value) {
        // Once more, if the destructor of a local variable threw after the first.
        if constexpr (!std::is_trivially_destructible_v<T>) reset();
        std::construct_at(std::addressof(value_), std::forward<Value>(value));
        holds_ = a_value;
    }
    void unhandled_exception() noexcept { fail(std::current_exception()); }
    void fail(std::exception_ptr failure) noexcept {
        reset();
        std::construct_at(&failure_, std::move(failure));
        holds_ = a_failure;
    }

    [[nodiscard]] bool has_failed() const noexcept { return holds_ == a_failure; }
    [[nodiscard]] std::exception_ptr failure() const noexcept {
        return holds_ == a_failure ? failure_ : nullptr;
    }

    [[nodiscard]] T take() {
        if (holds_ == a_failure) std::rethrow_exception(std::move(failure_));
        FAIRLEAD_ASSERT(holds_ == a_value, "a result was taken of a coroutine that has none");
        return std::move(value_);
    }

    /// What `take` would give.
    [[nodiscard]] const T& value() const noexcept {
        FAIRLEAD_ASSERT(holds_ == a_value, "the result of a coroutine that has none");
        return value_;
    }

private:
    void reset() noexcept {
        if (holds_ == a_failure) std::destroy_at(&failure_);
        if constexpr (!std::is_trivially_destructible_v<T>) {
            if (holds_ == a_value) std::destroy_at(std::addressof(value_));
        }
        holds_ = nothing;
    }

    enum : std::uint8_t { nothing, a_value, a_failure } holds_ = nothing;
    union {
        std::remove_cv_t<T> value_;
        std::exception_ptr failure_;
    };
};

template <class T>
class result<T&> {
public:
    void return_value(T& value) noexcept { value_ = std::addressof(value); }
    void unhandled_exception() noexcept { failure_ = std::current_exception(); }
    void fail(std::exception_ptr failure) noexcept { failure_ = std::move(failure); }
    [[nodiscard]] bool has_failed() const noexcept { return failure_ != nullptr; }
    [[nodiscard]] std::exception_ptr failure() const noexcept { return failure_; }
    [[nodiscard]] T& take() {
        if (failure_) std::rethrow_exception(std::move(failure_));
        return *value_;
    }

private:
    T* value_ = nullptr;
    std::exception_ptr failure_;
};

template <>
class result<void> {
public:
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { failure_ = std::current_exception(); }
    void fail(std::exception_ptr failure) noexcept { failure_ = std::move(failure); }
    [[nodiscard]] bool has_failed() const noexcept { return failure_ != nullptr; }
    [[nodiscard]] std::exception_ptr failure() const noexcept { return failure_; }
    void take() {
        if (failure_) std::rethrow_exception(std::move(failure_));
    }

private:
    std::exception_ptr failure_;
};

template <class T>
struct promise final : frame_link, result<T>, sync::recycled {
    struct final_awaiter {
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        [[nodiscard]] std::coroutine_handle<> await_suspend(
            std::coroutine_handle<promise> ended) const noexcept {
            promise& self = ended.promise();
            root& bottom = *self.bottom;
            if (!self.continuation) return bottom.end();
            if (self.forked_by != nullptr) return self.forked_by->child_ended(bottom);
            return bottom.transfer(self.continuation);
        }
        void await_resume() const noexcept {}
    };

    void unhandled_exception() noexcept {
        result<T>::unhandled_exception();
        if (forked_by != nullptr) forked_by->child_failed(*this, is_stop(this->failure()));
    }
    /// That of a coroutine of this type.
    [[nodiscard]] static promise& of(std::coroutine_handle<> frame) noexcept {
        return std::coroutine_handle<promise>::from_address(frame.address()).promise();
    }

    [[nodiscard]] task<T> get_return_object() noexcept;
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] final_awaiter final_suspend() const noexcept { return {}; }

    // What is awaited. By value: no copy of it lies in the frame.
    template <passes_by_value Awaiter>
    [[nodiscard]] Awaiter await_transform(Awaiter awaiter) {
        return awaiter;
    }
    template <class Awaitable>
        requires(!passes_by_value<std::remove_cvref_t<Awaitable>>)
    [[nodiscard]] auto await_transform(Awaitable&& awaitable) {
        return transform_awaitable(std::forward<Awaitable>(awaitable));
    }
};

// Awaits a coroutine: it runs at once, on this stack, and its frame dies with the await expression.
template <class T>
class call_awaiter {
public:
    explicit call_awaiter(std::coroutine_handle<> callee) noexcept : frame_{callee} {}
    call_awaiter(const call_awaiter&) = delete;
    call_awaiter& operator=(const call_awaiter&) = delete;
    ~call_awaiter() {
        if (frame_) frame_.destroy();
    }

    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <on_a_root Caller>
    [[nodiscard]] std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Caller> caller) noexcept {
        root* const bottom = caller.promise().bottom;
        frame_link& link = promise<T>::of(frame_);
        link = {bottom, caller, &caller.promise(), &frame_, nullptr};
        return bottom->transfer(frame_);
    }

    T await_resume() { return promise<T>::of(frame_).take(); }

private:
    std::coroutine_handle<> frame_;
};

}  // namespace coro

/// A coroutine that has not started. It is started by `co_await` inside another one, which waits
/// for its result, or by `spawn`, `block_on`, `scope::spawn` or `when_all`, on a scheduler. A task
/// that is destroyed before that has done nothing.
///
/// The result is a value, an exception, which is rethrown where the task is awaited, or whatever a
/// `std::expected` says. Frames come from the `sync::recycler`.
template <class T>
class [[nodiscard]] task {
public:
    /// What the compiler asks for.
    using promise_type = coro::promise<T>;
    /// What `co_return` gives and `co_await` returns.
    using value_type = T;

    /// No coroutine: it can be assigned to or destroyed, but not awaited.
    task() noexcept = default;
    /// @cond internal
    explicit task(std::coroutine_handle<promise_type> body) noexcept : frame_{body} {}
    /// @endcond
    /// Takes over the coroutine of `other`, which has none afterwards.
    task(task&& other) noexcept : frame_{std::exchange(other.frame_, nullptr)} {}
    /// Destroys its own coroutine, which has not started, and takes over that of `other`.
    task& operator=(task&& other) noexcept {
        if (this != &other) {
            if (frame_) frame_.destroy();
            frame_ = std::exchange(other.frame_, nullptr);
        }
        return *this;
    }
    ~task() {
        if (frame_) frame_.destroy();
    }

    /// Whether there is a coroutine.
    [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(frame_); }

    /// Runs the coroutine now and waits for its result.
    [[nodiscard]] coro::call_awaiter<T> operator co_await() && noexcept {
        FAIRLEAD_ASSERT(valid(), "an empty task was awaited");
        return coro::call_awaiter<T>{std::exchange(frame_, nullptr)};
    }

    // --- for the library's own roots -------------------------------------------------------------
    /// @cond internal

    /// Makes the coroutine the body of `bottom`. The task keeps the frame and must stay in place.
    void start_on(coro::root& bottom) noexcept {
        FAIRLEAD_ASSERT(valid(), "an empty task was started");
        coro::frame_link& link = promise_type::of(frame_);
        link = {&bottom, nullptr, nullptr, &frame_, nullptr};
        bottom.start_at(frame_, link);
    }

    /// The coroutine, for a caller that starts and destroys it without a root of its own.
    [[nodiscard]] coro::unstarted release() noexcept {
        FAIRLEAD_ASSERT(valid(), "an empty task was forked");
        const auto body = std::exchange(frame_, nullptr);
        return {body, &promise_type::of(body)};
    }

    /// What the ended body left.
    [[nodiscard]] coro::result<T>& outcome() const noexcept { return promise_type::of(frame_); }
    /// @endcond

private:
    std::coroutine_handle<> frame_;
};

/// @cond internal
namespace coro {
template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;
}  // namespace coro
/// @endcond

template <class T>
task<T> coro::promise<T>::get_return_object() noexcept {
    return task<T>{std::coroutine_handle<promise>::from_promise(*this)};
}

}  // namespace fairlead
