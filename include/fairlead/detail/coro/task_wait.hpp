// An operation that may have to wait, as an awaiter of a task, and as a call that blocks a thread.
//
//     the object   --grant, close--> tell -----------------> the task or the thread goes on
//     a stop       --interrupt----> leave, if still there: `stopped`
//     the deadline --interrupt----> leave, if still there: `expired`, or `overdue` if it is that
//                                   of the context
//
// The FIFO of the object decides which of the three ends the wait: so what was granted arrives, and
// the next wait of the task hears of the stop.
//
// An operation is a `sync::waiter` with
//     bool enter()     tries; true: it waits, and `tell` will be called, or `leave` ends the wait
//     bool leave()     ends the wait; false: it has ended, and `tell` was or is about to be called
//     collect(error)   the result; `error`: why the wait has ended early, if it has
// and, for a wait that can be a branch of a select, which claims it when it ends,
//     try_enter()      tries; true: it has ended. Before any branch of the select waits
// and, for a wait that asks which task waits, which a `co_await` calls instead of `enter`,
//     bool enter_as(const root&)
// `operation_on` makes one of a structure whose waits end by a grant or a close.
//
// A wait that need not begin, by a task whose budget is used up, takes its turn with what it has:
// the order of asking is that of the FIFO. With a lock it would keep out every task that asks
// meanwhile, and these would hand the lock on to each other for good. So an operation with
//     bool would_end_at_once()      whether it need not wait: the lock is free, or is closed
// takes its turn first, and begins after that.
//
// The object must live until each wait for it is over, which is when its task or thread goes on: a
// deadline or a stop may look into the object until then. After that a task that has gone on may
// destroy the object, though the call that woke it has not returned.
//
// A wait may be moved until it is awaited: so it can be a parameter, and the child of a combinator.
//
// Its destructor gives back what was granted and not collected: a task can be destroyed with its
// scheduler after the grant.
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/foreign_wait.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/select_wait.hpp>
#include <fairlead/detail/coro/thread_wait.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <coroutine>
#include <expected>
#include <optional>
#include <utility>

namespace fairlead::coro {

/// An operation on a structure `Of` with
///     Of::waiter                        a sync::waiter, made from `args`
///     bool enter(waiter&) noexcept      whether it must wait; otherwise the wait is over
///     bool withdraw(waiter&) noexcept   ends a wait; false: it has ended, and is told
/// The result is how the wait has ended. For derivation where the result is more, or where a grant
/// must be given back that was not collected.
template <class Of>
class operation_on : public Of::waiter {
public:
    template <class... Args>
    explicit operation_on(Of& of, Args&&... args) noexcept
        : Of::waiter{std::forward<Args>(args)...}, of_{of} {}

    [[nodiscard]] bool enter() noexcept { return of_.enter(*this); }
    [[nodiscard]] bool try_enter() noexcept
        requires requires(Of& of, typename Of::waiter& wait) { of.try_enter(wait); }
    {
        return of_.try_enter(*this);
    }
    [[nodiscard]] bool leave() noexcept { return of_.withdraw(*this); }

    [[nodiscard]] waited<void> collect(std::optional<wait_error> early) noexcept {
        if (early) return std::unexpected{*early};
        if (this->take_grant()) return {};
        return std::unexpected{wait_error::closed};
    }

    [[nodiscard]] Of& of() const noexcept { return of_; }

protected:
    operation_on(operation_on&&) noexcept = default;
    ~operation_on() = default;

private:
    Of& of_;
};

/// For `co_await`. A class derived from it may be another kind of branch of a select.
template <class Operation>
class [[nodiscard]] task_wait : public awaited_operation, protected Operation {
public:
    template <class... Args>
    explicit task_wait(time_point deadline, Args&&... args) noexcept
        : Operation{std::forward<Args>(args)...}, deadline_{deadline} {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) {
        root& bottom = *leaf.promise().bottom;
        waiting_ = &bottom;
        // Before anything is taken: a task that need never wait must hear of a stop, too, and of
        // the deadline of its context.
        early_.reset();
        if (bottom.may_end_waits()) [[unlikely]] {
            early_ = bottom.ends_waits();
            if (early_) return bottom.take_turn_if_due(leaf, leaf.promise());
        }
        if constexpr (takes_turn_first) {
            if (!bottom.may_go_on() && Operation::would_end_at_once()) {
                bottom.wait_at(leaf, leaf.promise(), root::until::turn, immediately);
                bottom.await_operation(*this);
                return true;
            }
            if (!enter_as(bottom)) return false;
        } else if (!enter_as(bottom)) {
            return bottom.take_turn_if_due(leaf, leaf.promise());
        }
        bottom.wait_at(leaf, leaf.promise(), root::until::completion, deadline_);
        bottom.await_operation(*this);
        return true;
    }

    [[nodiscard]] auto await_resume() { return Operation::collect(early_); }

    /// @cond internal
    // A reference to such a wait, as a branch of a select.
    class as_branch final : public select_branch {
    public:
        explicit as_branch(task_wait& wait) noexcept : wait_{wait} {
            static_assert(
                requires { wait.try_enter(); },
                "this wait cannot be a branch of a select: spawn a task for it, and join that");
            static_assert(
                !requires { Operation::is_partial; },
                "send_many cannot be a branch of a select: a part of the values may have been sent "
                "when another branch ends. Let the branch be send or reserve");
        }

        [[nodiscard]] time_point begin(select_wait& of, sync::choice::branch number) override {
            wait_.waiting_ = &of.waiting();
            wait_.set_choice(of.choice(), number);
            return wait_.deadline_;
        }
        [[nodiscard]] bool try_enter() override { return wait_.try_enter(); }
        [[nodiscard]] bool enter() override { return wait_.enter(); }
        [[nodiscard]] bool leave() noexcept override {
            static_cast<void>(wait_.leave());  // false: it was dropped from the FIFO before
            return true;
        }
        [[nodiscard]] auto collect(std::optional<wait_error> early) { return wait_.collect(early); }

    private:
        task_wait& wait_;
    };
    /// @endcond

protected:
    [[nodiscard]] time_point deadline() const noexcept { return deadline_; }

private:
    static constexpr bool takes_turn_first =
        requires(const Operation& wait) { wait.would_end_at_once(); };

    [[nodiscard]] bool begin_after_turn(root& bottom) noexcept override {
        if (bottom.may_end_waits()) early_ = bottom.ends_waits();
        if (early_ || !enter_as(bottom)) return false;
        bottom.wait_on(*this, deadline_);
        return true;
    }

    [[nodiscard]] bool enter_as(const root& bottom) {
        if constexpr (requires { Operation::enter_as(bottom); }) {
            return Operation::enter_as(bottom);
        } else {
            return Operation::enter();
        }
    }

    void tell() noexcept override { waiting_->complete(); }

    [[nodiscard]] bool interrupt(interruption why) noexcept override {
        if (!Operation::leave()) return false;  // the grant, or the close, is on its way
        early_ = error_of(why);
        return true;
    }
    [[nodiscard]] bool withdraw() noexcept override { return Operation::leave(); }

    const time_point deadline_;
    root* waiting_ = nullptr;
    std::optional<wait_error> early_;
};

template <class Operation>
class thread_of_wait final : Operation, thread_wait {
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

}  // namespace fairlead::coro
