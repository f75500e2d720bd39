// Promises: the side that gives the result of a future.
//
//     auto [promise, future] = fl::make_promise<int>();
//     library.ask([p = std::move(promise)](int answer) mutable { p.set(answer); });
//     const int answer = co_await std::move(future);
#pragma once

#include <fairlead/detail/future/pair.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/future/future.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <expected>
#include <memory>
#include <type_traits>
#include <utility>

namespace fairlead {

/// Gives the result once: `set`, `fail`, or, if it is destroyed before, the failure that stands for
/// `wait_error::broken`. So a future never waits in vain. One thread at a time, but for `try_set`
/// and `try_fail`. Continuations of the future run within the call that gives the result: do not
/// hold a lock that they use.
template <class T, class E = std::exception_ptr>
class promise {
public:
    /// No future: it can be assigned to or destroyed.
    promise() = default;
    /// @cond internal
    explicit promise(futures::pair<T, E>& of) noexcept : pair_{&of} {}
    /// @endcond
    /// Takes over the future of `other`, which has none afterwards.
    promise(promise&& other) noexcept : pair_{other.claim()} {}
    /// Breaks its own promise, and takes over that of `other`.
    promise& operator=(promise&& other) noexcept {
        if (this != &other) {
            abandon();
            pair_.store(other.claim(), sync::relaxed);
        }
        return *this;
    }
    ~promise() { abandon(); }

    /// Whether a result is still to be given.
    [[nodiscard]] bool valid() const noexcept { return pair_.load(sync::relaxed) != nullptr; }

    /// Gives a value, made from `args`; none for void. The promise must be valid. Throws what the
    /// construction of the value throws, and then nothing was given.
    template <class... Args>
        requires(std::is_void_v<T> ? sizeof...(Args) == 0 : std::constructible_from<T, Args...>)
    void set(Args&&... args) {
        futures::pair<T, E>& to = mine();
        emplace(to, std::forward<Args>(args)...);
        give(to);
    }

    /// Gives a failure.
    void fail(E failure) {
        futures::pair<T, E>& to = mine();
        to.emplace(std::unexpect, std::move(failure));
        give(to);
    }

    /// Gives a whole result.
    void set_result(std::expected<T, E> result) {
        futures::pair<T, E>& to = mine();
        futures::emplace_outcome(to, std::move(result));
        give(to);
    }

    /// Gives what `make()` returns. If that or the construction of the value throws: the failure
    /// that stands for the exception.
    template <std::invocable Make>
    void set_by(Make make) noexcept {
        futures::pair<T, E>& to = mine();
        try {
            if constexpr (std::is_void_v<T>) {
                make();
                to.emplace();
            } else {
                to.emplace(std::in_place, make());
            }
        } catch (...) {
            to.fail_with_current_exception();
        }
        give(to);
    }

    /// Gives a value unless a result was given before: false. Several threads may call it, and
    /// `try_fail`, at once; the first one gives the result. If the construction throws, what it
    /// throws is the failure.
    template <class... Args>
        requires(std::is_void_v<T> ? sizeof...(Args) == 0 : std::constructible_from<T, Args...>)
    bool try_set(Args&&... args) noexcept {
        futures::pair<T, E>* const to = claim();
        if (to == nullptr) return false;
        try {
            emplace(*to, std::forward<Args>(args)...);
        } catch (...) {
            to->fail_with_current_exception();
        }
        to->settle();
        return true;
    }

    /// The same with a failure.
    bool try_fail(E failure) noexcept {
        futures::pair<T, E>* const to = claim();
        if (to == nullptr) return false;
        to->emplace(std::unexpect, std::move(failure));
        to->settle();
        return true;
    }

    // --- whether the result is wanted: not beside a `try_set` ------------------------------------

    /// Whether the future, or what continues it, was still there a moment ago. Also false after the
    /// result was given.
    [[nodiscard]] bool is_wanted() const noexcept {
        const futures::pair<T, E>* const to = pair_.load(sync::relaxed);
        return to != nullptr && to->is_wanted();
    }

    /// Calls `f` if the future goes before the result was given: on the thread that drops the
    /// future; or now, if it went before. Once. `f` may run while this promise gives a result or is
    /// destroyed, so it owns what it uses, such as a `std::stop_source`. It must not throw.
    /// Allocates one object; throws `std::bad_alloc`.
    template <std::invocable F>
    void on_unwanted(F f) {
        mine().listen(std::make_unique<call<F>>(std::move(f)));
    }

private:
    template <class F>
    class call final : public futures::unwanted_call {
    public:
        explicit call(F&& function) : function_{std::move(function)} {}
        void run() noexcept override { std::move(function_)(); }

    private:
        F function_;
    };

    [[nodiscard]] futures::pair<T, E>& mine() const noexcept {
        futures::pair<T, E>* const to = pair_.load(sync::relaxed);
        FAIRLEAD_ASSERT(to != nullptr, "a promise was used that has given its result, or has none");
        return *to;
    }

    template <class... Args>
    static void emplace(futures::pair<T, E>& to, Args&&... args) {
        if constexpr (std::is_void_v<T>) {
            to.emplace();
        } else {
            to.emplace(std::in_place, std::forward<Args>(args)...);
        }
    }

    void give(futures::pair<T, E>& to) noexcept {
        pair_.store(nullptr, sync::relaxed);
        to.settle();
    }

    // relaxed: of several threads the first gets the pair, which was made before all of them.
    [[nodiscard]] futures::pair<T, E>* claim() noexcept {
        return pair_.exchange(nullptr, sync::relaxed);
    }

    void abandon() noexcept {
        if (!valid()) return;
        futures::pair<T, E>& to = mine();
        to.fail_with(wait_error::broken);
        give(to);
    }

    // Null once the result was given. relaxed throughout: one thread at a time, but for `claim`.
    sync::atomic<futures::pair<T, E>*> pair_{nullptr};
};

/// Two sides of one result.
template <class T, class E = std::exception_ptr>
struct promise_and_future {
    /// Gives the result.
    fairlead::promise<T, E> promise;
    /// Takes the result.
    fairlead::future<T, E> future;
};

/// Makes a promise and its future. Allocates their object; throws `std::bad_alloc`.
template <class T, class E = std::exception_ptr>
[[nodiscard]] promise_and_future<T, E> make_promise() {
    auto* const both = new futures::pair<T, E>;
    return {promise<T, E>{*both}, future<T, E>{futures::consumer<T, E>{*both}}};
}

/// A future whose value is there. Allocates its object; throws `std::bad_alloc`.
template <class T, class E = std::exception_ptr>
[[nodiscard]] future<std::decay_t<T>, E> ready(T&& value) {
    auto both = make_promise<std::decay_t<T>, E>();
    both.promise.set(std::forward<T>(value));
    return std::move(both.future);
}

/// The same without a value.
template <class E = std::exception_ptr>
[[nodiscard]] future<void, E> ready() {
    auto both = make_promise<void, E>();
    both.promise.set();
    return std::move(both.future);
}

/// A future whose failure is there. Allocates its object; throws `std::bad_alloc`.
template <class T, class E = std::exception_ptr>
[[nodiscard]] future<T, E> failed(std::type_identity_t<E> failure) {
    auto both = make_promise<T, E>();
    both.promise.fail(std::move(failure));
    return std::move(both.future);
}

/// How many promises and futures, each pair once, and results that were not taken, the program has.
/// Any thread. A moment later it is another number.
[[nodiscard]] inline std::size_t live_futures() noexcept { return futures::live_count::total(); }

}  // namespace fairlead
