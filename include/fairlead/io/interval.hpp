// Ticks at the multiples of a period.
//
//     fl::io::interval ticks{1min};
//     for (;;) {
//         co_await ticks.next();
//         co_await reload_certificates();
//     }
//
// The times count from the first tick, so a slow job does not move them. A task that comes late for
// a tick gets it at once, but one tick for all that it has missed: the job neither catches up in a
// burst nor loses its turn to the other branches of a select.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/select_wait.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <coroutine>
#include <cstdint>
#include <optional>

namespace fairlead::io {

class interval;

/// What a wait for an interval gives.
struct interval_tick {
    /// The latest multiple of the period that has passed.
    time_point due;
    /// How many ticks were due between the last tick told and this tick.
    std::uint64_t missed = 0;
};

namespace detail {

class tick_wait {
public:
    explicit tick_wait(interval& of) noexcept : of_{of} {}

    // As a branch of a select. A tick that is due takes its turn among the branches that ended.
    class as_branch final : public coro::select_branch {
    public:
        explicit as_branch(const tick_wait& wait) noexcept : of_{wait.of_} {}
        [[nodiscard]] time_point begin(coro::select_wait& select,
                                       sync::choice::branch number) override;
        [[nodiscard]] bool try_enter() override;
        [[nodiscard]] bool enter() override { return true; }
        [[nodiscard]] bool leave() noexcept override { return true; }
        interval_tick collect(std::optional<wait_error> early) noexcept;

    private:
        interval& of_;
        coro::select_wait* select_ = nullptr;
        sync::choice::branch number_ = 0;
    };

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <coro::on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept;
    interval_tick await_resume() const;

private:
    interval& of_;
    coro::root* bottom_ = nullptr;
};

}  // namespace detail

/// Ticks at the multiples of a period, for one task at a time. It has no thread and no timer of its
/// own: only a wait costs something. Allocates nothing.
class interval {
public:
    /// The first tick is due at `first`; `immediately`: now, by `fl::clock`. `period` must be
    /// positive: that is asserted.
    interval(duration period, time_point first) noexcept
        : period_{period}, due_{first == immediately ? clock::now() : first} {
        FAIRLEAD_ASSERT(period > duration::zero(), "the period of an interval must be positive");
    }
    /// The first tick is due a period from now, by `fl::clock`.
    explicit interval(duration period) noexcept : interval{period, after(clock::now(), period)} {}

    /// Waits until the next tick is due, by the clock of the task's scheduler. A tick that is due
    /// already is told after a turn, or at once as a branch of a select. Throws `stopped_error` if
    /// the task was asked to stop, and `overdue_error` if a deadline of its context has passed: the
    /// tick is then not used up, nor is it by a select that another branch has ended. O(1).
    [[nodiscard]] detail::tick_wait next() noexcept { return detail::tick_wait{*this}; }

    /// When the next tick is due.
    [[nodiscard]] time_point due() const noexcept { return due_; }
    /// The time between two ticks.
    [[nodiscard]] duration period() const noexcept { return period_; }

private:
    friend class detail::tick_wait;

    // `now` is not before `due_`.
    interval_tick take(time_point now) noexcept {
        const auto missed = (now - due_) / period_;
        const time_point latest = due_ + missed * period_;
        due_ = after(latest, period_);
        return {.due = latest, .missed = static_cast<std::uint64_t>(missed)};
    }

    duration period_;
    time_point due_;
};

namespace detail {

inline time_point tick_wait::as_branch::begin(coro::select_wait& select,
                                              sync::choice::branch number) {
    select_ = &select;
    number_ = number;
    return of_.due_;
}

inline bool tick_wait::as_branch::try_enter() {
    return of_.due_ <= select_->waiting().home().now() && select_->choice().claim(number_);
}

inline interval_tick tick_wait::as_branch::collect(std::optional<wait_error>) noexcept {
    return of_.take(select_->waiting().home().now());
}

template <coro::on_a_root Promise>
void tick_wait::await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
    bottom_ = leaf.promise().bottom;
    bottom_->wait_at(leaf, leaf.promise(), coro::root::until::deadline, of_.due_);
}

inline interval_tick tick_wait::await_resume() const {
    bottom_->throw_if_ended();
    return of_.take(bottom_->home().now());
}

}  // namespace detail

}  // namespace fairlead::io
