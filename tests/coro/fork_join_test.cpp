// Coroutines in parallel inside a task: results, failures, stops, depth, and the workers that run
// them.
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>

#include "support/ending_of.hpp"
#include "support/probes.hpp"
#include "support/simulated_test.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead::fork_join_tests {
namespace {

using namespace std::chrono_literals;
using test::manual_clock;
using test::move_only;
using test::watchdog;

task<int> number(int value) { co_return value; }
task<int> number_after(duration delay, int value) {
    co_await sleep_for(delay);
    co_return value;
}
task<std::string> text() { co_return "text"; }
task<> nothing() { co_return; }
task<move_only> movable(int value) { co_return move_only{value}; }
task<> sets(std::atomic<bool>& flag) {
    flag = true;
    co_return;
}
task<> notes(int number, std::vector<int>& into) {
    into.push_back(number);
    co_return;
}
task<> notes_why(duration delay, std::vector<wake_reason>& into) {
    into.push_back(co_await test::ending_of(sleep_for(delay)));
}
task<> throws_after(duration delay, std::string what) {
    co_await sleep_for(delay);
    throw std::runtime_error{what};
}
task<> throws_now(std::string what) {
    throw std::runtime_error{what};
    co_return;
}

class fork_join_test : public test::simulated_test {};

TEST_F(fork_join_test, gives_a_tuple_of_all_kinds_in_order) {
    constexpr auto together = []() -> task<bool> {
        auto [a, b, c, d] = co_await fork_join(number_after(2h, 1), text(), nothing(), movable(4));
        static_assert(std::is_same_v<decltype(c), std::monostate>);
        co_return a == 1 && b == "text" && d.value == 4;
    };
    EXPECT_TRUE(block_on(*simulation, together()));
}

TEST_F(fork_join_test, runs_them_in_order_in_one_step) {
    static constexpr auto all = [](std::vector<int>& into) -> task<> {
        co_await fork_join(notes(1, into), notes(2, into), notes(3, into));
    };
    std::vector<int> seen;
    auto handle = spawn(*simulation, all(seen));
    EXPECT_EQ(simulation->run_until_idle(), 1U);
    EXPECT_EQ(seen, (std::vector{1, 2, 3}));
    handle.get();
}

TEST_F(fork_join_test, those_behind_one_that_waits_run_meanwhile) {
    static constexpr auto all = [](std::vector<int>& into) -> task<> {
        co_await fork_join(number_after(1h, 0), notes(2, into), number_after(2h, 0),
                           notes(4, into));
    };
    const time_point begin = clock.now();
    std::vector<int> seen;
    auto handle = spawn(*simulation, all(seen));
    simulation->run_until_idle();
    EXPECT_EQ(seen.size(), 2U);
    simulation->drain();
    EXPECT_EQ(clock.now(), begin + 2h);
    handle.get();
}

TEST_F(fork_join_test, gives_a_vector_in_order) {
    constexpr auto all = []() -> task<std::vector<int>> {
        std::vector<task<int>> bodies;
        for (int i = 0; i != 1000; ++i) {
            bodies.push_back(i % 3 == 0 ? number_after((i * 37) % 1000 * 1s, i) : number(i));
        }
        co_return co_await fork_join(std::move(bodies));
    };
    const std::vector<int> values = block_on(*simulation, all());
    ASSERT_EQ(values.size(), 1000U);
    for (int i = 0; i != 1000; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
}

TEST_F(fork_join_test, of_few_or_none) {
    constexpr auto sizes = [](std::size_t count) -> task<std::size_t> {
        std::vector<task<>> bodies;
        for (std::size_t i = 0; i != count; ++i) bodies.push_back(nothing());
        co_return (co_await fork_join(std::move(bodies))).size();
    };
    for (const std::size_t count : {0U, 1U, 2U}) {
        EXPECT_EQ(block_on(*simulation, sizes(count)), count);
    }
}

TEST_F(fork_join_test, what_is_not_awaited_does_not_run) {
    std::vector<int> seen;
    static_cast<void>(fork_join(notes(1, seen), notes(2, seen)));
    EXPECT_TRUE(seen.empty());
}

TEST_F(fork_join_test, a_failure_keeps_those_that_have_not_started) {
    static constexpr auto all = [](std::vector<int>& into) -> task<> {
        co_await fork_join(notes(1, into), throws_now("it"), notes(3, into));
    };
    std::vector<int> seen;
    EXPECT_THROW(block_on(*simulation, all(seen)), std::runtime_error);
    EXPECT_EQ(seen, std::vector{1});
}

TEST_F(fork_join_test, a_failure_stops_the_others_and_waits_for_them) {
    struct coroutines {
        static task<> cleans_up(std::vector<wake_reason>& into) {
            into.push_back(co_await test::ending_of(sleep_for(24h)));
            into.push_back(co_await shielded(test::ending_of(sleep_for(1h))));
        }
        static task<> all(std::vector<wake_reason>& into) {
            co_await fork_join(throws_after(1h, "it"), cleans_up(into));
        }
    };
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    EXPECT_THROW(block_on(*simulation, coroutines::all(seen)), std::runtime_error);
    EXPECT_EQ(seen, (std::vector{wake_reason::stopped, wake_reason::expired}));
    EXPECT_EQ(clock.now(), begin + 2h);
}

task<> throws_all_the_same(duration delay, const char* what) {
    co_await shielded(sleep_for(delay));
    throw std::runtime_error{what};
}

TEST_F(fork_join_test, rethrows_the_first_failure_in_time) {
    static constexpr auto all = []() -> task<> {
        co_await fork_join(nothing(), throws_all_the_same(2h, "later"),
                           throws_all_the_same(1h, "sooner"));
    };
    std::string what;
    try {
        block_on(*simulation, all());
    } catch (const std::runtime_error& caught) {
        what = caught.what();
    }
    EXPECT_EQ(what, "sooner");
}

// The failure stops the loop early. That stop must not hide the failure.
TEST_F(fork_join_test, a_failure_does_not_hide_behind_the_stop_that_it_caused) {
    struct coroutines {
        static task<> loops(manual_clock& time) {
            co_await for_each_index(1'000'000, [&time](std::size_t) { time.advance(1ms); });
        }
        static task<> some(manual_clock& time) {
            co_await fork_join(waits(), loops(time), throws_after(1min, "it"));
        }
        static task<> many(manual_clock& time) {
            std::vector<task<>> bodies;
            bodies.push_back(waits());
            bodies.push_back(loops(time));
            bodies.push_back(throws_after(1min, "it"));
            co_await fork_join(std::move(bodies));
        }
        static task<> waits() { co_await sleep_for(1s); }  // so the parent posts the other children
    };
    for (auto* const body : {coroutines::some, coroutines::many}) {
        try {
            block_on(*simulation, body(clock));
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::runtime_error& caught) {
            EXPECT_STREQ(caught.what(), "it");
        }
    }
}

// The stop comes before the first step of the second child, when it is taken back, or after it.
TEST_F(fork_join_test, passes_a_stop_on) {
    static constexpr auto both = [](std::vector<wake_reason>& into) -> task<> {
        co_await fork_join(notes_why(1h, into), notes_why(2h, into));
    };
    const time_point begin = clock.now();
    for (const bool started : {false, true}) {
        std::vector<wake_reason> seen;
        auto handle = spawn(*simulation, both(seen));
        if (started) simulation->run_until_idle();
        handle.request_stop();
        simulation->drain();
        handle.get();
        EXPECT_EQ(seen, (std::vector{wake_reason::stopped, wake_reason::stopped})) << started;
        EXPECT_EQ(clock.now(), begin);
    }
}

TEST_F(fork_join_test, children_of_a_shielded_parent_are_shielded) {
    static constexpr auto parent = [](std::vector<wake_reason>& into) -> task<> {
        into.push_back(co_await test::ending_of(sleep_for(1h)));
        co_await shielded(fork_join(notes_why(1h, into), notes_why(1h, into)));
    };
    std::vector<wake_reason> seen;
    auto handle = spawn(*simulation, parent(seen));
    handle.request_stop();
    simulation->drain();
    handle.get();
    EXPECT_EQ(seen,
              (std::vector{wake_reason::stopped, wake_reason::expired, wake_reason::expired}));
}

task<> naps_for(duration length) { co_await sleep_for(length); }

TEST_F(fork_join_test, a_failure_ends_the_siblings_in_a_shield_too) {
    static constexpr auto parent = []() -> task<> {
        co_await shielded(fork_join(naps_for(1s), throws_after(1s, "it"), naps_for(24h)));
    };
    const time_point begin = clock.now();
    EXPECT_THROW(block_on(*simulation, parent()), std::runtime_error);
    EXPECT_EQ(clock.now(), begin + 1s);
}

TEST_F(fork_join_test, frames_go_with_the_scheduler) {
    struct coroutines {
        static task<> holds(duration delay, std::atomic<int>& alive) {
            const test::counted here{alive};
            co_await sleep_for(delay);
        }
        static task<> all(std::atomic<int>& alive) {
            const test::counted here{alive};
            co_await fork_join(holds(1h, alive), holds(2h, alive), holds(3h, alive));
        }
    };
    auto options = test::simulated(clock, driver);
    options.stop_limit = 0s;
    simulation.emplace(std::move(options));
    std::atomic<int> alive{0};
    auto handle = spawn(*simulation, coroutines::all(alive));
    simulation->run_until_idle();
    EXPECT_EQ(alive, 4);
    simulation.reset();
    EXPECT_EQ(alive, 0);
    EXPECT_THROW(handle.get(), stopped_error);
}

// The child that runs here ends before the stop, or waits. In both cases the stop ends a later wait
// of the parent.
TEST_F(fork_join_test, the_parent_is_told_of_a_stop_whoever_was_told_before) {
    static constexpr auto parent = [](duration first, std::vector<wake_reason>& into) -> task<> {
        std::vector<wake_reason> ignored;
        co_await fork_join(notes_why(first, ignored), notes_why(1h, ignored));
        into.push_back(co_await test::ending_of(sleep_for(1h)));
    };
    for (const duration first : {duration{1min}, duration{2h}}) {
        std::vector<wake_reason> seen;
        auto handle = spawn(*simulation, parent(first, seen));
        simulation->run_until_idle();
        clock.advance(1min);
        simulation->run_until_idle();
        handle.request_stop();
        simulation->drain();
        handle.get();
        EXPECT_EQ(seen, std::vector{wake_reason::stopped});
    }
}

TEST_F(fork_join_test, a_failure_elsewhere_stops_the_others_while_the_parent_waits) {
    static constexpr auto all = []() -> task<> {
        co_await fork_join(number_after(1min, 0), throws_after(1h, "it"), number_after(24h, 0));
    };
    const time_point begin = clock.now();
    EXPECT_THROW(block_on(*simulation, all()), std::runtime_error);
    EXPECT_EQ(clock.now(), begin + 1h);
}

TEST_F(fork_join_test, drain_waits_for_forks_whose_parent_has_gone) {
    struct coroutines {
        static task<> goes(scheduler& elsewhere) { co_await resume_on(elsewhere); }
        static task<> parent(scheduler& elsewhere, std::atomic<bool>& flag) {
            co_await fork_join(goes(elsewhere), sets(flag));
        }
    };
    test::scheduler_in_real_time elsewhere{1};
    std::atomic<bool> ran{false};
    auto handle = spawn(*simulation, coroutines::parent(*elsewhere, ran));
    simulation->run_until(clock.now(), 1);
    simulation->drain();
    EXPECT_TRUE(ran);
    simulation->run_until_idle();
    handle.get();
}

TEST_F(fork_join_test, all_run_while_the_first_waits_however_many) {
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

TEST_F(fork_join_test, a_stop_reaches_what_was_taken_while_another_child_runs_here) {
    struct coroutines {
        static task<> until(std::atomic<bool>& flag, int& turns) {
            while (!flag && ++turns != 1000) co_await shielded(yield());
        }
        static task<> waits(std::atomic<bool>& flag) {
            static_cast<void>(co_await as_result(sleep_for(24h)));
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

// A child acts like a read that finds a stop: it ends without a wait, and the step goes on. The
// child may then wait for the reaction of the other child to the stop.
TEST_F(fork_join_test, a_stop_that_ends_no_wait_reaches_the_others) {
    struct coroutines {
        static task<wake_reason> told(basic_task*& self) {
            self = &co_await current_task();
            EXPECT_TRUE(co_await stop_requested());
            co_return co_await shielded(receive_signal((co_await current_scheduler()).now() + 24h));
        }
        static task<> tells(basic_task*& other) {
            static_cast<void>(co_await as_result(sleep_for(48h)));
            other->signal();
        }
        static task<wake_reason> parent() {
            basic_task* first = nullptr;
            const auto [why, none] = co_await fork_join(told(first), tells(first));
            co_return why;
        }
    };
    auto handle = spawn(*simulation, coroutines::parent());
    handle.request_stop();
    simulation->drain();
    EXPECT_EQ(handle.get(), wake_reason::signalled);
}

TEST(fork_join_death_test, is_awaited_once) {
    static constexpr auto twice = []() -> task<> {
        auto all = fork_join(nothing(), nothing());
        co_await all;
        co_await all;
    };
    const auto run = [] {
        scheduler threads{{.workers = 1}};  // in the child, which has no threads of its parent
        block_on(threads, twice());
    };
    EXPECT_DEATH(run(), "awaited twice");
}

task<int> tree(int depth) {
    if (depth == 0) {
        co_await yield();
        co_return 1;
    }
    const auto [left, right] = co_await fork_join(tree(depth - 1), tree(depth - 1));
    co_return left + right;
}

TEST_F(fork_join_test, nests) { EXPECT_EQ(block_on(*simulation, tree(12)), 4096); }

task<int> one_and_more(int depth) {
    if (depth == 0) co_return 0;
    const auto [below, one] = co_await fork_join(one_and_more(depth - 1), number(1));
    co_return below + one;
}

TEST_F(fork_join_test, nests_deeper_than_there_is_room_for_forks) {
    EXPECT_EQ(block_on(*simulation, one_and_more(50'000)), 50'000);
}

task<int> fib(int n) {
    if (n < 2) co_return n;
    const auto [one, two] = co_await fork_join(fib(n - 1), fib(n - 2));
    co_return one + two;
}

TEST(fork_join_on_threads, trees_at_every_width) {
    const watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        scheduler threads{{.workers = workers}};
        for (int i = 0; i != 10; ++i) {
            EXPECT_EQ(block_on(threads, tree(9)), 512);
            EXPECT_EQ(block_on(threads, fib(18)), 2584);
        }
    }
}

// Each child waits until all children have begun, so they must run at the same time.
TEST(fork_join_on_threads, idle_workers_take_what_is_forked) {
    const watchdog guard;
    static constexpr auto meets = [](std::atomic<int>& there, int all) -> task<> {
        ++there;
        while (there != all) std::this_thread::yield();
        co_return;
    };
    static constexpr auto four = [](std::atomic<int>& there) -> task<> {
        co_await fork_join(meets(there, 4), meets(there, 4), meets(there, 4), meets(there, 4));
    };
    scheduler threads{{.workers = 4}};
    for (int i = 0; i != 100; ++i) {
        std::atomic<int> there{0};
        block_on(threads, four(there));
    }
}

// The first child runs until the other two have ended, so its worker does not look at the deque
// before. The thief must be able to take both: none may be hidden.
TEST(fork_join_on_threads, idle_workers_take_what_is_forked_while_the_first_computes) {
    const watchdog guard;
    struct coroutines {
        static task<> computes(std::atomic<int>& done) {
            while (done != 2) std::this_thread::yield();
            co_return;
        }
        static task<> counts(std::atomic<int>& done) {
            ++done;
            co_return;
        }
        static task<> parent(std::atomic<int>& done) {
            co_await fork_join(computes(done), counts(done), counts(done));
        }
    };
    scheduler threads{{.workers = 2}};
    std::atomic<int> done{0};
    block_on(threads, coroutines::parent(done));
    EXPECT_EQ(done, 2);
}

TEST(fork_join_on_threads, many_tasks_fork_and_wait) {
    const watchdog guard;
    scheduler threads{{.workers = 3}};
    std::vector<task<int>> all;
    for (int i = 0; i != 200; ++i) all.push_back(tree(5));
    for (const int leaves : block_on(threads, when_all(std::move(all)))) EXPECT_EQ(leaves, 32);
}

TEST(fork_join_on_threads, a_stop_races_with_the_ends) {
    const watchdog guard;
    scheduler threads{{.workers = 2}};
    static constexpr auto both = [](duration delay) -> task<int> {
        const auto [one, two] = co_await fork_join(number_after(delay, 1), number_after(20us, 2));
        co_return one + two;
    };
    for (int i = 0; i != 2000; ++i) {
        auto handle = spawn(threads, both(i % 3 * 10us));
        handle.request_stop();
        try {
            EXPECT_EQ(handle.get(), 3);
        } catch (const stopped_error&) {  // the stop was faster
        }
    }
}

// The scheduler is destroyed in the middle of the forks, on several workers.
TEST(fork_join_on_threads, a_scheduler_ends_while_tasks_fork) {
    const watchdog guard;
    for (int i = 0; i != 200; ++i) {
        scheduler threads{{.workers = 3, .stop_limit = duration{0}}};
        for (int each = 0; each != 3; ++each) spawn(threads, tree(6)).detach();
        std::this_thread::sleep_for(i % 10 * 20us);
    }
}

}  // namespace
}  // namespace fairlead::fork_join_tests
