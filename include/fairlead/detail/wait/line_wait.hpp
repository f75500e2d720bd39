// The wait of a task, or of a thread, for permits of a line. Under mutexes, semaphores, events and
// latches.
//
//     the line     --grant, close--> tell ------------------> the task goes on
//     a stop       --interrupt-----> withdraw, if still there: `stopped`
//     the deadline --interrupt-----> withdraw, if still there: `expired`
//
// The FIFO of the line decides which of the three ends the wait: so a permit that was granted
// arrives, and the next wait of the task hears of the stop.
//
// A wait that is granted at once by a task whose budget is used up takes its turn with the grant. A
// turn before the grant would let a task that asks later overtake; the order of asking is the order
// of the FIFO.
//
// The line must live until each wait for it is over, which is when its task or thread goes on: a
// deadline or a stop may look into the line until then. After that a task that has gone on may
// destroy the line, though the call that woke it has not returned.
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/foreign_wait.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sync/line.hpp>

#include <coroutine>
#include <cstdint>
#include <optional>

namespace fairlead::wait {

/// The awaiter, for derivation: its `await_resume` turns `ended` into a result.
class line_wait : public coro::awaited_operation, protected sync::line_waiter {
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
    line_wait(sync::line& of, std::uint32_t needs, std::uint32_t takes,
              time_point deadline) noexcept
        : line_waiter{needs, takes}, of_{of}, deadline_{deadline} {}

    /// Gives back a grant that was not collected: the task was destroyed with its scheduler.
    ~line_wait() {
        if (take_grant() && takes() != 0) of_.give_back(takes());
    }

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
        if (take_grant()) return std::nullopt;
        return wait_error::closed;
    }

    [[nodiscard]] sync::line& of() const noexcept { return of_; }

private:
    // Whether the task must wait.
    [[nodiscard]] bool begin(coro::root& bottom) noexcept {
        waiting_ = &bottom;
        // Before anything is taken: a task that always finds a permit must hear of a stop, too.
        ended_by_ = bottom.hears_stop() ? coro::interruption::stop : coro::interruption::none;
        return ended_by_ == coro::interruption::none &&
               of_.enter(*this) == sync::line::entry::waits;
    }

    void tell() noexcept final { waiting_->complete(); }

    [[nodiscard]] bool interrupt(coro::interruption why) noexcept final {
        if (!of_.withdraw(*this)) return false;  // the grant, or the close, is on its way
        ended_by_ = why;
        return true;
    }
    [[nodiscard]] bool withdraw() noexcept final { return of_.withdraw(*this); }

    sync::line& of_;
    const time_point deadline_;
    coro::root* waiting_ = nullptr;
    coro::interruption ended_by_ = coro::interruption::none;
};

/// A wait for an event or a latch: it gives nothing but its end.
class [[nodiscard]] plain_wait final : public line_wait {
public:
    plain_wait(sync::line& of, std::uint32_t needs, std::uint32_t takes,
               time_point deadline) noexcept
        : line_wait{of, needs, takes, deadline} {}

    /// A `set` that was not collected is kept for the next wait. Another one may have been kept
    /// since: both are one.
    ~plain_wait() {
        if (take_grant() && takes() != 0) of().give_back_if_taken();
    }

    [[nodiscard]] waited<void> await_resume() noexcept {
        if (const auto error = ended()) return std::unexpected{*error};
        return {};
    }
};

/// The same on this thread, which must not be a worker's: until `deadline` at the latest, by the
/// clock of the system.
[[nodiscard]] waited<void> wait_on_thread(sync::line& of, std::uint32_t needs, std::uint32_t takes,
                                          time_point deadline);

}  // namespace fairlead::wait
