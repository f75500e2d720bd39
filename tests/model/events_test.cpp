// A whole scheduler with a driver of events, as in scheduler_test.cpp.
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/futex_driver.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace fairlead::events_tests {
namespace {

using namespace std::chrono_literals;
using model::counter;
using model::interruption;
using model::plain;
using model::require;
using model::require_before;
using model::require_no_time_out;
using model::stops;
using model::task_of;
using model::thread;

// A driver with one source of events, which comes while the workers run.
class one_source_driver final : public driver {
public:
    class source final : public wait_source {
    public:
        bool arm(basic_task& task) noexcept override {
            if (came.load(sync::acquire)) return false;
            waiting = &task;
            return true;
        }
        void disarm(basic_task&) noexcept override { waiting = nullptr; }

        sync::atomic<bool> came{false};
        basic_task* waiting = nullptr;
    };

    bool set_deadline(time_point deadline) noexcept override {
        return sleep_.set_deadline(deadline);
    }
    void wait() noexcept override { sleep_.wait(); }
    void poll(event_sink& sink) noexcept override {
        if (events.came.load(sync::acquire) && events.waiting != nullptr)
            sink.fire(*events.waiting);
    }
    void wake() noexcept override { sleep_.wake(); }
    bool has_sources() const noexcept override { return registered.load(sync::relaxed); }

    void fire() {
        events.came.store(true, sync::release);
        sleep_.wake();
    }

    source events;
    sync::atomic<bool> registered{false};

private:
    futex_driver sleep_;
};

struct waiting_task : callback_task {
    using callback_task::callback_task;
    void wait_on(wait_source& source) { wait_for(source); }
};

TEST(ModelScheduler, AStepMayWaitForAnEventOfTheFirstSource) {
    model::expect_passes_though_stopped_patiently([](stops how) {
        auto made = std::make_unique<one_source_driver>();
        one_source_driver& driver = *made;
        scheduler_options options;
        options.workers = 2;
        options.driver = std::move(made);
        scheduler scheduler{std::move(options)};
        sync::signal event_seen;
        sync::signal waiting_ran;
        waiting_task event{[&](callback_task&) { event_seen.send(); }};
        task_of waiting{[&] {
            event_seen.receive();
            waiting_ran.send();
        }};
        {
            thread poster{[&] { scheduler.post(waiting); }};
            driver.registered.store(true, sync::relaxed);
            event.wait_on(driver.events);
            scheduler.post_wait(event);
        }
        {
            const interruption stop{scheduler, how};
            driver.fire();
        }
        waiting_ran.receive();
        scheduler.drain();
        require_before(1s);
    });
}

// Keeps the events that ended a wait for the next poll, as a driver of descriptors does. Each
// wake-up counts as an event.
class collecting_driver final : public driver {
public:
    bool set_deadline(time_point deadline) noexcept override {
        return sleep_.set_deadline(deadline);
    }
    void wait() noexcept override {
        require(!full_.load(sync::acquire), "a poll came between two waits");
        sleep_.wait();
        collected_ = collected_ + 1;
        full_.store(true, sync::release);
    }
    void poll(event_sink&) noexcept override {
        if (!full_.load(sync::acquire)) return;
        collected_ = 0;
        full_.store(false, sync::release);
    }
    void wake() noexcept override { sleep_.wake(); }
    bool has_sources() const noexcept override { return true; }

private:
    plain<int> collected_{0};
    sync::atomic<bool> full_{false};
    futex_driver sleep_;
};

// A rare case: one worker plans its sleep while the other has woken up, has run a round, and has
// not polled yet.
TEST(ModelScheduler, WhatAWaitCollectedIsPolledBeforeTheNextWait) {
    const auto scenario = [](stops how) {
        scheduler_options options;
        options.workers = 2;
        options.driver = std::make_unique<collecting_driver>();
        driver& device = *options.driver;
        scheduler scheduler{std::move(options)};
        counter task;
        {
            const interruption stop{scheduler, how};
            thread events{[&] {
                device.wake();
                device.wake();
            }};
            scheduler.post(task.task);
        }
        scheduler.drain();
        require(task.steps == 1, "it ran");
        require_before(1s);
    };
    for (const stops how : {stops::none, stops::patient, stops::at_once}) {
        model::expect_passes({.how = model::search::pct,
                              .executions_max = how == stops::none ? 30'000U : 1'000U,
                              .seed = 12,
                              .depth = 12,
                              .steps_max = 40'000,
                              .early_time_outs = false},
                             [=] { scenario(how); });
    }
}

}  // namespace
}  // namespace fairlead::events_tests
