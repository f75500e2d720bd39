// The right to make the value of a `once`, and the wait for it.
#pragma once

#include <fairlead/detail/sync/once_state.hpp>
#include <fairlead/detail/wait/listed_wait.hpp>

#include <expected>
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
class [[nodiscard]] wait_to_make final : public listed_wait<sync::once_state> {
public:
    wait_to_make(sync::once_state& of, time_point deadline) noexcept
        : listed_wait{of, deadline, true} {}
    ~wait_to_make() {
        if (take_grant()) of().give_up();  // the task was destroyed with its scheduler
    }

    [[nodiscard]] waited<bool> await_resume() noexcept {
        const auto error = ended();
        if (!error) return true;
        if (*error == wait_error::closed) return false;
        return std::unexpected{*error};
    }
};

}  // namespace fairlead::wait
