// A coroutine for the rivals, which have none of their own: it starts at once, moves to the pool
// with `co_await`, and frees itself at its end.
#pragma once

#include <coroutine>
#include <exception>

namespace bench {

struct detached {
    struct promise_type {
        detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

/// Awaited, it continues the coroutine on a worker of `Runtime`.
template <class Runtime>
struct move_to {
    Runtime& runtime;

    bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) {
        runtime.post_one_shot([self] { self.resume(); });
    }
    void await_resume() noexcept {}
};

}  // namespace bench
