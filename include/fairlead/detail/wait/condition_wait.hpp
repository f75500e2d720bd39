// The wait of a task, or of a thread, for a condition.
//
//     a notification --> the FIFO of the mutex --grant--> tell --> the predicate
//     a stop         --interrupt--> leave, if it was not notified; then lock, and go on: `stopped`
//     the deadline   --interrupt--> the same: `expired`
//
// The task goes on only with the mutex locked. To lock it again ends by a grant alone: neither by a
// stop nor by a deadline.
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/foreign_wait.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sync/notify_list.hpp>

#include <coroutine>
#include <exception>
#include <optional>

namespace fairlead::wait {

/// The awaiter, for derivation: it has the predicate, and gives the lock back to its owner.
class condition_wait : public coro::awaited_operation, protected sync::notified_waiter {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <coro::on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) {
        coro::root& bottom = *leaf.promise().bottom;
        if (!begin(bottom)) return bottom.take_turn_if_due(leaf, leaf.promise());
        bottom.wait_at(leaf, leaf.promise(), coro::root::until::agreement, deadline_);
        bottom.await_operation(*this);
        return true;
    }

protected:
    condition_wait(sync::notify_list& of, sync::line& lock, time_point deadline) noexcept
        : notified_waiter{lock}, of_{of}, deadline_{deadline} {}

    /// Unlocks if the lock was granted and not collected: the scheduler has destroyed the task.
    ~condition_wait() {
        if (take_grant()) lock().give_back();
    }

    /// Whether the wait may end. Called with the mutex locked.
    [[nodiscard]] virtual bool holds() = 0;
    /// The wait begins: the caller does not have the lock any more.
    virtual void on_unlock() noexcept = 0;

    /// Why the wait has ended, with the mutex locked; nothing: the predicate holds. Asked once,
    /// after `take_lock`. Throws what the predicate has thrown.
    [[nodiscard]] std::optional<wait_error> ended();

    /// Whether the lock was granted, and must be given to its owner. Otherwise the wait has ended
    /// at its beginning, and the owner has kept the lock.
    [[nodiscard]] bool take_lock() noexcept { return take_grant(); }

private:
    [[nodiscard]] bool begin(coro::root& bottom);
    void enlist() noexcept;
    void tell() noexcept final { waiting_->complete(); }
    [[nodiscard]] bool must_wait(coro::root& holder) noexcept final;
    [[nodiscard]] bool interrupt(coro::interruption why) noexcept final;
    [[nodiscard]] bool withdraw() noexcept final;

    sync::notify_list& of_;
    const time_point deadline_;
    coro::root* waiting_ = nullptr;
    std::exception_ptr failure_;  // of the predicate
    coro::interruption ended_by_ = coro::interruption::none;
    bool is_late_ = false;  // the deadline has passed after the notification
};

/// One wait of this thread, which has `lock`, for a notification; then it has `lock` again.
/// Nothing: it was notified. It must not be a worker's thread.
[[nodiscard]] std::optional<wait_error> wait_for_notification_on_thread(sync::notify_list& of,
                                                                        sync::line& lock,
                                                                        time_point deadline);

}  // namespace fairlead::wait
