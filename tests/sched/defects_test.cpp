// Defects of other schedulers. Each test repeats the interleaving of the defect. A test that is not
// deterministic repeats it a bounded number of times.
//
// Sources of the names: the analysis of serverbox (its numbers are given), and the known pitfalls
// of the algorithms used here.
#include "support/gate_driver.hpp"
#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>
#include <fairlead/detail/lockfree/run_queue.hpp>
#include <fairlead/detail/sync/signal.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace fairlead::defects_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;
using test::simulation;

// --- serverbox -----------------------------------------------------------------------------------

// 1. A waker finds the task already woken and leaves after a plain load. Its data is still in the
// store buffer, and the run that was about to begin misses it.
TEST(Defects, LostWakeupWhenAlreadyReady) {
    test::watchdog guard;
    constexpr int rounds = 20'000;
    scheduler scheduler{{.workers = 2}};
    std::atomic<int> first{0};
    std::atomic<int> second{0};
    std::atomic<int> seen{0};
    scripted task{[&](scripted& self) {
        const int now =
            std::min(first.load(std::memory_order_relaxed), second.load(std::memory_order_relaxed));
        if (now != seen) {
            seen = now;
            seen.notify_all();
        }
        if (now != rounds) scheduler.post_wait(self);
    }};
    scheduler.post_wait(task);
    test::run_together(2, [&](std::size_t self) {
        auto& own = self == 0 ? first : second;
        for (int i = 1; i <= rounds; ++i) {
            own.store(i, std::memory_order_relaxed);
            task.wakeup();
            for (int now = seen; now < i; now = seen) seen.wait(now);  // hangs if one was lost
        }
    });
    scheduler.drain();
}

// 2. The transition to "woken" does not publish what the waker wrote.
TEST(Defects, WakerDataIsNotPublished) {
    test::watchdog guard;
    constexpr int rounds = 10'000;
    scheduler scheduler{{.workers = 2}};
    int data = 0;  // plain: only the wake-up orders it, which the thread sanitizer checks
    std::atomic<int> handled{0};
    scripted task{[&](scripted& self) {
        EXPECT_EQ(data, handled + 1);
        ++handled;
        handled.notify_all();
        if (handled != rounds) scheduler.post_wait(self);
    }};
    scheduler.post_wait(task);
    for (int i = 0; i != rounds; ++i) {
        ++data;
        task.wakeup();
        handled.wait(i);
    }
    scheduler.drain();
}

// 3. A waker reads which scheduler the task is in while a post writes it: here the task moves
// between two schedulers while other threads wake it.
TEST(Defects, WakerReadsAnOwnerThatIsBeingWritten) {
    test::watchdog guard;
    scheduler here{{.workers = 1}};
    scheduler there{{.workers = 1}};
    std::atomic<bool> over{false};
    scripted task{[&](scripted& self) {
        if (self.runs == 20'000) {
            over = true;
            return;
        }
        (scheduler::current() == &here ? there : here).post_wait(self);
    }};
    here.post_wait(task);
    test::run_together(2, [&](std::size_t) {
        while (!over) task.wakeup();
    });
    EXPECT_EQ(task.runs, 20'000);
    here.drain();
    there.drain();
}

// 4. A send that finds the signal sent is a plain load: the receiver takes the older signal, looks
// at an empty queue, and sleeps while the sender's work is there.
TEST(Defects, SignalSentTwiceHidesTheSecondSendersWork) {
    test::watchdog guard;
    constexpr int rounds = 10'000;
    sync::signal event;
    std::atomic<int> work{0};
    std::atomic<int> done{0};
    std::thread receiver{[&] {
        while (done != 2 * rounds) {
            event.receive();
            done += work.exchange(0, std::memory_order_relaxed);
            done.notify_all();
        }
    }};
    std::barrier turn{2};
    test::run_together(2, [&](std::size_t) {
        for (int i = 0; i != rounds; ++i) {
            turn.arrive_and_wait();
            work.fetch_add(1, std::memory_order_relaxed);
            event.send();
            for (int now = done; now < 2 * (i + 1); now = done) done.wait(now);
        }
    });
    receiver.join();
}

// 5. The last of several owners frees an object without having seen the writes of the other owners.
// Here the owners are tasks, and drain returns after the last of them.
TEST(Defects, TheLastOwnerHasNotSeenTheOthersWrites) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    for (int round = 0; round != 2'000; ++round) {
        auto shared = std::make_unique<int[]>(8);
        for (int i = 0; i != 8; ++i)
            scheduler.post([own = &shared[static_cast<std::size_t>(i)]] { ++*own; });
        scheduler.drain();
        ASSERT_EQ(std::count(shared.get(), shared.get() + 8, 1), 8);
        shared.reset();
    }
}

// 7. A check for "empty" reads that worker A is idle. A takes the last task. The check reads that
// worker B is idle and that the queues are empty, and answers yes while A still runs. A chain of
// tasks that wander between workers shows the defect.
TEST(Defects, WaitEmptyFalsePositive) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        scheduler scheduler{{.workers = workers}};
        for (int round = 0; round != 300; ++round) {
            std::atomic<int> left{2'000};  // enough tasks that an idle worker asks meanwhile
            scripted chain{[&](scripted& self) {
                if (--left != 0) scheduler.post(self);
            }};
            scheduler.post(chain);
            scheduler.drain();
            ASSERT_EQ(left, 0);
        }
    }
}

// 7b. The same with a task that only sleeps, so it is in no queue.
TEST(Defects, WaitEmptyForgetsInfiniteWaits) {
    simulation sim;
    scripted task;
    sim.scheduler.post_wait(task);
    EXPECT_FALSE(sim.scheduler.drain_for(1h));
    task.signal();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    static_cast<void>(task.receive_signal());
}

// 8. With the smallest setting of a limit nothing is ever scheduled.
TEST(Defects, SubQueueSizeOne) {
    test::watchdog guard;
    struct item {
        int number = 0;
    } items[3];
    item* const all[] = {&items[0], &items[1], &items[2]};
    item* out[3];
    lockfree::block_queue<item, 1> blocks;
    lockfree::block_queue<item, 1>::consumer consumer{blocks};
    lockfree::run_queue<item, 1> run;
    for (int round = 0; round != 100; ++round) {
        ASSERT_EQ(blocks.push(all), 3U);
        for (item* const each : all) {
            ASSERT_EQ(consumer.claim(out), 1U);
            ASSERT_EQ(out[0], each);
            run.push({&each, 1});
            ASSERT_EQ(run.room(), 0U);
            ASSERT_EQ(run.pop(), each);
        }
    }
    scheduler scheduler{{.workers = 1, .round_interval = 10us}};
    std::atomic<int> ran{0};
    scheduler.post([&ran] { ++ran; });
    scheduler.drain();
    EXPECT_EQ(ran, 1);
}

// 9. A far deadline overflows on its way to the system's sleep, so each sleep returns at once.
TEST(Defects, FarDeadlinesDoNotSpin) {
    test::watchdog guard;
    for (const time_point far : {never - 1ns, never - 1s, clock::now() + std::chrono::years{280}}) {
        scheduler scheduler{{.workers = 1}};
        scripted task;
        scheduler.post_deadline(task, far);
        EXPECT_FALSE(scheduler.drain_for(20ms));  // time for a spinning worker to show itself
        std::uint64_t wakeups = 0;
        for (const auto& each : scheduler.stats()) wakeups += each.wakeups;
        EXPECT_LE(wakeups, 10U);
        EXPECT_EQ(task.runs, 0);
        task.wakeup();
        scheduler.drain();
    }
}

// 11. The last thing that a thread does is to signal the task that ends the program's work: the
// scheduler is destroyed while that thread is still inside the call.
TEST(Defects, SchedulerDestroyedRightAfterLastSignal) {
    test::watchdog guard;
    for (int round = 0; round != 1'000; ++round) {
        std::atomic<bool> done{false};
        auto where = std::make_unique<scheduler>(scheduler_options{.workers = 1U + round % 3U});
        auto* task = new scripted{[&](scripted& self) {
            if (!self.receive_signal()) return where->post_wait(self);
            delete &self;
            done = true;
            done.notify_one();
        }};
        where->post(*task);
        std::thread sender{[task] { task->signal(); }};
        done.wait(false);
        where.reset();
        sender.join();
    }
}

// 11b. The scheduler is destroyed right after a post: the callable runs before the poster has left.
TEST(Defects, SchedulerDestroyedRightAfterLastPost) {
    test::watchdog guard;
    for (int round = 0; round != 1'000; ++round) {
        std::atomic<bool> done{false};
        auto where = std::make_unique<scheduler>(scheduler_options{.workers = 1U + round % 3U});
        std::thread poster{[&done, raw = where.get()] {
            raw->post([&done] {
                done = true;
                done.notify_one();
            });
        }};
        done.wait(false);
        where.reset();
        poster.join();
    }
}

// 11c. The scheduler is destroyed while another thread wakes a task that does not end: the waker
// has won the duty to push the task, and has not pushed it yet.
TEST(Defects, SchedulerDestroyedWhileATaskIsBeingWoken) {
    test::watchdog guard;
    for (int round = 0; round != 2'000; ++round) {
        scripted task;
        std::atomic<bool> over{false};
        auto where = std::make_unique<scheduler>(scheduler_options{.workers = 1, .stop_limit = 0s});
        task.then([&over, raw = where.get()](scripted& self) {
            if (!over) raw->post_wait(self);
        });
        where->post_wait(task);
        std::barrier start{2};
        std::thread waker{[&] {
            start.arrive_and_wait();
            task.wakeup();
        }};
        start.arrive_and_wait();
        where.reset();
        waker.join();
        over = true;
        ASSERT_EQ(task.owner(), nullptr);
    }
}

// --- pitfalls of the algorithms ------------------------------------------------------------------

// A push that takes its answer "was empty" from the first load, not from the successful exchange,
// wakes no worker, or two. Here a lost answer is a task that never runs.
TEST(Defects, WasEmptyFromTheFirstLoad) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    test::run_together(3, [&](std::size_t) {
        for (int i = 0; i != 3'000; ++i) {
            std::atomic<bool> ran{false};
            scheduler.post([&ran] {
                ran = true;
                ran.notify_one();
            });
            ran.wait(false);  // the worker goes to sleep between any two posts
        }
    });
    scheduler.drain();
}

// A push touches its node after the exchange. The node may have run and be freed by then.
TEST(Defects, NodeTouchedAfterPush) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    test::run_together(2, [&](std::size_t) {
        for (int i = 0; i != 5'000; ++i) {
            auto* task = new callback_task{[](callback_task& self) { delete &self; }};
            scheduler.post(*task);
        }
    });
    scheduler.drain();
}

// The sleeper announces itself and looks; the poster pushes and looks: with weak orders neither
// sees the other. One task at a time goes back and forth between a thread and a sleepy scheduler.
TEST(Defects, SleeperAndPosterMissEachOther) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 3U}) {
        scheduler scheduler{{.workers = workers}};
        std::atomic<int> ran{0};
        for (int i = 0; i != 5'000; ++i) {
            scheduler.post([&ran] {
                ++ran;
                ran.notify_one();
            });
            ran.wait(i);
        }
        scheduler.drain();
    }
}

// The same, step by step. 1. The worker finds no arrivals. 2. A post finds the worker awake and
// does not wake it. 3. The worker goes to sleep. It must look again after it has announced its
// sleep.
TEST(Defects, APostBetweenTheLastRoundAndTheSleepIsMissed) {
    test::watchdog guard;
    auto made = std::make_unique<test::gate_driver>();
    test::gate_driver& gate = *made;
    scheduler scheduler{{.workers = 1, .driver = std::move(made)}};
    for (int round = 0; round != 50; ++round) {
        scheduler.post([&gate] { gate.hold_at = 2; });
        gate.held.receive();
        std::atomic<bool> ran{false};
        scheduler.post([&ran] {
            ran = true;
            ran.notify_one();
        });
        gate.go_on.send();
        ran.wait(false);
    }
}

// A poster wakes no worker while a worker searches. So a searcher that leaves with another task
// must look for the post.
TEST(Defects, TheLastSearcherLeavesWorkBehind) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    for (int round = 0; round != 3'000; ++round) {
        // The first two block two workers; the third must reach the last worker, whichever
        // searched.
        std::latch third_ran{1};
        for (int i = 0; i != 2; ++i) scheduler.post([&] { third_ran.wait(); });
        scheduler.post([&] { third_ran.count_down(); });
        scheduler.drain();
    }
}

// A worker fails to get the role from a holder that is about to leave, and sleeps. The holder
// leaves without another look. Then no worker waits for the deadline.
TEST(Defects, TheRoleIsLeftToNobody) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int round = 0; round != 1'000; ++round) {
        std::latch woke{1};
        scripted sleeper{[&](scripted&) { woke.count_down(); }};
        scheduler.post([&] { woke.wait(); });  // occupies one worker
        scheduler.post_delay(sleeper, 50us);
        scheduler.drain();
    }
}

// A deadline races with its cancellation. The task runs once, whichever wins; the loser does
// nothing.
TEST(Defects, TimerCancelVersusFire) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int round = 0; round != 2'000; ++round) {
        std::atomic<int> runs{0};
        scripted task{[&](scripted& self) {
            ++runs;
            // The reason is the deadline, the signal, or both.
            EXPECT_TRUE(self.expired() || self.signalled());
            if (!self.receive_signal())
                scheduler.post_wait(self);  // expired: the signal is to come
        }};
        scheduler.post_delay(task, std::chrono::microseconds{round % 100});
        task.signal();
        scheduler.drain();
        ASSERT_LE(runs, 2);
        ASSERT_FALSE(task.signalled());
    }
}

// The signaller sets the flag, and then touches the task to wake it: by then it may be freed.
TEST(Defects, TaskFreedWhileSignalled) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    std::atomic<int> freed{0};
    constexpr int count = 5'000;
    for (int i = 0; i != count; ++i) {
        auto* task = new scripted{[&](scripted& self) {
            // Awake or asleep when the signal comes: it polls half of the time.
            if (self.receive_signal()) {
                delete &self;
                ++freed;
            } else if (self.runs % 2 == 0) {
                scheduler.post(self);
            } else {
                scheduler.post_delay(self, 10us);
            }
        }};
        scheduler.post(*task);
        task->signal();
    }
    scheduler.drain();
    EXPECT_EQ(freed, count);
}

// The stop flag is written before a wake-up that finds the worker woken already, and is not seen by
// it: the worker sleeps, and the stop waits for ever.
TEST(Defects, StopFlagHiddenByAnEarlierWakeUp) {
    test::watchdog guard;
    for (int round = 0; round != 1'000; ++round) {
        scheduler scheduler{{.workers = 1U + round % 3U}};
        std::jthread poster{[&] {
            for (int i = 0; i != 3; ++i) scheduler.post([] {});
        }};
        poster.join();
        const auto report = scheduler.stop(1h);  // hangs if the flag is missed
        ASSERT_TRUE(report.clean()) << report.to_string();
    }
}

// The worker has looked for a drain or a stop and is about to sleep when the request comes. The
// request must reach the worker though it is not asleep yet.
TEST(Defects, DrainAsksAWorkerThatIsAboutToSleep) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U}) {
        scheduler scheduler{{.workers = workers}};
        for (int round = 0; round != 10'000; ++round) {
            scheduler.post([] {});
            scheduler.drain();
        }
    }
}

TEST(Defects, StopTellsSleepersOfAWorkerThatIsAboutToSleep) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    for (int round = 0; round != 2'000; ++round) {
        scripted task;
        scheduler.post_wait(task);
        const auto report = scheduler.stop(1h);
        ASSERT_TRUE(report.clean());
        ASSERT_EQ(task.runs, 1);
        scheduler.start();
    }
}

// A wake-up of the driver that is taken away before the arrivals are looked at hides the next one.
TEST(Defects, DriverWakeClearedAfterTheLook) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    scripted sleepers[2];
    std::atomic<int> ran{0};
    for (auto& each : sleepers) {
        each.then([&](scripted&) {
            ++ran;
            ran.notify_all();
        });
    }
    for (int round = 0; round != 3'000; ++round) {
        ran = 0;
        for (auto& each : sleepers) scheduler.post_wait(each);
        test::run_together(2, [&](std::size_t self) { sleepers[self].wakeup(); });
        scheduler.drain();
        ASSERT_EQ(ran, 2);
    }
}

}  // namespace
}  // namespace fairlead::defects_tests
