// An operation that may have to wait, as an awaiter of a task, and as a call that blocks a thread.
//
//     the object   --grant, close--> tell -----------------> the task or the thread goes on
//     a stop       --interrupt----> leave, if still there: `stopped`
//     the deadline --interrupt----> leave, if still there: `expired`
//
// The FIFO of the object decides which of the three ends the wait: so what was granted arrives, and
// the next wait of the task hears of the stop.
//
// An operation is a `sync::waiter` with
//     bool enter()     tries; true: it waits, and `tell` will be called, or `leave` ends the wait
//     bool leave()     ends the wait; false: it has ended, and `tell` was or is about to be called
//     collect(error)   the result; `error`: why the wait has ended early, if it has
// Its destructor gives back what was granted and not collected: a task can be destroyed with its
// scheduler after the grant.
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/foreign_wait.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/thread_wait.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <coroutine>
#include <optional>
#include <utility>

namespace fairlead::wait {

/// For `co_await`, once.
template <class Operation>
class [[nodiscard]] task_wait final : public coro::awaited_operation, Operation {
public:
    template <class... Args>
    explicit task_wait(time_point deadline, Args&&... args) noexcept
        : Operation{std::forward<Args>(args)...}, deadline_{deadline} {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <coro::on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) {
        FAIRLEAD_ASSERT(waiting_ == nullptr, "a wait for a channel was awaited twice");
        coro::root& bottom = *leaf.promise().bottom;
        waiting_ = &bottom;
        // Before anything is taken: a task that need never wait must hear of a stop, too.
        if (bottom.hears_stop()) {
            early_ = wait_error::stopped;
            return bottom.take_turn_if_due(leaf, leaf.promise());
        }
        if (!Operation::enter()) return bottom.take_turn_if_due(leaf, leaf.promise());
        bottom.wait_at(leaf, leaf.promise(), coro::root::until::completion, deadline_);
        bottom.await_operation(*this);
        return true;
    }

    [[nodiscard]] auto await_resume() { return Operation::collect(early_); }

private:
    void tell() noexcept override { waiting_->complete(); }

    [[nodiscard]] bool interrupt(coro::interruption why) noexcept override {
        if (!Operation::leave()) return false;  // the grant, or the close, is on its way
        early_ = why == coro::interruption::stop ? wait_error::stopped : wait_error::expired;
        return true;
    }
    [[nodiscard]] bool withdraw() noexcept override { return Operation::leave(); }

    const time_point deadline_;
    coro::root* waiting_ = nullptr;
    std::optional<wait_error> early_;
};

template <class Operation>
class thread_of_wait final : Operation, coro::thread_wait {
public:
    template <class... Args>
    explicit thread_of_wait(Args&&... args) noexcept
        : Operation{std::forward<Args>(args)...}, thread_wait{nullptr} {}

    [[nodiscard]] auto run(time_point deadline) {
        std::optional<wait_error> early;
        if (Operation::enter()) early = wait_until(deadline);
        return Operation::collect(early);
    }

private:
    void tell() noexcept override { thread_wait::tell(); }
    [[nodiscard]] bool withdraw() noexcept override { return Operation::leave(); }
};

/// On this thread, which must not be a worker's: until `deadline` at the latest, by the clock of
/// the system.
template <class Operation, class... Args>
[[nodiscard]] auto wait_on_thread(time_point deadline, Args&&... args) {
    FAIRLEAD_ASSERT(
        scheduler::current() == nullptr,
        "a wait that blocks its thread was called on a worker: co_await the other form");
    return thread_of_wait<Operation>{std::forward<Args>(args)...}.run(deadline);
}

}  // namespace fairlead::wait
