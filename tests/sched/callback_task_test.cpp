#include <fairlead/sched/callback_task.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::callback_task_tests {
namespace {

using test::simulation;

// A state machine of three states without allocations, as in the documentation.
class machine : public callback_task {
public:
    machine(scheduler& where, std::vector<int>& log) : scheduler_{where}, log_{log} {
        set_callback([this](callback_task&) { first(); });
    }

private:
    void first() {
        log_.push_back(1);
        set_callback([this](callback_task&) { second(); });
        scheduler_.post(*this);
    }
    void second() {
        log_.push_back(2);
        set_callback([this](callback_task&) { third(); });
        scheduler_.post(*this);
    }
    void third() { log_.push_back(3); }

    scheduler& scheduler_;
    std::vector<int>& log_;
};

TEST(CallbackTask, IsAStateMachine) {
    simulation sim;
    std::vector<int> log;
    machine task{sim.scheduler, log};
    sim.scheduler.post(task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 3U);
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST(CallbackTask, FitsItsLimit) { EXPECT_LE(sizeof(callback_task), 96U); }

TEST(CallbackTask, KeepsItsCallbackForTheNextPost) {
    simulation sim;
    int runs = 0;
    callback_task task{[&runs](callback_task&) { ++runs; }};
    for (int i = 0; i != 3; ++i) {
        sim.scheduler.post(task);
        sim.scheduler.run_until_idle();
    }
    EXPECT_EQ(runs, 3);
}

TEST(CallbackTask, MayReplaceTheCallbackThatRuns) {
    simulation sim;
    std::vector<int> log;
    callback_task task;
    task.set_callback([&log](callback_task& self) {
        // The captured pointer is read after the replacement: the running callable is a copy.
        self.set_callback([](callback_task&) {});
        log.push_back(1);
    });
    sim.scheduler.post(task);
    sim.scheduler.run_until_idle();
    sim.scheduler.post(task);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{1}));
}

TEST(CallbackTask, MayFreeItself) {
    simulation sim;
    auto* task = new callback_task;
    task->set_callback([](callback_task& self) { delete &self; });
    sim.scheduler.post(*task);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_TRUE(sim.scheduler.drain_for(duration::zero()));
}

TEST(CallbackTask, HasAName) {
    callback_task task;
    EXPECT_STREQ(task.name(), "callback_task");
    task.set_name("upload");
    EXPECT_STREQ(task.name(), "upload");
    EXPECT_STREQ((callback_task{[](callback_task&) {}, "download"}.name()), "download");
}

TEST(CallbackTask, AnExceptionGoesToOnUnhandledWithTheNameOfTheTask) {
    test::manual_clock clock;
    test::simulated_driver* driver = nullptr;
    scheduler_options options = test::simulated(clock, driver);
    std::vector<std::string> names;
    options.on_unhandled = [&](const std::exception_ptr&, const failure_origin& from) {
        names.emplace_back(from.thrower().name);
    };
    scheduler scheduler{std::move(options)};
    callback_task upload{[](callback_task&) { throw std::runtime_error{"boom"}; }, "upload"};
    auto* const freed = new callback_task{[](callback_task& self) {
                                              delete &self;
                                              throw std::runtime_error{"boom"};
                                          },
                                          "freed"};
    scheduler.post(upload);
    scheduler.post(*freed);
    scheduler.run_until_idle();
    scheduler.post(upload);
    scheduler.run_until_idle();
    EXPECT_EQ(names, (std::vector<std::string>{"upload", "freed", "upload"}));
}

TEST(CallbackTaskDeathTest, AnExceptionEndsTheProgramWithTheNameOfTheTask) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto throws = [] {
        simulation sim;
        callback_task upload{[](callback_task&) { throw std::runtime_error{"boom"}; }, "upload"};
        sim.scheduler.post(upload);
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(throws(), "left the task \"upload\": boom");
}

TEST(CallbackTaskDeathTest, WithoutACallbackIsAnError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            simulation sim;
            callback_task task;
            sim.scheduler.post(task);
            sim.scheduler.run_until_idle();
        },
        "without a callback");
}

}  // namespace
}  // namespace fairlead::callback_task_tests
