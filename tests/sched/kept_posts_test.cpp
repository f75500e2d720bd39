// The posts of a step are kept for its own worker, but none of them waits for a long step.
#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::kept_posts_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;

// A task that posts itself again until `hops` steps have run. It counts how often its thread
// changes.
class hopping {
public:
    hopping(scheduler& home, int hops) : home_{home}, left_{hops} {}

    void start() { home_.post(task_); }
    [[nodiscard]] int moves() const { return moves_; }

private:
    void step() {
        const std::thread::id here = std::this_thread::get_id();
        moves_ += static_cast<int>(std::exchange(ran_on_, here) != here);
        if (--left_ != 0) home_.post(task_);
    }

    scheduler& home_;
    int left_;
    int moves_ = 0;
    std::thread::id ran_on_;
    callback_task task_{[this](callback_task&) { step(); }};
};

// On another worker every hop would cost a wake-up and cache misses.
TEST(KeptPosts, AChainOfShortStepsStaysOnItsWorker) {
    test::watchdog guard;
    constexpr int hops = 100'000;
    scheduler scheduler{{.workers = 2}};
    hopping chain{scheduler, hops};
    const time_point begin = clock::now();
    chain.start();
    scheduler.drain();
    const auto watches = static_cast<std::uint64_t>((clock::now() - begin) / 100us);
    EXPECT_LT(chain.moves(), 100 + static_cast<int>(watches));
    std::uint64_t wakeups = 0;
    for (const auto& each : scheduler.stats()) wakeups += each.wakeups;
    EXPECT_LT(wakeups, 100 + 2 * watches);
}

// A worker that has watched goes on for some watches of 1 ms each. Otherwise each of these steps
// would have to wake a worker, as no post is kept while the step of 100 us runs.
TEST(KeptPosts, AChainOfLongStepsWakesAWorkerRarely) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    const auto wakeups = [&scheduler] {
        std::uint64_t sum = 0;
        for (const auto& each : scheduler.stats()) sum += each.wakeups;
        return sum;
    };
    int left = 2'000;
    scripted chain{[&](scripted& self) {
        const time_point begin = clock::now();
        while (clock::now() - begin < 100us) {
        }
        if (--left != 0) scheduler.post(self);
    }};
    const time_point begin = clock::now();
    scheduler.post(chain);
    scheduler.drain();
    const auto watches = static_cast<std::uint64_t>((clock::now() - begin) / 1ms);
    EXPECT_LT(wakeups(), 50 + 3 * watches);  // watches are shorter after a step that took long

    // Soon no worker watches any more.
    std::uint64_t before = 0;
    test::await([&] {
        before = wakeups();
        std::this_thread::sleep_for(50ms);
        return wakeups() == before;
    });
}

// A round takes what all slots have. So it comes from time to time, and the more rarely the more
// workers there are: each takes 256 posts of its own for each worker.
TEST(KeptPosts, NeedARoundAfter256ForEachWorker) {
    test::watchdog guard;
    for (const unsigned workers : {2U, 4U}) {
        const std::uint64_t row = std::uint64_t{256} * workers;
        const std::uint64_t rows = 8;
        // No step loses its slot, and no worker searches: all but one wait in a step.
        scheduler scheduler{{.workers = workers, .slice = 0s, .blocked_after = 0s}};
        std::latch all_wait{workers};
        std::latch may_end{1};
        std::uint64_t before = 0;
        std::uint64_t found = 0;
        const auto rounds = [&scheduler] {
            std::uint64_t sum = 0;
            for (const worker_stats& each : scheduler.stats()) sum += each.rounds;
            return sum;
        };
        std::deque<scripted> waiting;
        for (unsigned i = 1; i != workers; ++i) {
            waiting.emplace_back([&](scripted&) {
                all_wait.count_down();
                may_end.wait();
            });
            scheduler.post(waiting.back());
        }
        std::uint64_t left = row * rows;
        scripted chain{[&](scripted& self) {
            if (left == row * rows) {
                all_wait.arrive_and_wait();
                before = rounds();
            }
            if (--left != 0) return scheduler.post(self);
            found = rounds() - before;
            may_end.count_down();
        }};
        scheduler.post(chain);
        scheduler.drain();
        EXPECT_GE(found, rows - 1) << workers;
        EXPECT_LE(found, rows + 1) << workers;
    }
}

// A worker takes over a post from behind a stuck step, and also a task of that worker's run queue.
// Neither may be hidden behind the other.
TEST(KeptPosts, AreNotHiddenByWhatIsTakenOverWithThem) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    for (int round = 0; round != 300; ++round) {
        std::latch kept_ran{1};
        scripted first{[&](scripted&) {
            scheduler.post([&] { kept_ran.count_down(); });
            kept_ran.wait();
        }};
        scripted second{[&](scripted&) { kept_ran.wait(); }};
        std::deque<scripted> others(2);
        std::array<basic_task*, 4> all{&first, &second, &others[0], &others[1]};
        scheduler.post(all);
        scheduler.drain();
    }
}

// When the watching worker gets a task, another worker takes over the watch.
TEST(KeptPosts, AreWatchedWhateverElseArrives) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    for (int round = 0; round != 300; ++round) {
        std::latch kept_ran{1};
        std::latch posted{1};
        std::latch done{2};
        scheduler.post([&] {
            scheduler.post([&] { kept_ran.count_down(); });
            posted.count_down();
            kept_ran.wait();
            done.count_down();
        });
        posted.wait();
        scheduler.post([&] {  // occupies the worker that is woken for it: perhaps the watcher
            kept_ran.wait();
            done.count_down();
        });
        done.wait();
    }
}

// No worker sleeps, so none watches. The other worker takes its own posts without a round, but
// looks for kept posts of this one.
TEST(KeptPosts, AreTakenOverByABusyWorkerToo) {
    test::watchdog guard;
    for (const int posts : {1, 2}) {
        scheduler scheduler{{.workers = 2}};
        std::atomic<int> steps{0};
        std::atomic<bool> over{false};
        scripted chain{[&](scripted& self) {
            for (const time_point end = clock::now() + 200us; clock::now() < end;) {
            }
            ++steps;
            if (!over) scheduler.post(self);
        }};
        scheduler.post(chain);
        test::await([&] { return steps > 10; });
        std::latch posts_ran{posts};
        std::atomic<int> steps_meanwhile{0};
        scheduler.post([&] {
            const int before = steps;
            for (int i = 0; i != posts; ++i) scheduler.post([&] { posts_ran.count_down(); });
            posts_ran.wait();
            steps_meanwhile = steps - before;
            over = true;
        });
        scheduler.drain();
        EXPECT_LT(steps_meanwhile, 100);
    }
}

// The other worker always has a task: with each step a turn ends, and the next one is given in the
// round after it.
TEST(KeptPosts, AreTakenOverByAWorkerWithTurnsToo) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2, .blocked_after = 0ms}};
    group others{scheduler, {.name = "others"}};
    std::atomic<int> steps{0};
    std::atomic<bool> over{false};
    scripted chain{[&](scripted& self) {
        for (const time_point end = clock::now() + 200us; clock::now() < end;) {
        }
        ++steps;
        if (!over) others.post(self);
    }};
    others.post(chain);
    test::await([&] { return steps > 10; });
    scheduler.post([&] {
        std::latch post_ran{1};
        scheduler.post([&] { post_ran.count_down(); });
        post_ran.wait();
        over = true;
    });
    scheduler.drain();
}

// Tasks whose steps end when the test says so, in the order in which they began.
class relay {
public:
    relay(const executor& home, int count) : home_{home}, turns_(static_cast<std::size_t>(count)) {
        for (int i = 0; i != count; ++i) {
            tasks_.emplace_back([this, i](scripted& self) { step(self, i); });
        }
        for (scripted& each : tasks_) home_.post(each);
    }

    // Ends the step that goes on for the longest time, when `at_once` of them go on, and it was
    // long.
    void end_one(std::size_t at_once) {
        test::await([&] {
            const std::lock_guard lock{mutex_};
            return running_.size() == at_once;
        });
        const std::lock_guard lock{mutex_};
        while (clock::now() < running_.front()->begin + 100us) {
        }
        running_.front()->may_end.store(true);
        running_.pop_front();
    }

    void end_all() { over_.store(true); }

    [[nodiscard]] const std::vector<int>& turns() const { return turns_; }

private:
    struct running_step {
        time_point begin = clock::now();
        std::atomic<bool> may_end{false};
    };

    void step(scripted& self, int number) {
        running_step here;
        {
            const std::lock_guard lock{mutex_};
            ++turns_[static_cast<std::size_t>(number)];
            running_.push_back(&here);
        }
        while (!here.may_end.load() && !over_.load()) std::this_thread::yield();
        if (!over_.load()) home_.post(self);
    }

    executor home_;
    std::mutex mutex_;
    std::vector<int> turns_;             // guarded by mutex_
    std::deque<running_step*> running_;  // guarded by mutex_
    std::atomic<bool> over_{false};
    std::deque<scripted> tasks_;
};

// A worker that ends a long step must not go on with what that step posted while another keeps an
// older post: two tasks would share one worker, and the third have the other for itself.
TEST(KeptPosts, LongStepsTakeTurns) {
    test::watchdog guard;
    constexpr int rounds = 100;
    for (const int tasks : {3, 5}) {
        for (const bool grouped : {false, true}) {
            scheduler scheduler{{.workers = 2}};
            const group one{scheduler};
            relay relay{grouped ? executor{one} : scheduler, tasks};
            for (int i = 0; i != rounds * tasks; ++i) relay.end_one(2);
            relay.end_all();
            scheduler.drain();
            for (const int turns : relay.turns()) {
                EXPECT_NEAR(turns, rounds, rounds * 0.1) << tasks << (grouped ? " of a group" : "");
            }
        }
    }
}

// A round admits only a part of a burst from outside. What its steps post stands behind the rest,
// which is older. A thread that the system stops with a task in its hands delays that task, so in
// some games a few may be late.
TEST(KeptPosts, StandBehindABurstThatIsAdmittedInParts) {
    test::watchdog guard;
    constexpr std::size_t size = 200'000;
    constexpr int games = 8;
    int wrong = 0;
    for (int game = 0; game != games; ++game) {
        scheduler scheduler{{.workers = 2}};
        std::atomic<std::size_t> posted_later{0};
        std::vector<std::size_t> before(size);
        std::deque<scripted> later;
        std::deque<scripted> burst;
        std::vector<basic_task*> all;
        for (std::size_t i = 0; i != size; ++i) {
            later.emplace_back([&](scripted&) { ++posted_later; });
            all.push_back(&burst.emplace_back([&, i](scripted&) {
                before[i] = posted_later;
                scheduler.post(later[i]);
            }));
        }
        scheduler.post(all);
        scheduler.drain();
        const auto late = std::ranges::count_if(
            before, [&](std::size_t count) { return count > scheduler.order_bound(); });
        wrong += static_cast<std::size_t>(late) > size / 100;
    }
    EXPECT_LE(wrong, games / 4);
}

// The first post of the step stands behind a burst in the shared front. Another worker takes the
// front while the step goes on.
TEST(KeptPosts, OfAStepKeepTheirOrderWhileARoundTakesTheFirst) {
    test::watchdog guard;
    constexpr std::size_t own = 1'000;
    for (int round = 0; round != 10; ++round) {
        scheduler scheduler{{.workers = 2}};
        std::atomic<std::size_t> starts{0};
        std::array<std::size_t, own> started{};
        std::deque<callback_task> burst;
        std::deque<scripted> mine;
        for (int i = 0; i != 200'000; ++i) burst.emplace_back([&](callback_task&) { ++starts; });
        for (std::size_t i = 0; i != own; ++i) {
            mine.emplace_back([&, i](scripted&) { started[i] = starts++; });
        }
        std::latch in_steps{2};
        std::latch posted{1};
        std::latch first_posted{1};
        scheduler.post([&] {
            in_steps.count_down();
            posted.wait();
            scheduler.post(mine.front());
            first_posted.count_down();
            for (std::size_t i = 1; i != own; ++i) {
                scheduler.post(mine[i]);
                const time_point until = clock::now() + 5us;  // longer than a post takes
                while (clock::now() < until) {
                }
            }
        });
        scheduler.post([&] {
            in_steps.count_down();
            first_posted.wait();
        });
        in_steps.wait();
        for (auto& each : burst) scheduler.post(each);
        posted.count_down();
        scheduler.drain();
        for (std::size_t i = 1; i != own; ++i) {
            ASSERT_LE(started[0], started[i] + scheduler.order_bound()) << i;
        }
    }
}

// The first post of the step stands behind a post from outside, and its later posts behind the
// first, although a round has taken both. The other worker takes them while the step lasts: also if
// it has tasks of its own, and long before it has run as many as it may between two rounds.
TEST(KeptPosts, BehindAPostFromOutsideRunWhileTheirStepLasts) {
    test::watchdog guard;
    for (const bool busy : {false, true}) {
        scheduler scheduler{{.workers = 2, .blocked_after = 0ms}};
        for (int round = 0; round != (busy ? 5 : 100); ++round) {
            std::latch in_steps{3};
            std::latch posted_outside{1};
            std::latch posted_first{1};
            std::latch first_ran{2};
            std::latch second_ran{1};
            std::atomic<int> steps{0};
            int steps_meanwhile = 0;
            std::atomic<bool> over{false};
            scripted chain{[&](scripted& self) {
                for (const time_point end = clock::now() + 200us; clock::now() < end;) {
                }
                ++steps;
                if (!over) scheduler.post(self);
            }};
            scheduler.post([&] {
                in_steps.arrive_and_wait();
                posted_outside.wait();
                scheduler.post([&] { first_ran.count_down(); });
                posted_first.count_down();
                first_ran.wait();
                const int before = steps;
                scheduler.post([&] { second_ran.count_down(); });
                second_ran.wait();
                steps_meanwhile = steps - before;
                over = true;
            });
            scheduler.post([&] {
                in_steps.arrive_and_wait();
                posted_first.wait();
                if (busy) scheduler.post(chain);
            });
            in_steps.arrive_and_wait();
            scheduler.post([&] { first_ran.count_down(); });
            posted_outside.count_down();
            scheduler.drain();
            EXPECT_LT(steps_meanwhile, 100);
        }
    }
}

}  // namespace
}  // namespace fairlead::kept_posts_tests
