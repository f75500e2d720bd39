// A scheduler in virtual time whose driver writes down what it is asked for, and has events.
#pragma once

#include <fairlead/sched/driver.hpp>
#include <fairlead/sched/options.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/test/jumping_driver.hpp>
#include <fairlead/test/manual_clock.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::test {

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

/// Sleeping moves the clock to the deadline, unless there are events. They come from `will_fire`,
/// all of them at the next look.
class simulated_driver final : public jumping_driver {
public:
    using jumping_driver::jumping_driver;

    void wait() noexcept override {
        waits.push_back(deadline());
        if (will_fire.empty()) jumping_driver::wait();
    }
    void poll(event_sink& sink) noexcept override {
        ++polls;
        for (; !will_fire.empty(); will_fire.pop_front()) {
            fake_source& source = *will_fire.front();
            if (source.armed != nullptr) sink.fire(*source.armed);
        }
    }
    [[nodiscard]] bool has_sources() const noexcept override { return sources; }

    std::vector<time_point> waits;       // the deadline of every sleep
    std::deque<fake_source*> will_fire;  // whose events come next
    bool sources = false;
    int polls = 0;
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
    options.driver = std::move(made);
    return options;
}

/// A scheduler with threads beside a simulated one: made and destroyed on a thread in real time.
class scheduler_in_real_time {
public:
    explicit scheduler_in_real_time(unsigned workers) {
        std::jthread{[&] { made_.emplace(scheduler_options{.workers = workers}); }};
    }
    ~scheduler_in_real_time() {
        std::jthread{[&] { made_.reset(); }};
    }
    scheduler_in_real_time(const scheduler_in_real_time&) = delete;
    scheduler_in_real_time& operator=(const scheduler_in_real_time&) = delete;

    [[nodiscard]] scheduler& operator*() noexcept { return *made_; }

private:
    std::optional<scheduler> made_;
};

}  // namespace fairlead::test
