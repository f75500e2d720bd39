// What a function gives that is plain or a coroutine.
#pragma once

#include <fairlead/coro/task.hpp>

namespace fairlead::messages {

template <class T>
struct awaited_result {
    using type = T;
    static constexpr bool is_task = false;
};
template <class T>
struct awaited_result<task<T>> {
    using type = T;
    static constexpr bool is_task = true;
};

}  // namespace fairlead::messages
