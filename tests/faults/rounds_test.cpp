// Rounds whose allocations fail: no task is lost, and the order stays.
#include "faults/faults.hpp"
#include "support/simulated.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <vector>

namespace fairlead::test::rounds_tests {
namespace {

using namespace std::chrono_literals;

constexpr fault no_memory{};

// A burst needs blocks of the ready queue, and sleepers need places. Posts cannot fail, so both
// work without the memory.
class in_rounds : public testing::Test {
protected:
    const watchdog guard;

    // Runs `burst` on an existing scheduler while every allocation of the rounds fails. `burst`
    // returns whether all went right.
    static void sweep_rounds(unsigned workers, const std::function<bool(scheduler&)>& burst,
                             policy policy = policy::fair) {
        for (const auto range : {call_range::only, call_range::from}) {
            bool hit = true;
            for (int n = 1; hit && !HasFailure(); ++n) {
                SCOPED_TRACE(n);
                scheduler home{{.workers = workers, .policy = policy}};
                bool right = false;
                {
                    const armed plan{no_memory, range(n)};
                    right = burst(home);
                    hit = plan.hit();
                }
                EXPECT_TRUE(right);
                EXPECT_TRUE(n != 1 || hit) << "there is no allocation to fail";
            }
        }
    }
};

TEST_F(in_rounds, a_burst_of_posts_runs_in_order) {
    constexpr std::size_t count = 5'000;
    std::vector<std::size_t> order;
    order.reserve(count);
    struct numbered {
        std::vector<std::size_t>* order = nullptr;
        std::size_t number = 0;
        callback_task task{[this](callback_task&) { order->push_back(number); }};
    };
    std::vector<numbered> tasks(count);
    std::vector<basic_task*> pointers;
    for (auto& each : tasks) {
        each.order = &order;
        each.number = pointers.size();
        pointers.push_back(&each.task);
    }
    sweep_rounds(1, [&](scheduler& home) {
        order.clear();
        home.post(pointers);
        home.drain();
        bool right = order.size() == count;
        for (std::size_t i = 0; right && i != count; ++i) right = order[i] == i;
        return right;
    });
}

// With policy::stealing such posts are in chunks. A post without memory for one goes to a front.
TEST_F(in_rounds, a_step_posts_very_many) {
    struct counted {
        int runs = 0;
        callback_task task{[this](callback_task&) { ++runs; }};
    };
    std::vector<counted> tasks(5'000);
    for (const unsigned workers : {1U, 2U}) {
        // The other worker is in a step until all is posted: it could steal so much meanwhile that
        // the chunks at hand suffice.
        std::atomic<bool> held{false};
        std::atomic<bool> posted{false};
        callback_task holds{[&](callback_task&) {
            held = true;
            await([&] { return posted.load(); });
        }};
        callback_task posts{[&](callback_task&) {
            await([&] { return held.load(); });
            for (counted& each : tasks) scheduler::current()->post(each.task);
            posted = true;
        }};
        const auto burst = [&](scheduler& home) {
            held = workers == 1;
            posted = false;
            for (counted& each : tasks) each.runs = 0;
            if (!held) home.post(holds);
            home.post(posts);
            home.drain();
            return std::ranges::all_of(tasks, [](const counted& each) { return each.runs == 1; });
        };
        sweep_rounds(workers, burst, policy::stealing);
    }
}

// Due tasks run before later arrivals, also when the ready queue has no memory for any of them.
TEST_F(in_rounds, what_is_due_runs_before_what_arrived_later) {
    std::vector<callback_task> burst(5'000);
    std::vector<basic_task*> pointers;
    for (auto& each : burst) {
        each.set_callback([](callback_task&) {});
        pointers.push_back(&each);
    }
    std::vector<int> order;
    struct numbered {
        std::vector<int>* order;
        int number;
        callback_task task{[this](callback_task&) { order->push_back(number); }};
    };
    std::deque<numbered> sleepers;
    numbered late{&order, 300};
    manual_clock clock;
    simulated_driver* driver = nullptr;
    scheduler home{simulated(clock, driver)};
    driver->waits.reserve(1000);
    for (int i = 0; i != 300; ++i) {  // more than a batch
        auto& each = sleepers.emplace_back(&order, i);
        home.post_deadline(each.task, clock.now() + 10ms + i * 1us);
    }
    order.reserve(sleepers.size() + 1);
    home.run_until_idle();
    {
        const armed plan{no_memory, call_range::from(1)};
        home.post(pointers);
        home.run_until_idle();  // ready is one short of a block now
        EXPECT_TRUE(plan.hit());
        clock.advance(1s);
        home.post(late.task);
        home.run_until_idle();
    }
    ASSERT_EQ(order.size(), 301U);
    for (int i = 0; i != 301; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_F(in_rounds, several_workers_run_a_burst) {
    constexpr int count = 20'000;
    std::atomic<int> runs{0};
    std::vector<callback_task> tasks(count);
    for (auto& each : tasks) each.set_callback([&runs](callback_task&) { ++runs; });
    std::vector<basic_task*> pointers;
    pointers.reserve(tasks.size());
    for (auto& each : tasks) pointers.push_back(&each);
    sweep_rounds(3, [&](scheduler& home) {
        runs = 0;
        home.post(pointers);
        home.drain();
        return runs == count;
    });
}

// A sleeper that records how its wait ended.
struct sleeper {
    std::atomic<int>* right = nullptr;
    time_point deadline = never;
    callback_task task{[this](callback_task& self) {
        const bool due = self.expired() && clock::now() >= deadline;
        const bool told = !self.expired() && self.receive_signal();
        if (due || told) ++*right;
    }};
};

TEST_F(in_rounds, deadlines_come_and_signals_arrive) {
    for (const unsigned workers : {1U, 3U}) {
        std::atomic<int> right{0};
        std::vector<sleeper> sleepers(200);
        for (auto& each : sleepers) each.right = &right;
        sleeper first{.right = &right};
        callback_task waker{[&first](callback_task&) { first.task.signal(); }};
        sweep_rounds(workers, [&](scheduler& home) {
            right = 0;
            // This task sleeps for sure: it is admitted when the other runs.
            home.post_deadline(first.task, never);
            home.post(waker);
            for (std::size_t i = 0; i != sleepers.size(); ++i) {
                const bool timed = i % 2 == 0;
                sleepers[i].deadline =
                    timed ? after(clock::now(), 100us * static_cast<int>(i % 16)) : never;
                home.post_deadline(sleepers[i].task, sleepers[i].deadline);
            }
            for (std::size_t i = 1; i < sleepers.size(); i += 2) sleepers[i].task.signal();
            home.drain();
            return right == 201;
        });
    }
}

}  // namespace
}  // namespace fairlead::test::rounds_tests
