// Awaiting what is not of this library: any type with the standard awaiter interface.
//
//     struct callback_wait {                           // of another library, or of the user
//         bool await_ready() const { return false; }
//         void await_suspend(std::coroutine_handle<> h) { ask([h] { h.resume(); }); }
//         int await_resume() const;
//     };
//     const int answer = co_await callback_wait{};
//
// `resume` of the handle, once and from any thread, brings the task back through its scheduler: it
// does not run the task on the caller's thread. The handle is of a small coroutine whose only step
// is to complete the task, so that a foreign awaiter never holds a frame of the task.
//
//     the task's step               the foreign thread
//     wait_at(completion)
//     await_suspend(handle) ------> handle.resume(): the small coroutine runs to its end,
//                                   completes the root, and frees itself
//     the root posts itself, or finds that it is completed already
//
// A stop, or the deadline of the context, ends the wait only before it begins: the foreign
// operation may use what the frames hold. For the same reason a scheduler that is destroyed waits
// for the resumption. A handle that is destroyed instead of resumed ends the wait with
// `stopped_error`.
#pragma once

#include <fairlead/coro/stopped.hpp>
#include <fairlead/detail/coro/root.hpp>

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace fairlead::coro {

/// The promise of a coroutine that runs on a root: what the library's awaiters need.
template <class Promise>
concept on_a_root = std::derived_from<Promise, frame_link>;

// The awaiter of an awaitable: what its `operator co_await` gives, member or not, or the awaitable
// itself.
template <class Awaitable>
decltype(auto) awaiter_of(Awaitable&& awaitable) {
    if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); }) {
        return std::forward<Awaitable>(awaitable).operator co_await();
    } else if constexpr (requires { operator co_await(std::forward<Awaitable>(awaitable)); }) {
        return operator co_await(std::forward<Awaitable>(awaitable));
    } else {
        return std::forward<Awaitable>(awaitable);
    }
}

// A reference if the awaitable is its own awaiter, or gives a reference.
template <class Awaitable>
using awaiter_type = decltype(awaiter_of(std::declval<Awaitable>()));

// Whether an awaiter takes every coroutine_handle<>. The awaiters of this library take handles of
// its own promises only.
template <class Awaiter>
concept foreign_awaiter = requires(std::remove_reference_t<Awaiter>& awaiter) {
    awaiter.await_suspend(std::coroutine_handle<>{});
};

// The part of foreign_wait that does not depend on the awaiter.
class resumable : public awaited_operation {
public:
    resumable(const resumable&) = delete;
    resumable& operator=(const resumable&) = delete;

    // The handle was resumed, or destroyed. Any thread; the last touch of this object.
    void resumed() noexcept { waiting_->complete(); }
    void dropped() noexcept {
        outcome_ = outcome::dropped;
        waiting_->complete();
    }

protected:
    enum class outcome : std::uint8_t { resumed, ended, dropped };

    resumable() = default;
    ~resumable() = default;

    // A handle whose `resume` completes `waiting`. Throws std::bad_alloc.
    [[nodiscard]] std::coroutine_handle<> begin(root& waiting);

    // The handle will not be resumed, and nothing else has it.
    static void take_back(std::coroutine_handle<> handle) noexcept;

    // The wait does not begin.
    void set_ended(root& waiting) noexcept {
        waiting_ = &waiting;
        outcome_ = outcome::ended;
    }
    void check_outcome() const {
        if (outcome_ == outcome::ended) waiting_->throw_if_ended();
        if (outcome_ != outcome::resumed) throw_stopped();
    }

private:
    root* waiting_ = nullptr;
    outcome outcome_ = outcome::resumed;
};

template <class Awaitable>
class foreign_wait final : resumable {
public:
    using awaiter = std::remove_reference_t<awaiter_type<Awaitable>>;
    static_assert(!std::same_as<std::remove_cv_t<awaiter>, std::suspend_always>,
                  "std::suspend_always would never be resumed: co_await fl::yield(), or "
                  "fl::wait_until_woken()");

    explicit foreign_wait(Awaitable&& awaitable)
        : awaiter_{awaiter_of(std::forward<Awaitable>(awaitable))} {}

    [[nodiscard]] bool await_ready() { return static_cast<bool>(awaiter_.await_ready()); }

    template <on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) {
        root& bottom = *leaf.promise().bottom;
        if (bottom.ends_waits()) {
            set_ended(bottom);
            return bottom.take_turn_if_due(leaf, leaf.promise(), await_cost::compound);
        }
        const std::coroutine_handle<> handle = begin(bottom);
        // First: the handle may be resumed before await_suspend returns.
        bottom.wait_at(leaf, leaf.promise(), root::until::completion, never);
        bottom.await_operation(*this);
        bool waits = false;
        try {
            waits = suspend(handle);
        } catch (...) {
            take_back(handle);
            throw;
        }
        if (waits) return true;
        take_back(handle);
        return bottom.take_turn_if_due(leaf, leaf.promise(), await_cost::compound);
    }

    decltype(auto) await_resume() {
        check_outcome();
        return awaiter_.await_resume();
    }

private:
    // False: the awaiter does not wait.
    [[nodiscard]] bool suspend(std::coroutine_handle<> handle) {
        using answer = decltype(awaiter_.await_suspend(handle));
        if constexpr (std::is_void_v<answer>) {
            awaiter_.await_suspend(handle);
            return true;
        } else if constexpr (std::same_as<answer, bool>) {
            return awaiter_.await_suspend(handle);
        } else {
            // Another coroutine that is to run now, of the other library.
            const std::coroutine_handle<> next = awaiter_.await_suspend(handle);
            if (next == handle) return false;
            // An exception of it is for its own library: this task may run elsewhere already.
            [&]() noexcept { next.resume(); }();
            return true;
        }
    }

    awaiter_type<Awaitable> awaiter_;
};

// An awaiter of this library that cannot be moved, by reference. (GCC 12 copies an awaiter that
// await_transform gives as a reference.)
template <class Awaiter>
class awaiter_reference {
public:
    explicit awaiter_reference(Awaiter& awaiter) noexcept : awaiter_{awaiter} {}

    [[nodiscard]] decltype(auto) await_ready() { return awaiter_.await_ready(); }
    template <on_a_root Promise>
    [[nodiscard]] auto await_suspend(std::coroutine_handle<Promise> leaf) {
        return awaiter_.await_suspend(leaf);
    }
    decltype(auto) await_resume() { return awaiter_.await_resume(); }

private:
    Awaiter& awaiter_;
};

// Takes handles of typed promises, and is no awaiter of this library.
struct unrelated_promise {};
template <class Awaiter>
concept typed_awaiter = requires(std::remove_reference_t<Awaiter>& awaiter) {
    awaiter.await_suspend(std::coroutine_handle<unrelated_promise>{});
};

// An awaiter with references to temporary objects of the expression that makes it.
template <class Awaiter>
concept part_of_an_expression = requires { typename Awaiter::refers_to_its_expression; };

// Gives what `co_await awaitable` awaits in a coroutine of this library. What it makes is the
// awaiter itself, so the frame holds no second copy.
template <class Awaitable>
[[nodiscard]] auto transform_awaitable(Awaitable&& awaitable) {
    using awaiter = awaiter_type<Awaitable&&>;
    static_assert(foreign_awaiter<awaiter> || !typed_awaiter<awaiter>,
                  "an awaiter of another library must take std::coroutine_handle<>");
    static_assert(!std::is_lvalue_reference_v<Awaitable> ||
                      !part_of_an_expression<std::remove_cvref_t<Awaitable>>,
                  "what this wait refers to ends with the expression that makes it: co_await a "
                  "select, shielded or as_result in that expression");
    if constexpr (foreign_awaiter<awaiter>) {
        return foreign_wait<Awaitable&&>{std::forward<Awaitable>(awaitable)};
    } else if constexpr (std::is_reference_v<awaiter>) {
        awaiter&& it = awaiter_of(std::forward<Awaitable>(awaitable));
        return awaiter_reference<std::remove_reference_t<awaiter>>{it};
    } else {
        return awaiter_of(std::forward<Awaitable>(awaitable));
    }
}

// An awaiter of this library that is its own awaitable and can be copied.
template <class Awaiter>
concept passes_by_value = std::copy_constructible<Awaiter> && !foreign_awaiter<Awaiter> &&
                          requires(Awaiter& awaiter) { awaiter.await_resume(); };

}  // namespace fairlead::coro
