// A step that waits for tasks which its own worker was to run: the other worker runs them, though
// it is busy itself.
#include "support/always_busy.hpp"
#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <deque>
#include <latch>
#include <thread>
#include <vector>

namespace fairlead::long_steps_tests {
namespace {

using namespace std::chrono_literals;
using test::always_busy;
using test::scripted;

scheduler_options two_workers() { return {.workers = 2, .slice = 0s, .blocked_after = 0s}; }

// Tasks that are posted at once. The first waits for the rest.
class waits_for_what_came_with_it {
public:
    explicit waits_for_what_came_with_it(const executor& in) {
        std::vector<basic_task*> all{&first_};
        for (int i = 0; i != others; ++i) {
            all.push_back(&rest_.emplace_back([this](scripted&) { ran_.count_down(); }));
        }
        in.post(all);
    }
    [[nodiscard]] bool have_run() const { return ran_.try_wait(); }

private:
    static constexpr int others = 7;
    std::latch ran_{others};
    scripted first_{[this](scripted&) {
        while (!ran_.try_wait()) std::this_thread::yield();
    }};
    std::deque<scripted> rest_;
};

// A sleeper with a deadline makes the worker look at the clock, and a round deals it its own post.
TEST(LongSteps, DoNotKeepWhatWasDealtWithThemBesideLongStepsOfOthers) {
    const test::watchdog guard;
    scheduler scheduler{two_workers()};
    for (int game = 0; game != 30; ++game) {
        scripted sleeper;
        scheduler.post_deadline(sleeper, clock::now() + 1h);
        always_busy busy{scheduler, 2ms};
        test::await([&] { return busy.steps() > 2; });
        const waits_for_what_came_with_it tasks{scheduler};
        test::await([&] { return tasks.have_run(); });
        busy.end();
        sleeper.wakeup();
        scheduler.drain();
    }
}

// During each step of the busy worker another thread posts. So what the step posts waits behind
// that, and each round of the worker finds a task.
TEST(LongSteps, DoNotKeepWhatWasDealtWithThemBesidePostsFromOutside) {
    const test::watchdog guard;
    scheduler scheduler{two_workers()};
    for (int game = 0; game != 30; ++game) {
        std::atomic<bool> over{false};
        std::atomic<int> posts{0};
        std::atomic<int> steps{0};
        scripted busy{[&](scripted& self) {
            const int before = posts;
            ++steps;
            for (const time_point end = clock::now() + 2ms; clock::now() < end;) {
            }
            while (posts == before && !over) std::this_thread::yield();
            if (!over) scheduler.post(self);
        }};
        std::thread outside{[&] {
            for (int seen = 0; !over;) {
                if (seen == steps) {
                    std::this_thread::yield();
                } else {
                    ++seen;
                    for (int i = 0; i != 3; ++i) scheduler.post([] {});
                    ++posts;
                }
            }
        }};
        scheduler.post(busy);
        test::await([&] { return steps > 2; });
        const waits_for_what_came_with_it tasks{scheduler};
        test::await([&] { return tasks.have_run(); });
        over = true;
        outside.join();
        scheduler.drain();
    }
}

void compute(duration length) {
    for (const time_point end = clock::now() + length; clock::now() < end;) {
    }
}

// One worker is in a step that posts for ever. The other takes from it, and has sleepers that are
// late, and overtake, again and again: these two by turns do not keep out a post from outside.
TEST(LongSteps, ThatPostForEverAndLateSleepersLeaveTheTurnOfOthers) {
    const test::watchdog guard;
    constexpr int most = 40;
    scheduler scheduler{{.workers = 2, .policy = policy::stealing, .blocked_after = 0s}};
    std::atomic<bool> over{false};
    std::atomic<int> queued{0};
    std::atomic<int> taken{0};
    std::atomic<int> ends_at{INT_MAX};
    std::atomic<bool> served{true};  // the post from outside
    std::latch some_ran{3};
    scheduler.post([&] {
        while (!over) {
            if (queued > 4) continue;
            ++queued;
            scheduler.post([&] {
                if (!over) compute(1'200us);
                if (++taken <= 3) some_ran.count_down();
                if (!served && taken > ends_at) over = true;
                --queued;
            });
        }
    });
    some_ran.wait();
    // One is late after each task that is taken.
    constexpr int sleepers = 4;
    constexpr duration cycle = 1'200us + 150us;
    std::deque<scripted> late;
    for (int i = 0; i != sleepers; ++i) {
        auto& each = late.emplace_back([&](scripted& self) {
            compute(150us);
            if (!over) scheduler.post_deadline(self, clock::now() + sleepers * cycle - 600us);
        });
        scheduler.post_deadline(each, clock::now() + i * cycle);
    }
    for (int i = 0; i != 100 && !over; ++i) {
        std::latch ran{1};
        ends_at = INT_MAX;
        served = false;
        scheduler.post([&] {
            served = true;
            ran.count_down();
        });
        ends_at = taken + most;
        ran.wait();
    }
    EXPECT_FALSE(over) << "a post has waited for " << most << " other tasks";
    over = true;
    scheduler.drain();
}

}  // namespace
}  // namespace fairlead::long_steps_tests
