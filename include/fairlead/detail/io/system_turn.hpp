// Before a call of the system in a step: other tasks have their turn after some of these.
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/foreign_wait.hpp>
#include <fairlead/detail/coro/root.hpp>

#include <coroutine>
#include <optional>

namespace fairlead::io::detail {

// Gives why the call must not be made: the task was asked to stop, or is overdue.
class system_turn {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <coro::on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        bottom_ = leaf.promise().bottom;
        return bottom_->take_turn_if_due(leaf, leaf.promise(), coro::await_cost::system_call);
    }

    [[nodiscard]] std::optional<wait_error> await_resume() const noexcept {
        return bottom_->may_end_waits() ? bottom_->ends_waits() : std::nullopt;
    }

private:
    coro::root* bottom_ = nullptr;
};

}  // namespace fairlead::io::detail
