// A coroutine that runs as a task, and gives the result of a future.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/stop_on_token.hpp>
#include <fairlead/detail/future/flat.hpp>

#include <optional>
#include <stop_token>
#include <utility>

namespace fairlead::futures {

/// The root of the coroutine and the pair of its future in one object.
template <class T, class E>
class started final : public pair<flat_value<T>, E>, public coro::root {
public:
    started(executor where, task<T> body, std::stop_token stop, coro::task_label label)
        : root{where, label}, body_{std::move(body)} {
        body_.start_on(*this);
        if (stop.stop_possible()) on_stop_.emplace(*this, std::move(stop));
    }

private:
    void on_end() noexcept override {
        on_stop_.reset();
        write_result();
        body_ = {};
        this->settle();
    }
    void on_abandon() noexcept override { on_end(); }

    void write_result() noexcept {
        if (is_abandoned()) return this->fail_with(wait_error::stopped);
        try {
            if constexpr (std::is_void_v<T>) {
                body_.outcome().take();
                this->emplace();
            } else if constexpr (flat<T>::is_expected) {
                emplace_outcome(*this, body_.outcome().take());
            } else {
                this->emplace(std::in_place, body_.outcome().take());
            }
        } catch (...) {
            this->fail_with_current_exception();
        }
    }

    task<T> body_;
    std::optional<coro::stop_on_token> on_stop_;
};

}  // namespace fairlead::futures
