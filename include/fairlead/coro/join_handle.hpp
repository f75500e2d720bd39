// The handle of a spawned task: waits for its result.
#pragma once

#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/select_wait.hpp>
#include <fairlead/detail/coro/spawned.hpp>
#include <fairlead/detail/coro/stop_once.hpp>
#include <fairlead/detail/coro/thread_wait.hpp>
#include <fairlead/detail/coro/told_branch.hpp>

#include <coroutine>
#include <expected>
#include <optional>
#include <type_traits>
#include <utility>

namespace fairlead {

/// What a stop of a task, or a deadline of its context, does to its wait for another task.
enum class on_stop : bool {
    leave,    ///< it ends the wait; the other task goes on
    pass_on,  ///< it asks the other task to stop, and the wait goes on until that has ended
};

/// A started task: `co_await` it for its result, or drop it, and it goes on by itself. Awaiting
/// rethrows the task's exception, and throws `stopped_error` if its scheduler was destroyed first.
/// An exception of a task whose handle was dropped goes to `on_unhandled`, unless it is
/// `stopped_error`.
template <class T>
class [[nodiscard]] join_handle {
public:
    /// @cond internal
    join_handle(coro::spawned<T>& started, scheduler& home) noexcept
        : started_{&started}, home_{home} {}
    /// @endcond
    /// Takes over the task of `other`, which has none afterwards.
    join_handle(join_handle&& other) noexcept
        : started_{std::exchange(other.started_, nullptr)}, home_{other.home_} {}
    /// Drops its own task, which goes on by itself, and takes over that of `other`.
    join_handle& operator=(join_handle&& other) noexcept {
        if (this != &other) {
            detach();
            started_ = std::exchange(other.started_, nullptr);
            home_ = other.home_;
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

    /// Asks the task to stop. Any thread that holds the handle, which must be valid. The first
    /// request counts, with its reason or without one.
    void request_stop(stopped_by why = stopped_by::unsaid) noexcept { started().request_stop(why); }

    /// Wakes and signals go here. The handle must be valid, and the reference is while it is.
    [[nodiscard]] basic_task& get_task() noexcept { return started(); }

    /// Waits on this thread, which must not be a worker's. Once. With `run_on_caller` this thread
    /// runs the tasks. Rethrows the task's exception. Allocates nothing.
    ///
    /// Throws `stopped_error` if the scheduler was destroyed before the task ended. Also throws it
    /// if a `stop` of the scheduler that the task was started on has ended the workers, or has
    /// given up on a step. Then the handle has its task, which goes on after `start`, and can wait
    /// again. No stop ends the wait for a task that has ever moved to another scheduler: use
    /// `get_until`.
    T get() {
        if (wait_on_thread(never)) coro::throw_stopped(stopped_by::shutdown);
        return take();
    }

    /// Like `get`, until `deadline`: the result, `expired`, or `stopped` if a stop has ended the
    /// workers. A result that is there wins. After `expired` and `stopped` the handle has its task,
    /// and can wait again. The deadline is by `clock::now()` with `run_on_caller`, and else by the
    /// clock of the system.
    [[nodiscard]] waited<T> get_until(time_point deadline)
        requires(!std::is_reference_v<T>)
    {
        if (const auto early = wait_on_thread(deadline)) return std::unexpected{*early};
        return as_waited([this] { return take(); });
    }

    // The wait of a coroutine for the end of the task.
    class joining : public coro::awaited_operation, coro::joiner {
    public:
        joining(join_handle& handle, time_point deadline, on_stop what) noexcept
            : handle_{handle}, deadline_{deadline}, on_stop_{what} {}
        joining(joining&&) noexcept = default;  // before it is awaited
        joining& operator=(const joining&) = delete;

        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <coro::on_a_root Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
            coro::root& bottom = *leaf.promise().bottom;
            ended_by_ = coro::interruption::none;  // it may be awaited again
            waiting_task_ = &bottom;
            if (handle_.ended()) return bottom.take_turn_if_due(leaf, leaf.promise());
            if (!handle_.started_->join(*this)) return false;
            bottom.wait_at(leaf, leaf.promise(), coro::root::until::completion, deadline_);
            bottom.await_operation(*this);
            return true;
        }

        // A reference to such a wait, as a branch of a select. A stop ends the select.
        class branch final : public coro::told_branch<coro::joiner> {
        public:
            explicit branch(joining& wait) noexcept : wait_{wait} {}

            [[nodiscard]] time_point begin(coro::select_wait& of,
                                           sync::choice::branch number) override {
                this->begin_in(of, number);
                wait_.waiting_task_ = &of.waiting();
                return wait_.deadline_;
            }
            [[nodiscard]] bool try_enter() override {
                return wait_.handle_.ended() && this->claim();
            }
            [[nodiscard]] bool enter() override {
                return this->entered(wait_.handle_.started().join(*this));
            }
            [[nodiscard]] bool leave() noexcept override {
                return wait_.handle_.started().withdraw();
            }
            [[nodiscard]] waited<T> collect(std::optional<wait_error> early) {
                if (early) return std::unexpected{*early};
                return wait_.take_waited();
            }

        private:
            joining& wait_;
        };

    protected:
        ~joining() = default;

        [[nodiscard]] coro::interruption ended_by() const noexcept { return ended_by_; }
        [[nodiscard]] coro::root& waiting_task() const noexcept { return *waiting_task_; }
        T take() { return handle_.take_in(waiting_task_); }
        [[nodiscard]] waited<T> take_waited() {
            return as_waited([this] { return take(); });
        }

    private:
        // The state word of the spawned task decides between the end of the task and the stop or
        // the deadline of this wait: `withdraw` fails if the task is about to tell the joiner.
        [[nodiscard]] bool interrupt(coro::interruption why) noexcept override {
            if (why != coro::interruption::deadline && on_stop_ == on_stop::pass_on) {
                handle_.request_stop(coro::reason_of(*waiting_task_, why));
                return false;
            }
            if (!handle_.started_->withdraw()) return false;
            ended_by_ = why;
            return true;
        }
        [[nodiscard]] time_point own_deadline() const noexcept override { return deadline_; }
        [[nodiscard]] bool withdraw() noexcept override { return handle_.started_->withdraw(); }
        void tell() noexcept override { waiting_task_->complete(); }

        join_handle& handle_;
        const time_point deadline_;
        const on_stop on_stop_;
        coro::interruption ended_by_ = coro::interruption::none;
        coro::root* waiting_task_ = nullptr;
    };

    class awaiter final : public joining {
    public:
        using joining::joining;
        T await_resume() {
            if (this->ended_by() != coro::interruption::none) {
                this->waiting_task().throw_ended(error_of(this->ended_by()));
            }
            return this->take();
        }
    };

    class awaiter_of_result final : public joining {
    public:
        using joining::joining;
        using as_branch = joining::branch;
        [[nodiscard]] waited<T> await_resume() {
            if (this->ended_by() != coro::interruption::none) {
                return std::unexpected{error_of(this->ended_by())};
            }
            return this->take_waited();
        }
    };

    /// Waits for the result. Throws `stopped_error` if the awaiting task was asked to stop first,
    /// and `overdue_error` if a deadline of its context has passed first: then the handle still has
    /// its task, which goes on. May be awaited once; after these, again.
    [[nodiscard]] awaiter operator co_await() noexcept {
        static_cast<void>(started());
        return awaiter{*this, never, on_stop::leave};
    }

    /// Waits and gives `waited<T>`: the result, `expired`, `overdue` or `stopped`. After these the
    /// handle has its task, and can wait again. An exception of the task is rethrown.
    [[nodiscard]] awaiter_of_result join_until(time_point deadline,
                                               on_stop what = on_stop::leave) noexcept
        requires(!std::is_reference_v<T>)
    {
        static_cast<void>(started());
        return awaiter_of_result{*this, deadline, what};
    }

    /// The same without a deadline.
    [[nodiscard]] awaiter_of_result join(on_stop what = on_stop::leave) noexcept
        requires(!std::is_reference_v<T>)
    {
        return join_until(never, what);
    }

private:
    [[nodiscard]] coro::spawned<T>& started() const noexcept {
        FAIRLEAD_ASSERT(valid(), "a join_handle was used after it gave its result");
        return *started_;
    }

    // The wait of a thread. As in `joining`, the state word of the task decides.
    class joining_thread final : public coro::thread_wait {
    public:
        explicit joining_thread(join_handle& handle) noexcept
            : thread_wait{handle.home_.run_here()},
              started_{handle.started()},
              home_{handle.home_} {}

        [[nodiscard]] std::optional<wait_error> join_until(time_point deadline) {
            started_.pin().begin_to_look();
            const bool waits = started_.join(*this);
            if (waits && home_.run_here() == nullptr && is_left()) {
                watch(sched::access::halt_watch_of(home_.get()));
            }
            started_.pin().end_to_look();
            return waits ? wait_until(deadline) : std::nullopt;
        }

    private:
        void tell() noexcept override {
            started_.pin().await_last_look();
            thread_wait::tell();
        }
        [[nodiscard]] bool withdraw() noexcept override { return started_.withdraw(); }
        [[nodiscard]] bool is_left() const noexcept override { return !started_.pin().has_moved(); }

        coro::spawned<T>& started_;
        const coro::home_of_task home_;
    };

    // Why the wait has ended early, and the handle may wait again; or nothing.
    [[nodiscard]] std::optional<wait_error> wait_on_thread(time_point deadline) {
        FAIRLEAD_ASSERT(scheduler::current() == nullptr,
                        "get() on a worker would block it: co_await");
        return joining_thread{*this}.join_until(deadline);
    }

    template <class Take>
    [[nodiscard]] static waited<T> as_waited(Take take) {
        if constexpr (std::is_void_v<T>) {
            take();
            return {};
        } else {
            return take();
        }
    }

    struct dropper {
        coro::spawned<T>* started;
        ~dropper() { delete started; }
    };
    T take() {
        const dropper last{std::exchange(started_, nullptr)};
        return last.started->take();
    }
    T take_in(coro::root* const& waiting) {
        const dropper last{std::exchange(started_, nullptr)};
        return last.started->take_in(waiting);
    }

    coro::spawned<T>* started_;
    // The scheduler that `get` must run itself, and that must outlive `get`. Null: the scheduler
    // has threads of its own, and may be destroyed before `get`.
    coro::home_of_task home_;
};

}  // namespace fairlead
