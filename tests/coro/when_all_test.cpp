// Waiting for several coroutines: results, failures, stops, depth.
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>

#include "support/ending_of.hpp"
#include "support/probes.hpp"
#include "support/simulated_test.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <variant>
#include <vector>

namespace fairlead::when_all_tests {
namespace {

using namespace std::chrono_literals;
using test::manual_clock;
using test::move_only;
using test::watchdog;

task<int> number_after(duration delay, int value) {
    co_await sleep_for(delay);
    co_return value;
}
task<std::string> text() { co_return "text"; }
task<> nothing() { co_return; }
task<move_only> movable(int value) { co_return move_only{value}; }
task<> throws_after(duration delay, std::string what) {
    co_await sleep_for(delay);
    throw std::runtime_error{what};
}
task<> notes_why(duration delay, std::vector<wake_reason>& into) {
    into.push_back(co_await test::ending_of(sleep_for(delay)));
}

class when_all_test : public test::simulated_test {};

TEST_F(when_all_test, gives_a_tuple_of_all_kinds_in_order) {
    constexpr auto together = []() -> task<bool> {
        auto [a, b, c, d] = co_await when_all(number_after(2h, 1), text(), nothing(), movable(4));
        static_assert(std::is_same_v<decltype(c), std::monostate>);
        co_return a == 1 && b == "text" && d.value == 4;
    };
    EXPECT_TRUE(block_on(*simulation, together()));
}

TEST_F(when_all_test, runs_them_at_the_same_time) {
    const time_point begin = clock.now();
    block_on(*simulation, when_all(number_after(3h, 1), number_after(2h, 2), number_after(3h, 3)));
    EXPECT_EQ(clock.now(), begin + 3h);
}

TEST_F(when_all_test, gives_a_vector_in_order) {
    std::vector<task<int>> bodies;
    for (int i = 0; i != 1000; ++i) bodies.push_back(number_after((i * 37) % 1000 * 1s, i));
    const std::vector<int> all = block_on(*simulation, when_all(std::move(bodies)));
    ASSERT_EQ(all.size(), 1000U);
    for (int i = 0; i != 1000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

TEST_F(when_all_test, of_things_that_can_only_be_moved_or_are_nothing) {
    std::vector<task<move_only>> movables;
    std::vector<task<>> nothings;
    for (int i = 0; i != 3; ++i) movables.push_back(movable(i));
    for (int i = 0; i != 3; ++i) nothings.push_back(nothing());
    EXPECT_EQ(block_on(*simulation, when_all(std::move(movables)))[2].value, 2);
    EXPECT_EQ(block_on(*simulation, when_all(std::move(nothings))).size(), 3U);
}

TEST_F(when_all_test, of_nothing_ends_at_once) {
    EXPECT_EQ(block_on(*simulation, when_all()), std::tuple<>{});
    EXPECT_TRUE(block_on(*simulation, when_all(std::vector<task<int>>{})).empty());
}

TEST_F(when_all_test, a_failure_stops_the_others_and_waits_for_them) {
    static constexpr auto cleans_up = [](std::vector<wake_reason>& into) -> task<> {
        into.push_back(co_await test::ending_of(sleep_for(24h)));
        into.push_back(co_await shielded(test::ending_of(sleep_for(1h))));
    };
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    EXPECT_THROW(block_on(*simulation, when_all(cleans_up(seen), throws_after(1h, "it"))),
                 std::runtime_error);
    EXPECT_EQ(seen, (std::vector{wake_reason::stopped, wake_reason::expired}));
    EXPECT_EQ(clock.now(), begin + 2h);
}

task<> throws_all_the_same(duration delay, const char* what) {
    co_await shielded(sleep_for(delay));
    throw std::runtime_error{what};
}

TEST_F(when_all_test, rethrows_the_first_failure_in_time) {
    constexpr auto what = [](scheduler& on, auto all) -> std::string {
        try {
            block_on(on, std::move(all));
        } catch (const std::runtime_error& caught) {
            return caught.what();
        }
        return "nothing";
    };
    EXPECT_EQ(what(*simulation, when_all(nothing(), throws_all_the_same(2h, "later"),
                                         throws_all_the_same(1h, "sooner"))),
              "sooner");
    std::vector<task<>> bodies;
    bodies.push_back(throws_all_the_same(2h, "later"));
    bodies.push_back(throws_all_the_same(1h, "sooner"));
    EXPECT_EQ(what(*simulation, when_all(std::move(bodies))), "sooner");
}

TEST_F(when_all_test, children_of_a_shielded_parent_are_shielded) {
    static constexpr auto naps = []() -> task<wake_reason> {
        co_return co_await test::ending_of(sleep_for(1h));
    };
    static constexpr auto parent = []() -> task<wake_reason> {
        (co_await current_task()).request_stop();
        co_return std::get<0>(co_await shielded(when_all(naps())));
    };
    EXPECT_EQ(block_on(*simulation, parent()), wake_reason::expired);
}

// The shield hides stops from outside, and not those of the children's own when_all.
TEST_F(when_all_test, a_shielded_group_still_ends_by_its_deadline_and_by_a_failure) {
    static constexpr auto parent = [](bool is_stopped, time_point begin) -> task<> {
        if (is_stopped) (co_await current_task()).request_stop();
        const auto late = co_await shielded(
            when_all_until(begin + 10s, number_after(24h, 1), number_after(1s, 2)));
        EXPECT_EQ(late.error(), wait_error::expired);
        bool failed = false;
        try {
            co_await shielded(when_all(throws_after(1s, "it"), number_after(24h, 1)));
        } catch (const std::runtime_error&) {
            failed = true;
        }
        EXPECT_TRUE(failed);
    };
    for (const bool is_stopped : {false, true}) {
        const time_point begin = clock.now();
        block_on(*simulation, parent(is_stopped, begin));
        EXPECT_EQ(clock.now(), begin + 11s) << is_stopped;
    }
}

TEST_F(when_all_test, a_stop_is_a_value_of_when_all_until) {
    static constexpr auto parent = []() -> task<> {
        const auto cut = co_await when_all_until(never, number_after(24h, 1));
        EXPECT_EQ(cut.error(), wait_error::stopped);
    };
    auto handle = spawn(*simulation, parent());
    simulation->run_until_idle();
    handle.request_stop();
    simulation->run_until_idle();
    handle.get();
}

// The child has moved to another scheduler and is told, though its parent was shielded.
TEST(when_all_on_threads, a_shielded_parent_is_given_back_with_its_children) {
    const watchdog guard;
    scheduler elsewhere{{.workers = 1}};
    static constexpr auto child = [](scheduler& there) -> task<> {
        co_await resume_on(there);
        static_cast<void>(co_await receive_signal());
    };
    static constexpr auto parent = [](scheduler& there) -> task<> {
        co_await shielded(when_all(child(there)));
    };
    for (int round = 0; round != 50; ++round) {
        scheduler home{{.workers = 1, .stop_limit = 0s}};
        spawn(home, parent(elsewhere)).detach();
        for (int i = 0; i != round % 20; ++i) std::this_thread::yield();
    }
}

// --- a deadline ----------------------------------------------------------------------------------

TEST_F(when_all_test, a_deadline_stops_those_that_are_late) {
    static constexpr auto all = [](time_point due) -> task<> {
        const auto in_time =
            co_await when_all_until(due + 2h, number_after(1h, 1), number_after(1h, 2));
        EXPECT_EQ(in_time, std::tuple(1, 2));
        const auto late =
            co_await when_all_until(due + 2h, number_after(30min, 1), number_after(5h, 2));
        EXPECT_FALSE(late.has_value());
        EXPECT_EQ(late.error(), wait_error::expired);
        EXPECT_FALSE(co_await stop_requested())
            << "the children were stopped, and not their parent";
    };
    const time_point begin = clock.now();
    block_on(*simulation, all(begin));
    EXPECT_EQ(clock.now(), begin + 2h);
}

TEST_F(when_all_test, a_late_result_counts_if_there_are_all) {
    static constexpr auto shields = []() -> task<int> {
        co_await shielded(sleep_for(3h));
        co_return 3;
    };
    static constexpr auto all = [](time_point due) -> task<> {
        std::vector<task<int>> bodies;
        bodies.push_back(shields());
        bodies.push_back(number_after(1h, 1));
        const auto results = co_await when_all_until(due, std::move(bodies));
        EXPECT_EQ(results, (std::vector{3, 1}));
    };
    const time_point begin = clock.now();
    block_on(*simulation, all(begin + 2h));
    EXPECT_EQ(clock.now(), begin + 3h);
}

TEST_F(when_all_test, a_failure_counts_more_than_the_deadline) {
    static constexpr auto all = [](time_point due) -> task<> {
        static_cast<void>(co_await when_all_until(due, throws_all_the_same(3h, "it"), nothing()));
    };
    EXPECT_THROW(block_on(*simulation, all(clock.now() + 2h)), std::runtime_error);
}

// The failure stops the loop early. That stop must not hide the failure.
TEST_F(when_all_test, a_failure_does_not_hide_behind_the_stop_that_it_caused) {
    struct coroutines {
        static task<> loops(manual_clock& time) {
            co_await for_each_index(1'000'000, [&time](std::size_t) { time.advance(1ms); });
        }
        static task<> both(manual_clock& time) {
            co_await when_all(loops(time), throws_after(1min, "it"));
        }
        static task<> all(manual_clock& time) {
            std::vector<task<>> bodies;
            bodies.push_back(loops(time));
            bodies.push_back(throws_after(1min, "it"));
            co_await when_all(std::move(bodies));
        }
    };
    for (auto* const body : {coroutines::both, coroutines::all}) {
        try {
            block_on(*simulation, body(clock));
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::runtime_error& caught) {
            EXPECT_STREQ(caught.what(), "it");
        }
    }
}

// The failing child ends in its first step, before the other children have begun.
TEST_F(when_all_test, a_failure_at_the_start_stops_children_that_have_not_begun) {
    static constexpr auto throws_now = []() -> task<> {
        throw std::runtime_error{"now"};
        co_return;
    };
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    EXPECT_THROW(block_on(*simulation, when_all(throws_now(), notes_why(1h, seen))),
                 std::runtime_error);
    EXPECT_EQ(seen, std::vector{wake_reason::stopped});
    EXPECT_EQ(clock.now(), begin);
}

TEST_F(when_all_test, passes_a_stop_on) {
    static constexpr auto both = [](std::vector<wake_reason>& into) -> task<> {
        co_await when_all(notes_why(1h, into), notes_why(2h, into));
    };
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    auto handle = spawn(*simulation, both(seen));
    simulation->run_until_idle();
    handle.request_stop();
    simulation->drain();
    handle.get();
    EXPECT_EQ(seen, (std::vector{wake_reason::stopped, wake_reason::stopped}));
    EXPECT_EQ(clock.now(), begin);
}

// The stop comes while the parent runs, before it waits.
TEST_F(when_all_test, passes_a_stop_on_that_came_before) {
    static constexpr auto both = [](std::vector<wake_reason>& into) -> task<> {
        co_await when_all(notes_why(1h, into), notes_why(2h, into));
    };
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    auto handle = spawn(*simulation, both(seen));
    handle.request_stop();
    simulation->drain();
    handle.get();
    EXPECT_EQ(seen, (std::vector{wake_reason::stopped, wake_reason::stopped}));
    EXPECT_EQ(clock.now(), begin);
}

task<int> tree(int depth) {
    if (depth == 0) {
        co_await yield();
        co_return 1;
    }
    const auto [left, right] = co_await when_all(tree(depth - 1), tree(depth - 1));
    co_return left + right;
}

TEST_F(when_all_test, nests) { EXPECT_EQ(block_on(*simulation, tree(12)), 4096); }

task<int> one_in_one(int depth) {
    if (depth == 0) co_return 0;
    const auto [below] = co_await when_all(one_in_one(depth - 1));
    co_return below + 1;
}

TEST_F(when_all_test, nests_deeply) {
    EXPECT_EQ(block_on(*simulation, one_in_one(50'000)), 50'000);
}

task<> deep_sleep(int depth, std::vector<wake_reason>& into) {
    if (depth == 0) {
        into.push_back(co_await test::ending_of(sleep_for(24h)));
        co_return;
    }
    co_await when_all(deep_sleep(depth - 1, into));
}

TEST_F(when_all_test, passes_a_stop_on_to_any_depth) {
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    auto handle = spawn(*simulation, deep_sleep(10'000, seen));
    simulation->run_until_idle();
    handle.request_stop();
    simulation->drain();
    EXPECT_EQ(seen, std::vector{wake_reason::stopped});
    EXPECT_EQ(clock.now(), begin);
}

TEST(when_all_on_threads, trees_at_every_width) {
    const watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        scheduler threads{{.workers = workers}};
        for (int i = 0; i != 10; ++i) EXPECT_EQ(block_on(threads, tree(9)), 512);
    }
}

// The last child ends, and the parent frees it, while its siblings have just ended on other
// workers.
TEST(when_all_on_threads, children_end_together) {
    const watchdog guard;
    scheduler threads{{.workers = 4}};
    static constexpr auto ends = []() -> task<int> { co_return 1; };
    static constexpr auto repeats = [](int count) -> task<int> {
        int sum = 0;
        for (int i = 0; i != count; ++i) {
            const auto [a, b, c] = co_await when_all(ends(), ends(), ends());
            sum += a + b + c;
        }
        co_return sum;
    };
    const auto [one, two] = block_on(threads, when_all(repeats(3000), repeats(3000)));
    EXPECT_EQ(one + two, 18'000);
}

TEST(when_all_on_threads, a_stop_races_with_the_ends) {
    const watchdog guard;
    scheduler threads{{.workers = 2}};
    for (int i = 0; i != 2000; ++i) {
        auto handle =
            spawn(threads, when_all(number_after(i % 3 * 10us, 1), number_after(20us, 2)));
        handle.request_stop();
        try {
            EXPECT_EQ(handle.get(), (std::tuple{1, 2}));
        } catch (const stopped_error&) {  // the stop was faster
        }
    }
}

}  // namespace
}  // namespace fairlead::when_all_tests
