// The promises of both policies: all except for the order. Each test runs with each policy, on the
// caller and with several numbers of workers. The order of each policy has its own tests:
// sched/worker_test.cpp, sched/stealing_test.cpp.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>

#include "support/probes.hpp"
#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead::policies_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;

// The policy and the number of workers; 0 runs on the caller.
class policies : public testing::TestWithParam<std::tuple<policy, unsigned>> {
protected:
    static scheduler_options options() {
        const auto [policy, workers] = GetParam();
        return {.workers = workers, .policy = policy, .run_on_caller = workers == 0};
    }

    const test::watchdog guard;
};

class policies_on_the_caller : public policies {};
class policies_on_threads : public policies {};
class policies_on_several : public policies {};  // a step may wait for another

std::string name_of(const testing::TestParamInfo<policies::ParamType>& info) {
    const auto [policy, workers] = info.param;
    const std::string where = workers == 0 ? "caller" : std::to_string(workers);
    return (policy == policy::fair ? "fair_" : "stealing_") + where;
}

constexpr auto both = {policy::fair, policy::stealing};
INSTANTIATE_TEST_SUITE_P(, policies,
                         testing::Combine(testing::ValuesIn(both), testing::Values(0, 1, 2, 4)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(, policies_on_the_caller,
                         testing::Combine(testing::ValuesIn(both), testing::Values(0)), name_of);
INSTANTIATE_TEST_SUITE_P(, policies_on_threads,
                         testing::Combine(testing::ValuesIn(both), testing::Values(1, 2, 4)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(, policies_on_several,
                         testing::Combine(testing::ValuesIn(both), testing::Values(2, 3, 5)),
                         name_of);

// --- posts and drain -----------------------------------------------------------------------------

// A tree of steps, each of which posts its children; returns how many have run.
class tree {
public:
    explicit tree(scheduler& home) : home_{home} {}
    void grow(int depth) {
        home_.post([this, depth] {
            if (depth != 0) {
                grow(depth - 1);
                grow(depth - 1);
            }
            ++ran_;
        });
    }
    [[nodiscard]] int ran() const { return ran_; }

private:
    scheduler& home_;
    std::atomic<int> ran_{0};
};

TEST_P(policies, a_tree_of_posts_runs_once) {
    scheduler scheduler{options()};
    for (int round = 0; round != 5; ++round) {
        tree tree{scheduler};
        tree.grow(12);
        scheduler.drain();
        ASSERT_EQ(tree.ran(), (1 << 13) - 1);
    }
}

TEST_P(policies, a_step_may_post_any_number) {
    scheduler scheduler{options()};
    constexpr int count = 5'000;
    std::deque<scripted> tasks(count);
    std::deque<scripted> sleepers(100);
    std::vector<basic_task*> batch;
    for (int i = count / 2; i != count; ++i) batch.push_back(&tasks[static_cast<std::size_t>(i)]);
    scheduler.post([&] {
        for (std::size_t i = 0; i != count / 2; ++i) {
            scheduler.post(tasks[i]);
            if (i % 50 == 0) scheduler.post_delay(sleepers[i / 50], 10us);
            if (i == 100) scheduler.post(batch);
        }
    });
    scheduler.drain();
    for (const auto& each : tasks) ASSERT_TRUE(each.runs == 1 && each.was_expired);
    for (std::size_t i = 0; i != sleepers.size(); ++i) ASSERT_EQ(sleepers[i].runs, i < count / 100);
}

// What the tasks write is not atomic: drain orders it, which the thread sanitizer checks.
TEST_P(policies, drain_is_exact) {
    scheduler scheduler{options()};
    for (int round = 0; round != 1'000; ++round) {
        std::array<int, 4> plain{};
        for (int& each : plain) {
            scheduler.post([&] {
                ++each;
                scheduler.post([&] {
                    ++each;
                    scheduler.post([&] { ++each; });
                });
            });
        }
        scheduler.drain();
        for (const int each : plain) ASSERT_EQ(each, 3) << "round " << round;
    }
}

TEST_P(policies_on_threads, posts_from_everywhere) {
    scheduler scheduler{options()};
    constexpr int each_posts = 3'000;
    std::atomic<int> ran{0};
    test::run_together(3, [&](std::size_t) {
        for (int i = 0; i != each_posts; ++i) {
            scheduler.post([&] {
                scheduler.post([&] { ++ran; });
                ++ran;
            });
            if (i % 500 == 0) scheduler.drain();
        }
    });
    scheduler.drain();
    EXPECT_EQ(ran, 3 * 2 * each_posts);
}

TEST_P(policies, those_who_post_themselves_again_take_turns) {
    scheduler scheduler{options()};
    std::atomic<int> over{0};
    std::deque<scripted> tasks;
    for (int i = 0; i != 10; ++i) {  // none ends before each has had a thousand turns
        scheduler.post(tasks.emplace_back([&](scripted& self) {
            over += self.runs == 1'000;
            if (over != 10) scheduler.post(self);
        }));
    }
    scheduler.drain();
    EXPECT_EQ(over, 10);
}

// --- a step that waits for other steps -----------------------------------------------------------

TEST_P(policies_on_several, a_step_may_wait_for_what_it_posted) {
    scheduler scheduler{options()};
    for (const int count : {1, 2, 3, 300}) {
        for (int round = 0; round != 300; ++round) {
            std::latch posted_ran{count};
            std::latch done{1};
            scheduler.post([&] {
                for (int i = 0; i != count; ++i) scheduler.post([&] { posted_ran.count_down(); });
                posted_ran.wait();
                done.count_down();
            });
            done.wait();  // not by drain, which wakes all workers
        }
    }
}

TEST_P(policies_on_several, steps_may_wait_as_deep_as_there_are_workers) {
    scheduler scheduler{options()};
    std::function<void(unsigned)> nest = [&](unsigned depth) {
        if (depth == scheduler.workers()) return;
        std::latch child_ended{1};
        scheduler.post([&, depth] {
            nest(depth + 1);
            child_ended.count_down();
        });
        child_ended.wait();
    };
    for (int round = 0; round != 100; ++round) {
        std::latch done{1};
        scheduler.post([&] {
            nest(1);
            done.count_down();
        });
        done.wait();
    }
}

// As many steps as there are workers wait for each other: each of them must get one to itself.
TEST_P(policies_on_several, posts_of_a_step_are_spread) {
    scheduler scheduler{options()};
    const auto width = static_cast<std::ptrdiff_t>(scheduler.workers());
    for (int round = 0; round != 300; ++round) {
        std::latch all{width};
        std::latch done{width};
        scheduler.post([&] {
            for (std::ptrdiff_t i = 0; i != width; ++i) {
                scheduler.post([&] {
                    all.arrive_and_wait();
                    done.count_down();
                });
            }
        });
        done.wait();
    }
}

// All workers but one are busy for ever, and that one waits for what it posted.
TEST_P(policies_on_several, who_is_busy_takes_over_what_is_behind_a_long_step) {
    for (int round = 0; round != 30; ++round) {
        scheduler scheduler{options()};
        std::atomic<bool> over{false};
        std::latch busy{static_cast<std::ptrdiff_t>(scheduler.workers()) - 1};
        std::deque<std::function<void()>> chains;
        for (unsigned i = 1; i != scheduler.workers(); ++i) {
            auto& next = chains.emplace_back();
            next = [&] {
                if (!over) scheduler.post([&] { next(); });
            };
            scheduler.post([&] {
                busy.arrive_and_wait();
                next();
            });
        }
        scheduler.post([&] {
            busy.wait();
            std::latch posted_ran{1 + round % 3};
            for (int i = 0; i != 1 + round % 3; ++i)
                scheduler.post([&] { posted_ran.count_down(); });
            posted_ran.wait();
            over = true;
        });
        scheduler.drain();
    }
}

// --- what comes from outside while steps go on for ever ------------------------------------------

// Each step posts another task, so that a worker always finds something new of its own.
TEST_P(policies_on_threads, steps_that_never_end_keep_nothing_out) {
    auto opts = options();
    opts.round_interval = 100us;
    scheduler scheduler{std::move(opts)};
    for (int round = 0; round != 50; ++round) {
        std::atomic<bool> over{false};
        std::function<void()> next = [&] {
            if (!over) scheduler.post([&] { next(); });
        };
        for (unsigned i = 0; i != scheduler.workers() + 1; ++i) scheduler.post([&] { next(); });
        std::latch all{5};
        const auto arrives = [&](scripted&) { all.count_down(); };
        scripted posted{arrives};
        scripted late{arrives};
        scripted woken{arrives};
        scripted from_step{arrives};
        std::array<scripted, 1> in_batch{scripted{arrives}};
        basic_task* const batch[]{&in_batch[0]};
        scheduler.post_wait(woken);
        scheduler.post_delay(late, 50us);
        scheduler.post(posted);
        scheduler.post([&] {
            scheduler.post(from_step);
            scheduler.post(batch);
        });
        woken.wakeup();
        all.wait();
        over = true;
        scheduler.drain();
    }
}

TEST_P(policies, deadlines_are_never_early) {
    scheduler scheduler{options()};
    std::atomic<int> left{200};
    std::atomic<int> early{0};
    std::deque<scripted> sleepers;
    tree busy{scheduler};
    for (int i = 0; i != 200; ++i) {
        const time_point deadline = scheduler.now() + 20us * i;
        scheduler.post_deadline(sleepers.emplace_back([&, deadline](scripted& self) {
            early += !self.expired() || scheduler.now() < deadline;
            --left;
            busy.grow(5);
        }),
                                deadline);
    }
    scheduler.drain();
    EXPECT_EQ(left, 0);
    EXPECT_EQ(early, 0);
    EXPECT_EQ(busy.ran(), 200 * ((1 << 6) - 1));
}

// No wake-up is lost, and a signal is received once. Steps and other threads send them.
TEST_P(policies_on_threads, tasks_are_woken_and_signalled) {
    scheduler scheduler{options()};
    constexpr std::size_t count = 300;
    std::deque<scripted> tasks;
    std::atomic<std::size_t> received{0};
    for (std::size_t i = 0; i != count; ++i) {
        tasks.emplace_back([&](scripted& self) {
            if (self.receive_signal()) {
                ++received;
            } else if (self.runs % 2 == 0) {
                scheduler.post_wait(self);
            } else {
                scheduler.post_delay(self, 1h);
            }
        });
        scheduler.post_wait(tasks.back());
    }
    test::run_together(2, [&](std::size_t self) {
        for (std::size_t i = self; i < count; i += 2) {
            tasks[i].wakeup();
            if (i % 4 < 2) {
                scheduler.post([&, i] { tasks[i].signal(); });
            } else {
                tasks[i].signal();
            }
        }
    });
    scheduler.drain();
    EXPECT_EQ(received, count);
}

// --- stop, start, destruction --------------------------------------------------------------------

TEST_P(policies_on_threads, nothing_is_lost_by_a_stop_and_a_start) {
    scheduler scheduler{options()};
    for (int round = 0; round != 200; ++round) {
        tree tree{scheduler};
        for (int i = 0; i != 4; ++i) tree.grow(6);
        const stop_report report = scheduler.stop(round % 2 == 0 ? 0s : 1h);
        ASSERT_TRUE(round % 2 == 0 || report.clean()) << report.to_string();
        ASSERT_EQ(report.clean(), tree.ran() == 4 * ((1 << 7) - 1)) << report.to_string();
        scheduler.start();
        scheduler.drain();
        ASSERT_EQ(tree.ran(), 4 * ((1 << 7) - 1));
    }
}

// A stop names what stands behind a step that it gave up on; the start goes on with it.
TEST_P(policies_on_several, a_stop_counts_what_is_behind_a_step) {
    auto opts = options();
    const auto workers = static_cast<int>(opts.workers);
    scheduler scheduler{std::move(opts)};
    std::latch started{workers};
    std::latch release{1};
    std::deque<scripted> posted(static_cast<std::size_t>(400 * workers));
    for (int i = 0; i != workers; ++i) {
        scheduler.post([&, i] {
            for (int k = 0; k != 400; ++k) {
                scheduler.post(posted[static_cast<std::size_t>(400 * i + k)]);
            }
            started.count_down();
            release.wait();
        });
    }
    started.wait();
    const stop_report report = scheduler.stop(0s);
    EXPECT_EQ(report.running, static_cast<std::size_t>(workers));
    const auto ran = static_cast<std::size_t>(
        std::ranges::count_if(posted, [](const scripted& each) { return each.runs != 0; }));
    EXPECT_EQ(report.queued, posted.size() - ran);  // one worker may run what another posted first
    EXPECT_EQ(report.tasks.size(), std::min<std::size_t>(report.running + report.queued, 100));
    release.count_down();
    static_cast<void>(scheduler.stop(1h));
    scheduler.start();
    scheduler.drain();
    for (const auto& each : posted) ASSERT_TRUE(each.runs == 1 && each.was_expired);
}

TEST_P(policies_on_threads, the_destructor_gives_back_what_steps_posted) {
    auto held = std::make_shared<int>();
    for (int round = 0; round != 50; ++round) {
        std::latch started{1};
        std::atomic<int> ran{0};
        {
            auto opts = options();
            opts.stop_limit = 0s;
            scheduler scheduler{std::move(opts)};
            scheduler.post([&, held] {
                for (int i = 0; i != 300; ++i) scheduler.post([&, held] { ++ran; });
                started.count_down();
                while (!scheduler.stopping()) std::this_thread::yield();
                for (int i = 0; i != 10; ++i) scheduler.post([&, held] { ++ran; });
            });
            started.wait();
        }
        ASSERT_LE(ran, 310);
        ASSERT_EQ(held.use_count(), 1) << "each callable was destroyed";
    }
}

task<> waits_for_ever(std::shared_ptr<int> held) {
    static_cast<void>(held);
    co_await sleep_for(24h);
}

TEST_P(policies, the_destructor_destroys_coroutines) {
    auto held = std::make_shared<int>();
    static constexpr auto spawns = [](scheduler& home, std::shared_ptr<int> all) -> task<> {
        for (int i = 0; i != 50; ++i) spawn(home, waits_for_ever(all)).detach();
        co_await when_all(waits_for_ever(all), waits_for_ever(all));
    };
    {
        auto opts = options();
        opts.stop_limit = 0s;
        scheduler scheduler{std::move(opts)};
        for (int i = 0; i != 10; ++i) spawn(scheduler, spawns(scheduler, held)).detach();
        static_cast<void>(scheduler.drain_for(1ms));
    }
    EXPECT_EQ(held.use_count(), 1);
}

// --- coroutines ----------------------------------------------------------------------------------

task<long> fib(int n) {
    if (n < 2) co_return n;
    const auto [a, b] = co_await fork_join(fib(n - 1), fib(n - 2));
    co_return a + b;
}

task<long> fib_by_tasks(int n) {
    if (n < 2) co_return n;
    if (n % 3 == 0) co_await yield();
    const auto [a, b] = co_await when_all(fib_by_tasks(n - 1), fib_by_tasks(n - 2));
    co_return a + b;
}

TEST_P(policies, coroutines_fork_and_join) {
    scheduler scheduler{options()};
    for (int round = 0; round != 5; ++round) {
        auto forked = spawn(scheduler, fib(16));
        auto posted = spawn(scheduler, fib_by_tasks(12));
        scheduler.drain();
        EXPECT_EQ(forked.get(), 987);
        EXPECT_EQ(posted.get(), 144);
    }
}

TEST_P(policies, scopes_and_loops_end_with_their_children) {
    static constexpr auto adds = [](std::atomic<int>& sum, int value) -> task<> {
        if (value % 2 == 0) co_await sleep_for(10us);
        sum += value;
    };
    static constexpr auto all = [](scheduler& home, std::atomic<int>& sum) -> task<> {
        scope children{home};
        for (int i = 0; i != 100; ++i) children.spawn(adds(sum, 1 + i % 2));
        co_await children.join();
        co_await for_each_index(1'000, [&](std::size_t) { ++sum; });
    };
    scheduler scheduler{options()};
    std::atomic<int> sum{0};
    auto handle = spawn(scheduler, all(scheduler, sum));
    scheduler.drain();
    handle.get();
    EXPECT_EQ(sum, 150 + 1'000);
}

// --- on the caller -------------------------------------------------------------------------------

TEST_P(policies_on_the_caller, who_may_run_some_steps_and_go_on_later) {
    scheduler scheduler{options()};
    tree tree{scheduler};
    tree.grow(9);
    std::size_t steps = 0;
    while (!scheduler.drain_for(0s)) {
        const std::size_t ran = scheduler.run_until(scheduler.now(), 7);
        ASSERT_LE(ran, 7U);
        steps += ran;
    }
    EXPECT_EQ(tree.ran(), (1 << 10) - 1);
    EXPECT_EQ(steps, (1U << 10) - 1);
}

}  // namespace
}  // namespace fairlead::policies_tests
