// A value of each thread, behind the same seam as the atomics.
#pragma once

#include <fairlead/detail/base/language.hpp>

#ifdef FAIRLEAD_ATOMIC_HEADER
#include FAIRLEAD_ATOMIC_HEADER
#else

namespace fairlead::sync {

/// One `T` for each thread and `Tag`, null at first. `T` is a small type without a destructor. A
/// coroutine must not read it in an inlined function: the coroutine may move to another thread, and
/// the compiler may use an address of thread-local memory again.
template <class T, class Tag>
class per_thread {
public:
    [[nodiscard]] static T get() noexcept { return value_; }
    static void set(T value) noexcept { value_ = value; }

private:
    static constinit thread_local T value_;
};

template <class T, class Tag>
constinit thread_local T per_thread<T, Tag>::value_{};

}  // namespace fairlead::sync

#endif
