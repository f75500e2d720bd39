#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/wait/condition_wait.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <utility>

namespace fairlead::wait {

using coro::interruption;

// --- a task --------------------------------------------------------------------------------------

namespace {

interruption ended_now(const coro::root& waiting) noexcept {
    if (waiting.hears_stop()) return interruption::stop;
    return waiting.is_overdue() ? interruption::overdue : interruption::none;
}

}  // namespace

// Whether the task must wait.
bool condition_wait::begin(coro::root& bottom) {
    waiting_ = &bottom;
    is_late_ = false;
    // First: a task whose predicate always holds must hear of a stop, and be overdue, too.
    ended_by_ = ended_now(bottom);
    if (ended_by_ != interruption::none || holds()) return false;
    enlist();
    return true;
}

void condition_wait::enlist() noexcept {
    on_unlock();
    of_.enter(*this);
}

// The task has the mutex.
bool condition_wait::must_wait(coro::root& holder) noexcept {
    if (ended_by_ != interruption::none) return false;
    try {
        if (holds()) return false;
    } catch (...) {
        failure_ = std::current_exception();
        return false;
    }
    // What was told once, while the wait was in the FIFO of the mutex, is not told again.
    ended_by_ = ended_now(holder);
    if (ended_by_ != interruption::none) return false;
    if (is_late_) {
        ended_by_ = interruption::deadline;
        return false;
    }
    static_cast<void>(take_grant());
    enlist();
    return true;
}

// True: the task has the mutex.
bool condition_wait::interrupt(interruption why) noexcept {
    if (!of_.leave(*this)) {
        if (why == interruption::deadline) is_late_ = true;
        return false;  // the mutex is on its way
    }
    ended_by_ = why;
    return !lock().enter(*this);
}

bool condition_wait::withdraw() noexcept { return of_.leave(*this) || lock().withdraw(*this); }

std::optional<wait_error> condition_wait::ended() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (ended_by_ == interruption::none) return std::nullopt;
    // At the deadline of this wait a change may have come without a notification yet.
    if (ended_by_ == interruption::deadline && holds()) return std::nullopt;
    return error_of(ended_by_);
}

// --- a thread ------------------------------------------------------------------------------------

namespace {

class thread_of_condition final : sync::notified_waiter, coro::thread_wait {
public:
    thread_of_condition(sync::notify_list& of, sync::line& lock) noexcept
        : notified_waiter{lock}, thread_wait{nullptr}, of_{of} {}

    [[nodiscard]] std::optional<wait_error> run(time_point deadline) {
        of_.enter(*this);
        return wait_until(deadline);
    }

private:
    void tell() noexcept override { thread_wait::tell(); }
    [[nodiscard]] bool withdraw() noexcept override { return of_.leave(*this); }

    sync::notify_list& of_;
};

}  // namespace

std::optional<wait_error> wait_for_notification_on_thread(sync::notify_list& of, sync::line& lock,
                                                          time_point deadline) {
    FAIRLEAD_ASSERT(
        scheduler::current() == nullptr,
        "a wait that blocks its thread was called on a worker: co_await the other form");
    const std::optional<wait_error> early = thread_of_condition{of, lock}.run(deadline);
    // The line of a mutex is never closed.
    if (early) {
        static_cast<void>(coro::wait_on_thread<coro::operation_on<sync::line>>(never, lock));
    }
    return early;
}

}  // namespace fairlead::wait
