// A callable kept in place as plain bytes: it never allocates, and copies like an integer.
//
// It refuses at compile time what does not fit or is not trivially copyable. Capture a pointer to
// your own object instead of a large or owning value.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace fairlead::base {

template <class Signature, std::size_t Capacity>
class delegate;

template <class Result, class... Args, std::size_t Capacity>
class delegate<Result(Args...), Capacity> {
public:
    delegate() = default;

    template <class Callable>
        requires(!std::is_same_v<std::decay_t<Callable>, delegate> &&
                 std::is_invocable_r_v<Result, std::decay_t<Callable>&, Args...>)
    delegate(Callable&& callable) noexcept {
        using stored = std::decay_t<Callable>;
        static_assert(sizeof(stored) <= Capacity && alignof(stored) <= alignof(void*),
                      "the callable does not fit: capture a pointer to your own object instead");
        static_assert(std::is_trivially_copyable_v<stored>,
                      "the callable must be trivially copyable: capture pointers or numbers");
        ::new (static_cast<void*>(storage_)) stored(std::forward<Callable>(callable));
        invoke_ = [](void* self, Args... args) -> Result {
            return (*static_cast<stored*>(self))(std::forward<Args>(args)...);
        };
    }

    [[nodiscard]] explicit operator bool() const noexcept { return invoke_ != nullptr; }

    /// Calls the callable. There must be one.
    Result operator()(Args... args) { return invoke_(storage_, std::forward<Args>(args)...); }

private:
    Result (*invoke_)(void*, Args...) = nullptr;
    alignas(void*) std::byte storage_[Capacity]{};
};

}  // namespace fairlead::base
