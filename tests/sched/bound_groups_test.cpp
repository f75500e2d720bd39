// Groups that are bound to one worker: on the caller, in simulated time; and on threads.
#include <fairlead/sched/group.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <latch>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fairlead {
namespace {

using namespace std::chrono_literals;
using test::numbered;
using test::scripted;
using test::simulation;

// The threads of the workers, by number, while no slot changes hands: a bound group tells each.
std::vector<std::thread::id> threads_of(scheduler& scheduler) {
    std::vector<std::thread::id> threads(scheduler.workers());
    group asks{scheduler};
    for (unsigned i = 0; i != scheduler.workers(); ++i) {
        asks.bind(i);
        std::latch asked{1};
        asks.post([&] {
            threads[i] = std::this_thread::get_id();
            asked.count_down();
        });
        asked.wait();
    }
    return threads;
}

// Tasks of the default group that keep all workers at work until it goes.
class load {
public:
    load(scheduler& on, std::size_t tasks) : on_{on} {
        for (std::size_t i = 0; i != tasks; ++i) {
            on.post(tasks_.emplace_back([this](scripted& self) {
                if (goes_on_) on_.post(self);
            }));
        }
    }
    load(const load&) = delete;
    load& operator=(const load&) = delete;
    ~load() {
        goes_on_ = false;
        on_.drain();
    }

private:
    scheduler& on_;
    std::atomic<bool> goes_on_{true};
    std::deque<scripted> tasks_;
};

// --- what it is bound to -------------------------------------------------------------------------------

TEST(BoundGroup, RefusesWorkersThatAreNotThere) {
    scheduler scheduler{{.workers = 3}};
    group one{scheduler};
    one.bind(2);
    try {
        one.bind(3);
        ADD_FAILURE() << "it was accepted";
    } catch (const std::invalid_argument& refused) {
        EXPECT_NE(std::string_view{refused.what()}.find("group::bind must be 0 to 2"),
                  std::string_view::npos)
            << refused.what();
    }
    EXPECT_EQ(one.stats().bound_to, 2U) << "as before";
}

TEST(BoundGroup, IsSpreadOverTheWorkersUnlessOneIsNamed) {
    scheduler scheduler{{.workers = 3}};
    std::deque<group> all;
    std::array<int, 3> on{};
    for (int i = 0; i != 9; ++i) {
        if (i == 0) {
            all.emplace_back(scheduler).bind(1);
        } else if (i % 2 == 0) {
            all.emplace_back(scheduler, group_options{.bound = true});
        } else {
            all.emplace_back(scheduler).bind();
        }
        ++on.at(*all.back().stats().bound_to);
    }
    EXPECT_EQ(on, (std::array{3, 3, 3}));
    EXPECT_EQ(group(scheduler).stats().bound_to, std::nullopt);
}

TEST(BoundGroup, StaysMovesAndIsReleased) {
    scheduler scheduler{{.workers = 2}};
    group one{scheduler};
    one.bind(1);
    one.bind();
    EXPECT_EQ(one.stats().bound_to, 1U);
    one.bind(0);
    EXPECT_EQ(one.stats().bound_to, 0U);
    one.release();
    one.release();
    EXPECT_EQ(one.stats().bound_to, std::nullopt);
    // What it was bound to does not count any more, nor a group that has gone.
    group other{scheduler};
    other.bind(1);
    { const group gone{scheduler, {.bound = true}}; }
    one.bind();
    EXPECT_EQ(one.stats().bound_to, 0U);
}

// --- one worker, on the caller ---------------------------------------------------------------------------

TEST(BoundGroup, IsAStrandWhateverItsLimitSays) {
    simulation sim;
    group one{sim.scheduler, {.max_concurrency = 3, .bound = true}};
    std::vector<int> log;
    std::deque<numbered> tasks;
    for (int i = 0; i != 500; ++i) one.post(tasks.emplace_back(log, i));
    EXPECT_EQ(sim.scheduler.run_until_idle(), 500U);
    std::vector<int> wanted(500);
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(log, wanted);
    EXPECT_EQ(one.stats().tasks, 0U);
}

// By weight, beside others that are bound, or not; a priority goes before.
TEST(BoundGroup, HasItsShare) {
    simulation sim;
    const time_point end = sim.clock.now() + 2s;
    struct tenant {
        tenant(scheduler& in, unsigned its_weight)
            : weight{its_weight}, own{in, {.weight = weight, .bound = weight != 200}} {}
        const unsigned weight;
        group own;
        scripted task;
    };
    std::deque<tenant> all;
    unsigned weights = 0;
    for (const unsigned weight : {100U, 200U, 300U, 50U}) {
        weights += weight;
        tenant& added = all.emplace_back(sim.scheduler, weight);
        added.task.then([&](scripted& self) {
            if (sim.clock.now() >= end) return;
            sim.clock.advance(20us);
            added.own.post(self);
        });
        added.own.post(added.task);
    }
    sim.scheduler.run_until_idle();
    for (const tenant& each : all) {
        const std::chrono::duration<double> wanted = 2.0s * each.weight / weights;
        EXPECT_NEAR((each.own.stats().used + 0.0s) / wanted, 1, 0.02) << each.weight;
    }
}

TEST(BoundGroup, HigherPrioritiesGoFirstAndTheLowestStillMoves) {
    simulation sim;
    group low{sim.scheduler, {.priority = priority::low, .bound = true}};
    group high{sim.scheduler, {.priority = priority::high, .bound = true}};
    group control{sim.scheduler, {.priority = priority::highest, .bound = true}};
    const time_point end = sim.clock.now() + 2s;
    std::deque<scripted> tasks;
    for (group* each : {&low, &high}) {
        each->post(tasks.emplace_back([&, each](scripted& self) {
            if (sim.clock.now() >= end) return;
            sim.clock.advance(20us);
            each->post(self);
        }));
    }
    int before = 0;
    scripted message{[&](scripted&) {
        for (const scripted& each : tasks) before += each.runs;
    }};
    control.post(message);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(message.runs, 1);
    EXPECT_EQ(before, 0) << "it was admitted first";
    EXPECT_LE(low.stats().used, 20ms) << "a turn in 100 ms";
    EXPECT_GE(low.stats().used, 200us);
}

// It may be paused, sleep and be woken as any.
TEST(BoundGroup, ItsTasksSleepAndItMayBePaused) {
    simulation sim;
    group one{sim.scheduler, {.bound = true}};
    scripted sleeper{[&](scripted& self) {
        if (self.runs == 1) one.post_delay(self, 10ms);
        if (self.runs == 2) one.post_wait(self);
    }};
    one.post(sleeper);
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 1U);
    EXPECT_EQ(sim.scheduler.run_until(sim.clock.now() + 1s), 1U);
    one.pause();
    sleeper.wakeup();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    one.release();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 0U);
    one.bind();
    one.resume();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1U);
    EXPECT_EQ(one.stats().steps, 3U);
}

TEST(BoundGroup, WhatAStopLeavesIsReportedAndGoesOnAfterIt) {
    simulation sim;
    group one{sim.scheduler, {.bound = true}};
    one.pause();
    std::vector<int> log;
    std::deque<numbered> tasks;
    for (int i = 0; i != 5; ++i) one.post(tasks.emplace_back(log, i));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sim.scheduler.stop(1ms).queued, 5U);
    sim.scheduler.start();
    one.resume();
    EXPECT_EQ(sim.scheduler.run_until_idle(), 5U);
    EXPECT_EQ(log, (std::vector{0, 1, 2, 3, 4}));
}

TEST(BoundGroup, IsGivenBackByADestructor) {
    std::vector<int> log;
    std::deque<numbered> tasks;
    {
        simulation sim;
        group one{sim.scheduler, {.bound = true}};
        one.pause();
        for (int i = 0; i != 5; ++i) one.post(tasks.emplace_back(log, i));
        one.post_wait(tasks.emplace_back(log, 5));
        sim.scheduler.run_until_idle();
    }
    for (const numbered& each : tasks) EXPECT_EQ(each.owner(), nullptr);
}

// --- on threads -------------------------------------------------------------------------------------------

// Posts from outside, from its own steps and from others'; sleeps and wakeups; while others keep all workers busy, or none.
TEST(BoundGroupOnThreads, AllOfItsStepsRunOnItsThread) {
    test::watchdog guard;
    for (const policy policy : {policy::fair, policy::stealing}) {
        for (const std::size_t others : {0U, 8U}) {
            for (const priority by : {priority::normal, priority::highest}) {
                scheduler scheduler{{.workers = 3, .policy = policy, .blocked_after = 0s}};
                const std::vector<std::thread::id> threads = threads_of(scheduler);
                group one{scheduler, {.priority = by, .max_concurrency = 2}};
                one.bind(1);
                const load busy{scheduler, others};
                int elsewhere = 0;  // not atomic: it is a strand
                int steps = 0;
                std::latch all{401 + 300 + 40};
                const auto step = [&] {
                    elsewhere += std::this_thread::get_id() != threads[1];
                    ++steps;
                    all.count_down();
                };
                int left = 400;
                scripted posts_itself{[&](scripted& self) {
                    step();
                    if (left-- != 0) one.post(self);
                }};
                std::deque<scripted> sleepers;
                for (int i = 0; i != 20; ++i) {
                    one.post(sleepers.emplace_back([&](scripted& self) {
                        step();
                        if (self.runs == 1) one.post_delay(self, 100us);
                    }));
                }
                one.post(posts_itself);
                for (int i = 0; i != 300; ++i) {
                    scheduler.post([&] { one.post(step); });
                }
                all.wait();
                EXPECT_EQ(elsewhere, 0);
                EXPECT_EQ(steps, 401 + 300 + 40);
                test::await([&] { return one.stats().tasks == 0; });
            }
        }
    }
}

// All workers sleep, and the one that is bound is woken; posts by threads, and by steps of another.
TEST(BoundGroupOnThreads, TheWorkerIsWoken) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 4}};
    const std::vector<std::thread::id> threads = threads_of(scheduler);
    std::deque<group> bound;
    for (unsigned i = 0; i != 4; ++i) bound.emplace_back(scheduler).bind(i);
    int elsewhere = 0;
    for (std::size_t i = 0; i != 2'000; ++i) {
        std::latch ran{1};
        const auto step = [&] {
            elsewhere += std::this_thread::get_id() != threads[i % 4];
            ran.count_down();
        };
        if (i % 3 == 0) {
            bound[(i + 1) % 4].post([&] { bound[i % 4].post(step); });
        } else {
            bound[i % 4].post(step);
        }
        ran.wait();
    }
    EXPECT_EQ(elsewhere, 0);
}

// The worker is in a step: it goes there when that has ended. The others, which sleep, are of no use.
TEST(BoundGroupOnThreads, WaitsForItsWorkerThoughOthersHaveNothingToDo) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3, .blocked_after = 0s}};
    group first{scheduler};
    group second{scheduler};
    first.bind(2);
    second.bind(2);
    std::latch begun{1};
    std::latch go{1};
    std::thread::id where;
    first.post([&] {
        where = std::this_thread::get_id();
        begun.count_down();
        go.wait();
    });
    begun.wait();
    std::atomic<int> ran{0};
    int elsewhere = 0;
    for (int i = 0; i != 10; ++i) {
        second.post([&] {
            elsewhere += std::this_thread::get_id() != where;
            ++ran;
        });
    }
    for (int i = 0; i != 100; ++i) {  // others have rounds meanwhile
        std::latch other{1};
        scheduler.post([&] { other.count_down(); });
        other.wait();
    }
    EXPECT_EQ(ran, 0);
    go.count_down();
    scheduler.drain();
    EXPECT_EQ(ran, 10);
    EXPECT_EQ(elsewhere, 0);
}

// What is posted after a call is where that says, whatever was before.
TEST(BoundGroupOnThreads, MovesAndIsReleasedWhileItHasTasks) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3, .blocked_after = 0s}};
    const std::vector<std::thread::id> threads = threads_of(scheduler);
    group one{scheduler};
    std::atomic<int> ran{0};
    int elsewhere = 0;
    const load busy{scheduler, 4};
    for (unsigned i = 0; i != 2'000; ++i) {
        const unsigned worker = i % 3;
        for (int k = 0; k != 3; ++k) one.post([&] { ++ran; });
        one.bind(worker);
        std::latch asked{1};
        one.post([&, worker] {
            elsewhere += std::this_thread::get_id() != threads[worker];
            asked.count_down();
        });
        if (i % 2 == 0) asked.wait();
        if (i % 2 == 1) {  // the step may be anywhere after the release
            asked.wait();
            one.release();
        }
    }
    test::await([&] { return ran == 6'000; });
    EXPECT_EQ(elsewhere, 0);
}

// Two steps run at once when it is bound; the next begins when both have ended.
TEST(BoundGroupOnThreads, StepsFromBeforeGoOnAndEndFirst) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3, .blocked_after = 0s}};
    const std::vector<std::thread::id> threads = threads_of(scheduler);
    group one{scheduler};
    std::latch begun{2};
    std::latch go{1};
    std::atomic<int> ended{0};
    for (int i = 0; i != 2; ++i) {
        one.post([&] {
            begun.count_down();
            go.wait();
            ++ended;
        });
    }
    begun.wait();
    one.bind(0);
    bool after_both = false;
    bool there = false;
    one.post([&] {
        after_both = ended == 2;
        there = std::this_thread::get_id() == threads[0];
    });
    go.count_down();
    scheduler.drain();
    EXPECT_TRUE(after_both);
    EXPECT_TRUE(there);
}

// With a release its limit counts again: two steps that wait for each other.
TEST(BoundGroupOnThreads, MayRunSeveralAtOnceAfterARelease) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2, .blocked_after = 0s}};
    group one{scheduler, {.bound = true}};
    for (int i = 0; i != 200; ++i) {
        one.bind();
        one.post([] {});
        one.release();
        std::latch both{2};
        for (int k = 0; k != 2; ++k) one.post([&] { both.arrive_and_wait(); });
        scheduler.drain();
    }
}

TEST(BoundGroupOnThreads, HasTheOrderOfItsPosts) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    group one{scheduler, {.bound = true}};
    int disorder = 0;
    for (int i = 0; i != 1'000; ++i) {
        std::atomic<bool> posted{false};
        bool ran = false;
        scheduler.post([&] {
            one.post([&] { ran = true; });
            posted = true;
        });
        scheduler.post([&] {
            while (!posted) std::this_thread::yield();
            one.post([&] { disorder += !ran; });
        });
        scheduler.drain();
    }
    EXPECT_EQ(disorder, 0);
}

// Its slot is not passed on, by nobody; and it is again after the release.
TEST(BoundGroupOnThreads, AWorkerKeepsItsThreadWhileAGroupIsBoundToIt) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler};
    group other{scheduler};
    one.bind(0);
    other.bind(0);
    const auto gives_up = [&](group& in) {
        std::atomic<int> answer{-1};
        in.post([&] { answer = scheduler::about_to_block() ? 1 : 0; });
        scheduler.drain();
        return answer.load();
    };
    EXPECT_EQ(gives_up(one), 0);
    other.bind(1);
    EXPECT_EQ(gives_up(one), 0);
    EXPECT_EQ(gives_up(other), 0);
    one.release();
    other.release();
    EXPECT_EQ(gives_up(one), 1);
    one.bind(0);
    EXPECT_EQ(gives_up(one), 0) << "whichever thread it has now";
}

// The one that blocks undeclared is bound, and another that does loses its slot.
TEST(BoundGroupOnThreads, TheMonitorLeavesItsWorkerAlone) {
    test::watchdog guard;
    static std::atomic<int> reports{0};
    static std::atomic<int> wrong{0};
    reports = wrong = 0;
    scheduler scheduler{
        {.workers = 2, .blocked_after = 1ms, .on_blocked = [](const blocked_step& step) noexcept {
             if (std::string_view{step.name} != "free") ++wrong;
             ++reports;
         }}};
    group one{scheduler};
    one.bind(1);
    std::latch begun{1};
    std::latch go{1};
    std::set<std::thread::id> threads;  // a strand
    scripted bound{[&](scripted&) {
                       threads.insert(std::this_thread::get_id());
                       begun.count_down();
                       go.wait();
                   },
                   "bound"};
    scripted free{[&](scripted&) { go.wait(); }, "free"};
    one.post(bound);
    begun.wait();
    scheduler.post(free);
    test::await([] { return reports != 0; });
    one.post([&] { threads.insert(std::this_thread::get_id()); });
    go.count_down();
    scheduler.drain();
    EXPECT_EQ(threads.size(), 1U);
    EXPECT_EQ(wrong, 0);
}

// Its handle may go: what it has left stays where it was.
TEST(BoundGroupOnThreads, ADroppedOneRunsWhatItHasOnItsThread) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    const std::vector<std::thread::id> threads = threads_of(scheduler);
    std::atomic<int> elsewhere{0};
    std::atomic<int> ran{0};
    std::deque<scripted> sleepers;
    for (unsigned i = 0; i != 300; ++i) {
        group one{scheduler};
        one.bind(i % 3);
        scripted& sleeper = sleepers.emplace_back([&, i](scripted&) {
            elsewhere += std::this_thread::get_id() != threads[i % 3];
            ++ran;
        });
        one.post_delay(sleeper, 1ms);
    }
    scheduler.drain();
    EXPECT_EQ(ran, 300);
    EXPECT_EQ(elsewhere, 0);
}

// What is no more keeps no thread, as soon as the worker has had another round.
TEST(BoundGroupOnThreads, ADroppedOneLeavesItsWorker) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    for (int i = 0; i != 20; ++i) group{scheduler, {.bound = true}}.post([] {});
    scheduler.drain();
    std::atomic<bool> gave_up{false};
    while (!gave_up) {
        scheduler.post([&] { gave_up = scheduler::about_to_block(); });
        scheduler.drain();
    }
}

TEST(BoundGroupOnThreads, ManyAreBoundMovedAndDroppedWhileTheyHaveTasks) {
    test::watchdog guard;
    for (const policy policy : {policy::fair, policy::stealing}) {
        scheduler scheduler{{.workers = 3, .policy = policy}};
        std::atomic<int> ran{0};
        test::run_together(3, [&](std::size_t self) {
            for (unsigned i = 0; i != 1'000; ++i) {
                group one{scheduler, {.max_concurrency = i % 3, .bound = i % 2 == 0}};
                if (i % 5 == 0) one.pause();
                for (int k = 0; k != 3; ++k) one.post([&] { ++ran; });
                if (i % 3 == 0) one.bind((i + static_cast<unsigned>(self)) % 3);
                if (i % 7 == 0) one.release();
                if (i % 11 == 0) one.post([&, &to = scheduler] { to.post([&] { ++ran; }); });
                scheduler.post([&] { ++ran; });
            }
        });
        scheduler.drain();
        EXPECT_EQ(ran, 3 * (1'000 * 4 + 91));
    }
}

// Stops give up on a step that goes on; what is bound behind it is kept, and runs after the start.
TEST(BoundGroupOnThreads, GoesOnAfterAStopOnTheSameWorker) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2, .blocked_after = 0s}};
    group one{scheduler};
    group other{scheduler};
    one.bind(1);
    other.bind(1);
    std::latch begun{1};
    std::latch go{1};
    one.post([&] {
        begun.count_down();
        go.wait();
    });
    begun.wait();
    std::vector<int> log;
    std::deque<numbered> tasks;
    for (int i = 0; i != 5; ++i) other.post(tasks.emplace_back(log, i));
    const stop_report left = scheduler.stop(1ms);
    EXPECT_EQ(left.running, 1U);
    EXPECT_EQ(left.queued, 5U);
    go.count_down();
    scheduler.start();
    std::thread::id thread_of_one;
    std::thread::id thread_of_other;
    one.post([&] { thread_of_one = std::this_thread::get_id(); });
    other.post([&] { thread_of_other = std::this_thread::get_id(); });
    scheduler.drain();
    EXPECT_EQ(log, (std::vector{0, 1, 2, 3, 4}));
    EXPECT_EQ(thread_of_one, thread_of_other);
}

}  // namespace
}  // namespace fairlead
