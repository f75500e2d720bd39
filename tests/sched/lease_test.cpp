// The lease of a turn: what a worker counts for itself while it runs steps of one group.
#include "support/always_busy.hpp"
#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/sched/block_in_place.hpp>
#include <fairlead/sched/group.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::lease_tests {
namespace {

using namespace std::chrono_literals;
using test::always_busy;
using test::scripted;
using test::simulation;

// A task of a group that posts itself again, each step of which takes so long.
struct chain {
    chain(simulation& sim, group& in, duration length, int steps)
        : left{steps}, task{[this, &sim, &in, length](scripted& self) {
              sim.clock.advance(length);
              if (--left > 0) in.post(self);
              if (after_step) after_step();
          }} {
        in.post(task);
    }
    int left;
    std::function<void()> after_step;
    scripted task;
};

TEST(Lease, AChainRunsManyStepsInATurn) {
    simulation sim;
    group one{sim.scheduler};
    const chain steps{sim, one, 1us, 1'000};
    sim.scheduler.run_until_idle();
    EXPECT_EQ(steps.left, 0);
    const group_stats stats = one.stats();
    EXPECT_EQ(stats.steps, 1'000U);
    EXPECT_EQ(stats.used, 1'000us);
    EXPECT_EQ(stats.tasks, 0U);
    EXPECT_LE(stats.turns, 40U);  // the first are short, as the length of a step is not known
}

// The first has been signalled when the worker comes to it; a hundred tasks behind it go to sleep.
TEST(Lease, OfWhatWaitsOnlyWhatIsWokenRuns) {
    simulation sim;
    group one{sim.scheduler};
    scripted woken;
    std::deque<scripted> asleep(100);
    scripted last;
    scripted first{[&](scripted&) {
        one.post_wait(woken);
        woken.signal();
        for (scripted& each : asleep) one.post_wait(each);
        one.post(last);
    }};
    one.post(first);
    EXPECT_EQ(sim.scheduler.run_until_idle(), 3U);
    EXPECT_EQ(woken.runs, 1);
    EXPECT_FALSE(woken.was_expired);
    EXPECT_EQ(last.runs, 1);
    EXPECT_EQ(one.stats().steps, 3U);
    EXPECT_EQ(one.stats().tasks, 100U);
    EXPECT_FALSE(sim.scheduler.drain_for(0s));
    for (scripted& each : asleep) each.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 100U);
    EXPECT_EQ(one.stats().steps, 103U);
    EXPECT_EQ(one.stats().tasks, 0U);
    EXPECT_TRUE(sim.scheduler.drain_for(0s));
}

// A turn is 100 us, and the clock is looked at after a quarter of it.
TEST(Lease, TwoChainsTakeTurns) {
    simulation sim;
    group one{sim.scheduler};
    group other{sim.scheduler};
    chain of_one{sim, one, 1us, 20'000};
    const chain of_other{sim, other, 1us, 20'000};
    int apart = 0;
    of_one.after_step = [&] { apart = std::max(apart, std::abs(of_one.left - of_other.left)); };
    sim.scheduler.run_until_idle();
    EXPECT_GE(apart, 50);
    EXPECT_LE(apart, 260);
}

TEST(Lease, SharesFollowTheWeights) {
    simulation sim;
    group one{sim.scheduler, {.weight = 300}};
    group other{sim.scheduler, {.weight = 100}};
    chain of_one{sim, one, 1us, 90'000};
    const chain of_other{sim, other, 3us, 90'000};
    duration of_others{};
    of_one.after_step = [&] {
        if (of_one.left == 0) of_others = 3us * (90'000 - of_other.left);
    };
    sim.scheduler.run_until_idle();
    EXPECT_NEAR(of_others / 1.0ms, 30, 0.6);
}

// A clock that stands still ends no turn: then the number of steps does.
TEST(Lease, EndsAfterSoManyStepsWithoutTime) {
    simulation sim;
    group one{sim.scheduler};
    group other{sim.scheduler};
    bool done = false;
    int waits = 0;
    scripted waiting{[&](scripted& self) {
        ++waits;
        if (!done) one.post(self);
    }};
    one.post(waiting);
    other.post([&] { done = true; });
    sim.scheduler.run_until_idle();
    EXPECT_LE(waits, 600);
}

// By shares alone two of three equal groups could go before the third for ever.
TEST(Lease, ThreeGroupsHaveTheirTurnsWithoutTime) {
    simulation sim;
    std::deque<group> groups;
    std::array<int, 3> steps{};
    std::deque<scripted> tasks;
    for (std::size_t i = 0; i != steps.size(); ++i) {
        group& own = groups.emplace_back(sim.scheduler);
        own.post(tasks.emplace_back([&, i](scripted& self) {
            ++steps[i];
            const bool some_waits = std::ranges::min(steps) < 1'000;
            if (some_waits && std::ranges::max(steps) < 100'000) own.post(self);
        }));
    }
    sim.scheduler.run_until_idle();
    EXPECT_GE(std::ranges::min(steps), 1'000);
}

// Steps that become long are known after a few of them.
TEST(Lease, IsOverSoonWhenStepsBecomeLong) {
    simulation sim;
    group one{sim.scheduler};
    group other{sim.scheduler};
    duration length = 1us;
    int steps = 0;
    int at_others = 0;
    scripted changing{[&](scripted& self) {
        sim.clock.advance(length);
        if (++steps == 2'000) {
            length = 10ms;
            other.post([&] { at_others = steps; });
        }
        if (steps != 3'000) one.post(self);
    }};
    one.post(changing);
    sim.scheduler.run_until_idle();
    EXPECT_GE(at_others, 2'000);
    EXPECT_LE(at_others, 2'017);
}

TEST(Lease, APauseStopsWhatIsPostedInIt) {
    simulation sim;
    group one{sim.scheduler};
    int steps = 0;
    scripted task{[&](scripted& self) {
        if (++steps == 100) one.pause();
        if (steps != 101) one.post(self);
    }};
    one.post(task);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(steps, 100);
    EXPECT_EQ(one.stats().steps, 100U);
    EXPECT_EQ(one.stats().queued, 1U);
    EXPECT_EQ(one.stats().tasks, 1U);
    one.resume();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.stats().tasks, 0U);
}

// What has been dealt goes on; nothing is dealt beside it.
TEST(Lease, ALimitThatIsSetInItHolds) {
    simulation sim;
    group one{sim.scheduler};
    int steps = 0;
    std::deque<scripted> tasks;
    for (int i = 0; i != 8; ++i) {
        tasks.emplace_back([&](scripted& self) {
            sim.clock.advance(1us);
            if (++steps == 500) one.set_max_concurrency(1);
            if (steps < 1'000) one.post(self);
        });
    }
    for (scripted& each : tasks) one.post(each);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.stats().tasks, 0U);
    EXPECT_EQ(one.stats().steps, 1'007U);
    EXPECT_EQ(one.stats().used, 1'007us);
}

// Two tasks of a group that wake each other need no turn for each wake-up.
TEST(Lease, AWakeUpStaysInIt) {
    simulation sim;
    group one{sim.scheduler};
    int left = 1'000;
    scripted* other = nullptr;
    const auto step = [&](scripted& self) {
        sim.clock.advance(1us);
        scripted* const partner = std::exchange(other, &self);
        if (partner != nullptr) partner->wakeup();
        if (--left > 0) one.post_wait(self);
    };
    scripted first{step};
    scripted second{step};
    one.post(first);
    one.post(second);
    sim.scheduler.run_until_idle();
    EXPECT_LE(one.stats().turns, 60U);
    EXPECT_GE(one.stats().steps, 1'000U);
    while (one.stats().tasks != 0) {  // a task waits still
        first.wakeup();
        second.wakeup();
        sim.scheduler.run_until_idle();
    }
}

// The default group has its turns as any other group.
TEST(Lease, TheDefaultGroupHasItToo) {
    simulation sim;
    group one{sim.scheduler};
    const chain of_one{sim, one, 1us, 10'000};
    int left = 10'000;
    int apart = 0;
    scripted everyone{[&](scripted& self) {
        sim.clock.advance(1us);
        apart = std::max(apart, std::abs(left - of_one.left));
        if (--left > 0) sim.scheduler.post(self);
    }};
    sim.scheduler.post(everyone);
    sim.scheduler.run_until_idle();
    EXPECT_GE(apart, 50);
    EXPECT_LE(apart, 260);
}

// A foreign main loop that runs a few steps at a time: time is charged all the same.
TEST(Lease, IsMeasuredUnderAForeignLoop) {
    simulation sim;
    group one{sim.scheduler};
    group other{sim.scheduler};
    const chain of_one{sim, one, 10us, 25'000};
    const chain of_other{sim, other, 90us, 3'000};
    const time_point end = sim.clock.now() + 200ms;
    while (sim.clock.now() < end) sim.scheduler.run_in_loop(3);
    EXPECT_NEAR(one.stats().used / 1.0ms, 100, 4);
    EXPECT_NEAR(other.stats().used / 1.0ms, 100, 4);
    EXPECT_EQ(one.stats().used, (25'000 - of_one.left) * 10us);
    EXPECT_EQ(other.stats().used, (3'000 - of_other.left) * 90us);
    sim.scheduler.run_until_idle();
}

// An older post of the group stands behind more arrivals than a round admits.
TEST(Lease, NothingOvertakesWhatNoRoundHasAdmitted) {
    simulation sim;
    group one{sim.scheduler};
    group other{sim.scheduler};
    std::vector<int> log;
    one.post([&] {
        for (int i = 0; i != 20'000; ++i) other.post([] {});
        one.post([&] { log.push_back(2); });
    });
    one.post([&] {
        log.push_back(1);
        one.post([&] { log.push_back(3); });
    });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

// A step under a lease is in a call that blocks, for as long as another step of the group takes to
// come: a limit of two leaves room for it.
TEST(LeaseOnThreads, ALimitDoesNotWaitForAStepThatHasLostItsSlot) {
    const test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler};
    struct {
        group& of;
        int left = 50;
        std::latch begun{1};
        std::latch came{1};
    } shared{one};
    callback_task task{[&shared](callback_task& self) {
        if (--shared.left > 0) return shared.of.post(self);
        block_in_place([&] {
            shared.begun.count_down();
            shared.came.wait();
        });
    }};
    one.post(task);
    shared.begun.wait();
    one.set_max_concurrency(2);
    one.post([&] { shared.came.count_down(); });
    scheduler.drain();
    EXPECT_EQ(one.stats().steps, 51U);
    EXPECT_EQ(one.stats().tasks, 0U);
}

// A step under a lease blocks, and its slot goes to another thread, which ends the turn.
TEST(LeaseOnThreads, AStepThatLosesItsSlotEndsIt) {
    const test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    group one{scheduler};
    std::atomic<int> steps{0};
    std::latch goes_on{1};
    callback_task task{[&](callback_task& self) {
        const int now = ++steps;
        if (now == 50) {
            one.post([&] { goes_on.count_down(); });
            block_in_place([&] { goes_on.wait(); });
        }
        if (now != 100) one.post(self);
    }};
    one.post(task);
    scheduler.drain();
    EXPECT_EQ(steps, 100);
    EXPECT_EQ(one.stats().steps, 101U);
    EXPECT_EQ(one.stats().tasks, 0U);
}

// A task that posts itself under a lease. Its last step posts another task, and waits for that.
class waits_for_its_post {
public:
    explicit waits_for_its_post(group& in) : in_{in} { in.post(task_); }

private:
    void step(callback_task& self) {
        if (--left_ > 0) return in_.post(self);
        std::latch ran{1};
        in_.post([&ran] { ran.count_down(); });
        while (!ran.try_wait()) std::this_thread::yield();
    }

    group& in_;
    int left_ = 50;
    callback_task task_{[this](callback_task& self) { step(self); }};
};

// Rounds leave to a worker what it keeps for the lease of its turn. But when a step lasts long, a
// worker that sleeps takes it.
TEST(LeaseOnThreads, NothingWaitsForALongStepInIt) {
    const test::watchdog guard;
    scheduler scheduler{{.workers = 2, .slice = 0s, .blocked_after = 0s}};
    group one{scheduler};
    for (int game = 0; game != 100; ++game) {
        const waits_for_its_post task{one};
        scheduler.drain();
    }
}

// Or a worker that has turns of its own all the time.
TEST(LeaseOnThreads, NothingWaitsForALongStepInItBesideABusyWorker) {
    const test::watchdog guard;
    scheduler scheduler{{.workers = 2, .slice = 0s, .blocked_after = 0s}};
    group one{scheduler};
    group other{scheduler};
    for (int game = 0; game != 30; ++game) {
        const duration length = game % 3 * 20us;
        always_busy busy{other, length};
        {
            const waits_for_its_post task{one};
            test::await([&] { return one.stats().tasks == 0; });
        }
        busy.end();
        scheduler.drain();
    }
}

// Nor do tasks that have been dealt with the step.
TEST(LeaseOnThreads, WhatIsDealtWithALongStepIsTakenByAWorkerWithTurns) {
    const test::watchdog guard;
    scheduler scheduler{{.workers = 2, .slice = 0s, .blocked_after = 0s}};
    group one{scheduler};
    group other{scheduler};
    // So the length of a step is known, and a turn has several.
    for (int i = 0; i != 1'000; ++i) one.post([] {});
    scheduler.drain();
    for (int game = 0; game != 30; ++game) {
        always_busy busy{other, 20us};
        std::latch others_ran{7};
        scripted waiting{[&](scripted&) {
            while (!others_ran.try_wait()) std::this_thread::yield();
        }};
        std::deque<scripted> others;
        std::vector<basic_task*> all{&waiting};
        for (int i = 0; i != 7; ++i) {
            all.push_back(&others.emplace_back([&](scripted&) { others_ran.count_down(); }));
        }
        one.post(all);
        test::await([&] { return others_ran.try_wait(); });
        busy.end();
        scheduler.drain();
    }
}

// Chains of several groups on several workers, with limits and pauses that come and go.
TEST(LeaseOnThreads, NothingIsLostWhileWishesChange) {
    const test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    constexpr int chains = 4;
    constexpr int hops = 20'000;
    group one{scheduler};
    group other{scheduler};
    struct hopper {
        group* in;
        int left = hops;
        callback_task task{[this](callback_task& self) {
            if (--left > 0) in->post(self);
        }};
    };
    std::vector<std::unique_ptr<hopper>> all;
    for (int i = 0; i != chains; ++i) {
        for (group* const in : {&one, &other}) {
            all.push_back(std::make_unique<hopper>(in));
            in->post(all.back()->task);
        }
    }
    for (unsigned i = 0; i != 200; ++i) {
        one.set_max_concurrency(i % 3);
        other.pause();
        one.set_weight(100 + i);
        other.resume();
    }
    one.set_max_concurrency(0);
    scheduler.drain();
    for (const group* const each : {&one, &other}) {
        EXPECT_EQ(each->stats().steps, std::uint64_t{chains} * hops);
        EXPECT_EQ(each->stats().tasks, 0U);
    }
}

}  // namespace
}  // namespace fairlead::lease_tests
