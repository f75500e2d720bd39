// The order with policy::stealing: the newest first, what is stolen is the oldest, and all have
// their turn. What it shares with policy::fair is in conformance/policies_test.cpp.
#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::stealing_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;
using test::simulation;

// Each step posts one more of these, for as long as `goes_on()` says: what is newest never ends.
class endless {
public:
    endless(scheduler& home, std::function<bool()> goes_on)
        : home_{home}, goes_on_{std::move(goes_on)} {}
    void post() {
        home_.post([this] {
            if (goes_on_()) post();
        });
    }

private:
    scheduler& home_;
    std::function<bool()> goes_on_;
};

// At least one step in so many is the oldest post of the steps here, if an interval has passed, and
// one is not a post of theirs.
constexpr int turns = 128;

TEST(Stealing, TheNewestPostOfAStepRunsFirst) {
    simulation sim{policy::stealing};
    std::vector<int> log;
    for (const int tens : {0, 10}) {
        sim.scheduler.post([&, tens] {
            for (int i = 0; i != 3; ++i) {
                sim.scheduler.post([&, tens, i] {
                    log.push_back(tens + i);
                    if (i == 1) sim.scheduler.post([&, tens] { log.push_back(tens + 5); });
                });
            }
        });
    }
    sim.scheduler.drain();
    EXPECT_EQ(log, (std::vector{2, 1, 5, 0, 12, 11, 15, 10}));
}

TEST(Stealing, ThievesTakeTheOldest) {
    test::watchdog guard;
    // Else the step that waits would lose its slot, whose next holder takes the newest first.
    scheduler scheduler{{.workers = 2, .policy = policy::stealing, .blocked_after = 0ms}};
    for (int round = 0; round != 300; ++round) {
        std::vector<int> log;
        std::latch ran{4};
        scheduler.post([&] {
            for (int i = 0; i != 4; ++i) {
                scheduler.post([&, i] {
                    log.push_back(i);  // on the only other worker
                    ran.count_down();
                });
            }
            ran.wait();
        });
        scheduler.drain();
        ASSERT_EQ(log, (std::vector{0, 1, 2, 3}));
    }
}

// The step that divides its work goes down before it goes on: few are queued at any time.
TEST(Stealing, ATreeOfPostsIsWalkedDepthFirst) {
    const auto most_queued = [](policy policy) {
        simulation sim{policy};
        constexpr int depth = 14;
        int queued = 1;
        int most = 0;
        std::function<void(int)> visit = [&](int level) {
            --queued;
            for (int child = 0; child != 2 && level != depth; ++child) {
                ++queued;
                sim.scheduler.post([&, level] { visit(level + 1); });
            }
            most = std::max(most, queued);
        };
        sim.scheduler.post([&] { visit(0); });
        sim.scheduler.drain();
        return most;
    };
    EXPECT_EQ(most_queued(policy::fair), 1 << 14);
    EXPECT_LE(most_queued(policy::stealing), 3 * 14);  // once the oldest has its turn
}

// What a step leaves behind is done before the next task from outside begins.
TEST(Stealing, StepsThatPostVeryManyAreDoneOneAfterTheOther) {
    const auto most_queued = [](policy policy) {
        simulation sim{policy};
        constexpr int parents = 50;
        constexpr int children = 1'000;
        int queued = 0;
        int most = 0;
        int ran = 0;
        for (int i = 0; i != parents; ++i) {
            sim.scheduler.post([&] {
                for (int j = 0; j != children; ++j) {
                    sim.scheduler.post([&] {
                        --queued;
                        ++ran;
                    });
                }
                queued += children;
                most = std::max(most, queued);
            });
        }
        sim.scheduler.drain();
        EXPECT_EQ(ran, parents * children);
        return most / children;
    };
    EXPECT_EQ(most_queued(policy::fair), 50);
    EXPECT_LE(most_queued(policy::stealing), 2);
}

TEST(Stealing, ATaskThatPostsItselfStandsBehindOthers) {
    simulation sim{policy::stealing};
    std::vector<int> log;
    std::deque<scripted> tasks;
    for (int i = 0; i != 3; ++i) {
        sim.scheduler.post(tasks.emplace_back([&, i](scripted& self) {
            log.push_back(i);
            if (self.runs != 3) sim.scheduler.post(self);
        }));
    }
    sim.scheduler.drain();
    EXPECT_EQ(log, (std::vector{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

// --- all have their turn -------------------------------------------------------------------------

TEST(Stealing, TheOldestHasItsTurn) {
    test::watchdog guard;
    simulation sim{policy::stealing};
    int steps = 0;
    constexpr int older = 200;
    std::vector<int> ran_at;
    endless newest{sim.scheduler, [&] {
                       ++steps;
                       sim.clock.advance(10us);
                       return ran_at.size() != older;
                   }};
    sim.scheduler.post([&] {
        for (int i = 0; i != older; ++i) sim.scheduler.post([&] { ran_at.push_back(steps); });
        newest.post();
    });
    sim.scheduler.drain();
    ASSERT_EQ(ran_at.size(), std::size_t{older});
    for (int i = 0; i != older; ++i) {
        EXPECT_LE(ran_at[static_cast<std::size_t>(i)], (i + 1) * turns) << i;
    }
}

TEST(Stealing, WhatComesFromOutsideHasItsTurn) {
    test::watchdog guard;
    simulation sim{policy::stealing};
    int steps = 0;
    int posted_at = 0;
    std::vector<int> ran_at;
    constexpr int from_outside = 50;
    endless newest{sim.scheduler, [&] {
                       if (++steps == 1'000) {
                           posted_at = steps;
                           std::jthread{[&] {
                               for (int i = 0; i != from_outside; ++i) {
                                   sim.scheduler.post([&] { ran_at.push_back(steps); });
                               }
                           }};
                       }
                       return ran_at.size() != from_outside;
                   }};
    newest.post();
    sim.scheduler.drain();
    ASSERT_EQ(ran_at.size(), std::size_t{from_outside});
    for (int i = 0; i != from_outside; ++i) {
        EXPECT_LE(ran_at[static_cast<std::size_t>(i)], posted_at + (i + 1) * turns) << i;
    }
}

// Each step leaves one more task than before: what is older waits for an interval at most.
TEST(Stealing, WhatComesFromOutsideHasATurnInEachInterval) {
    test::watchdog guard;
    simulation sim{policy::stealing};
    constexpr int steps_in_interval = 100;  // of 1 ms
    int steps = 0;
    int posted_at = 0;
    std::vector<int> ran_at;
    constexpr int from_outside = 10;
    std::function<void()> grow = [&] {
        sim.clock.advance(1'000us / steps_in_interval);
        if (++steps == 1'000) {
            posted_at = steps;
            std::jthread{[&] {
                for (int i = 0; i != from_outside; ++i) {
                    sim.scheduler.post([&] { ran_at.push_back(steps); });
                }
            }};
        }
        if (ran_at.size() == from_outside) return;
        sim.scheduler.post(grow);
        sim.scheduler.post(grow);
    };
    sim.scheduler.post(grow);
    sim.scheduler.drain();
    ASSERT_EQ(ran_at.size(), std::size_t{from_outside});
    for (int i = 0; i != from_outside; ++i) {
        EXPECT_LE(ran_at[static_cast<std::size_t>(i)],
                  posted_at + (i + 1) * (turns + steps_in_interval))
            << i;
    }
}

// A round between two long steps deals a task that posts itself for ever, which must not go first
// each time. That it is late for a deadline makes a round of each look.
TEST(Stealing, TheDequeHasItsTurnBesideATaskOfLongSteps) {
    test::watchdog guard;
    for (const bool timed : {false, true}) {
        for (const auto step : {20us, 2'000us}) {
            scripted far;
            simulation sim{policy::stealing};
            sim.scheduler.post_deadline(far, sim.clock.now() + 1h);
            constexpr int others = 10;
            int ran = 0;
            int steps = 0;
            scripted endless{[&](scripted& self) {
                for (int i = 0; steps == 0 && i != others; ++i) sim.scheduler.post([&] { ++ran; });
                sim.clock.advance(step);
                if (ran == others || ++steps == 100'000) return;
                if (timed) {
                    sim.scheduler.post_deadline(self, sim.clock.now() - 1ms);
                } else {
                    sim.scheduler.post(self);
                }
            }};
            sim.scheduler.post(endless);
            sim.scheduler.run_until_idle();
            EXPECT_LE(steps, (others + 1) * turns);
            EXPECT_EQ(ran, others);
        }
    }
}

// Each step of the group outlasts its turn, so that a round comes after each.
TEST(Stealing, TheDequeHasItsTurnBesideAGroupOfLongSteps) {
    test::watchdog guard;
    simulation sim{policy::stealing};
    group other{sim.scheduler};
    constexpr int posts = 10;
    int ran = 0;
    int steps = 0;
    scripted endless{[&](scripted& self) {
        sim.clock.advance(150us);
        if (ran != posts && ++steps != 100'000) other.post(self);
    }};
    sim.scheduler.post([&] {
        for (int i = 0; i != posts; ++i) {
            sim.scheduler.post([&] {
                sim.clock.advance(150us);
                ++ran;
            });
        }
        other.post(endless);
    });
    sim.scheduler.run_until_idle();
    EXPECT_LE(steps, 3 * posts);
    EXPECT_EQ(ran, posts);
}

// The default group and the other one have even shares. What is in the array of the deque comes
// first: 256 tasks.
TEST(Stealing, AGroupHasItsShareThoughAStepHasPostedVeryMany) {
    test::watchdog guard;
    simulation sim{policy::stealing};
    group other{sim.scheduler};
    constexpr int steps = 500;
    int others_left = steps;
    int ran_meanwhile = 0;
    sim.scheduler.post([&] {
        for (int i = 0; i != 20'000; ++i) {
            sim.scheduler.post([&] {
                sim.clock.advance(2us);
                ran_meanwhile += static_cast<int>(others_left != 0);
            });
        }
        for (int i = 0; i != steps; ++i) {
            other.post([&] {
                sim.clock.advance(2us);
                --others_left;
            });
        }
    });
    sim.scheduler.drain();
    EXPECT_EQ(others_left, 0);
    EXPECT_LE(ran_meanwhile, 3 * steps);
}

// Whatever stops the workers meanwhile.
TEST(Stealing, BesideAGroupVeryManyPostsRunOnce) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 3U}) {
        for (int round = 0; round != 20; ++round) {
            std::atomic<int> ran{0};
            scheduler scheduler{{.workers = workers, .policy = policy::stealing}};
            group other{scheduler};
            scheduler.post([&] {
                for (int i = 0; i != 3'000; ++i) scheduler.post([&] { ++ran; });
                for (int i = 0; i != 300; ++i) other.post([&] { ++ran; });
            });
            if (round % 2 == 1) {
                static_cast<void>(scheduler.stop(0s));
                scheduler.start();
            }
            scheduler.drain();
            ASSERT_EQ(ran, 3'300);
        }
    }
}

// In simulated time an interval may never pass.
TEST(Stealing, WhatComesFromOutsideHasItsTurnThoughTheClockStands) {
    test::watchdog guard;
    simulation sim{policy::stealing};
    constexpr int steps_max = 1'000'000;
    int steps = 0;
    bool ran = false;
    std::function<void()> chain = [&] {
        if (++steps == 1'000) {
            sim.scheduler.post(chain);  // from now on there are more than at the last turn
            std::jthread{[&] { sim.scheduler.post([&] { ran = true; }); }};
        }
        if (!ran && steps < steps_max) sim.scheduler.post(chain);
    };
    sim.scheduler.post(chain);
    sim.scheduler.drain();
    EXPECT_LT(steps, steps_max);
}

TEST(Stealing, TheOldestHasItsTurnThoughTheClockStands) {
    test::watchdog guard;
    simulation sim{policy::stealing};
    constexpr int older = 3;
    int steps = 0;
    int ran = 0;
    endless newest{sim.scheduler, [&] { return ran != older && ++steps != 1'000'000; }};
    sim.scheduler.post([&] {
        for (int i = 0; i != older; ++i) sim.scheduler.post([&] { ++ran; });
        newest.post();
    });
    sim.scheduler.drain();
    EXPECT_EQ(ran, older);
    EXPECT_LT(steps, 200'000);
}

// However long the steps are: what is due does not wait for its turn by number.
TEST(Stealing, DeadlinesAndEventsAreServedInTime) {
    test::watchdog guard;
    constexpr duration interval = 1ms;
    constexpr int sleepers = 5;
    for (const duration step : {10us, 500us, 5'000us}) {
        simulation sim{policy::stealing};
        test::fake_source source;
        sim.driver->sources = true;
        const time_point start = sim.clock.now();
        const time_point deadline = start + 100ms;
        std::vector<time_point> served;
        time_point fired{};
        std::deque<scripted> due;
        for (int i = 0; i != sleepers; ++i) {
            sim.scheduler.post_deadline(
                due.emplace_back([&](scripted&) { served.push_back(sim.clock.now()); }), deadline);
        }
        scripted reader{[&](scripted&) { fired = sim.clock.now(); }};
        reader.wait_for(source);
        sim.scheduler.post_wait(reader);
        endless newest{sim.scheduler, [&] {
                           sim.clock.advance(step);
                           if (fired == time_point{} && sim.clock.now() >= start + 50ms) {
                               sim.driver->will_fire.push_back(&source);
                           }
                           return served.size() != sleepers || fired == time_point{};
                       }};
        newest.post();
        sim.scheduler.drain();
        // The step that runs, and an interval or as long as the clock is not looked at; then one in
        // each second interval.
        const duration look = std::max(interval, step) + std::max(interval, step);
        EXPECT_LE(fired, start + 50ms + step + look) << step.count();
        ASSERT_EQ(served.size(), std::size_t{sleepers});
        for (int i = 0; i != sleepers; ++i) {
            const time_point at = served[static_cast<std::size_t>(i)];
            EXPECT_GE(at, deadline);
            EXPECT_LE(at, deadline + step + (i + 1) * look) << step.count() << ' ' << i;
        }
    }
}

// What a long step keeps does not wait for the step, though the other worker always has posts of
// its own: newer posts, and a post in the middle of its queue.
TEST(Stealing, WhatALongStepKeepsHasItsTurn) {
    test::watchdog guard;
    for (const bool is_timed : {false, true}) {
        scheduler scheduler{{.workers = 2, .policy = policy::stealing, .blocked_after = 0ms}};
        std::atomic<bool> over{false};
        std::latch begins{1};
        std::latch may_post{1};
        std::latch ran{1};
        scripted kept{[&](scripted&) {
            over = true;
            ran.count_down();
        }};
        scheduler.post([&] {
            begins.count_down();
            may_post.wait();
            if (is_timed) {
                scheduler.post_deadline(kept, clock::now());
            } else {
                scheduler.post(kept);
            }
            ran.wait();
        });
        begins.wait();
        std::atomic<int> yields{0};
        scripted yielding{[&](scripted& self) {
            ++yields;
            if (!over) scheduler.post(self);
        }};
        endless newest{scheduler, [&] { return !over.load(); }};
        scheduler.post(yielding);
        newest.post();
        test::await([&] { return yields > 10; });
        may_post.count_down();
        scheduler.drain();
    }
}

// What the other worker has beside what it takes from such a step.
struct beside {
    bool newer_posts;  // its deque is never empty
    bool deadline;     // it looks at the clock between steps
    int at_once;       // posts from outside
};

// One worker is in a step that never ends, and always posts more than the other worker has run.
// Gives how many of these tasks have run at most while posts from outside waited.
std::uint64_t most_runs_while_posts_wait(beside more) {
    constexpr std::uint64_t too_many = 100'000;
    scripted far;
    scheduler scheduler{{.workers = 2, .policy = policy::stealing, .blocked_after = 0ms}};
    if (more.deadline) scheduler.post_deadline(far, clock::now() + 1h);
    std::atomic<bool> over{false};
    std::atomic<int> queued{0};
    std::atomic<std::uint64_t> runs{0};
    std::atomic<std::uint64_t> ends_at{UINT64_MAX};
    const auto goes_on = [&] { return !over && runs < ends_at; };
    std::latch is_long{1'000};
    scheduler.post([&] {
        while (goes_on()) {
            if (queued > 1'000) continue;
            ++queued;
            scheduler.post([&] {
                for (const time_point end = clock::now() + 2us; clock::now() < end;) {
                }
                if (!is_long.try_wait()) is_long.count_down();
                ++runs;
                --queued;
            });
        }
    });
    is_long.wait();
    endless newest{scheduler, goes_on};
    if (more.newer_posts) newest.post();
    std::uint64_t most = 0;
    for (int i = 0; i != 30 && goes_on(); ++i) {
        std::latch ran{more.at_once};
        const std::uint64_t before = runs;
        ends_at = before + too_many;
        std::atomic<std::uint64_t> at_end{0};  // of the last; the free worker runs all of them
        for (int j = 0; j != more.at_once; ++j) {
            scheduler.post([&] {
                at_end = runs.load();
                ran.count_down();
            });
        }
        ran.wait();
        most = std::max(most, at_end - before);
    }
    over = true;
    if (more.deadline) far.wakeup();
    scheduler.drain();
    return most;
}

TEST(Stealing, WhatComesFromOutsideHasItsTurnBesideAStepThatPostsForEver) {
    test::watchdog guard;
    for (const beside more :
         {beside{false, false, 1}, {false, true, 2}, {true, false, 1}, {true, true, 2}}) {
        for (int round = 0; round != 3; ++round) {
            ASSERT_LT(most_runs_while_posts_wait(more), 50'000U)
                << "a chunk has 128; newer posts: " << more.newer_posts
                << ", deadline: " << more.deadline;
        }
    }
}

TEST(Stealing, HasNoOrderBound) {
    // [policy]
    scheduler scheduler{{.workers = 4, .policy = policy::stealing}};
    // [/policy]
    EXPECT_EQ(scheduler.order_bound(), SIZE_MAX);
}

// --- wake-ups ------------------------------------------------------------------------------------

// As with policy::fair: a thief would take it out of the cache, at the price of a wake-up for each
// hop.
TEST(Stealing, AChainOfShortStepsStaysOnItsWorker) {
    test::watchdog guard;
    constexpr int hops = 100'000;
    scheduler scheduler{{.workers = 2, .policy = policy::stealing}};
    int left = hops;
    int moves = 0;
    std::thread::id ran_on;
    const time_point begin = clock::now();
    endless chain{scheduler, [&] {
                      const std::thread::id here = std::this_thread::get_id();
                      moves += static_cast<int>(std::exchange(ran_on, here) != here);
                      return --left != 0;
                  }};
    chain.post();
    scheduler.drain();
    const auto watches = static_cast<std::uint64_t>((clock::now() - begin) / 100us);
    EXPECT_LT(moves, 100 + static_cast<int>(watches));
    std::uint64_t wakeups = 0;
    for (const auto& each : scheduler.stats()) wakeups += each.wakeups;
    EXPECT_LT(wakeups, 100 + 2 * watches);
}

TEST(Stealing, CountsWhatIsStolen) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2, .policy = policy::stealing}};
    std::latch ran{100};
    scheduler.post([&] {
        for (int i = 0; i != 100; ++i) scheduler.post([&] { ran.count_down(); });
        ran.wait();
    });
    scheduler.drain();
    std::uint64_t stolen = 0;
    std::uint64_t steps = 0;
    for (const auto& each : scheduler.stats()) {
        stolen += each.stolen;
        steps += each.steps;
    }
    EXPECT_EQ(steps, 101U);
    EXPECT_GE(stolen, 100U);
}

}  // namespace
}  // namespace fairlead::stealing_tests
