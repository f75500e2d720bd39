// Posting and order, deterministic: one worker, on the caller, in simulated time.
#include <fairlead/sched/scheduler.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace fairlead::scheduler_tests {
namespace {

using namespace std::chrono_literals;
using test::numbered;
using test::scripted;
using test::simulation;

std::vector<int> up_to(int count) {
    std::vector<int> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

TEST(Scheduler, RunsTasksInTheOrderOfPosts) {
    // Around every internal limit: the batch of the role, a slot's run, a block of ready,
    // admission.
    for (const int count : {1, 2, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025,
                            4095, 4096, 4097, 10'000}) {
        SCOPED_TRACE(count);
        simulation sim;
        std::vector<int> log;
        std::deque<numbered> tasks;
        for (int i = 0; i != count; ++i) sim.scheduler.post(tasks.emplace_back(log, i));
        EXPECT_EQ(sim.scheduler.run_until_idle(), static_cast<std::size_t>(count));
        EXPECT_EQ(log, up_to(count));
        EXPECT_TRUE(sim.scheduler.drain_for(0s));
    }
}

TEST(Scheduler, PostsABatchInOrder) {
    for (const int count : {0, 1, 2, 300, 5'000}) {
        SCOPED_TRACE(count);
        simulation sim;
        std::vector<int> log;
        std::deque<numbered> tasks;
        std::vector<basic_task*> batch;
        for (int i = 0; i != count; ++i) batch.push_back(&tasks.emplace_back(log, i));
        sim.scheduler.post(std::span<basic_task* const>{batch});
        sim.scheduler.run_until_idle();
        EXPECT_EQ(log, up_to(count));
    }
}

TEST(Scheduler, ABatchStandsBetweenWhatWasPostedBeforeAndAfter) {
    simulation sim;
    std::vector<int> log;
    std::deque<numbered> tasks;
    for (int i = 0; i != 6; ++i) tasks.emplace_back(log, i);
    sim.scheduler.post(tasks[0]);
    basic_task* const batch[] = {&tasks[1], &tasks[2], &tasks[3]};
    sim.scheduler.post(batch);
    sim.scheduler.post(tasks[4]);
    sim.scheduler.post(tasks[5]);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, up_to(6));
}

// Posts from steps come behind everything that was posted before them, however the rounds fall.
TEST(Scheduler, PostsFromStepsComeBehindWhatWasPostedBefore) {
    constexpr int first = 700;
    simulation sim;
    std::vector<int> log;
    std::deque<numbered> later;
    std::deque<scripted> tasks;
    for (int i = 0; i != first; ++i) later.emplace_back(log, first + i);
    for (int i = 0; i != first; ++i) {
        sim.scheduler.post(tasks.emplace_back([&, i](scripted&) {
            log.push_back(i);
            sim.scheduler.post(later[static_cast<std::size_t>(i)]);
        }));
    }
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, up_to(2 * first));
}

TEST(Scheduler, TasksThatYieldTakeTurns) {
    simulation sim;
    std::vector<int> log;
    std::deque<scripted> tasks;
    for (int i = 0; i != 3; ++i) {
        sim.scheduler.post(tasks.emplace_back([&, i](scripted& self) {
            log.push_back(i);
            if (self.runs != 4) sim.scheduler.post(self);
        }));
    }
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(Scheduler, ManyTasksThatYieldTakeTurns) {
    constexpr int count = 600;
    simulation sim;
    std::vector<int> log;
    std::deque<scripted> tasks;
    for (int i = 0; i != count; ++i) {
        sim.scheduler.post(tasks.emplace_back([&, i](scripted& self) {
            log.push_back((self.runs - 1) * count + i);
            if (self.runs != 5) sim.scheduler.post(self);
        }));
    }
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, up_to(5 * count));
}

TEST(Scheduler, ABatchFromAStepKeepsItsOrder) {
    simulation sim;
    std::vector<int> log;
    std::deque<numbered> tasks;
    std::vector<basic_task*> batch;
    for (int i = 0; i != 1'000; ++i) batch.push_back(&tasks.emplace_back(log, i));
    scripted starter{[&](scripted&) { sim.scheduler.post(batch); }};
    sim.scheduler.post(starter);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, up_to(1'000));
}

TEST(Scheduler, ATaskRunsOnceForEachPost) {
    simulation sim;
    scripted task;
    for (int i = 1; i != 5; ++i) {
        sim.scheduler.post(task);
        EXPECT_EQ(task.owner(), &sim.scheduler);
        EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
        EXPECT_EQ(task.owner(), nullptr);
        EXPECT_EQ(task.runs, i);
    }
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
}

TEST(Scheduler, RunsCallablesOnce) {
    simulation sim;
    int runs = 0;
    auto once = std::make_unique<int>(3);
    sim.scheduler.post([&runs, once = std::move(once)] { runs += *once; });
    const auto named = [&runs] { ++runs; };
    sim.scheduler.post(named);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(runs, 4);
}

TEST(Scheduler, AStepKnowsItsScheduler) {
    simulation sim;
    scheduler* seen = nullptr;
    EXPECT_EQ(scheduler::current(), nullptr);
    sim.scheduler.post([&seen] { seen = scheduler::current(); });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(seen, &sim.scheduler);
    EXPECT_EQ(scheduler::current(), nullptr);
}

// S12: a step posts its own task to another scheduler, and comes back.
TEST(Scheduler, ATaskHopsToAnotherSchedulerAndBack) {
    simulation here;
    simulation there;
    std::vector<scheduler*> visited;
    scripted task{[&](scripted& self) {
        visited.push_back(scheduler::current());
        if (self.runs == 4) return;
        (scheduler::current() == &here.scheduler ? there : here).scheduler.post(self);
    }};
    here.scheduler.post(task);
    while (here.scheduler.run_until_idle() + there.scheduler.run_until_idle() != 0) {
    }
    EXPECT_EQ(visited, (std::vector<scheduler*>{&here.scheduler, &there.scheduler, &here.scheduler,
                                                &there.scheduler}));
    EXPECT_TRUE(here.scheduler.drain_for(0s));
    EXPECT_TRUE(there.scheduler.drain_for(0s));
}

TEST(Scheduler, CountsSteps) {
    simulation sim;
    for (int i = 0; i != 5; ++i) sim.scheduler.post([] {});
    sim.scheduler.run_until_idle();
    const auto stats = sim.scheduler.stats();
    ASSERT_EQ(stats.size(), 1U);
    EXPECT_EQ(stats[0].steps, 5U);
    EXPECT_GE(stats[0].rounds, 1U);
    EXPECT_EQ(stats[0].stolen, 0U);
}

TEST(Scheduler, WithOneWorkerTheOrderBoundIsZero) {
    simulation sim;
    EXPECT_EQ(sim.scheduler.workers(), 1U);
    EXPECT_EQ(sim.scheduler.order_bound(), 0U);
}

TEST(Scheduler, AnExceptionOfACallableGoesToOnUnhandled) {
    test::manual_clock clock;
    test::simulated_driver* driver = nullptr;
    scheduler_options options = test::simulated(clock, driver);
    std::vector<std::string> reports;
    options.on_unhandled = [&](std::exception_ptr failure, const failure_origin& from) {
        try {
            std::rethrow_exception(failure);
        } catch (const std::runtime_error& known) {
            reports.push_back(std::string{from.last().name} + ": " + known.what());
        }
    };
    scheduler scheduler{std::move(options)};
    auto released = std::make_shared<int>();
    scheduler.post([released] { throw std::runtime_error{"boom"}; });
    scheduler.post([&] { reports.emplace_back("goes on"); });
    scheduler.run_until_idle();
    EXPECT_EQ(reports, (std::vector<std::string>{"posted callable: boom", "goes on"}));
    EXPECT_EQ(released.use_count(), 1) << "the callable was not freed";
}

TEST(SchedulerDeathTest, AnUnhandledExceptionEndsTheProgramAndNamesTheTask) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto run = [](auto failure) {
        simulation sim;
        sim.scheduler.post([failure] { throw failure; });
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(run(std::runtime_error{"boom"}), "posted callable.*boom");
    EXPECT_DEATH(run(7), "posted callable.*not a std::exception");
}

TEST(SchedulerDeathTest, PostingATaskTwiceIsAnError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            simulation sim;
            scripted task;
            sim.scheduler.post(task);
            sim.scheduler.post(task);
        },
        "posted already");
    const auto post_twice_in_a_batch = [] {
        simulation sim;
        scripted task;
        basic_task* const batch[] = {&task, &task};
        sim.scheduler.post(batch);
    };
    EXPECT_DEATH(post_twice_in_a_batch(), "posted already");
}

TEST(SchedulerDeathTest, DestroyingAPostedTaskIsAnError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            simulation sim;
            std::optional<scripted> task{std::in_place};
            sim.scheduler.post_wait(*task);
            task.reset();
        },
        "destroyed while a scheduler holds it");
}

TEST(SchedulerDeathTest, DrainAndStopFromAStepAreErrors) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            simulation sim;
            sim.scheduler.post([&] { sim.scheduler.drain(); });
            sim.scheduler.run_until_idle();
        },
        "drain was called from a worker");
    EXPECT_DEATH(
        {
            simulation sim;
            sim.scheduler.post([&] { static_cast<void>(sim.scheduler.stop(0s)); });
            sim.scheduler.run_until_idle();
        },
        "stop was called from a worker");
    EXPECT_DEATH(
        {
            simulation sim;
            sim.scheduler.post([&] { sim.scheduler.run_until_idle(); });
            sim.scheduler.run_until_idle();
        },
        "from a task");
}

}  // namespace
}  // namespace fairlead::scheduler_tests
