// A scheduler in virtual time. Its driver records the calls of the scheduler, and delivers events
// that a test has planned.
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

/// An event source of a simulation, ready or not. It counts the calls of the scheduler.
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

/// A sleep moves the clock to the deadline, unless there are events. The next poll delivers all
/// events of `will_fire`.
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
    std::deque<fake_source*> will_fire;  // sources whose events come next
    bool sources = false;
    int polls = 0;
};

/// Options of a scheduler that runs on the caller in simulated time. `driver` is set to the driver,
/// which the scheduler owns.
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

/// A scheduler with threads beside a simulated one. A thread in real time makes and destroys it.
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
