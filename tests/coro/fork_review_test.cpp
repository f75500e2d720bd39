#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/sched/callback_task.hpp>

#include "support/probes.hpp"
#include "support/simulated.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

using namespace std::chrono_literals;
using test::manual_clock;
using test::simulated_driver;

task<> nothing() { co_return; }
task<> sets(std::atomic<bool>& flag) {
    flag = true;
    co_return;
}
task<> notes_why(duration delay, std::vector<wake_reason>& into) {
    into.push_back(co_await sleep_for(delay));
}

class fork_review : public testing::Test {
protected:
    manual_clock clock;
    simulated_driver* driver = nullptr;
    std::optional<scheduler> simulation{std::in_place, test::simulated(clock, driver)};
};

// 1
TEST_F(fork_review, a_stop_reaches_a_child_that_is_taken_back) {
    static constexpr auto both = [](std::vector<wake_reason>& into) -> task<> {
        co_await fork_join(notes_why(1h, into), notes_why(2h, into));
    };
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    auto handle = spawn(*simulation, both(seen));
    handle.request_stop();  // before its first step, not after it as in passes_a_stop_on
    simulation->drain();
    handle.get();
    EXPECT_EQ(seen, (std::vector{wake_reason::stopped, wake_reason::stopped}));
    EXPECT_EQ(clock.now(), begin);
}

TEST_F(fork_review, a_stop_reaches_each_child_with_when_all) {
    static constexpr auto both = [](std::vector<wake_reason>& into) -> task<> {
        co_await when_all(notes_why(1h, into), notes_why(2h, into));
    };
    std::vector<wake_reason> seen;
    auto handle = spawn(*simulation, both(seen));
    handle.request_stop();
    simulation->drain();
    handle.get();
    EXPECT_EQ(seen, (std::vector{wake_reason::stopped, wake_reason::stopped}));
}

// 1b: is the parent's own next wait ended by the stop? Depends on who ran the child.
TEST_F(fork_review, the_parent_is_told_alike_whoever_ran_the_child) {
    static constexpr auto parent = [](bool theft, std::vector<wake_reason>& into) -> task<> {
        std::vector<wake_reason> ignored;
        if (theft) {
            co_await fork_join(notes_why(1min, ignored), notes_why(1h, ignored));
        } else {
            co_await fork_join(notes_why(1h, ignored), nothing());
        }
        into.push_back(co_await sleep_for(1h));
    };
    std::vector<wake_reason> seen;
    for (const bool theft : {false, true}) {
        auto handle = spawn(*simulation, parent(theft, seen));
        simulation->run_until_idle();
        if (theft) {
            clock.advance(1min);
            simulation->run_until_idle();
        }
        handle.request_stop();
        simulation->drain();
        handle.get();
    }
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0], seen[1]);
}

// 2
TEST_F(fork_review, a_failure_elsewhere_stops_the_others_while_the_parent_waits) {
    struct coroutines {
        static task<> yields() { co_await sleep_for(1min); }
        static task<> throws() {
            co_await sleep_for(1h);
            throw std::runtime_error{"it"};
        }
        static task<> all() { co_await fork_join(yields(), throws(), yields_long()); }
        static task<> yields_long() { co_await sleep_for(24h); }
    };
    const time_point begin = clock.now();
    EXPECT_THROW(block_on(*simulation, coroutines::all()), std::runtime_error);
    EXPECT_EQ(clock.now(), begin + 1h);
}

// 3
TEST_F(fork_review, drain_waits_for_forks_whose_parent_has_gone) {
    struct coroutines {
        static task<> goes(scheduler& elsewhere) { co_await resume_on(elsewhere); }
        static task<> parent(scheduler& elsewhere, std::atomic<bool>& flag) {
            co_await fork_join(goes(elsewhere), sets(flag));
        }
    };
    scheduler elsewhere{{.workers = 1}};
    std::atomic<bool> ran{false};
    auto handle = spawn(*simulation, coroutines::parent(elsewhere, ran));
    simulation->run_until(clock.now(), 1);
    simulation->drain();
    EXPECT_TRUE(ran);
    simulation->run_until_idle();
    handle.get();
}

// 4
TEST_F(fork_review, all_run_while_the_first_waits_however_many) {
    struct coroutines {
        static task<> waits(std::atomic<bool>& flag) {
            for (int i = 0; !flag && i != 10'000; ++i) co_await yield();
            EXPECT_TRUE(flag);
        }
        static task<> all(int count) {
            std::atomic<bool> flag{false};
            std::vector<task<>> bodies;
            bodies.push_back(waits(flag));
            bodies.push_back(sets(flag));
            for (int i = 2; i != count; ++i) bodies.push_back(nothing());
            co_await fork_join(std::move(bodies));
        }
    };
    block_on(*simulation, coroutines::all(257));
    block_on(*simulation, coroutines::all(258));
}

// 5
TEST_F(fork_review, the_oldest_fork_has_its_turn) {
    struct coroutines {
        static task<> flood(scheduler& home, std::atomic<bool>& done, int& count) {
            if (done || ++count >= 20'000) co_return;
            spawn(home, flood(home, done, count)).detach();
            co_await fork_join(yields(), nothing(), nothing());
        }
        static task<> yields() { co_await yield(); }
        static task<> victim(scheduler& home, std::atomic<bool>& done, int& count) {
            co_await fork_join(starts_flood(home, done, count), sets(done), nothing(), nothing());
        }
        static task<> starts_flood(scheduler& home, std::atomic<bool>& done, int& count) {
            for (int i = 0; i != 4; ++i) spawn(home, flood(home, done, count)).detach();
            co_await sleep_for(1s);
        }
        static task<> nobody_in_between(std::atomic<bool>&) { co_return; }
        static task<> victim_last(scheduler& home, std::atomic<bool>& done, int& count) {
            co_await fork_join(starts_flood(home, done, count), nothing(), nothing(), nothing(),
                               nothing(), sets(done));
        }
    };
    std::atomic<bool> done{false};
    int count = 0;
    auto handle = spawn(*simulation, coroutines::victim_last(*simulation, done, count));
    simulation->drain();
    handle.get();
    EXPECT_LT(count, 1000);
}

// 6
TEST(fork_review_on_threads, forks_of_a_stuck_step_are_taken_over_under_saturation) {
    const test::watchdog guard;
    scheduler threads{{.workers = 2}};
    std::atomic<bool> done{false};
    std::atomic<bool> in_long_step{false};
    std::atomic<bool> gave_up{false};
    struct coroutines {
        static task<> first(scheduler& home, callback_task& long_step) {
            home.post(long_step);
            co_await sleep_for(10s);
        }
        static task<> parent(scheduler& home, callback_task& long_step, std::atomic<bool>& done) {
            co_await fork_join(first(home, long_step), nothing(), nothing(), nothing(), nothing(),
                               nothing(), sets(done));
        }
    };
    // Two that post themselves again keep the other worker busy.
    std::atomic<bool> enough{false};
    std::vector<std::unique_ptr<callback_task>> busy;
    for (int i = 0; i != 4; ++i) {
        busy.push_back(std::make_unique<callback_task>([&](callback_task& self) {
            if (!enough) threads.post(self);
        }));
        threads.post(*busy.back());
    }
    std::this_thread::sleep_for(20ms);
    callback_task long_step{[&](callback_task&) {
        in_long_step = true;
        const auto limit = std::chrono::steady_clock::now() + 3s;
        while (!done && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
        gave_up = !done;
    }};
    auto handle = spawn(threads, coroutines::parent(threads, long_step, done));
    while (!in_long_step) std::this_thread::yield();
    std::this_thread::sleep_for(3500ms);
    enough = true;
    handle.request_stop();
    handle.get();
    EXPECT_FALSE(gave_up) << "a fork waited for a step of 3 s";
    threads.drain();
}

// 7
TEST_F(fork_review, a_wakeup_does_not_end_the_wait_for_a_child_that_is_elsewhere) {
    struct coroutines {
        static task<> goes(scheduler& elsewhere, std::atomic<int>& alive, std::atomic<int>& seen,
                           std::atomic<bool>& there) {
            co_await resume_on(elsewhere);
            there = true;
            std::this_thread::sleep_for(200ms);  // busy when it is asked to stop
            seen = alive.load();
        }
        static task<> waits() { co_await sleep_for(24h); }
        static task<> parent(scheduler& elsewhere, std::atomic<int>& alive, std::atomic<int>& seen,
                             std::atomic<bool>& there) {
            const test::counted here{alive};
            co_await fork_join(waits(), goes(elsewhere, alive, seen, there));
        }
    };
    std::atomic<int> alive{0};
    std::atomic<int> seen{-1};
    std::atomic<bool> there{false};
    scheduler elsewhere{{.workers = 1}};
    auto options = test::simulated(clock, driver);
    options.stop_limit = 0s;
    simulation.emplace(std::move(options));
    auto handle = spawn(*simulation, coroutines::parent(elsewhere, alive, seen, there));
    simulation->run_until_idle();
    while (!there) std::this_thread::yield();
    std::jthread user{[&] {
        std::this_thread::sleep_for(50ms);
        handle.request_stop();  // who holds the handle may
    }};
    simulation.reset();
    EXPECT_EQ(seen, 1) << "the parent's frame";
}

// 7b: without any other thread's wakeup: the outer fork asks the inner parent.
TEST_F(fork_review, a_stop_by_an_outer_fork_does_not_end_the_wait_for_a_child) {
    struct coroutines {
        static task<> goes(scheduler& elsewhere, std::atomic<int>& alive, std::atomic<int>& seen,
                           std::atomic<bool>& there) {
            co_await resume_on(elsewhere);
            there = true;
            std::this_thread::sleep_for(200ms);
            seen = alive.load();
        }
        static task<> waits() { co_await sleep_for(24h); }
        static task<> inner(scheduler& elsewhere, std::atomic<int>& alive, std::atomic<int>& seen,
                            std::atomic<bool>& there) {
            const test::counted here{alive};
            co_await fork_join(waits(), goes(elsewhere, alive, seen, there));
        }
        static task<> outer(scheduler& elsewhere, std::atomic<int>& alive, std::atomic<int>& seen,
                            std::atomic<bool>& there) {
            co_await fork_join(waits(), inner(elsewhere, alive, seen, there));
        }
    };
    std::atomic<int> alive{0};
    std::atomic<int> seen{-1};
    std::atomic<bool> there{false};
    scheduler elsewhere{{.workers = 1}};
    auto options = test::simulated(clock, driver);
    options.stop_limit = 0s;
    simulation.emplace(std::move(options));
    auto handle = spawn(*simulation, coroutines::outer(elsewhere, alive, seen, there));
    simulation->run_until_idle();
    while (!there) std::this_thread::yield();
    simulation.reset();
    EXPECT_EQ(seen, 1) << "the inner parent's frame";
}

// 8
TEST_F(fork_review, a_stop_reaches_what_was_taken_while_another_child_runs_here) {
    struct coroutines {
        static task<> until(std::atomic<bool>& flag, int& turns) {
            while (!flag && ++turns != 1000) co_await yield();  // which takes no stop
        }
        static task<> waits(std::atomic<bool>& flag) {
            co_await sleep_for(24h);
            flag = true;
        }
        static task<> parent(std::atomic<bool>& flag, int& turns) {
            co_await fork_join(until(flag, turns), waits(flag));
        }
    };
    std::atomic<bool> flag{false};
    int turns = 0;
    auto handle = spawn(*simulation, coroutines::parent(flag, turns));
    simulation->run_until(clock.now(), 6);
    handle.request_stop();
    simulation->drain();
    handle.get();
    EXPECT_LT(turns, 100);
}

// 9
TEST_F(fork_review, awaited_twice) {
    static constexpr auto twice = []() -> task<> {
        auto all = fork_join(nothing(), nothing());
        co_await all;
        co_await all;
    };
    EXPECT_DEATH(block_on(*simulation, twice()), "awaited twice");
}

// 11
TEST(fork_review_on_threads, idle_workers_take_what_is_forked_while_the_first_computes) {
    const test::watchdog guard;
    scheduler threads{{.workers = 2}};
    struct coroutines {
        static task<> computes(std::atomic<int>& done, std::atomic<bool>& gave_up) {
            const auto limit = std::chrono::steady_clock::now() + 1s;
            while (done != 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
            gave_up = done != 2;
            co_return;
        }
        static task<> counts(std::atomic<int>& done) {
            ++done;
            co_return;
        }
        static task<> parent(std::atomic<int>& done, std::atomic<bool>& gave_up) {
            co_await fork_join(computes(done, gave_up), counts(done), counts(done));
        }
    };
    std::atomic<int> done{0};
    std::atomic<bool> gave_up{false};
    block_on(threads, coroutines::parent(done, gave_up));
    EXPECT_FALSE(gave_up) << "one was hidden from the idle worker for 1 s";
}

}  // namespace
}  // namespace fairlead
