// A value that each thread has for itself, behind the same seam as the atomics.
#pragma once

#include <fairlead/base/language.hpp>

#ifdef FAIRLEAD_ATOMIC_HEADER
#include FAIRLEAD_ATOMIC_HEADER
#else

namespace fairlead::sync {

/// One `T` for each thread and `Tag`, null at first. A small type without a destructor. Not to be read
/// in an inlined function of a coroutine, which may move to another thread: an address of thread-local
/// memory could be used again.
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
