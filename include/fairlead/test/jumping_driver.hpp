// A driver that does not sleep: it moves the clock.
#pragma once

#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/driver.hpp>
#include <fairlead/test/manual_clock.hpp>

namespace fairlead::test {

/// Where a real driver sleeps until a deadline, this one moves the clock there. For a scheduler
/// with `run_on_caller`. The clock must outlive it. Derive from it to add events.
class jumping_driver : public driver {
public:
    /// `moved` must outlive the driver.
    explicit jumping_driver(manual_clock& moved) noexcept : clock_{moved} {}

    /// Remembers where to jump; always true.
    [[nodiscard]] bool set_deadline(time_point deadline) noexcept override {
        deadline_ = deadline;
        return true;
    }

    /// Without a deadline nothing can come but a wake-up from another thread: it sleeps until then.
    void wait() noexcept override {
        if (deadline_ == never) return woken_.receive();
        if (!woken_.try_receive() && deadline_ > clock_.now()) clock_.set(deadline_);
    }

    /// There are no events.
    void poll(event_sink&) noexcept override {}
    /// Ends a `wait`. Any thread.
    void wake() noexcept override { woken_.send(); }
    /// False: nothing but deadlines and wake-ups.
    [[nodiscard]] bool has_sources() const noexcept override { return false; }

protected:
    /// What the scheduler waits for.
    [[nodiscard]] time_point deadline() const noexcept { return deadline_; }
    /// Whether a `wake` has come since the last wait, which it ends.
    [[nodiscard]] bool was_woken() noexcept { return woken_.try_receive(); }

private:
    manual_clock& clock_;
    time_point deadline_ = never;
    sync::signal woken_;
};

}  // namespace fairlead::test
