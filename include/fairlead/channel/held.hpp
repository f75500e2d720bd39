// A share of a value that does not change: what a broadcast and a watch give to their readers.
//
//     fl::held<const page> it = fl::make_held<page>(...);   // one allocation
//     fl::held<const page> same = it;                       // a copy is a count, not a page
//
// The value lives as long as a share of it. The end of its last share destroys it, on the thread of
// that end.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/channel/shared_value.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace fairlead {

/// Whether threads may read the same `T` at the same time through its const members. The standard
/// library promises this of its own types. Specialise it as false for a type whose const members
/// change it without a lock: then it is refused where threads share it.
template <class T>
inline constexpr bool may_be_read_together = true;

/// `T` is const. One pointer; a copy and a destruction are one exchange each, and allocate nothing.
/// One share is used by one thread at a time; shares of the same value by any threads.
template <class T>
class held {
    using type = std::remove_const_t<T>;
    static_assert(std::is_const_v<T>, "readers share the value: write held<const T>");
    static_assert(std::is_nothrow_destructible_v<T>);
    static_assert(may_be_read_together<type>,
                  "threads would read a value at the same time, and its type says that they must "
                  "not: send it through a channel, which moves it, or make its const members safe");

public:
    /// No value.
    held() = default;
    /// One share more.
    held(const held& other) noexcept : value_{other.value_} {
        if (value_ != nullptr) value_->shares.add();
    }
    /// Takes over the share of `other`, which has none afterwards.
    held(held&& other) noexcept : value_{std::exchange(other.value_, nullptr)} {}
    /// Gives its share up, and has that of `other`.
    held& operator=(held other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~held() {
        if (value_ != nullptr && value_->shares.drop()) delete value_;
    }

    /// Whether there is a value: not after it was moved from.
    explicit operator bool() const noexcept { return value_ != nullptr; }

    /// The value, which there must be.
    [[nodiscard]] T& operator*() const noexcept { return *get(); }
    /// The same.
    [[nodiscard]] T* operator->() const noexcept { return get(); }
    /// The same, as a pointer.
    [[nodiscard]] T* get() const noexcept {
        FAIRLEAD_ASSERT(value_ != nullptr, "a held value was used that is none");
        return std::addressof(value_->value);
    }

    /// Whether both share one value, or both have none.
    friend bool operator==(const held& left, const held& right) noexcept {
        return left.value_ == right.value_;
    }

private:
    template <class Type, class... Args>
    friend held<const Type> make_held(Args&&... args);

    explicit held(channels::shared_value<type>* value) noexcept : value_{value} {}

    channels::shared_value<type>* value_ = nullptr;
};

/// Makes a value of `args`, with its first share. Allocates; throws `std::bad_alloc`, and what the
/// constructor throws.
template <class T, class... Args>
[[nodiscard]] held<const T> make_held(Args&&... args) {
    return held<const T>{new channels::shared_value<T>(std::forward<Args>(args)...)};
}

}  // namespace fairlead
