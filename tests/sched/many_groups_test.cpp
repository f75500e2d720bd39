// A hundred thousand groups, one for each tenant: deterministic in simulated time, and on threads.
#include <fairlead/sched/group.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

namespace fairlead::many_groups_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;
using test::simulation;

constexpr std::size_t tenants = 100'000;
constexpr duration step = 100us;  // as long as a turn

// A group with a task that is always ready, until the end.
struct tenant {
    tenant(simulation& sim, time_point end)
        : own{sim.scheduler}, busy{[this, &sim, end](scripted& self) {
              if (sim.clock.now() >= end) return;
              sim.clock.advance(step);
              own.post(self);
          }} {
        own.post(busy);
    }
    [[nodiscard]] std::uint64_t steps() const { return own.stats().steps; }

    group own;
    scripted busy;
};

TEST(ManyGroups, EachHasItsTurns) {
    test::watchdog guard{5min};
    simulation sim;
    const time_point end = sim.clock.now() + 3 * tenants * step;
    std::deque<tenant> all;
    for (std::size_t i = 0; i != tenants; ++i) all.emplace_back(sim, end);
    sim.scheduler.run_until_idle();
    for (const tenant& each : all) {
        // The last of them only sees that it is over.
        ASSERT_GE(each.steps(), 3U);
        ASSERT_LE(each.steps(), 5U);
        ASSERT_EQ(each.own.stats().tasks, 0U);
    }
}

TEST(ManyGroups, WeightsAreChangedAndSomeAreDroppedMeanwhile) {
    test::watchdog guard{5min};
    simulation sim;
    constexpr std::size_t count = tenants / 20;
    const time_point end = sim.clock.now() + 60 * count * step;
    std::deque<tenant> all;
    for (std::size_t i = 0; i != count; ++i) all.emplace_back(sim, end);
    std::vector<std::uint64_t> before;
    std::size_t at = 0;
    std::size_t ran_in_brief = 0;
    // Half of them get three quarters from then on, and a new one comes and goes for each.
    scripted changes{[&](scripted&) {
        for (tenant& each : all) {
            before.push_back(each.steps());
            if (at++ % 2 == 0) each.own.set_weight(300);
            group brief{sim.scheduler};
            brief.post([&ran_in_brief] { ++ran_in_brief; });
        }
    }};
    sim.scheduler.post_deadline(changes, sim.clock.now() + 2 * count * step);
    sim.scheduler.run_until_idle();
    ASSERT_EQ(before.size(), count);
    EXPECT_EQ(ran_in_brief, count);
    double heavy = 0;
    double all_steps = 0;
    for (at = 0; at != count; ++at) {
        const auto after = static_cast<double>(all[at].steps() - before[at]);
        all_steps += after;
        if (at % 2 == 0) heavy += after;
    }
    EXPECT_NEAR(heavy / all_steps, 0.75, 0.02);
}

// Each thread makes and drops a hundred groups at a time. Some are paused, and all have tasks.
TEST(ManyGroups, AreMadeAndDroppedByManyThreads) {
    test::watchdog guard{5min};
    scheduler scheduler{{.workers = 2}};
    std::atomic<int> ran{0};
    test::run_together(2, [&](std::size_t) {
        for (std::size_t left = tenants / 2; left != 0; left -= 100) {
            std::deque<group> some;
            for (std::size_t i = 0; i != 100; ++i) {
                group& made = some.emplace_back(scheduler, group_options{.weight = 1});
                if (i % 10 == 0) made.pause();
                made.post([&ran] { ++ran; });
            }
        }
    });
    scheduler.drain();
    EXPECT_EQ(ran, tenants);
}

}  // namespace
}  // namespace fairlead::many_groups_tests
