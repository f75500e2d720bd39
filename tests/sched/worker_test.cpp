// Several workers: which worker runs which task, and that no task waits for a worker that is busy
// with another task.
#include "sched/worker/worker.hpp"

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::worker_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;

// --- nothing is pinned ---------------------------------------------------------------------------

// As many steps as there are workers wait for each other, so each must have its own worker. The
// steps are posted from outside, from a step, woken, and due: every way into the scheduler.
void meet(scheduler& scheduler, int how) {
    const auto width = static_cast<std::ptrdiff_t>(scheduler.workers());
    std::latch all{width};
    std::latch done{width};
    std::deque<scripted> tasks;
    for (std::ptrdiff_t i = 0; i != width; ++i) {
        tasks.emplace_back([&](scripted& self) {
            all.arrive_and_wait();
            static_cast<void>(self.receive_signal());
            done.count_down();
        });
    }
    std::vector<basic_task*> batch;
    for (auto& each : tasks) batch.push_back(&each);
    switch (how) {
        case 0:
            for (auto& each : tasks) scheduler.post(each);
            break;
        case 1:
            scheduler.post(batch);
            break;
        case 2:
            scheduler.post([&] {
                for (auto& each : tasks) scheduler.post(each);
            });
            break;
        case 3:
            for (auto& each : tasks) scheduler.post_wait(each);
            for (auto& each : tasks) each.signal();
            break;
        case 4:
            for (auto& each : tasks) scheduler.post_deadline(each, scheduler.now() + 100us);
            break;
        case 5: {
            // One after the other, with time to go to sleep between them.
            auto delay = 50us;
            for (auto& each : tasks) scheduler.post_delay(each, delay += 200us);
            break;
        }
        default:
            break;
    }
    done.wait();  // not by drain, which wakes all workers
    scheduler.drain();
    for (const auto& each : tasks) ASSERT_EQ(each.runs, 1);
}

TEST(Worker, AStepThatBlocksKeepsNoOtherTask) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 3U, 4U, 8U}) {
        scheduler scheduler{{.workers = workers}};
        for (int round = 0; round != 200; ++round) {
            for (int how = 0; how != 6; ++how) meet(scheduler, how);
        }
    }
}

// A task waits for the next task, which was dealt right behind it to the run queue of the same
// worker.
TEST(Worker, ATaskMayWaitForOneDealtBehindIt) {
    test::watchdog guard;
    for (const unsigned workers : {2U, 4U}) {
        scheduler scheduler{{.workers = workers}};
        for (int round = 0; round != 500; ++round) {
            std::latch last_ran{1};
            std::vector<std::unique_ptr<scripted>> tasks;
            std::vector<basic_task*> batch;
            const int count = 3 + round % 300;
            for (int i = 0; i != count; ++i) {
                auto task = std::make_unique<scripted>();
                if (i == 0) task->then([&](scripted&) { last_ran.wait(); });
                if (i == count - 1) task->then([&](scripted&) { last_ran.count_down(); });
                batch.push_back(tasks.emplace_back(std::move(task)).get());
            }
            scheduler.post(batch);
            scheduler.drain();
        }
    }
}

// A step posts a task and blocks until that has run, on another worker.
TEST(Worker, AStepMayWaitForWhatItPosted) {
    test::watchdog guard;
    for (const unsigned workers : {2U, 4U}) {
        scheduler scheduler{{.workers = workers}};
        for (int round = 0; round != 3'000; ++round) {
            // Not ended by drain, which wakes all workers.
            std::latch child_ran{1};
            std::latch done{1};
            scheduler.post([&] {
                scheduler.post([&] { child_ran.count_down(); });
                child_ran.wait();
                done.count_down();
            });
            done.wait();  // more than one at a time could block all workers
            if (round % 100 == 0) scheduler.drain();
        }
    }
}

// A thread that asks whether all tasks are done holds the role for a moment, perhaps until after
// drain has returned. A worker may fail to get the role then, though it wants to sleep until a
// deadline. It relies on the holder to look after its release.
TEST(Worker, ADeadlineRightAfterADrainIsServed) {
    test::watchdog guard;
    for (const unsigned workers : {2U, 4U, 8U}) {
        scheduler scheduler{{.workers = workers}};
        for (int round = 0; round != 2'000; ++round) {
            std::latch ran{1};
            scripted task{[&](scripted&) { ran.count_down(); }};
            scheduler.post_deadline(task, scheduler.now() + 30us);
            ran.wait();
            scheduler.drain();
        }
    }
}

// A step that started because of one deadline blocks until a task with a later deadline has run:
// the duty to wait for deadlines must pass on to another worker.
TEST(Worker, AStepMayWaitForALaterDeadline) {
    test::watchdog guard;
    for (const unsigned workers : {2U, 3U}) {
        scheduler scheduler{{.workers = workers}};
        for (int round = 0; round != 300; ++round) {
            std::latch later_ran{1};
            std::latch done{1};
            scripted first{[&](scripted&) {
                later_ran.wait();
                done.count_down();
            }};
            scripted later{[&](scripted&) { later_ran.count_down(); }};
            const time_point start = scheduler.now();
            scheduler.post_deadline(first, start + 100us);
            scheduler.post_deadline(later, start + 300us);
            done.wait();
            scheduler.drain();
        }
    }
}

// The step that waits for the deadline was posted plainly, while the other workers slept.
TEST(Worker, APostedStepMayWaitForADeadline) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int round = 0; round != 500; ++round) {
        std::latch later_ran{1};
        scripted later{[&](scripted&) { later_ran.count_down(); }};
        scheduler.post_delay(later, 200us);
        if (round % 2 == 0) std::this_thread::yield();
        std::latch done{1};
        scheduler.post([&] {
            later_ran.wait();
            done.count_down();
        });
        done.wait();
        scheduler.drain();
    }
}

// One worker is stuck in a step with tasks behind it, the other has a task that yields all the
// time: the yielding task must not keep the other from what waits behind the stuck step.
TEST(Worker, ATaskThatYieldsKeepsNoOtherFromRunning) {
    test::watchdog guard;
    for (int round = 0; round != 300; ++round) {
        scheduler scheduler{{.workers = 2}};
        std::atomic<bool> over{false};
        std::latch last_ran{1};
        std::deque<scripted> tasks;
        const int before = round % 7;
        tasks.emplace_back([&](scripted&) { last_ran.wait(); });
        for (int i = 0; i != before; ++i) tasks.emplace_back();
        tasks.emplace_back([&](scripted&) {
            over = true;
            last_ran.count_down();
        });
        for (int i = 0; i != 1 + round % 3; ++i) {
            tasks.emplace_back([&](scripted& self) {
                if (!over) scheduler.post(self);
            });
        }
        std::vector<basic_task*> batch;
        for (auto& each : tasks) batch.push_back(&each);
        scheduler.post(batch);
        last_ran.wait();
        scheduler.drain();
    }
}

// One step posts a task of each kind while all other tasks yield. No task starves behind them.
TEST(Worker, OneTaskThatYieldsAloneLetsInEverythingElse) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 3U}) {
        scheduler scheduler{{.workers = workers, .round_interval = 100us}};
        for (int round = 0; round != 100; ++round) {
            std::atomic<bool> over{false};
            std::deque<scripted> yielding;
            for (unsigned i = 0; i != workers; ++i) {
                scheduler.post(yielding.emplace_back([&](scripted& self) {
                    if (!over) scheduler.post(self);
                }));
            }
            std::latch all{4};
            scripted posted{[&](scripted&) { all.count_down(); }};
            scripted late{[&](scripted&) { all.count_down(); }};
            scripted woken{[&](scripted&) { all.count_down(); }};
            scripted from_step{[&](scripted&) { all.count_down(); }};
            scheduler.post_wait(woken);
            scheduler.post_delay(late, 50us);
            scheduler.post(posted);
            scheduler.post([&] { scheduler.post(from_step); });
            woken.wakeup();
            all.wait();
            over = true;
            scheduler.drain();
        }
    }
}

TEST(Worker, AnyWorkerRunsAnyTask) {
    test::watchdog guard;
    constexpr unsigned workers = 3;
    // No spare threads, which would be more than there are workers.
    scheduler scheduler{{.workers = workers, .blocked_after = 0ms}};
    std::deque<scripted> tasks;
    std::mutex mutex;
    std::map<basic_task*, std::vector<std::thread::id>> ran_on;  // guarded by mutex
    std::atomic<bool> enough{false};
    for (int i = 0; i != 6; ++i) {
        scheduler.post(tasks.emplace_back([&](scripted& self) {
            {
                std::lock_guard lock{mutex};
                auto& seen = ran_on[&self];
                const auto here = std::this_thread::get_id();
                if (std::ranges::find(seen, here) == seen.end()) seen.push_back(here);
                if (ran_on.size() == 6 && std::ranges::all_of(ran_on, [](const auto& each) {
                        return each.second.size() == workers;
                    })) {
                    enough = true;
                }
            }
            if (enough) return;
            scheduler.post(self);
        }));
    }
    scheduler.drain();  // ends when every task has been on every worker
    EXPECT_TRUE(enough);
}

// One task is much longer than the rest. Each other task goes on while it runs.
TEST(Worker, UnevenTasksAreSpread) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    std::atomic<int> short_steps{0};
    constexpr int wanted = 20'000;
    std::deque<scripted> tasks;
    scripted longest{[&](scripted&) {
        while (short_steps != wanted) std::this_thread::yield();
    }};
    for (int i = 0; i != 100; ++i) {
        tasks.emplace_back([&](scripted& self) {
            ++short_steps;
            if (self.runs != wanted / 100) scheduler.post(self);
        });
    }
    std::vector<basic_task*> batch;
    for (auto& each : tasks) batch.push_back(&each);
    batch.insert(batch.begin() + 50, &longest);
    scheduler.post(batch);
    scheduler.drain();
    EXPECT_EQ(short_steps, wanted);
}

// Tasks that post themselves again until a number of steps have run. Each worker starts with one
// task, except for one worker, which starts with all remaining tasks.
class rivalry {
public:
    static constexpr std::size_t count = 50;
    static constexpr std::size_t window = 10'000;
    static constexpr std::size_t windows = 15;

    explicit rivalry(unsigned workers) : scheduler_{{.workers = workers}}, turns_of_(count) {
        std::vector<basic_task*> batch;
        for (auto& mine : turns_of_) {
            batch.push_back(&tasks_.emplace_back([&](scripted& self) { take_turn(mine, self); }));
        }
        std::atomic<unsigned> posted{0};
        std::latch all_busy{static_cast<std::ptrdiff_t>(workers)};
        for (std::size_t i = 0; i != workers; ++i) {
            scheduler_.post([&, i] {
                all_busy.arrive_and_wait();
                const std::span all{batch};
                scheduler_.post(i == 0 ? all.subspan(workers - 1) : all.subspan(i - 1, 1));
                ++posted;
                while (posted != workers) std::this_thread::yield();
            });
        }
        scheduler_.drain();
        EXPECT_EQ(steps_, windows * window + count);
    }

    // How many turns came later than the order allows.
    std::size_t late() const { return late_; }

    // The most turns that one task had in a window; the middle one of all windows.
    std::size_t most_turns() const {
        std::array<std::size_t, windows> most{};
        for (std::size_t i = 0; i != windows; ++i) {
            for (const auto& each : turns_of_) most[i] = std::max(most[i], each.in_window[i]);
        }
        std::ranges::nth_element(most, most.begin() + windows / 2);
        return most[windows / 2];
    }

private:
    struct turns {
        std::size_t posted_at = 0;
        std::array<std::size_t, windows> in_window{};
    };

    void take_turn(turns& mine, scripted& self) {
        const std::size_t now = steps_++;
        late_ += now > mine.posted_at + scheduler_.order_bound() + count;
        if (now >= windows * window) return;
        ++mine.in_window[now / window];
        mine.posted_at = now;
        scheduler_.post(self);
    }

    scheduler scheduler_;
    std::atomic<std::size_t> steps_{0};
    std::atomic<std::size_t> late_{0};
    std::vector<turns> turns_of_;
    std::deque<scripted> tasks_;
};

// Each task waits for its next turn no longer than the order allows, and none has many more turns
// than its share. A thread that the system stops delays the tasks in its hands: a few turns are
// late, and sometimes one task has a worker for itself meanwhile. A task that starves is late every
// time, and a task that is pinned to a worker with few tasks has too much in each game.
TEST(Worker, TasksThatYieldGetEvenTurns) {
    test::watchdog guard;
    constexpr std::size_t steps = rivalry::window * rivalry::windows;
    constexpr std::size_t fair_share = rivalry::window / rivalry::count;
    for (const unsigned workers : {1U, 2U, 4U}) {
        std::size_t most_turns = rivalry::window;
        for (int game = 0; game != 3; ++game) {
            const rivalry rivalry{workers};
            EXPECT_LE(rivalry.late(), workers == 1 ? 0 : steps / 100) << workers;
            most_turns = std::min(most_turns, rivalry.most_turns());
        }
        EXPECT_LE(most_turns, workers == 1 ? fair_share : fair_share * 5) << workers;
    }
}

// --- order ---------------------------------------------------------------------------------------

// The k-th post starts among the first k + bound starts. The machine may stop a thread between the
// start of a step and its record here, or with a run queue in its hands, so a few may be later. A
// scheduler that pins tasks, or takes the newest first, would make many later.
TEST(Worker, StartsAreInOrderUpToTheBound) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        for (const std::size_t batch_size : {1U, 100U, 10'000U}) {
            scheduler scheduler{{.workers = workers}};
            constexpr std::size_t count = 30'000;
            std::atomic<std::size_t> starts{0};
            std::vector<std::size_t> started_at(count);
            std::deque<scripted> tasks;
            std::vector<basic_task*> batch;
            for (std::size_t i = 0; i != count; ++i) {
                batch.push_back(&tasks.emplace_back(
                    [&, i](scripted&) { started_at[i] = starts.fetch_add(1); }));
                if (batch.size() == batch_size) {
                    scheduler.post(batch);
                    batch.clear();
                }
            }
            scheduler.drain();
            std::size_t late = 0;
            for (std::size_t i = 0; i != count; ++i) {
                late += started_at[i] > i + scheduler.order_bound();
            }
            EXPECT_LE(late, workers == 1 ? 0 : count / 50) << workers << ", by " << batch_size;
        }
    }
}

// A thread that is preempted between taking a task and starting it delays that one task by any
// number. That happens in some rounds; a wrong order happens in all of them.
template <class Round>
void expect_within_bound(Round&& round) {
    test::watchdog guard;
    constexpr int rounds = 20;
    int late = 0;
    for (int i = 0; i != rounds; ++i) {
        scheduler scheduler{{.workers = 2}};
        if (round(scheduler) > scheduler.order_bound()) ++late;
    }
    EXPECT_LE(late, rounds / 4);
}

constexpr std::size_t later_posts = 5'000;

// While nothing waits in the inbox, a task that a step posts comes before any number of tasks that
// another thread posts after it.
std::size_t start_of_post_from_a_step(scheduler& scheduler) {
    std::latch both_busy{2};
    std::latch posted{1};
    std::atomic<bool> release{false};
    std::atomic<std::size_t> starts{0};
    std::size_t started_at = 0;
    for (int i = 0; i != 2; ++i) {
        scheduler.post([&, i] {
            both_busy.arrive_and_wait();
            if (i == 0) {
                scheduler.post([&] { started_at = starts++; });
                posted.count_down();
            }
            release.wait(false);
        });
    }
    posted.wait();
    for (std::size_t i = 0; i != later_posts; ++i) scheduler.post([&] { ++starts; });
    release = true;
    release.notify_all();
    scheduler.drain();
    return started_at;
}

TEST(Worker, APostFromAStepIsNotOvertakenByLaterPostsFromOutside) {
    expect_within_bound(start_of_post_from_a_step);
}

std::size_t start_of_post_from_outside(scheduler& scheduler) {
    std::latch both_busy{3};
    std::latch posted{1};
    std::atomic<std::size_t> starts{0};
    std::size_t started_at = 0;
    for (int i = 0; i != 2; ++i) {
        scheduler.post([&, i] {
            both_busy.arrive_and_wait();
            posted.wait();
            if (i == 0) {
                for (std::size_t k = 0; k != later_posts; ++k) scheduler.post([&] { ++starts; });
            }
        });
    }
    both_busy.arrive_and_wait();
    scheduler.post([&] { started_at = starts++; });
    posted.count_down();
    scheduler.drain();
    return started_at;
}

TEST(Worker, APostFromOutsideIsNotOvertakenByLaterPostsFromAStep) {
    expect_within_bound(start_of_post_from_outside);
}

// --- deadlines under load ------------------------------------------------------------------------

// All workers are saturated with steps that post themselves again; they end only when the sleepers
// have run.
TEST(Worker, DeadlinesAreServedWhileAllWorkersAreSaturated) {
    test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        scheduler scheduler{{.workers = workers, .round_interval = 100us}};
        std::atomic<int> left{50};
        std::atomic<int> early{0};
        std::deque<scripted> busy;
        for (int i = 0; i != 500; ++i) {
            scheduler.post(busy.emplace_back([&](scripted& self) {
                if (left != 0) scheduler.post(self);
            }));
        }
        std::deque<scripted> sleepers;
        for (int i = 0; i != 50; ++i) {
            const time_point deadline = scheduler.now() + 200us * i;
            scheduler.post_deadline(sleepers.emplace_back([&, deadline](scripted& self) {
                if (!self.expired() || scheduler.now() < deadline) ++early;
                --left;
            }),
                                    deadline);
        }
        scheduler.drain();
        EXPECT_EQ(early, 0);
    }
}

// --- many threads --------------------------------------------------------------------------------

TEST(Worker, PostsFromManyThreadsAllRunInTheOrderOfEach) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    constexpr std::size_t producers = 4;
    constexpr int per_producer = 5'000;
    std::vector<int> last(producers, -1);  // one worker: not shared
    int disorder = 0;
    test::run_together(producers, [&](std::size_t self) {
        for (int i = 0; i != per_producer; ++i) {
            scheduler.post([&, self, i] {
                disorder += last[self] + 1 != i;
                last[self] = i;
            });
        }
    });
    scheduler.drain();
    EXPECT_EQ(disorder, 0);
    for (const int each : last) EXPECT_EQ(each, per_producer - 1);
}

// S12 on threads: tasks hop between two schedulers in their callbacks.
TEST(Worker, TasksHopBetweenSchedulers) {
    test::watchdog guard;
    scheduler here{{.workers = 2}};
    scheduler there{{.workers = 2}};
    std::deque<scripted> tasks;
    std::atomic<int> wrong{0};
    for (int i = 0; i != 200; ++i) {
        here.post(tasks.emplace_back([&](scripted& self) {
            auto& expected = self.runs % 2 == 1 ? here : there;
            auto& other = self.runs % 2 == 1 ? there : here;
            wrong += scheduler::current() != &expected;
            if (self.runs != 50) other.post(self);
        }));
    }
    for (int i = 0; i != 60; ++i) {  // each drain sees one hop at least to its end
        here.drain();
        there.drain();
    }
    for (const auto& each : tasks) EXPECT_EQ(each.runs, 50);
    EXPECT_EQ(wrong, 0);
}

// A step may own a scheduler: that the thread is a worker matters only to the worker's scheduler.
TEST(WorkerDeathTest, AStepMayMakeAndDestroyAnotherScheduler) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto nested = [] {
        test::watchdog guard;
        scheduler outer{{.workers = 1}};
        outer.post([] {
            scheduler inner{{.workers = 1}};
            int ran = 0;
            inner.post([&ran] { ran = 1; });
            inner.drain();
            if (ran != 1) std::_Exit(1);
        });
        outer.drain();
        std::_Exit(0);
    };
    EXPECT_EXIT(nested(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fairlead::worker_tests
