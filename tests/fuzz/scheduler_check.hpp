// Operations on a scheduler that runs on this thread in simulated time: posts, batches, deadlines,
// waits for wake-ups, signals, completions and events, requests to stop, drains, stops and
// restarts; from outside and from steps.
//
// The model records for each task whether it is posted, until when, and its later events. From that
// follows which tasks must have run. No step runs without a post, twice for one post, or before the
// event that its task waits for. An idle scheduler has no task that could run. The reports of drain
// and stop agree with the model. In the end every task is back with its owner.
#pragma once

#include "fuzz/input.hpp"

#include "support/simulated.hpp"

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fairlead::fuzz {

using namespace std::chrono_literals;

template <class Scheduler>
class scheduler_check {
public:
    explicit scheduler_check(input bytes) : bytes_{bytes} {
        home_.emplace(test::simulated(clock_, driver_));
        driver_->sources = true;
        for (checked_task& each : tasks_) each.home = this;
    }

    void run() {
        while (!bytes_.empty()) operate();
        run_until_idle();
        ending_ = true;
        home_.reset();
        for (const checked_task& each : tasks_) {
            FAIRLEAD_ASSERT(each.owner() == nullptr, "every task was given back");
            FAIRLEAD_ASSERT(each.source.armed == nullptr, "no source is left armed");
            FAIRLEAD_ASSERT(!each.source.mismatched, "sources are told of their own tasks");
        }
    }

private:
    // A task, its source of events, and its record in the model.
    struct checked_task final : callback_task {
        checked_task() noexcept
            : callback_task{[](callback_task& self) {
                  auto& own = static_cast<checked_task&>(self);
                  own.home->on_step(own);
              }} {}

        using callback_task::wait_for;

        scheduler_check* home = nullptr;
        test::fake_source source;
        bool posted = false;
        time_point deadline{};
        bool waits_for_event = false;
        bool deaf = false;
        bool event = false;  // has come, and was not used up
        bool woken = false;
        bool completed = false;
        bool signal_sent = false;
        std::uint64_t line = 0;  // its place among plain posts from outside; 0: another kind
        std::uint8_t script = 0;
    };

    void on_step(checked_task& task) {
        FAIRLEAD_ASSERT(task.posted, "a step for each post");
        FAIRLEAD_ASSERT(has_reason(task), "no step before what the task waits for");
        if (task.expired()) FAIRLEAD_ASSERT(task.deadline <= clock_.now(), "it is not early");
        FAIRLEAD_ASSERT(task.signalled() == task.signal_sent, "signals are kept until received");
        if (task.line != 0) {
            FAIRLEAD_ASSERT(task.line > last_in_line_, "posts run in their order");
            last_in_line_ = task.line;
        }
        task.posted = task.woken = false;
        if (ending_) return;  // it stops, and must not be posted to
        task.event = task.source.ready = false;
        std::erase(driver_->will_fire, &task.source);
        act(task);
    }

    void operate() {
        checked_task& task = any_task();
        switch (bytes_.below(12)) {
            case 0:
            case 1:
                post(task, immediately, true);
                break;
            case 2:
                post_batch();
                break;
            case 3:
                post(task, some_deadline(), true);
                break;
            case 4:
                post_deaf_or_for_event(task);
                break;
            case 5:
            case 6:
                notify(task);
                break;
            case 7:
                clock_.advance(duration{bytes_.byte()});
                break;
            case 8:
                run_until_idle();
                break;
            case 9:
                run_some();
                break;
            case 10:
                drain();
                break;
            default:
                stop();
                break;
        }
    }

    // Runs the step of a task, as its post has chosen.
    void act(checked_task& task) {
        const std::uint8_t script = std::exchange(task.script, std::uint8_t{0});
        if ((script & 1) != 0 && task.signal_sent) {
            FAIRLEAD_ASSERT(task.receive_signal(), "a signal is received");
            FAIRLEAD_ASSERT(!task.receive_signal(), "once");
            task.signal_sent = false;
        }
        if (task.completed) {
            FAIRLEAD_ASSERT(task.take_completed(), "a completion is seen by the next step");
            task.completed = false;
        }
        if (stepping_.size() == steps_of_one_run) return;  // for ever otherwise
        stepping_.push_back(&task);
        switch (script >> 1 & 7) {
            case 1:
                post(task, immediately, false);
                break;
            case 2:
                post(task, some_deadline(), false);
                break;
            case 3:
                notify(any_task());
                break;
            case 4:
                post(any_task(), immediately, false);
                break;
            default:
                break;
        }
    }

    // --- operations ------------------------------------------------------------------------------

    void prepare(checked_task& task, time_point deadline) {
        task.posted = true;
        task.deadline = deadline;
        task.waits_for_event = task.deaf = false;
        task.line = 0;
        task.script = bytes_.byte();
    }

    void post(checked_task& task, time_point deadline, bool from_outside) {
        if (task.posted) return;
        prepare(task, deadline);
        if (deadline != immediately) return home_->post_deadline(task, deadline);
        if (from_outside) task.line = ++lines_;
        home_->post(task);
    }

    void post_batch() {
        std::vector<basic_task*> batch;
        for (std::size_t left = 1 + bytes_.below(8); left != 0; --left) {
            checked_task& task = any_task();
            if (task.posted) continue;
            prepare(task, immediately);
            task.line = ++lines_;
            batch.push_back(&task);
        }
        home_->post(batch);
    }

    void post_deaf_or_for_event(checked_task& task) {
        if (task.posted) return;
        prepare(task, some_deadline());
        const std::uint8_t kind = bytes_.byte();
        task.deaf = (kind & 1) != 0;
        task.waits_for_event = (kind & 2) != 0 && task.deadline != immediately;
        if (task.deaf) task.ignore_signals();
        if (task.waits_for_event) task.wait_for(task.source);
        home_->post_deadline(task, task.deadline);
    }

    void notify(checked_task& task) {
        switch (bytes_.below(5)) {
            case 0:
                task.woken = true;
                task.wakeup();
                break;
            case 1:
                task.signal_sent = true;
                task.signal();
                break;
            case 2:
                task.completed = true;
                task.complete();
                break;
            case 3:
                task.woken = true;
                task.request_stop();
                break;
            default:
                if (!task.waits_for_event || task.event) break;
                task.event = task.source.ready = true;
                driver_->will_fire.push_back(&task.source);
                break;
        }
    }

    void run_until_idle() {
        stepping_.clear();
        const time_point before = clock_.now();
        // A call that runs tasks need not have looked for events after them.
        while (home_->run_until_idle() != 0) {
        }
        FAIRLEAD_ASSERT(clock_.now() == before, "who only looks does not sleep");
        require_idle();
    }

    void run_some() {
        stepping_.clear();
        const time_point limit = after(clock_.now(), duration{bytes_.byte()});
        const std::size_t steps_max = 1 + bytes_.below(4);
        const std::size_t steps = home_->run_until(limit, steps_max);
        FAIRLEAD_ASSERT(steps <= steps_max, "not more steps than wanted");
        FAIRLEAD_ASSERT(clock_.now() <= limit, "it does not sleep longer than wanted");
        if (steps == 0) require_idle();
    }

    void drain() {
        stepping_.clear();
        const time_point limit = after(clock_.now(), duration{bytes_.byte()});
        const bool drained = home_->drain_for(limit - clock_.now());
        FAIRLEAD_ASSERT(drained == (posted() == 0), "a drain tells whether all is done");
    }

    void stop() {
        stepping_.clear();
        const duration limit{bytes_.byte()};
        // A stop tells each sleeper. It also tells a task that sleeps later, unless an earlier stop
        // has told that task.
        for (checked_task& each : tasks_) {
            each.woken |= each.posted && limit != 0ns && !each.stop_requested();
        }
        const stop_report report = home_->stop(limit);
        FAIRLEAD_ASSERT(report.running == 0, "no step runs on another thread");
        FAIRLEAD_ASSERT(report.waiting + report.queued == posted(), "the report has what is left");
        home_->start();
    }

    // --- the model -------------------------------------------------------------------------------

    [[nodiscard]] bool is_due(const checked_task& task) const {
        return task.deadline <= clock_.now() || task.woken || task.completed ||
               (task.signal_sent && !task.deaf) || (task.waits_for_event && task.event);
    }

    [[nodiscard]] bool has_reason(const checked_task& task) const {
        const bool is_told = task.stop_requested() && (ending_ || home_->stopping());
        return is_due(task) || is_told;
    }

    void require_idle() const {
        const bool none_left = std::ranges::none_of(
            tasks_, [&](const checked_task& each) { return each.posted && is_due(each); });
        FAIRLEAD_ASSERT(none_left, "nothing is left that could run");
    }

    [[nodiscard]] std::size_t posted() const {
        return static_cast<std::size_t>(std::ranges::count(tasks_, true, &checked_task::posted));
    }

    checked_task& any_task() { return tasks_[bytes_.below(tasks_.size())]; }

    time_point some_deadline() {
        const std::uint8_t drawn = bytes_.byte();
        if (drawn >= 192) return never;
        return clock_.now() + duration{static_cast<int>(drawn) - 32};
    }

    static constexpr std::size_t steps_of_one_run = 64;

    input bytes_;
    test::manual_clock clock_;
    test::simulated_driver* driver_ = nullptr;
    std::array<checked_task, 12> tasks_;
    std::vector<checked_task*> stepping_;  // that acted since the scheduler was called
    std::uint64_t lines_ = 0;
    std::uint64_t last_in_line_ = 0;
    bool ending_ = false;
    std::optional<Scheduler> home_;
};

}  // namespace fairlead::fuzz
