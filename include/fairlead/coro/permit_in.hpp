// Posting to a group whose queue has a bound: the poster waits until there is a permit.
//
//     while (const auto request = co_await next_request()) {
//         auto next = co_await fl::permit_in(game);
//         if (!next) co_return;  // it was asked to stop
//         fl::spawn(std::move(*next), answer(*request)).detach();
//     }
//
// So a source that is faster than its group is slowed down to it, and nothing is lost. Permits are
// granted in the order in which they were asked for.
#pragma once

#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/coro/thread_wait.hpp>
#include <fairlead/sched/group.hpp>

#include <expected>
#include <optional>
#include <utility>

namespace fairlead {
namespace coro {

class permit_operation : public sched::permit_waiter {
public:
    explicit permit_operation(group& of) noexcept : of_{of} {}

    using permit_waiter::set_choice;

    [[nodiscard]] bool enter() noexcept { return begin(of_); }
    [[nodiscard]] bool try_enter() noexcept { return try_begin(of_); }
    [[nodiscard]] bool leave() noexcept { return permit_waiter::withdraw(); }

    [[nodiscard]] waited<permit> collect(std::optional<wait_error> early) noexcept {
        if (early) return std::unexpected{*early};
        return take();
    }

protected:
    permit_operation(permit_operation&&) noexcept = default;
    ~permit_operation() = default;

private:
    group& of_;
};

// A thread that is no worker.
class thread_for_permit final : public sched::permit_waiter, thread_wait {
public:
    explicit thread_for_permit(group& of) noexcept
        : thread_wait{of.owner().runs_on_caller() ? &of.owner() : nullptr}, of_{of} {}

    [[nodiscard]] waited<permit> wait(time_point deadline) {
        watch(sched::access::halt_watch_of(of_.owner()));
        if (begin(of_)) {
            if (const auto early = wait_until(deadline)) return std::unexpected{*early};
        }
        return take();
    }

private:
    void tell() noexcept override { thread_wait::tell(); }
    [[nodiscard]] bool withdraw() noexcept override { return permit_waiter::withdraw(); }

    group& of_;
};

}  // namespace coro

/// Waits for a permit in the queue of `of`: `waited<permit>`, which is the permit, `stopped` or
/// `expired`. The group must outlive the wait.
[[nodiscard]] inline auto permit_in(group& of, time_point deadline = never) noexcept {
    return coro::task_wait<coro::permit_operation>{deadline, of};
}

/// The same on this thread, which must not be a worker's, until `deadline` at the latest:
/// `waited<permit>`: the permit, `expired`, or `stopped` if a stop has ended the workers of the
/// scheduler. A permit that is there wins. With `run_on_caller` this thread runs the tasks, and
/// the deadline is by `clock::now()`; else it is by the clock of the system.
[[nodiscard]] inline waited<permit> wait_for_permit_in(group& of, time_point deadline) {
    FAIRLEAD_ASSERT(scheduler::current() == nullptr,
                    "wait_for_permit_in on a worker would block it: co_await permit_in");
    return coro::thread_for_permit{of}.wait(deadline);
}

/// The same without a deadline. Throws `stopped_error` if a stop has ended the workers of the
/// scheduler: no permit comes back then.
[[nodiscard]] inline permit wait_for_permit_in(group& of) {
    waited<permit> granted = wait_for_permit_in(of, never);
    if (!granted) coro::throw_stopped(stopped_by::shutdown);
    return *std::move(granted);
}

}  // namespace fairlead
