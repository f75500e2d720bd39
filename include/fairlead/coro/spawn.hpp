// Starting a coroutine on a scheduler, from anywhere.
#pragma once

#include <fairlead/coro/joiner.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/place.hpp>
#include <fairlead/sync/atomic.hpp>

#include <exception>
#include <optional>
#include <stop_token>
#include <utility>

namespace fairlead {

namespace coro {

// A spawned task. It lives until it has ended and its handle is gone: whoever comes second frees it.
template <class T>
class spawned : public root, public sync::recycled {
public:
    spawned(executor where, task<T> body, const char* name)
        : root{where, name}, body_{std::move(body)} {
        body_.start_on(*this);
    }

    // --- the handle -------------------------------------------------------------------------------

    [[nodiscard]] bool ended() const noexcept {
        return state_.load(sync::acquire) == has_ended;  // [SP1] sees the result
    }

    // False: it has ended already, and `who` is not told.
    [[nodiscard]] bool join(joiner& who) noexcept {
        joiner_ = &who;
        std::uint8_t expected = nobody;
        // [SP1] release: publishes the joiner; acquire on failure: sees the result.
        return state_.compare_exchange_strong(expected, somebody_joins, sync::acq_rel,
                                              sync::acquire);
    }

    T take() {
        if (abandoned_) throw stopped_error{};
        return body_.outcome().take();
    }

    // The joiner goes away, and is not told. False: it is being told.
    [[nodiscard]] bool withdraw() noexcept {
        std::uint8_t expected = somebody_joins;
        // [SP1] acquire: pairs with the end, if it was faster.
        return state_.compare_exchange_strong(expected, nobody, sync::acq_rel, sync::acquire);
    }

    // The handle goes away: nobody will see an exception, so it is reported. The last touch.
    void detach() noexcept {
        std::uint8_t expected = nobody;
        // [SP1] as in join: after it, the end frees this object.
        if (state_.compare_exchange_strong(expected, detached, sync::acq_rel, sync::acquire))
            return;
        report_failure();
        delete this;
    }

    virtual ~spawned() = default;

protected:
    // The last that runs of it, but for what its handle asks.
    void on_end() noexcept override {
        if (!abandoned_ && body_.outcome().failure() != nullptr) reporter_ = home().reporter();
        // [SP1] release: publishes the result; acquire: sees the joiner. The last touch, unless the
        // handle is gone, or its owner waits to be told: then it frees this object after that.
        const std::uint8_t before = state_.exchange(has_ended, sync::acq_rel);
        if (before == detached) {
            report_failure();
            delete this;
        } else if (before == somebody_joins) {
            joiner_->tell();
        }
    }

    void on_abandon() noexcept final {
        abandoned_ = true;
        on_end();
    }

private:
    enum : std::uint8_t { nobody, somebody_joins, detached, has_ended };

    void report_failure() noexcept {
        if (abandoned_) return;
        if (auto failure = body_.outcome().failure()) report(std::move(failure));
    }
    // Apart: it is rare, and catches.
    [[gnu::noinline]] void report(std::exception_ptr failure) noexcept {
        if (!is_stop(failure)) reporter_(std::move(failure), name());
    }

    // First, where the base has room left.
    sync::atomic<std::uint8_t> state_{nobody};
    bool abandoned_ = false;
    task<T> body_;
    joiner* joiner_ = nullptr;
    unhandled_reporter reporter_;  // of a failure; the scheduler may be gone when it is needed
};

// One that ends early when a token says so.
template <class T>
class spawned_with_token final : public spawned<T> {
public:
    spawned_with_token(executor where, task<T> body, std::stop_token stop, const char* name)
        : spawned<T>{where, std::move(body), name},
          on_stop_{std::in_place, std::move(stop), stop_request{*this}} {}

private:
    struct stop_request {
        root& task;
        void operator()() const noexcept { task.request_stop(); }
    };

    void on_end() noexcept override {
        on_stop_.reset();  // waits for a request that is under way
        spawned<T>::on_end();
    }

    std::optional<std::stop_callback<stop_request>> on_stop_;
};

// The root of block_on: lives on the stack of the thread that waits.
template <class T>
class blocked_on final : public root {
public:
    blocked_on(executor where, task<T> body, const char* name)
        : root{where, name},
          thread_{home().runs_on_caller() ? &home() : nullptr},
          body_{std::move(body)} {
        body_.start_on(*this);
    }

    void wait() { thread_.wait(); }

    T take() {
        if (abandoned_) throw stopped_error{};
        return body_.outcome().take();
    }

private:
    void on_end() noexcept override { thread_.tell(); }
    void on_abandon() noexcept override {
        abandoned_ = true;
        thread_.tell();
    }

    waiting_thread thread_;
    task<T> body_;
    bool abandoned_ = false;
};

}  // namespace coro

/// A started task: `co_await` it for its result, or drop it, and it goes on by itself. Awaiting
/// rethrows the task's exception, and throws `stopped_error` if its scheduler was destroyed first.
/// An exception of a task whose handle was dropped goes to `on_unhandled`, unless it is `stopped_error`.
template <class T>
class [[nodiscard]] join_handle {
public:
    join_handle(coro::spawned<T>& started, scheduler& home) noexcept
        : started_{&started}, run_here_{home.runs_on_caller() ? &home : nullptr} {}
    join_handle(join_handle&& other) noexcept
        : started_{std::exchange(other.started_, nullptr)}, run_here_{other.run_here_} {}
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

    [[nodiscard]] bool ended() const noexcept { return started_->ended(); }

    /// Asks the task to stop. Any thread that holds the handle, at any time before it is awaited.
    void request_stop() noexcept { started_->request_stop(); }

    /// Wakes and signals go here. Valid while the handle is.
    [[nodiscard]] basic_task& get_task() noexcept { return *started_; }

    /// Waits on this thread, which must not be a worker's. Once. With `run_on_caller` this thread
    /// runs the tasks.
    T get() {
        FAIRLEAD_ASSERT(scheduler::current() == nullptr,
                        "get() on a worker would block it: co_await");
        FAIRLEAD_ASSERT(valid(), "a join_handle was used after it gave its result");
        coro::waiting_thread self{run_here_};
        if (started_->join(self)) self.wait();
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
        FAIRLEAD_ASSERT(valid(), "a join_handle was used after it gave its result");
        return awaiter{*this};
    }

private:
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

namespace coro {

template <class T>
spawned<T>& make_spawned(executor where, task<T>&& body, std::stop_token&& stop, const char* name) {
    if (!stop.stop_possible()) return *new spawned<T>{where, std::move(body), name};
    return *new spawned_with_token<T>{where, std::move(body), std::move(stop), name};
}

}  // namespace coro

/// Starts `body` on a scheduler, or in a group of one. `stop`, if it can be stopped, asks the task to stop. Any thread.
/// Allocates one object. `name` must have static storage.
template <class T>
join_handle<T> spawn(executor where, task<T> body, std::stop_token stop = {},
                     const char* name = "coroutine") {
    coro::spawned<T>& started = coro::make_spawned(where, std::move(body), std::move(stop), name);
    join_handle<T> handle{started, where.owner()};
    where.post(started);
    return handle;
}

/// Likewise in the group that `into` is a place of, which must be one. If the group drops the task before it has begun, its
/// frames are destroyed, and who awaits it gets `stopped_error`.
template <class T>
join_handle<T> spawn(place into, task<T> body, std::stop_token stop = {},
                     const char* name = "coroutine") {
    FAIRLEAD_ASSERT(static_cast<bool>(into), "spawn with a place that is none");
    const executor where = into.where();
    coro::spawned<T>& started = coro::make_spawned(where, std::move(body), std::move(stop), name);
    join_handle<T> handle{started, where.owner()};
    std::move(into).post(started);
    return handle;
}

/// Runs `body` on a scheduler, or in a group of one, and waits on this thread for its result. Not from a worker. With
/// `run_on_caller` this thread runs the tasks.
template <class T>
T block_on(executor where, task<T> body, const char* name = "block_on") {
    FAIRLEAD_ASSERT(scheduler::current() == nullptr,
                    "block_on on a worker would block it: co_await");
    coro::blocked_on<T> waiting{where, std::move(body), name};
    where.post(waiting);
    waiting.wait();
    return waiting.take();
}

}  // namespace fairlead
