// A clock that only moves when it is told to, and a driver whose sleep moves it: with them and
// `run_on_caller` a scheduler runs deterministically, and hours pass in no time.
#pragma once

#include <fairlead/sched/clock.hpp>
#include <fairlead/sched/driver.hpp>
#include <fairlead/sched/options.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace fairlead::test {

class manual_clock final : public clock_source {
public:
    [[nodiscard]] time_point now() const noexcept override { return now_.load(); }
    void advance(duration by) noexcept { now_ = now() + by; }
    void set(time_point to) noexcept { now_ = to; }

private:
    std::atomic<time_point> now_{time_point{} + std::chrono::hours{1}};
};

/// What a task can wait for in a simulation: it is there or not. Counts what the scheduler does.
class fake_source final : public wait_source {
public:
    [[nodiscard]] bool arm(basic_task& task) noexcept override {
        ++arms;
        if (ready) return false;
        armed = &task;
        return true;
    }
    void disarm(basic_task& task) noexcept override {
        ++disarms;
        mismatched |= armed != &task;
        armed = nullptr;
    }

    bool ready = false;
    bool mismatched = false;  // disarmed a task that was not armed
    basic_task* armed = nullptr;
    int arms = 0;
    int disarms = 0;
};

/// Sleeping moves the clock to the deadline, unless there are events. They come from `will_fire`, all
/// of them at the next look.
class simulated_driver final : public driver {
public:
    explicit simulated_driver(manual_clock& moved) noexcept : clock_{moved} {}

    [[nodiscard]] bool set_deadline(time_point to) noexcept override {
        deadline = to;
        return true;
    }
    void wait() noexcept override {
        waits.push_back(deadline);
        if (woken.exchange(false) || !will_fire.empty()) return;
        if (deadline != never && deadline > clock_.now()) clock_.set(deadline);
    }
    void poll(event_sink& sink) noexcept override {
        ++polls;
        for (; !will_fire.empty(); will_fire.pop_front()) {
            fake_source& source = *will_fire.front();
            if (source.armed != nullptr) sink.fire(*source.armed);
        }
    }
    void wake() noexcept override { woken = true; }
    [[nodiscard]] bool has_sources() const noexcept override { return sources; }

    time_point deadline = never;
    std::vector<time_point> waits;       // the deadline of every sleep
    std::deque<fake_source*> will_fire;  // whose events come next
    bool sources = false;
    int polls = 0;
    std::atomic<bool> woken{false};

private:
    manual_clock& clock_;
};

/// Options of a scheduler that runs on the caller in simulated time. `driver` is told which driver
/// the scheduler got, which owns it.
inline scheduler_options simulated(manual_clock& clock, simulated_driver*& driver,
                                   policy policy = policy::fair) {
    auto made = std::make_unique<simulated_driver>(clock);
    driver = made.get();
    scheduler_options options;
    options.policy = policy;
    options.run_on_caller = true;
    options.clock = &clock;
    options.driver = std::move(made);
    return options;
}

}  // namespace fairlead::test
