// What a coroutine can wait for by itself: time, a wakeup, a signal, its turn.
#pragma once

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/select_wait.hpp>

#include <coroutine>
#include <exception>
#include <optional>

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

// A branch of a select that has nothing but a deadline.
class time_branch : public select_branch {
public:
    [[nodiscard]] bool try_enter() final { return false; }
    [[nodiscard]] bool enter() final { return true; }
    [[nodiscard]] bool leave() noexcept final { return true; }
    static void collect(std::optional<wait_error>) noexcept {}

protected:
    ~time_branch() = default;
};

// Sleeps until a deadline; throws if the task was asked to stop, or is overdue.
class sleep {
public:
    explicit sleep(time_point deadline) noexcept : deadline_{deadline} {}

    // As a branch of a select: its deadline.
    class as_branch final : public time_branch {
    public:
        explicit as_branch(const sleep& wait) noexcept : wait_{wait} {}
        [[nodiscard]] time_point begin(select_wait&, sync::choice::branch) override {
            return wait_.deadline_;
        }

    private:
        const sleep& wait_;
    };

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        bottom.wait_at(leaf, leaf.promise(), root::until::deadline, deadline_);
        bottom_ = &bottom;
    }
    void await_resume() const { bottom_->throw_if_ended(); }

private:
    union {
        time_point deadline_;  // before it waits
        root* bottom_;         // from then on
    };
};

// The same, from now on by the clock of the task's scheduler.
class delay {
public:
    explicit delay(duration length) noexcept : length_{length} {}

    // As a branch of a select: its deadline.
    class as_branch final : public time_branch {
    public:
        explicit as_branch(const delay& wait) noexcept : wait_{wait} {}
        [[nodiscard]] time_point begin(select_wait& of, sync::choice::branch) override {
            return after(of.waiting().home().now(), wait_.length_);
        }

    private:
        const delay& wait_;
    };

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        bottom.wait_at(leaf, leaf.promise(), root::until::deadline,
                       after(bottom.home().now(), length_));
        bottom_ = &bottom;
    }
    void await_resume() const { bottom_->throw_if_ended(); }

private:
    union {
        duration length_;  // before it waits
        root* bottom_;     // from then on
    };
};

// Goes to the end of the queue of ready tasks. Throws after that if the task was asked to stop, or
// is overdue.
class turn {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        bottom_ = leaf.promise().bottom;
        bottom_->wait_at(leaf, leaf.promise(), root::until::deadline, immediately);
    }
    void await_resume() const {
        if (bottom_ != nullptr) bottom_->throw_if_ended();
    }

private:
    root* bottom_ = nullptr;  // null: the task did not give up its worker
};

// The same if the step has used up its slice.
class checkpoint_turn : public turn {
public:
    [[nodiscard]] bool await_ready() const noexcept { return !scheduler::should_yield(); }
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

inline auto running_root() noexcept {
    return root_question{[](root& self) noexcept -> root& { return self; }};
}

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

/// Sleeps until `deadline`, never less. Throws `stopped_error` if the task was asked to stop, and
/// `overdue_error` if a deadline of its context has passed.
/// Wakeups do not shorten it; signals are remembered.
[[nodiscard]] inline coro::sleep sleep_until(time_point deadline) noexcept {
    return coro::sleep{deadline};
}

/// The same for `delay`, by the clock of the task's scheduler.
[[nodiscard]] inline coro::delay sleep_for(time_span delay) noexcept { return coro::delay{delay}; }

/// Gives up the worker and runs again after what is ready now. Throws `stopped_error` then if the
/// task was asked to stop, and `overdue_error` if a deadline of its context has passed.
[[nodiscard]] inline coro::turn yield() noexcept { return {}; }

/// Like `yield` if the step has used up its slice, or a task that is due waits for the worker;
/// otherwise the task goes on at once, and does not look whether it was asked to stop. For loops
/// that compute: costs a few loads. Waits that find their data ready do the same.
[[nodiscard]] inline coro::checkpoint_turn checkpoint() noexcept { return {}; }

/// Waits until the task is woken, signalled, stopped or overdue, or until `deadline`. A wakeup that
/// came before ends it at once. An earlier wait may have left a wakeup that it did not need, so
/// look at what you wait for.
[[nodiscard]] inline coro::timed_wait<coro::root::until::anything> wait_until_woken(
    time_point deadline = never) noexcept {
    return coro::timed_wait<coro::root::until::anything>{deadline};
}

/// Waits for a signal and receives it: `signalled`, or `expired`, `stopped` or `overdue`. After it
/// the sender does not touch the task any more.
[[nodiscard]] inline coro::timed_wait<coro::root::until::signal> receive_signal(
    time_point deadline = never) noexcept {
    return coro::timed_wait<coro::root::until::signal>{deadline};
}

/// The task that runs this coroutine, for threads and tasks that wake or signal it. Does not
/// suspend.
[[nodiscard]] inline auto current_task() noexcept {
    return coro::root_question{[](coro::root& self) noexcept -> basic_task& { return self; }};
}

/// Whether the task was asked to stop. Does not suspend.
[[nodiscard]] inline auto stop_requested() noexcept {
    return coro::root_question{[](coro::root& self) noexcept { return self.stop_requested(); }};
}

/// Why the task was asked to stop: the reason of the first request. `unsaid`: it gave none, or the
/// task was not asked. Does not suspend.
[[nodiscard]] inline auto stop_reason() noexcept {
    return coro::root_question{[](coro::root& self) noexcept { return self.stop_reason(); }};
}

/// The scheduler on which the task runs, which as an executor stands for its default group: to
/// start a task in the group of this one, ask for `current_executor`. Does not suspend.
[[nodiscard]] inline auto current_scheduler() noexcept {
    return coro::root_question{[](coro::root& self) noexcept -> scheduler& { return self.home(); }};
}

/// Where the task is posted, and its children are: its scheduler, or the group that it is in. Does
/// not suspend.
[[nodiscard]] inline auto current_executor() noexcept {
    return coro::root_question{[](coro::root& self) noexcept { return self.where(); }};
}

/// The tasks that `failure` has left before this one: the task that threw first, and last the task
/// that this one has joined. None if this task itself threw. Of the last failure that this task has
/// met, and valid until it meets another; the task keeps that exception until then. Does not
/// suspend.
///
///     std::exception_ptr failure;
///     try { co_await uploads.join(); } catch (...) { failure = std::current_exception(); }
///     if (const auto origin = co_await fl::origin_of(failure)) log(origin->to_string());
[[nodiscard]] inline auto origin_of(std::exception_ptr failure) noexcept {
    return coro::root_question{
        [failure = std::move(failure)](coro::root& self) noexcept -> std::optional<failure_origin> {
            const coro::failure_trail* const trail = self.trail().of(failure);
            if (trail == nullptr) return std::nullopt;
            return failure_origin{trail->tasks};
        }};
}

/// Goes on on another scheduler, or in another group, and stays there, also when the task was asked
/// to stop. A scheduler must outlive the task's stay.
[[nodiscard]] inline coro::hop resume_on(executor target) noexcept { return coro::hop{target}; }

}  // namespace fairlead
