// The right to make the value of a `once`, and the wait for it.
#pragma once

#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/sync/once_state.hpp>

#include <expected>
#include <optional>
#include <utility>

namespace fairlead::wait {

/// Gives the right up at its end, unless the value was made.
class right_to_make {
public:
    explicit right_to_make(sync::once_state& of) noexcept : of_{&of} {}
    right_to_make(const right_to_make&) = delete;
    right_to_make& operator=(const right_to_make&) = delete;
    ~right_to_make() {
        if (of_ != nullptr) of_->give_up();
    }

    /// The value was made. The last touch of the `once`: what waits for it may destroy it.
    void use() noexcept { std::exchange(of_, nullptr)->set_ready(); }

private:
    sync::once_state* of_;
};

/// True: the right is the caller's. False: the value is there.
class right_operation : public coro::operation_on<sync::once_state> {
public:
    explicit right_operation(sync::once_state& of) noexcept : operation_on{of, true} {}

    [[nodiscard]] waited<bool> collect(std::optional<wait_error> early) noexcept {
        const auto ended = operation_on::collect(early);
        if (ended) return true;
        if (ended.error() == wait_error::closed) return false;
        return std::unexpected{ended.error()};
    }

protected:
    ~right_operation() {
        if (take_grant()) of().give_up();  // the task was destroyed with its scheduler
    }
};

}  // namespace fairlead::wait
