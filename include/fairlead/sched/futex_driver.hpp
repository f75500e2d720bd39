// The driver of a scheduler without IO: it sleeps on a futex. In a foreign main loop it calls instead:
//
//     fl::scheduler scheduler{{.run_on_caller = true,
//                              .driver = std::make_unique<fl::futex_driver>([&] { loop.wake(); })}};
#pragma once

#include <fairlead/sched/driver.hpp>
#include <fairlead/sync/signal.hpp>

#include <functional>
#include <utility>

namespace fairlead {

/// The driver of a scheduler without IO. `scheduler_options::driver` is one by default.
class futex_driver final : public driver {
public:
    futex_driver() = default;
    /// `on_wake` tells a foreign main loop to call `scheduler::run_in_loop` soon: there is something to do, or the first
    /// deadline is earlier than it said. Any thread, until the scheduler is destroyed; in a post, or in `run_in_loop` itself.
    /// Must not throw, nor use the scheduler, nor wait for a thread that does.
    explicit futex_driver(std::function<void()> on_wake) : on_wake_{std::move(on_wake)} {}

    [[nodiscard]] bool set_deadline(time_point deadline) noexcept override {
        // Relaxed: who waits next has the role after it; who waits now will look again.
        return deadline_.exchange(deadline, sync::relaxed) <= deadline;
    }
    void wait() noexcept override {
        // One that was put off meanwhile is slept through.
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
