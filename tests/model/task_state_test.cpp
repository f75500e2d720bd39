// The state word of a task: wakers, the role that puts it to sleep, the worker that runs it.
#include "model/bell.hpp"
#include "model/explore.hpp"

#include <fairlead/detail/sched/task_state.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace fairlead::task_state_tests {
namespace {

using model::bell;
using model::plain;
using model::require;
using model::thread;

// A task whose sleep several threads may end. The thread that ends the sleep pushes the task. Here
// the queue is a count and a bell.
struct sleeper {
    task_state state;
    plain<int> data{0};
    sync::atomic<int> pushes{0};
    bell pushed;

    void push() {
        pushes.fetch_add(1, sync::acq_rel);
        pushed.ring();
    }
};

void wake_by(sleeper& task, int how) {
    const bool mine = how == 0   ? task.state.wake()
                      : how == 1 ? task.state.signal()
                      : how == 2 ? task.state.complete()
                                 : task.state.request_stop();
    if (mine) task.push();
}

// Two wakers of any kinds, against a worker that parks the task and waits for the push.
TEST(ModelTaskState, OfTwoWakersOneHasTheDuty) {
    for (int first = 0; first != 4; ++first) {
        for (int second = first; second != 4; ++second) {
            model::expect_passes([=] {
                sleeper task;
                bool asleep = false;
                {
                    thread one{[&] { wake_by(task, first); }};
                    thread two{[&] { wake_by(task, second); }};
                    asleep = task.state.park(false);
                    if (asleep) task.pushed.wait();
                    task.state.begin_run();
                }
                require(task.pushes.newest() == (asleep ? 1 : 0), "one push for one sleep");
            });
        }
    }
}

// A deadline, an event and a waker: the role takes it, or waits for the push, never both.
TEST(ModelTaskState, AnUnparkAndAWakerEndASleepOnce) {
    for (int how = 0; how != 4; ++how) {
        model::expect_passes([=] {
            sleeper task;
            bool asleep = false;
            bool taken = false;
            {
                thread waker{[&] { wake_by(task, how); }};
                asleep = task.state.park(false);
                if (asleep) {
                    taken = task.state.unpark();
                    if (!taken) task.pushed.wait();
                }
                task.state.begin_run();
            }
            require(task.pushes.newest() == (asleep && !taken ? 1 : 0), "one end for one sleep");
        });
    }
}

// The run that a wake-up causes, or a later run, sees what the waker wrote before [TS1]. With a
// stop there are too many executions to see all.
TEST(ModelTaskState, ARunSeesTheDataOfItsWaker) {
    for (const bool stop : {false, true}) {
        const auto scenario = [=] {
            sleeper task;
            sync::atomic<int> arrived{0};
            {
                const auto wake_as = [&](int how) {
                    return [&, how] {
                        arrived.fetch_add(1, sync::relaxed);
                        wake_by(task, how);
                    };
                };
                thread one{wake_as(0)};
                thread two{wake_as(0)};
                std::optional<thread> stopper;
                if (stop) stopper.emplace(wake_as(3));
                // Runs until it has seen all, asleep in between.
                for (;;) {
                    if (task.state.park(false)) task.pushed.wait();
                    task.state.begin_run();
                    if (arrived.load(sync::relaxed) == (stop ? 3 : 2)) break;
                }
            }
            require(task.state.is_stopping() == stop, "a stop is for good");
        };
        if (stop) {
            model::expect_passes_by_priorities(scenario);
        } else {
            model::expect_passes(scenario);
        }
    }
}

// The receiver of a signal or a completion may free the task: the sender's exchange is its last
// touch. A stop of the scheduler tells the sleeper, in the role: then either of the two has the
// duty.
void free_once_taken(bool completion, bool stop) {
    model::expect_passes([=] {
        auto* const task = new sleeper;
        thread sender{[=] {
            task->data = 1;
            if (completion ? task->state.complete() : task->state.signal()) task->push();
        }};
        const auto take = [&] {
            return completion ? task->state.take_completed() : task->state.take_signal();
        };
        while (!take()) {
            if (task->state.park(false)) {
                const bool told = stop && !task->state.is_stopping() && task->state.request_stop();
                if (!told) task->pushed.wait();
                task->state.begin_run();
            }
        }
        require(task->data == 1, "the data is there");
        // A push is a touch, too: then the duty was the sender's, and its push is over.
        sender.join();
        delete task;
    });
}

TEST(ModelTaskState, MayBeFreedOnceTheSignalIsTaken) {
    for (const bool completion : {false, true}) {
        for (const bool stop : {false, true}) free_once_taken(completion, stop);
    }
}

// Awake, it learns of a stop by its worker.
TEST(ModelTaskState, MayBeFreedByWhoIsAwakeWhenTheSignalComes) {
    for (const bool stop : {false, true}) {
        model::expect_passes([=] {
            auto* const state = new task_state;
            plain<int> data{0};
            thread sender{[&, state] {
                data = 1;
                require(!state->signal(), "nobody sleeps");
            }};
            if (stop) state->mark_stopping();
            while (!state->take_signal()) model::explorer::running()->yield();
            require(data == 1, "the data is there");
            require(state->is_stopping() == stop, "a stop is for good");
            delete state;
        });
    }
}

// Deaf: signals are remembered, and do not wake.
TEST(ModelTaskState, ADeafSleepIsNotEndedByASignal) {
    for (const int waker : {0, 2, 3}) {  // a stop, too, ends it
        model::expect_passes([=] {
            sleeper task;
            {
                thread sender{[&] { wake_by(task, 1); }};
                thread other{[&] { wake_by(task, waker); }};
                if (task.state.park(true)) task.pushed.wait();
                task.state.begin_run();
            }
            require(task.state.take_signal(), "the signal is remembered");
            require(!task.state.take_signal(), "once");
        });
    }
}

// A task that learns of a stop by asking sees what the stopping thread wrote before.
TEST(ModelTaskState, WhoAsksForAStopSeesWhatCameBefore) {
    model::expect_passes([] {
        sleeper task;
        thread stopper{[&] {
            task.data = 1;
            wake_by(task, 3);
        }};
        if (task.state.is_stopping()) require(task.data == 1, "the data is there");
    });
}

// A stop is for good: the task sees it in this run or in the next.
TEST(ModelTaskState, AStopIsSeen) {
    model::expect_passes([] {
        sleeper task;
        {
            thread stopper{[&] { wake_by(task, 3); }};
            while (!task.state.is_stopping()) {
                if (task.state.park(false)) task.pushed.wait();
                task.state.begin_run();
            }
        }
        require(task.state.is_stopping(), "for good");
    });
}

// Two requests, one of them perhaps by the worker for the scheduler: the task reads the reason of
// one of them, whole, and from then on always the same.
TEST(ModelTaskState, OneReasonOfAStopCounts) {
    constexpr stopped_by first = own_reason(1);
    constexpr stopped_by second = own_reason(2);
    for (const bool by_worker : {false, true}) {
        model::expect_passes([=] {
            sleeper task;
            stopped_by seen = stopped_by::unsaid;
            {
                thread one{[&] {
                    if (task.state.request_stop(first)) task.push();
                }};
                std::optional<thread> two;
                if (!by_worker) {
                    two.emplace([&] {
                        if (task.state.request_stop(second)) task.push();
                    });
                }
                if (by_worker) task.state.mark_stopping();
                if (task.state.park(false)) task.pushed.wait();
                task.state.begin_run();
                if (task.state.is_stopping()) {
                    seen = task.state.stop_reason();
                    const stopped_by other = by_worker ? stopped_by::shutdown : second;
                    require(seen == first || seen == other, "a whole reason");
                }
            }
            require(task.state.is_stopping(), "for good");
            require(seen == stopped_by::unsaid || seen == task.state.stop_reason(), "for good");
        });
    }
}

// Wakers come one after the other while the task sleeps and runs: none is missed.
TEST(ModelTaskState, ManyWakersByPriorities) {
    model::expect_passes({.how = model::search::pct, .executions_max = 100'000, .depth = 4}, [] {
        sleeper task;
        sync::atomic<int> arrived{0};
        const auto wake_twice = [&](int how) {
            return [&, how] {
                for (int i = 0; i != 2; ++i) {
                    arrived.fetch_add(1, sync::relaxed);
                    wake_by(task, how);
                }
            };
        };
        thread waker{wake_twice(0)};
        thread sender{wake_twice(1)};
        thread completer{wake_twice(2)};
        thread stopper{wake_twice(3)};
        while (arrived.load(sync::relaxed) != 8) {
            if (task.state.park(false)) task.pushed.wait();
            task.state.begin_run();
            static_cast<void>(task.state.take_signal());
            static_cast<void>(task.state.take_completed());
        }
    });
}

}  // namespace
}  // namespace fairlead::task_state_tests
