// The side of a pair that takes the result.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/future/pair.hpp>

#include <exception>
#include <expected>
#include <type_traits>
#include <utility>

namespace fairlead::futures {

/// Owns that side: drops it if the result is not taken.
template <class T, class E>
class consumer {
public:
    consumer() = default;
    explicit consumer(pair<T, E>& of) noexcept : pair_{&of} {}
    consumer(consumer&& other) noexcept : pair_{std::exchange(other.pair_, nullptr)} {}
    consumer& operator=(consumer&& other) noexcept {
        if (this != &other) {
            drop();
            pair_ = std::exchange(other.pair_, nullptr);
        }
        return *this;
    }
    ~consumer() { drop(); }

    [[nodiscard]] bool valid() const noexcept { return pair_ != nullptr; }

    [[nodiscard]] pair<T, E>& of() const noexcept {
        FAIRLEAD_ASSERT(valid(), "a future was used that has no result to come");
        return *pair_;
    }

    /// The result, which must be there.
    [[nodiscard]] std::expected<T, E> take() {
        FAIRLEAD_ASSERT(of().is_settled(), "a result was taken before it was there");
        pair<T, E>& from = *std::exchange(pair_, nullptr);
        const end_of_pair last{from};
        return std::move(from.result());
    }

    void drop() noexcept {
        if (pair_ != nullptr) std::exchange(pair_, nullptr)->drop();
    }

private:
    pair<T, E>* pair_ = nullptr;
};

/// What a wait gives: with exceptions the value, and otherwise the whole result.
template <class T, class E>
using awaited = std::conditional_t<std::is_same_v<E, std::exception_ptr>, T, std::expected<T, E>>;

template <class T, class E>
[[nodiscard]] awaited<T, E> as_awaited(std::expected<T, E>&& result) {
    if constexpr (std::is_same_v<E, std::exception_ptr>) {
        if (!result) std::rethrow_exception(std::move(result.error()));
        if constexpr (!std::is_void_v<T>) return std::move(*result);
    } else {
        return std::move(result);
    }
}

template <class T, class E>
[[nodiscard]] awaited<T, E> as_awaited(wait_error why) {
    return as_awaited<T, E>(std::expected<T, E>{std::unexpect, failure_traits<E>::from(why)});
}

}  // namespace fairlead::futures
