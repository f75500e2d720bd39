// Posts of steps with each policy, in the whole scheduler; see scheduler_test.cpp.
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <array>

namespace fairlead::policies_tests {
namespace {

using model::counter;
using model::interruption;
using model::policies;
using model::require;
using model::require_no_time_out;
using model::stops;
using model::task_of;
using model::thread;

// A chain of steps: each step posts the next one, and the third posts a leaf, too. Another thread
// posts at the same time.
TEST(ModelScheduler, NoTimeOutIsNeededForWhatStepsPost) {
    for (const policy policy : policies) {
        for (const unsigned workers : {1U, 2U, 3U}) {
            model::expect_passes_though_stopped([=](stops how) {
                scheduler scheduler{{.workers = workers, .policy = policy}};
                std::array<sync::signal, 5> ran;
                task_of leaf{[&] { ran[4].send(); }};
                task_of last{[&] { ran[3].send(); }};
                task_of third{[&] {
                    scheduler.post(last);
                    scheduler.post(leaf);
                    ran[2].send();
                }};
                task_of second{[&] {
                    ran[1].send();
                    scheduler.post(third);
                }};
                task_of first{[&] {
                    scheduler.post(second);
                    ran[0].send();
                }};
                counter other;
                {
                    const interruption stop{scheduler, how};
                    thread poster{[&] { scheduler.post(other.task); }};
                    scheduler.post(first);
                }
                for (sync::signal& each : ran) each.receive();
                require_no_time_out();
                scheduler.drain();
                require(other.steps == 1, "the other ran");
            });
        }
    }
}

}  // namespace
}  // namespace fairlead::policies_tests
