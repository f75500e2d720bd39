// The whole scheduler, as it is: threads, rounds, sleeps, stops. Far too many executions to see all, so
// with few preemptions, or by priorities.
#include "model/explore.hpp"

#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/sync/signal.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

using model::plain;
using model::require;
using model::thread;

// A task that counts its steps, which must not race with each other.
class counted {
public:
    explicit counted(sync::signal* told = nullptr) : told_{told} {}

    callback_task& task() { return task_; }
    int steps() const { return steps_; }

private:
    void step() {
        steps_ = steps_ + 1;
        if (told_ != nullptr) told_->send();
    }

    plain<int> steps_{0};
    sync::signal* const told_;
    callback_task task_{[this](callback_task&) { step(); }};
};

const model::options by_priorities{
    .how = model::search::pct, .executions_max = 1'000, .depth = 4, .early_time_outs = true};

TEST(ModelScheduler, RunsWhatIsPosted) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes(by_priorities, [=] {
            scheduler scheduler{{.workers = workers}};
            counted first;
            counted second;
            {
                thread poster{[&] { scheduler.post(first.task()); }};
                scheduler.post(second.task());
            }
            scheduler.drain();
            require(first.steps() == 1 && second.steps() == 1, "each ran once");
        });
    }
}

TEST(ModelScheduler, ASleepingWorkerIsWoken) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes(by_priorities, [=] {
            scheduler scheduler{{.workers = workers}};
            sync::signal told;
            for (int i = 0; i != 2; ++i) {
                counted task{&told};
                scheduler.post(task.task());
                told.receive();  // not by drain, which wakes everybody
                scheduler.drain();
            }
        });
    }
}

TEST(ModelScheduler, ADeadlineComes) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes(by_priorities, [=] {
            scheduler scheduler{{.workers = workers}};
            sync::signal told;
            counted task{&told};
            counted other;
            scheduler.post_delay(task.task(), std::chrono::milliseconds{1});
            scheduler.post(other.task());
            told.receive();
            require(clock::now() >= time_point{std::chrono::milliseconds{1}}, "not early");
            scheduler.drain();
        });
    }
}

TEST(ModelScheduler, AWakeUpEndsASleep) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes(by_priorities, [=] {
            scheduler scheduler{{.workers = workers}};
            counted task;
            scheduler.post_wait(task.task());
            thread waker{[&] { task.task().wakeup(); }};
            waker.join();
            scheduler.drain();
            require(task.steps() == 1, "it ran once");
        });
    }
}

TEST(ModelScheduler, AStopEndsWithPostsUnderWay) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes(by_priorities, [=] {
            counted first;
            counted second;
            {
                scheduler scheduler{{.workers = workers}};
                scheduler.post_wait(first.task());
                thread poster{[&] { scheduler.post(second.task()); }};
                static_cast<void>(scheduler.stop(std::chrono::seconds{1}));
                poster.join();
            }
            require(first.steps() <= 1 && second.steps() <= 1, "each ran at most once");
        });
    }
}

}  // namespace
}  // namespace fairlead
