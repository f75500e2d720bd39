// The bound of a group's queue: posts that are refused, posts that wait, and tasks that are
// dropped.
#include "sched/groups/group_queue.hpp"
#include "sched/task/task_access.hpp"

#include <fairlead/sched/group.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace fairlead::permits_tests {
namespace {

using namespace std::chrono_literals;
using test::numbered;
using test::scripted;
using test::simulation;

std::vector<int> from_to(int first, int last) {
    std::vector<int> numbers;
    for (int i = first; i != last; ++i) numbers.push_back(i);
    return numbers;
}

// --- refused -------------------------------------------------------------------------------------

TEST(Permits, APostThatFindsTheQueueFullIsRefused) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 3}};
    std::vector<int> log;
    for (int i = 0; i != 5; ++i) {
        EXPECT_EQ(one.try_post([&log, i] { log.push_back(i); }), i < 3) << i;
    }
    EXPECT_EQ(one.stats().refused, 2U);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, from_to(0, 3));
    EXPECT_TRUE(one.try_post([] {}));
    EXPECT_EQ(one.stats().refused, 2U);
    sim.scheduler.run_until_idle();
}

// A permit is free when its step begins, so a task may post its successor.
TEST(Permits, OneIsFreeWhenTheStepBegins) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    int left = 100;
    scripted task{[&](scripted& self) {
        if (left-- != 0) {
            EXPECT_TRUE(one.try_post(self));
        }
    }};
    EXPECT_TRUE(one.try_post(task));
    EXPECT_FALSE(one.try_post([] {}));
    EXPECT_EQ(sim.scheduler.run_until_idle(), 101U);
}

// A task that has begun needs no permit: it sleeps, wakes and posts itself, however full the queue
// is.
TEST(Permits, WhatHasBegunNeedsNone) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    scripted task{[&](scripted& self) {
        if (self.runs < 10) one.post_delay(self, 1ms);
    }};
    ASSERT_TRUE(one.try_post(task));
    sim.scheduler.run_until_idle();
    one.pause();
    ASSERT_TRUE(one.try_post([] {}));
    sim.clock.advance(1ms);
    sim.scheduler.run_until_idle();
    one.post([] {});  // needs none
    EXPECT_FALSE(one.try_post([] {}));
    EXPECT_EQ(one.stats().tasks, 3U);
    one.resume();
    EXPECT_TRUE(sim.scheduler.drain_for(1s));
    EXPECT_EQ(task.runs, 10);
}

TEST(Permits, OneThatIsNotUsedIsGivenBack) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    {
        const permit first = one.try_permit();
        EXPECT_TRUE(first);
        EXPECT_FALSE(one.try_permit());
    }
    permit second = one.try_permit();
    ASSERT_TRUE(second);
    EXPECT_EQ(second.where(), executor{one});
    permit moved = std::move(second);
    EXPECT_FALSE(second);
    EXPECT_FALSE(one.try_permit());
    second = std::move(moved);
    moved = {};
    EXPECT_FALSE(one.try_permit());
    second = {};
    EXPECT_TRUE(one.try_permit());
}

TEST(Permits, WithoutABoundThereIsAlwaysOne) {
    simulation sim;
    group one{sim.scheduler};
    for (int i = 0; i != 1'000; ++i) EXPECT_TRUE(one.try_post([] {}));
    EXPECT_EQ(sim.scheduler.run_until_idle(), 1'000U);
    EXPECT_EQ(one.stats().refused, 0U);
}

TEST(Permits, TheBoundCanBeChanged) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    EXPECT_TRUE(one.try_post([] {}));
    EXPECT_FALSE(one.try_post([] {}));
    one.set_queue_max(2);
    EXPECT_TRUE(one.try_post([] {}));
    EXPECT_FALSE(one.try_post([] {}));
    one.set_queue_max(0);
    for (int i = 0; i != 100; ++i) EXPECT_TRUE(one.try_post([] {}));
    one.set_queue_max(1);
    EXPECT_FALSE(one.try_post([] {}));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(one.try_post([] {}));
    EXPECT_FALSE(one.try_post([] {}));
    sim.scheduler.run_until_idle();
}

// The handle of the group may go before its permits.
TEST(Permits, APermitKeepsItsGroup) {
    simulation sim;
    std::optional<group> one{std::in_place, sim.scheduler, group_options{.queue_max = 2}};
    permit used = one->try_permit();
    permit unused = one->try_permit();
    one.reset();
    bool ran = false;
    std::move(used).post([&] { ran = true; });
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(ran);
    unused = {};
}

TEST(Permits, AreNeverMoreThanTheBoundOnThreads) {
    test::watchdog guard;
    constexpr int bound = 7;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler, {.queue_max = bound}};
    std::atomic<int> waiting{0};
    std::atomic<int> ran{0};
    std::atomic<int> accepted{0};
    test::run_together(3, [&](std::size_t) {
        for (int i = 0; i != 20'000; ++i) {
            permit mine = one.try_permit();
            if (!mine) continue;
            EXPECT_LE(waiting.fetch_add(1) + 1, bound + 2)
                << "two may be about to say that they have begun";
            ++accepted;
            std::move(mine).post([&] {
                --waiting;
                ++ran;
            });
        }
    });
    scheduler.drain();
    EXPECT_EQ(ran, accepted);
    EXPECT_GE(accepted, bound);
    EXPECT_EQ(one.stats().refused, 60'000U - static_cast<unsigned>(accepted.load()));
}

// --- dropped -------------------------------------------------------------------------------------

TEST(DropOldest, LeavesTheNewestInOrder) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 10, .drop_oldest = true}};
    std::vector<int> log;
    for (int i = 0; i != 1'000; ++i) EXPECT_TRUE(one.try_post([&log, i] { log.push_back(i); }));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, from_to(990, 1'000));
    EXPECT_EQ(one.stats().dropped, 990U);
    EXPECT_EQ(one.stats().refused, 0U);
    EXPECT_EQ(one.stats().tasks, 0U);
    EXPECT_EQ(one.stats().steps, 10U);
    EXPECT_TRUE(sim.scheduler.drain_for(1s));
}

TEST(DropOldest, WhatIsDroppedIsDestroyedThoughTheGroupIsPaused) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 3, .drop_oldest = true}};
    one.pause();
    const auto held = std::make_shared<int>();
    std::vector<int> log;
    for (int i = 0; i != 8; ++i) {
        EXPECT_TRUE(one.try_post([&log, i, held] { log.push_back(i); }));
        sim.scheduler.run_until_idle();
        EXPECT_EQ(held.use_count(), 1 + std::min(i + 1, 3));
    }
    EXPECT_EQ(one.stats().tasks, 3U);
    EXPECT_EQ(one.stats().queued, 3U);
    one.resume();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, from_to(5, 8));
    EXPECT_EQ(held.use_count(), 1);
}

// Only tasks that were posted with a permit and have not begun are dropped.
TEST(DropOldest, LeavesOthersAlone) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 2, .drop_oldest = true}};
    std::vector<int> log;
    std::deque<scripted> begun;
    for (int i = 0; i != 3; ++i) {
        begun.emplace_back([&, i](scripted& self) {
            log.push_back(i);
            if (self.runs == 1) one.post_wait(self);
        });
        ASSERT_TRUE(one.try_post(begun.back()));
        sim.scheduler.run_until_idle();
    }
    one.pause();
    log.clear();
    numbered plain{log, 3};
    begun[0].wakeup();
    one.post(plain);
    begun[1].wakeup();
    for (int i = 4; i != 8; ++i) ASSERT_TRUE(one.try_post([&log, i] { log.push_back(i); }));
    begun[2].wakeup();
    for (int i = 8; i != 10; ++i) ASSERT_TRUE(one.try_post([&log, i] { log.push_back(i); }));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.stats().dropped, 4U);
    one.resume();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{0, 3, 1, 2, 8, 9}));
}

// A dropped task belongs to its user again, and can be posted once more.
TEST(DropOldest, ATaskThatWasDroppedCanBePosted) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1, .drop_oldest = true}};
    std::vector<int> log;
    numbered first{log, 1};
    numbered second{log, 2};
    ASSERT_TRUE(one.try_post(first));
    ASSERT_TRUE(one.try_post(second));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{2}));
    EXPECT_EQ(first.owner(), nullptr);
    sim.scheduler.post(first);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{2, 1}));
}

// The destructor of a dropped task may post, and wake other tasks.
TEST(DropOldest, ItsDestructorsRunInAStep) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1, .drop_oldest = true}};
    std::vector<int> log;
    struct poster {
        executor where;
        std::vector<int>* log;
        poster(executor to, std::vector<int>& into) : where{to}, log{&into} {}
        poster(poster&& other) noexcept
            : where{other.where}, log{std::exchange(other.log, nullptr)} {}
        ~poster() {
            if (log != nullptr) where.post([into = log] { into->push_back(1); });
        }
    };
    EXPECT_TRUE(one.try_post([&log, last = poster{one, log}] { log.push_back(0); }));
    EXPECT_TRUE(one.try_post([&log] { log.push_back(2); }));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log.size(), 2U);
    EXPECT_EQ(std::ranges::count(log, 0), 0);
}

// Dropped tasks do not pile up while other groups keep the worker busy, whatever their weight and
// priority.
TEST(DropOldest, IsGivenBackBesideOthersThatNeverWait) {
    for (const auto which : {priority::normal, priority::high, priority::highest}) {
        simulation sim;
        group busy{sim.scheduler, {.weight = 10'000, .priority = which}};
        group one{sim.scheduler, {.priority = which, .queue_max = 10, .drop_oldest = true}};
        const auto alive = std::make_shared<int>();
        std::int64_t most = 0;
        scripted hog{[&](scripted& self) {
            sim.clock.advance(50us);
            for (int i = 0; i != 10; ++i) {
                EXPECT_TRUE(one.try_post([held = alive, &sim] { sim.clock.advance(10us); }));
            }
            most = std::max(most, static_cast<std::int64_t>(alive.use_count()));
            if (self.runs != 5'000) busy.post(self);
        }};
        busy.post(hog);
        sim.scheduler.run_until_idle();
        EXPECT_LT(most, 400) << "some rounds' posts, of 50,000";
        EXPECT_GT(one.stats().dropped, 10'000U);
        EXPECT_EQ(alive.use_count(), 1);
    }
}

TEST(DropOldest, ALowerBoundIsThatOfTheNextPost) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 100, .drop_oldest = true}};
    one.pause();
    std::vector<int> log;
    for (int i = 0; i != 100; ++i) ASSERT_TRUE(one.try_post([&log, i] { log.push_back(i); }));
    sim.scheduler.run_until_idle();
    one.set_queue_max(5);
    EXPECT_EQ(one.stats().dropped, 0U);
    ASSERT_TRUE(one.try_post([&log] { log.push_back(100); }));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.stats().dropped, 96U);
    one.resume();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, from_to(96, 101));
}

// A permit that is not used yet is no task.
TEST(DropOldest, APermitThatIsNotUsedDropsNothing) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1, .drop_oldest = true}};
    std::vector<int> log;
    permit later = one.try_permit();
    {
        const permit unused = one.try_permit();
        EXPECT_TRUE(later && unused);
        ASSERT_TRUE(one.try_post([&log] { log.push_back(0); }));
        sim.scheduler.run_until_idle();
    }
    EXPECT_EQ(log, from_to(0, 1));
    one.pause();
    ASSERT_TRUE(one.try_post([&log] { log.push_back(1); }));
    std::move(later).post([&log] { log.push_back(2); });
    sim.scheduler.run_until_idle();
    one.resume();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{0, 2}));
    EXPECT_EQ(one.stats().dropped, 1U);
}

// A turn ends early. Its dealt tasks stand in the queue again, and are older than later posts.
TEST(DropOldest, WhatATurnHasLeftIsDroppedFirst) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 10, .drop_oldest = true}};
    // A turn has several of these, and each may be its last.
    for (int i = 0; i != 50; ++i) one.post([&] { sim.clock.advance(25us); });
    sim.scheduler.run_until_idle();
    const std::uint64_t turns = one.stats().turns;
    std::vector<int> log;
    for (int i = 0; i != 10; ++i) {
        ASSERT_TRUE(one.try_post([&, i] {
            log.push_back(i);
            one.pause();
            sim.clock.advance(10ms);
        }));
    }
    sim.scheduler.run_until_idle();
    EXPECT_EQ(one.stats().turns, turns + 1);
    EXPECT_EQ(one.stats().queued, 9U);
    for (int i = 10; i != 15; ++i) ASSERT_TRUE(one.try_post([&log, i] { log.push_back(i); }));
    sim.scheduler.run_until_idle();
    for (int i = 15; i != 30; ++i) ASSERT_TRUE(one.try_post([&log, i] { log.push_back(i); }));
    sim.scheduler.run_until_idle();
    one.resume();
    sim.scheduler.run_until_idle();
    std::vector<int> wanted = from_to(20, 30);
    wanted.insert(wanted.begin(), 0);
    EXPECT_EQ(log, wanted);
}

// Each task is run or given back once, with posts of many threads, a stop in between, and the
// destructor.
TEST(DropOldest, NothingIsLostOnThreads) {
    test::watchdog guard;
    struct outcome {
        std::atomic<int> run{0};
        std::atomic<int> destroyed{0};
    } seen;
    struct counted {
        outcome* of;
        explicit counted(outcome& into) : of{&into} {}
        counted(counted&& other) noexcept : of{std::exchange(other.of, nullptr)} {}
        ~counted() {
            if (of != nullptr) ++of->destroyed;
        }
    };
    constexpr int threads = 3;
    constexpr int posts = 20'000;
    constexpr int early = 200;
    std::uint64_t dropped = 0;
    {
        scheduler scheduler{{.workers = 2}};
        group one{scheduler, {.queue_max = 50, .drop_oldest = true}};
        const auto post_one = [&] {
            EXPECT_TRUE(one.try_post([token = counted{seen}] { ++token.of->run; }));
        };
        one.pause();
        for (int i = 0; i != early; ++i) post_one();  // of which some are dropped, whatever happens
        one.resume();
        test::run_together(threads + 1, [&](std::size_t index) {
            if (index == threads) {
                for (int i = 0; i != 20; ++i) {
                    static_cast<void>(scheduler.stop(0ms));
                    scheduler.start();
                }
                return;
            }
            for (int i = 0; i != posts; ++i) post_one();
        });
        scheduler.drain();
        dropped = one.stats().dropped;
    }
    EXPECT_EQ(seen.destroyed, early + threads * posts);
    EXPECT_EQ(static_cast<std::uint64_t>(seen.run) + dropped,
              early + std::uint64_t{threads} * posts);
    EXPECT_GE(dropped, early - 50U);
}

// --- the queue -----------------------------------------------------------------------------------

}  // namespace
}  // namespace fairlead::permits_tests

namespace fairlead::sched::permits_tests {

using test::numbered;
using test::simulation;

// Compares the queue with a plain deque, for random operations.
TEST(GroupQueue, KnowsTheOldestThatMayBeDropped) {
    struct entry {
        basic_task* task;
        bool has_permit;
    };
    simulation sim;
    std::minstd_rand random{7};
    for (int round = 0; round != 50; ++round) {
        std::vector<int> log;
        std::deque<numbered> tasks;
        std::deque<entry> wanted;
        std::vector<entry> dealt;
        group_queue queue;
        const auto kinds = 1 + random() % 4;
        for (int i = 0; i != 400; ++i) {
            switch (random() % 6) {
                case 0:
                case 1:
                case 4: {
                    const bool has_permit = random() % kinds == 0;
                    basic_task& task = tasks.emplace_back(log, i);
                    if (has_permit) task_access::give_permit(task);
                    queue.push_back(task);
                    wanted.push_back({&task, has_permit});
                    break;
                }
                case 2:
                    if (!wanted.empty()) {
                        EXPECT_EQ(&queue.pop_front(), wanted.front().task);
                        dealt.push_back(wanted.front());
                        wanted.pop_front();
                    }
                    break;
                case 3:  // a turn is over: of what was dealt some have begun
                    for (; !dealt.empty(); dealt.pop_back()) {
                        if (random() % 3 == 0) continue;
                        queue.push_front(*dealt.back().task);
                        wanted.push_front(dealt.back());
                    }
                    break;
                default: {
                    const auto oldest = std::ranges::find_if(wanted, &entry::has_permit);
                    basic_task* const found = queue.take_oldest_with_permit();
                    EXPECT_EQ(found, oldest == wanted.end() ? nullptr : oldest->task);
                    if (oldest != wanted.end()) wanted.erase(oldest);
                }
            }
            ASSERT_EQ(queue.size(), wanted.size());
        }
        basic_task::chain all = queue.take_all();
        EXPECT_TRUE(queue.empty());
        for (const entry& each : wanted) EXPECT_EQ(all.pop_front(), each.task);
    }
}

}  // namespace fairlead::sched::permits_tests
