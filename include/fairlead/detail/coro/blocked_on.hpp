// The task behind `block_on`.
#pragma once

#include <fairlead/coro/spawn_options.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/joiner.hpp>
#include <fairlead/detail/coro/stop_on_token.hpp>

#include <utility>

namespace fairlead::coro {

// Lives on the stack of the thread that waits.
template <class T>
class blocked_on final : public root {
public:
    blocked_on(executor where, task<T> body, spawn_options options)
        : root{where, {options.name}},
          thread_{home().runs_on_caller() ? &home() : nullptr},
          body_{std::move(body)},
          on_stop_{*this, std::move(options.stop)} {
        body_.start_on(*this);
    }

    void wait() { thread_.wait(); }

    T take() {
        if (is_abandoned()) throw stopped_error{stopped_by::shutdown};
        return body_.outcome().take();
    }

private:
    void on_end() noexcept override {
        on_stop_.reset();
        thread_.tell();
    }
    void on_abandon() noexcept override { on_end(); }

    waiting_thread thread_;
    task<T> body_;
    stop_on_token on_stop_;
};

}  // namespace fairlead::coro
