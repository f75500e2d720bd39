// A driver that holds a worker in the middle of a round, so that a test can play a race step by
// step.
#pragma once

#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/futex_driver.hpp>

#include <atomic>

namespace fairlead::test {

/// Sleeps on a futex. A round asks `has_sources` before it takes in what arrived and once more
/// after it: when the `hold_at`-th question from now comes, `held` is sent and the worker waits for
/// `go_on`.
class gate_driver final : public driver {
public:
    [[nodiscard]] bool set_deadline(time_point deadline) noexcept override {
        return sleep_.set_deadline(deadline);
    }
    void wait() noexcept override { sleep_.wait(); }
    void poll(event_sink&) noexcept override {}
    void wake() noexcept override { sleep_.wake(); }
    [[nodiscard]] bool has_sources() const noexcept override {
        if (hold_at != 0 && --hold_at == 0) {
            held.send();
            go_on.receive();
        }
        return false;
    }

    mutable std::atomic<int> hold_at{0};
    mutable sync::signal held;
    mutable sync::signal go_on;

private:
    futex_driver sleep_;
};

}  // namespace fairlead::test
