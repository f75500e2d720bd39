// The wait of a task, or of a thread, in a FIFO of a structure with a mutex: under barriers, reader
// and writer locks, initialisers and flights.
//
//     the structure --grant, close--> tell ------------------> the task goes on
//     a stop        --interrupt-----> withdraw, if still there: `stopped`
//     the deadline  --interrupt-----> withdraw, if still there: `expired`
//
// The structure decides under its mutex which of the three ends the wait. A structure `Of` has
//
//     Of::waiter                     derived from sync::waiter
//     bool enter(waiter&) noexcept   whether it must wait; otherwise the wait is over
//     bool withdraw(waiter&) noexcept   ends a wait; false: it has ended, and is told
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/foreign_wait.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/thread_wait.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <coroutine>
#include <expected>
#include <optional>
#include <utility>

namespace fairlead::wait {

/// The awaiter, for derivation: its `await_resume` turns `ended` into a result.
template <class Of>
class listed_wait : public coro::awaited_operation, protected Of::waiter {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <coro::on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        coro::root& bottom = *leaf.promise().bottom;
        if (!begin(bottom)) return bottom.take_turn_if_due(leaf, leaf.promise());
        bottom.wait_at(leaf, leaf.promise(), coro::root::until::completion, deadline_);
        bottom.await_operation(*this);
        return true;
    }

protected:
    template <class... Args>
    listed_wait(Of& of, time_point deadline, Args&&... args) noexcept
        : Of::waiter{std::forward<Args>(args)...}, of_{of}, deadline_{deadline} {}
    ~listed_wait() = default;

    /// Why the wait has ended; nothing: by a grant, which is the caller's now. Asked once.
    [[nodiscard]] std::optional<wait_error> ended() noexcept {
        switch (ended_by_) {
            case coro::interruption::stop:
                return wait_error::stopped;
            case coro::interruption::deadline:
                return wait_error::expired;
            case coro::interruption::none:
                break;
        }
        if (this->take_grant()) return std::nullopt;
        return wait_error::closed;
    }

    [[nodiscard]] Of& of() const noexcept { return of_; }

private:
    // Whether the task must wait.
    [[nodiscard]] bool begin(coro::root& bottom) noexcept {
        waiting_ = &bottom;
        // First: a task that never has to wait must hear of a stop, too.
        ended_by_ = bottom.hears_stop() ? coro::interruption::stop : coro::interruption::none;
        return ended_by_ == coro::interruption::none && of_.enter(*this);
    }

    void tell() noexcept final { waiting_->complete(); }

    [[nodiscard]] bool interrupt(coro::interruption why) noexcept final {
        if (!of_.withdraw(*this)) return false;  // the end is on its way
        ended_by_ = why;
        return true;
    }
    [[nodiscard]] bool withdraw() noexcept final { return of_.withdraw(*this); }

    Of& of_;
    const time_point deadline_;
    coro::root* waiting_ = nullptr;
    coro::interruption ended_by_ = coro::interruption::none;
};

/// A wait that gives nothing but its end, and whose grant needs no return.
template <class Of>
class [[nodiscard]] plain_listed_wait final : public listed_wait<Of> {
public:
    template <class... Args>
    plain_listed_wait(Of& of, time_point deadline, Args&&... args) noexcept
        : listed_wait<Of>{of, deadline, std::forward<Args>(args)...} {}

    [[nodiscard]] waited<void> await_resume() noexcept {
        if (const auto error = this->ended()) return std::unexpected{*error};
        return {};
    }
};

/// The wait of a thread that is no worker: until `deadline` at the latest, by the clock of the
/// system.
template <class Of>
class thread_of_list final : Of::waiter, coro::thread_wait {
public:
    template <class... Args>
    explicit thread_of_list(Of& of, Args&&... args) noexcept
        : Of::waiter{std::forward<Args>(args)...}, thread_wait{nullptr}, of_{of} {
        FAIRLEAD_ASSERT(
            scheduler::current() == nullptr,
            "a wait that blocks its thread was called on a worker: co_await the other form");
    }

    [[nodiscard]] waited<void> run(time_point deadline) {
        if (of_.enter(*this)) {
            if (const auto early = wait_until(deadline)) return std::unexpected{*early};
        }
        if (this->take_grant()) return {};
        return std::unexpected{wait_error::closed};
    }

private:
    void tell() noexcept override { thread_wait::tell(); }
    [[nodiscard]] bool withdraw() noexcept override { return of_.withdraw(*this); }

    Of& of_;
};

}  // namespace fairlead::wait
