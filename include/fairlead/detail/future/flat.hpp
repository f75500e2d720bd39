// What a function may return whose result becomes that of a future: a value, a `std::expected`, or
// another future.
#pragma once

#include <fairlead/detail/future/consumer.hpp>

#include <exception>
#include <expected>
#include <functional>
#include <type_traits>
#include <utility>

namespace fairlead {

template <class T, class E = std::exception_ptr>
class future;

namespace futures {

/// A value.
template <class Result>
struct flat {
    using value = Result;
    template <class Otherwise>
    using failure = Otherwise;
    static constexpr bool is_future = false;
    static constexpr bool is_expected = false;
};
template <class T, class E>
struct flat<std::expected<T, E>> {
    using value = T;
    template <class>
    using failure = E;
    static constexpr bool is_future = false;
    static constexpr bool is_expected = true;
};
template <class T, class E>
struct flat<future<T, E>> {
    using value = T;
    template <class>
    using failure = E;
    using from = consumer<T, E>;
    static constexpr bool is_future = true;
    static constexpr bool is_expected = false;
};

/// A value also if it is a `std::expected` or a future: for results that pass.
template <class T>
struct passed {};
template <class T>
struct flat<passed<T>> : flat<void> {
    using value = T;
};

template <class Result>
using flat_value = typename flat<Result>::value;
template <class Result>
inline constexpr bool is_nested = flat<Result>::is_future || flat<Result>::is_expected;

template <class To, class From>
[[nodiscard]] To convert_failure(From&& from) {
    if constexpr (std::is_same_v<To, std::remove_cvref_t<From>>) {
        return std::forward<From>(from);
    } else {
        return failure_traits<To>::from(std::forward<From>(from));
    }
}

/// Writes the value of a result that has one.
template <class T, class E, class Other>
void emplace_value(pair<T, E>& into, std::expected<T, Other>&& result) {
    if constexpr (std::is_void_v<T>) {
        into.emplace();
    } else {
        into.emplace(std::in_place, std::move(*result));
    }
}

/// Writes a result of the same value type.
template <class T, class E, class Other>
void emplace_outcome(pair<T, E>& into, std::expected<T, Other>&& result) {
    if (result) return emplace_value(into, std::move(result));
    into.emplace(std::unexpect, convert_failure<E>(std::move(result.error())));
}

/// A function of the value of a result.
template <class F, class T>
struct of_value : std::invoke_result<F&, T> {};
template <class F>
struct of_value<F, void> : std::invoke_result<F&> {};
template <class F, class T>
using result_of_value = std::remove_cv_t<typename of_value<F, T>::type>;

/// With the value, but leaves it.
template <class F, class T, class E>
void show_value(F& function, const std::expected<T, E>& result) {
    if constexpr (std::is_void_v<T>) {
        std::invoke(function);
    } else {
        std::invoke(function, *result);
    }
}

template <class F, class T, class E>
[[nodiscard]] decltype(auto) call_with_value(F& function, std::expected<T, E>& result) {
    if constexpr (std::is_void_v<T>) {
        return std::invoke(function);
    } else {
        return std::invoke(function, std::move(*result));
    }
}

/// A pair whose promise is a function call. `run` is called when a future that the function
/// returned has its result.
template <class Result, class E>
class fulfilment : public pair<flat_value<Result>, E>, public continuation {
public:
    /// Calls the function: what it returns is the result, or will be. Throws what it throws, and
    /// what the construction of the result does.
    template <class Function, class... Args>
    void fulfil(Function&& function, Args&&... args) {
        if constexpr (flat<Result>::is_future) {
            inner_ = std::invoke(std::forward<Function>(function), std::forward<Args>(args)...)
                         .release();
            if (!inner_.valid()) this->fail_with(wait_error::broken);
        } else if constexpr (flat<Result>::is_expected) {
            emplace_outcome(
                *this, std::invoke(std::forward<Function>(function), std::forward<Args>(args)...));
        } else if constexpr (std::is_void_v<Result>) {
            std::invoke(std::forward<Function>(function), std::forward<Args>(args)...);
            this->emplace();
        } else {
            this->emplace(std::in_place, std::invoke(std::forward<Function>(function),
                                                     std::forward<Args>(args)...));
        }
    }

protected:
    ~fulfilment() override = default;

    /// After `fulfil` or a failure. The last touch of this object.
    void finish() noexcept {
        if constexpr (flat<Result>::is_future) {
            if (inner_.valid()) {
                if (inner_.of().attach_for_good(*this)) return;
                take_inner();
            }
        }
        this->settle();
    }

    /// The returned future has its result, or the function returned none.
    void finish_inner() noexcept {
        if constexpr (flat<Result>::is_future) {
            take_inner();
            this->settle();
        }
    }

private:
    void take_inner() noexcept {
        try {
            emplace_outcome(*this, inner_.take());
        } catch (...) {
            this->fail_with_current_exception();
        }
    }

    struct none {};
    template <class Of>
    struct inner_of {
        using type = none;
    };
    template <class Of>
        requires flat<Of>::is_future
    struct inner_of<Of> {
        using type = typename flat<Of>::from;
    };
    [[no_unique_address]] typename inner_of<Result>::type inner_;
};

}  // namespace futures
}  // namespace fairlead
