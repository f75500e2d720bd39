// Groups that are bound to one worker, on threads.
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

namespace fairlead::bound_groups_on_threads_tests {
namespace {

using namespace std::chrono_literals;
using test::numbered;
using test::scripted;

// The threads of the workers, by number, found with a bound group. Valid while no slot changes
// hands.
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

// Tasks of the default group that keep all workers busy until the object is destroyed.
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

// The group gets posts from outside, from its own steps and from steps of other groups, with sleeps
// and wake-ups. Other tasks keep all workers busy, or there are none.
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

// All workers sleep, and a post wakes the bound worker. Threads and steps of another group post.
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

// The bound worker runs a step and takes the post after it. The other workers sleep: they cannot
// run the post.
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
    for (int i = 0; i != 100; ++i) {  // other workers run rounds meanwhile
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

// A task that is posted after a call of bind or release runs where that call says.
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

// Two steps of the group run when it is bound. The next step begins when both have ended.
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

// After a release the limit of the group counts again. Two steps wait for each other.
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

// A worker keeps its slot while a group is bound to it, and may pass it on after the release.
TEST(BoundGroupOnThreads, AWorkerKeepsItsThreadWhileAGroupIsBoundToIt) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler};
    group other{scheduler};
    one.bind(0);
    other.bind(0);
    const auto gives_up = [&](group& in) {
        std::atomic<int> answer{-1};
        in.post([&] { answer = sched::access::about_to_block() ? 1 : 0; });
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

// Two steps block without a declaration. The bound one keeps its slot, the other loses its slot.
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

// Another worker serves a group of the low priority. The low group of this worker still counts as
// waiting, so it gets turns behind the high group.
TEST(BoundGroupOnThreads, TheLowestStillMovesBehindHigherOnesOfItsWorker) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    std::atomic<bool> goes_on{true};
    std::deque<scripted> tasks;
    const auto keep_busy = [&](group& of) {
        of.post(tasks.emplace_back([&](scripted& self) {
            if (goes_on) of.post(self);
        }));
    };
    group high{scheduler, {.priority = priority::high}};
    group low_elsewhere{scheduler, {.priority = priority::low}};
    group low{scheduler, {.priority = priority::low}};
    high.bind(0);
    low.bind(0);
    keep_busy(high);
    keep_busy(low_elsewhere);
    std::latch ran{1};
    low.post([&] { ran.count_down(); });
    ran.wait();
    goes_on = false;
    scheduler.drain();
}

// The handle of the group is dropped. Its remaining tasks stay on their thread.
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

// A dropped group no longer keeps its thread after the worker has had another round.
TEST(BoundGroupOnThreads, ADroppedOneLeavesItsWorker) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    for (int i = 0; i != 20; ++i) group{scheduler, {.bound = true}}.post([] {});
    scheduler.drain();
    std::atomic<bool> gave_up{false};
    while (!gave_up) {
        scheduler.post([&] { gave_up = sched::access::about_to_block(); });
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

// Stops give up on a step that goes on. The bound tasks behind it are kept and run after the start.
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
}  // namespace fairlead::bound_groups_on_threads_tests
