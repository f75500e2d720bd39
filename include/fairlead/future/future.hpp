// Futures: a result that comes later, for code that is no coroutine, and for tasks that wait.
//
//     fl::future<page> it = fl::run(pool, load, url);
//     it = std::move(it).map(render).on_failure(log);        // continuations
//     const page ready = co_await std::move(it);             // or a task waits
//
// A result is a value or a failure of type `E`: a `std::expected<T, E>`. With the default `E`,
// `std::exception_ptr`, a wait gives the value or throws. `failure_traits` says how exceptions
// become failures of another type.
//
// Continuations consume the future and give the next. They run at once if the result is there, and
// otherwise on the thread that gives the result; a continuation that is called for by another one
// runs after that, so a chain of any length needs the stack of one. After `via(where)` the next
// continuation runs as a step there. An exception of a continuation becomes the failure of the next
// future.
//
// After 64 continuations of one step the rest go on in a step of the default group of the
// scheduler: so a continuation that needs its group, or a strand, says `via`.
//
// A future has one object with its promise, from recycled memory. A continuation has one object,
// and one more after `via`. A wait allocates nothing. A future is used by one thread at a time.
//
// Spec: Promise in spec/MAP.md.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/future/consumer.hpp>
#include <fairlead/detail/future/future_wait.hpp>
#include <fairlead/detail/future/stage.hpp>
#include <fairlead/future/failure_traits.hpp>
#include <fairlead/sched/executor.hpp>

#include <exception>
#include <expected>
#include <functional>
#include <type_traits>
#include <utility>

namespace fairlead {

/// The side of a promise that takes the result, once. `T` is a value that can be moved, or void.
/// A future that is destroyed drops its result; the promise can learn of it.
template <class T, class E>
class [[nodiscard]] future {
public:
    /// The type of the value.
    using value_type = T;
    /// The type of the failure.
    using failure_type = E;
    /// The whole result.
    using result_type = std::expected<T, E>;

    /// No result to come: it can be assigned to or destroyed.
    future() = default;
    /// @cond internal
    explicit future(futures::consumer<T, E>&& side, executor where = {}) noexcept
        : side_{std::move(side)}, where_{where} {}
    [[nodiscard]] futures::consumer<T, E> release() noexcept { return std::move(side_); }
    /// @endcond

    /// Whether it has a result to come, or to take: not after it was awaited, continued, taken or
    /// moved from.
    [[nodiscard]] bool valid() const noexcept { return side_.valid(); }

    /// Whether the result is there. The future must be valid.
    [[nodiscard]] bool is_ready() const noexcept { return side_.of().is_settled(); }

    /// The result, which must be there. Throws what the move of the value throws.
    [[nodiscard]] result_type take() { return side_.take(); }

    // --- waits -----------------------------------------------------------------------------------

    /// Waits for the result and takes it. With exceptions: gives the value or throws. With another
    /// `E`: `std::expected<T, E>`. A stop of the task withdraws the wait alone, and ends it with
    /// `stopped_error`, or the failure that stands for `stopped`; then the future still has its
    /// result to come.
    [[nodiscard]] auto operator co_await() && noexcept {
        return futures::future_wait<futures::take_operation<T, E>>{never, side_};
    }

    /// Waits until the result is there: `waited<void>`, which may be `stopped` or `expired`. Then
    /// `take` gives it. Without it the future still has its result to come.
    [[nodiscard]] auto wait(time_point deadline = never) noexcept {
        return futures::future_wait<futures::settled_operation<T, E>>{deadline, side_};
    }

    /// The same on this thread: any, but that of a scheduler with `run_on_caller`. A step of a
    /// worker leaves its worker to another thread meanwhile, as with `block_in_place`. The deadline
    /// is by the clock of the system.
    [[nodiscard]] waited<void> wait_blocking(time_point deadline = never) {
        return futures::wait_on_thread(side_, deadline);
    }

    /// `wait_blocking`, and then the result, as `co_await` gives it.
    futures::awaited<T, E> get() {
        static_cast<void>(futures::wait_on_thread(side_, never));
        return futures::as_awaited<T, E>(take());
    }

    // --- continuations: each consumes the future. They throw `std::bad_alloc`, and then the future
    // --- is what it was ------------------------------------------------------------------------

    /// The next continuation runs as a step of `where`, a scheduler or a group, which must outlive
    /// it. If the scheduler is destroyed before, the continuation is not called, and the next
    /// future fails as `stopped`.
    [[nodiscard]] future via(executor where) && noexcept { return future{std::move(side_), where}; }

    /// `f(std::expected<T, E>)`, whatever the result is. Gives what `f` returns: a value, or the
    /// result of a `std::expected` or a future, whose failure type is then that of the next future.
    template <std::invocable<result_type> F>
    auto then(F f) && {
        using returned = std::remove_cv_t<std::invoke_result_t<F&, result_type>>;
        using failure = typename futures::flat<returned>::template failure<E>;
        return go_on<returned, failure>([f = std::move(f)](auto& result, auto& into) mutable {
            into.fulfil(f, std::move(result));
        });
    }

    /// `f(T)` makes a value of the value. A failure passes.
    template <class F>
    auto map(F f) && {
        using returned = futures::result_of_value<F, T>;
        static_assert(!futures::is_nested<returned>,
                      "map is for functions that return a value: use and_then");
        return go_on_with_value<returned>(std::move(f));
    }

    /// `f(T)` returns a future or a `std::expected`, whose result is that of the next future. Its
    /// failure may have another type, if `failure_traits<E>` converts it. A failure passes.
    template <class F>
    auto and_then(F f) && {
        using returned = futures::result_of_value<F, T>;
        static_assert(futures::is_nested<returned>,
                      "and_then is for functions that return a future or a std::expected: use map");
        return go_on_with_value<returned>(std::move(f));
    }

    /// `f(E)` returns a future or a `std::expected` of a `T`, whose result is that of the next
    /// future; its failure type may be another one. A value passes.
    template <std::invocable<E> F>
    auto or_else(F f) && {
        using returned = std::remove_cv_t<std::invoke_result_t<F&, E>>;
        static_assert(
            futures::is_nested<returned> && std::is_same_v<futures::flat_value<returned>, T>,
            "or_else is for functions that return a future or a std::expected of the same "
            "value type: use recover");
        using failure = typename futures::flat<returned>::template failure<E>;
        return go_on<returned, failure>(
            [f = std::move(f)](result_type& result, auto& into) mutable {
                if (result) return futures::emplace_value(into, std::move(result));
                into.fulfil(f, std::move(result.error()));
            });
    }
    /// The same as `or_else`.
    template <std::invocable<E> F>
    auto recover_with(F f) && {
        return std::move(*this).or_else(std::move(f));
    }

    /// `f(E)` makes a value of the failure. A value passes.
    template <std::invocable<E> F>
    future recover(F f) && {
        return pass([f = std::move(f)](result_type& result) mutable {
            if (result) return;
            if constexpr (std::is_void_v<T>) {
                std::invoke(f, std::move(result.error()));
                result.emplace();
            } else {
                result = result_type{std::in_place, std::invoke(f, std::move(result.error()))};
            }
        });
    }

    /// `value` stands for a failure.
    template <class Value = T>
        requires(!std::is_void_v<Value>)
    future recover_value(Value value) && {
        return std::move(*this).recover(
            [value = std::move(value)](const E&) mutable -> T { return std::move(value); });
    }

    /// `f(E)` makes a failure of another type, or another failure. A value passes.
    template <std::invocable<E> F>
    auto map_failure(F f) && {
        using failure = std::remove_cvref_t<std::invoke_result_t<F&, E>>;
        return go_on<futures::passed<T>, failure>(
            [f = std::move(f)](result_type& result, auto& into) mutable {
                if (!result)
                    return into.emplace(std::unexpect, std::invoke(f, std::move(result.error())));
                futures::emplace_value(into, std::move(result));
            });
    }

    /// A value for which `holds(const T&)` is false becomes the failure `rejected`.
    template <class F>
    future filter(F holds, E rejected) && {
        return pass([holds = std::move(holds),
                     rejected = std::move(rejected)](result_type& result) mutable {
            if (result && !std::invoke(holds, std::as_const(*result)))
                result = std::unexpected{std::move(rejected)};
        });
    }

    /// `f(const T&)` looks at a value. The result passes; but an exception of `f` is a failure.
    template <class F>
    future on_success(F f) && {
        return pass([f = std::move(f)](result_type& result) mutable {
            if (result) futures::show_value(f, result);
        });
    }
    /// The same as `on_success`.
    template <class F>
    future tap(F f) && {
        return std::move(*this).on_success(std::move(f));
    }
    /// `f(const E&)` looks at a failure. The result passes; an exception of `f` takes its place.
    template <std::invocable<const E&> F>
    future on_failure(F f) && {
        return pass([f = std::move(f)](result_type& result) mutable {
            if (!result) std::invoke(f, std::as_const(result.error()));
        });
    }
    /// `f(const std::expected<T, E>&)` looks at the result, which passes; but an exception of `f`
    /// takes its place.
    template <std::invocable<const std::expected<T, E>&> F>
    future on_complete(F f) && {
        return pass([f = std::move(f)](result_type& result) mutable {
            std::invoke(f, std::as_const(result));
        });
    }

    /// Drops the result: what continues to run does so for itself.
    void detach() noexcept { side_.drop(); }

private:
    // `call(result, into)` writes the result of `into`.
    template <class Returned, class NextE, class Call>
    [[nodiscard]] auto go_on(Call call) {
        return future<futures::flat_value<Returned>, NextE>{
            futures::continue_with<Returned, NextE>(side_, where_, std::move(call))};
    }

    // `look(result)` may change the result, which is then that of the next future.
    template <class Look>
    [[nodiscard]] future pass(Look look) {
        return go_on<futures::passed<T>, E>(
            [look = std::move(look)](result_type& result, auto& into) mutable {
                look(result);
                futures::emplace_outcome(into, std::move(result));
            });
    }

    template <class Returned, class F>
    [[nodiscard]] auto go_on_with_value(F f) {
        return go_on<Returned, E>([f = std::move(f)](result_type& result, auto& into) mutable {
            if (!result) return into.emplace(std::unexpect, std::move(result.error()));
            into.fulfil([&]() -> decltype(auto) { return futures::call_with_value(f, result); });
        });
    }

    futures::consumer<T, E> side_;
    executor where_;  // of the next continuation; or where the result is given
};

}  // namespace fairlead
