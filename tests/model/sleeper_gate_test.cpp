// Tasks that sleep without the role, while a stop looks at them [SL1]. Here a task is a state word
// and a piece of memory; a worker that runs it to its end frees it, which is a write.
#include "sched/slot/sleeper_gate.hpp"
#include "sched/slot/sleeper_table.hpp"

#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/callback_task.hpp>

#include <gtest/gtest.h>

#include <array>
#include <mutex>

namespace fairlead::sched::sleeper_gate_tests {
namespace {

using model::plain;
using model::require;

struct sleeper {
    callback_task listed{[](callback_task&) {}};
    task_state state;
    sleeper_place* place = nullptr;
    plain<bool> gone{false};
    bool told = false;
    bool ran = false;

    void run() {
        gone = true;
        ran = true;
    }
};

// The role is a mutex.
class sleepers_and_a_stop {
public:
    sleepers_and_a_stop() { gate_.open(); }

    // seat::put_to_sleep. False: it does not sleep.
    bool sleeps(sleeper& task) {
        sleeper_place* const place = table_.insert(task.listed);
        if (!gate_.is_open()) {
            sleeper_table::erase(*place);
            return false;
        }
        task.place = place;
        if (task.state.park(false)) return true;
        sleeper_table::erase(*place);
        if (gate_.is_open()) {
            task.run();
        } else {
            runs_with_role(task);
        }
        return true;
    }

    // seat::take_woken, and the step.
    void wakes(sleeper& task) {
        if (!task.state.wake()) return;
        sleeper_table::erase(*task.place);
        if (gate_.is_open()) {
            task.run();
        } else {
            runs_with_role(task);
        }
    }

    // What the role does after the stop with a task that does not sleep.
    void runs_with_role(sleeper& task) {
        std::lock_guard lock{role_};
        task.run();
    }

    // scheduler::end_workers, and the round that tells the sleepers.
    void stops(auto& tasks) {
        std::lock_guard lock{role_};
        gate_.close();
        table_.for_each([&](basic_task& found) {
            for (sleeper& each : tasks) {
                if (&each.listed != &found) continue;
                require(!each.gone, "the stop touches no task that is gone");
                if (!each.state.request_stop()) continue;
                sleeper_table::erase(*each.place);
                each.run();
            }
        });
    }

    [[nodiscard]] bool empty() const { return table_.empty(); }

    sleeper_gate gate_{true};
    sleeper_table table_{&gate_};
    sync::mutex role_;
};

// A worker puts two tasks to sleep, and another wakes the first. The stop wakes what sleeps.
TEST(ModelSleeperGate, EachSleeperIsWokenOnceOrToldByTheStop) {
    model::expect_passes({.preemptions = 2, .stale_reads = 1}, [] {
        sleepers_and_a_stop all;
        std::array<sleeper, 2> tasks;
        model::in_threads(
            [&] {
                for (sleeper& each : tasks) {
                    if (!all.sleeps(each)) all.runs_with_role(each);
                }
            },
            [&] { all.wakes(tasks[0]); }, [&] { all.stops(tasks); });
        for (sleeper& each : tasks) require(each.ran, "no task sleeps after the stop");
        require(all.empty(), "no place is left");
    });
}

// A task that sleeps already is woken while the stop looks.
TEST(ModelSleeperGate, TheStopTouchesNoTaskThatHasRun) {
    model::expect_passes({.stale_reads = 2}, [] {
        sleepers_and_a_stop all;
        std::array<sleeper, 1> tasks;
        require(all.sleeps(tasks[0]), "it sleeps");
        model::in_threads([&] { all.wakes(tasks[0]); }, [&] { all.stops(tasks); });
        require(tasks[0].ran, "it has run");
    });
}

// The owner frees the chunks that a burst has left, while the stop goes through them.
TEST(ModelSleeperGate, AChunkIsNotFreedWhileTheStopLooks) {
    model::expect_passes({.preemptions = 1, .stale_reads = 1}, [] {
        sleeper_gate gate{true};
        gate.open();
        sleeper_table table{&gate};
        callback_task task{[](callback_task&) {}};
        std::array<sleeper_place*, 64> places{};
        for (sleeper_place*& each : places) each = table.insert(task);
        for (sleeper_place* each : places) sleeper_table::erase(*each);
        // From here on the owner comes to the end of the second chunk, and then to the first.
        for (int i = 0; i != 61; ++i) sleeper_table::erase(*table.insert(task));
        model::in_threads(
            [&] {
                for (int i = 0; i != 3; ++i) sleeper_table::erase(*table.insert(task));
            },
            [&] {
                gate.close();
                table.for_each([&](basic_task& found) { require(&found == &task, "it is whole"); });
            });
        require(table.empty(), "nothing is left");
    });
}

// The whole scheduler. The sleeper frees itself once it has its signal, while a stop may look.
TEST(ModelSleeperGate, AStopMeetsTheWakerOfATaskThatFreesItself) {
    model::expect_passes_though_stopped([](model::stops how) {
        scheduler scheduler{{.workers = 2}};
        sync::signal ended;
        auto* const sleeper = new callback_task{[&](callback_task& self) {
            if (!self.receive_signal()) return scheduler.post_wait(self);
            delete &self;
            ended.send();
        }};
        model::task_of waker{[&] { sleeper->signal(); }};
        {
            scheduler.post(*sleeper);
            const model::interruption stop{scheduler, how};
            scheduler.post(waker);
        }
        ended.receive();
    });
}

}  // namespace
}  // namespace fairlead::sched::sleeper_gate_tests
