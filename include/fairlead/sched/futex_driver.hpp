// The driver of a scheduler without IO: it sleeps on a futex. In a foreign main loop it calls a
// function instead:
//
//     auto driver = std::make_unique<fl::futex_driver>([&] { loop.wake(); });
//     fl::scheduler scheduler{{.run_on_caller = true, .driver = std::move(driver)}};
#pragma once

#include <fairlead/sched/driver.hpp>
#include <fairlead/sync/signal.hpp>

#include <functional>
#include <utility>

namespace fairlead {

/// The driver of a scheduler without IO. `scheduler_options::driver` is one by default.
class futex_driver final : public driver {
public:
    /// Sleeps on a futex.
    futex_driver() = default;

    /// `on_wake` tells a foreign main loop to call `scheduler::run_in_loop` soon: there is
    /// something to do, or the first deadline is earlier than `run_in_loop` has said. Any thread
    /// calls `on_wake`, in a post or in `run_in_loop` itself, until the scheduler is destroyed. It
    /// must not throw, use the scheduler, or wait for a thread that uses it.
    explicit futex_driver(std::function<void()> on_wake) : on_wake_{std::move(on_wake)} {}

    [[nodiscard]] bool set_deadline(time_point deadline) noexcept override {
        // Relaxed: the next thread to wait has the role after this one; a waiting one looks again.
        return deadline_.exchange(deadline, sync::relaxed) <= deadline;
    }
    void wait() noexcept override {
        // A deadline that was put off meanwhile is slept through.
        time_point deadline = deadline_.load(sync::relaxed);
        while (!wake_.receive_until(deadline)) {
            const time_point now_set = deadline_.load(sync::relaxed);
            if (now_set <= deadline) return;
            deadline = now_set;
        }
    }
    void poll(event_sink&) noexcept override {}
    void wake() noexcept override {
        wake_.send();
        if (on_wake_) on_wake_();
    }
    [[nodiscard]] bool has_sources() const noexcept override { return false; }

private:
    const std::function<void()> on_wake_;
    sync::signal wake_;
    sync::atomic<time_point> deadline_{never};
};

}  // namespace fairlead
