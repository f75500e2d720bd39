// The handle of a spawned task: waits for its result.
#pragma once

#include <fairlead/coro/spawned.hpp>

#include <coroutine>
#include <utility>

namespace fairlead {

/// A started task: `co_await` it for its result, or drop it, and it goes on by itself. Awaiting
/// rethrows the task's exception, and throws `stopped_error` if its scheduler was destroyed first.
/// An exception of a task whose handle was dropped goes to `on_unhandled`, unless it is `stopped_error`.
template <class T>
class [[nodiscard]] join_handle {
public:
    /// @cond internal
    join_handle(coro::spawned<T>& started, scheduler& home) noexcept
        : started_{&started}, run_here_{home.runs_on_caller() ? &home : nullptr} {}
    /// @endcond
    /// Takes over the task of `other`, which has none afterwards.
    join_handle(join_handle&& other) noexcept
        : started_{std::exchange(other.started_, nullptr)}, run_here_{other.run_here_} {}
    /// Drops its own task, which goes on by itself, and takes over that of `other`.
    join_handle& operator=(join_handle&& other) noexcept {
        if (this != &other) {
            detach();
            started_ = std::exchange(other.started_, nullptr);
            run_here_ = other.run_here_;
        }
        return *this;
    }
    ~join_handle() { detach(); }

    /// Whether it has a task: not after it was awaited, detached, or moved from.
    [[nodiscard]] bool valid() const noexcept { return started_ != nullptr; }

    /// Lets the task go on by itself.
    void detach() noexcept {
        if (started_ != nullptr) std::exchange(started_, nullptr)->detach();
    }

    /// Whether the task has ended, so that the result is there. The handle must be valid.
    [[nodiscard]] bool ended() const noexcept { return started().ended(); }

    /// Asks the task to stop. Any thread that holds the handle, which must be valid.
    void request_stop() noexcept { started().request_stop(); }

    /// Wakes and signals go here. The handle must be valid, and the reference is while it is.
    [[nodiscard]] basic_task& get_task() noexcept { return started(); }

    /// Waits on this thread, which must not be a worker's. Once. With `run_on_caller` this thread
    /// runs the tasks.
    T get() {
        FAIRLEAD_ASSERT(scheduler::current() == nullptr,
                        "get() on a worker would block it: co_await");
        coro::waiting_thread self{run_here_};
        if (started().join(self)) self.wait();
        return take();
    }

    class awaiter final : public coro::awaited_operation, coro::joiner {
    public:
        explicit awaiter(join_handle& handle) noexcept : handle_{handle} {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <coro::on_a_root Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
            coro::root& bottom = *leaf.promise().bottom;
            if (handle_.ended()) return bottom.take_turn_if_due(leaf, leaf.promise());
            waiting_task_ = &bottom;
            if (!handle_.started_->join(*this)) return false;
            bottom.wait_at(leaf, leaf.promise(), coro::root::until::completion, never);
            bottom.await_operation(*this);
            return true;
        }
        T await_resume() { return handle_.take(); }

    private:
        [[nodiscard]] bool withdraw() noexcept override { return handle_.started_->withdraw(); }
        void tell() noexcept override { waiting_task_->complete(); }

        join_handle& handle_;
        coro::root* waiting_task_ = nullptr;
    };

    /// Waits for the result. Once.
    [[nodiscard]] awaiter operator co_await() noexcept {
        static_cast<void>(started());
        return awaiter{*this};
    }

private:
    [[nodiscard]] coro::spawned<T>& started() const noexcept {
        FAIRLEAD_ASSERT(valid(), "a join_handle was used after it gave its result");
        return *started_;
    }

    T take() {
        struct dropper {
            coro::spawned<T>* started;
            ~dropper() { delete started; }
        } last{std::exchange(started_, nullptr)};
        return last.started->take();
    }

    coro::spawned<T>* started_;
    // What a thread that joins must run, and what must outlive its `get`; null: that has threads of its
    // own, and may be gone.
    scheduler* run_here_;
};

}  // namespace fairlead
