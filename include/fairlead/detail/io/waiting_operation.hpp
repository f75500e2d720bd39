// What awaits of IO have in common: an attempt, a wait for an event, a deadline, a stop.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/select_wait.hpp>
#include <fairlead/sched/driver.hpp>

#include <coroutine>
#include <expected>
#include <optional>
#include <system_error>

namespace fairlead::io::detail {

// An operation that is tried at once, and again when its descriptor is ready. A task gives up its
// worker after some operations that are ready at once: see root::may_go_on.
class waiting_operation : public coro::retried_operation {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <coro::on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        bottom_ = leaf.promise().bottom;
        check_driver(*bottom_);
        // With a turn now and then: a loop that ignores the stop must not keep its worker.
        if (bottom_->ends_waits()) return bottom_->take_turn_if_due(leaf, leaf.promise());
        const bool may_go_on = bottom_->may_go_on(coro::await_cost::system_call);
        if (may_go_on && try_now_ && attempt()) return false;
        bottom_->retry_at(leaf, leaf.promise(), *this, deadline_);
        if (!may_go_on) bottom_->take_turn_first();
        return true;
    }

    // For a select, of whose task `bottom` is the root. Gives the deadline.
    [[nodiscard]] time_point begin_in(coro::root& bottom) noexcept {
        bottom_ = &bottom;
        check_driver(bottom);
        return deadline_;
    }
    [[nodiscard]] bool may_try_now() const noexcept { return try_now_; }

protected:
    // `try_now`: it may succeed before an edge comes.
    waiting_operation(const driver* of, wait_source& source, time_point deadline,
                      bool try_now) noexcept
        : retried_operation{source}, driver_{of}, deadline_{deadline}, try_now_{try_now} {}
    ~waiting_operation() = default;

    // Why it has ended without succeeding or failing.
    [[nodiscard]] std::error_code cut_short() const noexcept;

    // The result of an operation without a value that ended with `error`; negative: it was cut
    // short.
    [[nodiscard]] std::expected<void, std::error_code> ended_with(int error) const noexcept;

private:
    void check_driver(const coro::root& bottom) const noexcept;

    const driver* driver_;  // whose event fires the source; null: no attempt has to wait
    time_point deadline_;
    const bool try_now_;
    coro::root* bottom_ = nullptr;
};

// Such an operation as a branch of a select.
template <class Operation>
class operation_branch final : public coro::select_branch {
public:
    explicit operation_branch(Operation& operation) noexcept : operation_{operation} {}

    [[nodiscard]] time_point begin(coro::select_wait& of, sync::choice::branch number) override {
        of_ = &of;
        number_ = number;
        return operation_.begin_in(of.waiting());
    }
    [[nodiscard]] bool try_enter() override {
        return operation_.may_try_now() && operation_.attempt() && of_->choice().claim(number_);
    }
    [[nodiscard]] bool enter() override { return true; }
    [[nodiscard]] bool leave() noexcept override {
        operation_.leave();
        return true;
    }
    [[nodiscard]] coro::retried_operation* retried() noexcept override { return &operation_; }
    [[nodiscard]] auto collect(std::optional<wait_error>) { return operation_.await_resume(); }

private:
    Operation& operation_;
    coro::select_wait* of_ = nullptr;
    sync::choice::branch number_ = 0;
};

}  // namespace fairlead::io::detail
