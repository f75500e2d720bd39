// Posting to a group whose queue has a bound: who posts waits until there is a place.
//
//     while (const auto request = co_await next_request()) {
//         fl::place next = co_await fl::place_in(game);
//         if (!next) co_return;  // it was asked to stop
//         fl::spawn(std::move(next), answer(*request)).detach();
//     }
//
// So a source that is faster than its group is slowed down to it, and nothing is lost. Places are granted in the order in which
// they were asked for.
#pragma once

#include <fairlead/coro/joiner.hpp>
#include <fairlead/coro/root.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/group.hpp>

#include <coroutine>

namespace fairlead {
namespace coro {

class place_wait final : public awaited_operation, sched::place_waiter {
public:
    explicit place_wait(group& of) noexcept : of_{of} {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        waiting_ = &bottom;
        if (!begin(of_)) return bottom.take_turn_if_due(leaf, leaf.promise());
        bottom.wait_at(leaf, leaf.promise(), root::until::completion, never);
        bottom.await_operation(*this);
        return true;
    }
    [[nodiscard]] place await_resume() noexcept { return take(); }

private:
    void granted() noexcept override { waiting_->complete(); }
    void pass_stop_on() noexcept override {
        if (place_waiter::withdraw()) waiting_->complete();
    }
    [[nodiscard]] bool withdraw() noexcept override { return place_waiter::withdraw(); }

    group& of_;
    root* waiting_ = nullptr;
};

// A thread that is no worker.
class thread_for_place final : public sched::place_waiter {
public:
    explicit thread_for_place(group& of) noexcept
        : thread_{of.owner().runs_on_caller() ? &of.owner() : nullptr} {
        if (begin(of)) thread_.wait();
    }

private:
    void granted() noexcept override { thread_.tell(); }

    waiting_thread thread_;
};

}  // namespace coro

/// Waits for a place in the queue of `of`, and gives it. None if the task was asked to stop first: the next wait is told of
/// that. The group must outlive the wait.
[[nodiscard]] inline coro::place_wait place_in(group& of) noexcept { return coro::place_wait{of}; }

/// Likewise on this thread, which must not be a worker's. With `run_on_caller` this thread runs the tasks. A stop of the scheduler
/// does not end this wait: `of.set_queue_max(0)` does, and gives it a place.
[[nodiscard]] inline place wait_for_place_in(group& of) {
    FAIRLEAD_ASSERT(scheduler::current() == nullptr,
                    "wait_for_place_in on a worker would block it: co_await place_in");
    return coro::thread_for_place{of}.take();
}

}  // namespace fairlead
