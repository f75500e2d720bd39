// What a coroutine can wait for by itself: time, a wakeup, a signal, its turn.
#pragma once

#include <fairlead/coro/root.hpp>
#include <fairlead/coro/task.hpp>

#include <coroutine>

namespace fairlead {

using coro::wake_reason;

namespace coro {

// Awaits lie in frames, of which there may be a million: so they are as small as they can be.

// Waits as `What` says, until a deadline; answers why it ended.
template <root::until What>
class timed_wait {
public:
    explicit timed_wait(time_point deadline) noexcept : deadline_{deadline} {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        bottom.wait_at(leaf, leaf.promise(), What, deadline_);
        bottom_ = &bottom;
    }
    wake_reason await_resume() noexcept { return bottom_->reason(); }

private:
    union {
        time_point deadline_;  // before it waits
        root* bottom_;         // from then on
    };
};

// Lets others have their turn. Does not take a stop: the next wait does.
class turn {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        leaf.promise().bottom->wait_at(leaf, leaf.promise(), root::until::deadline, immediately);
    }
    void await_resume() const noexcept {}
};

// The same if the step has used up its slice.
class checkpoint_turn : public turn {
public:
    [[nodiscard]] bool await_ready() const noexcept { return !scheduler::should_yield(); }
};

// The same as timed_wait, from now on by the clock of the task's scheduler.
class delayed_wait {
public:
    explicit delayed_wait(duration delay) noexcept : delay_{delay} {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        bottom.wait_at(leaf, leaf.promise(), root::until::deadline,
                       after(bottom.home().now(), delay_));
        bottom_ = &bottom;
    }
    wake_reason await_resume() noexcept { return bottom_->reason(); }

private:
    union {
        duration delay_;  // before it waits
        root* bottom_;    // from then on
    };
};

// Answers something about the task, without suspending it.
template <class Question>
class root_question {
public:
    explicit root_question(Question question) noexcept : question_{question} {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        bottom_ = leaf.promise().bottom;
        return false;
    }
    decltype(auto) await_resume() noexcept { return question_(*bottom_); }

private:
    root* bottom_ = nullptr;
    Question question_;
};

class hop {
public:
    explicit hop(executor target) noexcept : target_{target} {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        bottom.move_to(target_);
        bottom.wait_at(leaf, leaf.promise(), root::until::deadline, immediately);
    }
    void await_resume() const noexcept {}

private:
    executor target_;
};

}  // namespace coro

/// Sleeps until `deadline`, never less. `expired`, or `stopped` if the task was asked to stop. Wakeups
/// do not shorten it; signals are remembered.
[[nodiscard]] inline coro::timed_wait<coro::root::until::deadline> sleep_until(
    time_point deadline) noexcept {
    return coro::timed_wait<coro::root::until::deadline>{deadline};
}

/// Sleeps for `delay`, by the clock of the task's scheduler.
[[nodiscard]] inline coro::delayed_wait sleep_for(time_span delay) noexcept {
    return coro::delayed_wait{delay};
}

/// Gives up the worker and runs again after what is ready now.
[[nodiscard]] inline coro::turn yield() noexcept { return {}; }

/// Like `yield` if the step has used up its slice, or somebody who is due waits for the worker; otherwise it goes on at
/// once. For loops that compute: costs a few loads. Other awaits do the same when they need not wait.
[[nodiscard]] inline coro::checkpoint_turn checkpoint() noexcept { return {}; }

/// Waits until the task is woken, signalled or stopped, or until `deadline`. A wakeup that came before
/// ends it at once; a wakeup may also be one that an earlier wait did not need: look for yourself.
[[nodiscard]] inline coro::timed_wait<coro::root::until::anything> wait_until_woken(
    time_point deadline = never) noexcept {
    return coro::timed_wait<coro::root::until::anything>{deadline};
}

/// Waits for a signal and receives it: `signalled`, or `expired`, or `stopped`. After it the sender
/// does not touch the task any more.
[[nodiscard]] inline coro::timed_wait<coro::root::until::signal> receive_signal(
    time_point deadline = never) noexcept {
    return coro::timed_wait<coro::root::until::signal>{deadline};
}

/// The task that runs this coroutine, for others to wake and signal. Does not suspend.
[[nodiscard]] inline auto current_task() noexcept {
    return coro::root_question{[](coro::root& self) noexcept -> basic_task& { return self; }};
}

/// Whether the task was asked to stop. Does not suspend.
[[nodiscard]] inline auto stop_requested() noexcept {
    return coro::root_question{[](coro::root& self) noexcept { return self.stop_requested(); }};
}

/// The scheduler on which the task runs, which as an executor stands for its default group: to start a
/// task in the group of this one, ask for `current_executor`. Does not suspend.
[[nodiscard]] inline auto current_scheduler() noexcept {
    return coro::root_question{[](coro::root& self) noexcept -> scheduler& { return self.home(); }};
}

/// Where the task is posted, and its children are: its scheduler, or the group that it is in. Does not
/// suspend.
[[nodiscard]] inline auto current_executor() noexcept {
    return coro::root_question{[](coro::root& self) noexcept { return self.where(); }};
}

/// Goes on on another scheduler, or in another group, and stays there. A scheduler must outlive the task's stay.
[[nodiscard]] inline coro::hop resume_on(executor target) noexcept { return coro::hop{target}; }

}  // namespace fairlead
