// Scopes: every child ends before join returns, in all cases.
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/with_scope.hpp>

#include "support/ending_of.hpp"
#include "support/probes.hpp"
#include "support/simulated_test.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

namespace fairlead::scope_tests {
namespace {

using namespace std::chrono_literals;
using test::counted;
using test::manual_clock;
using test::watchdog;

task<> adds_after(duration delay, int& sum) {
    co_await sleep_for(delay);
    ++sum;
}
task<> notes_why(duration delay, std::vector<wake_reason>& into) {
    into.push_back(co_await test::ending_of(sleep_for(delay)));
}
task<> throws_after(duration delay, std::string what) {
    co_await sleep_for(delay);
    throw std::runtime_error{what};
}
task<> joins(scope& all) { co_await all.join(); }

class scope_test : public test::simulated_test {};

TEST_F(scope_test, joins_all_its_children) {
    int sum = 0;
    scope all{*simulation};
    for (int i = 0; i != 100; ++i) EXPECT_TRUE(all.spawn(adds_after(i * 1s, sum)));
    EXPECT_EQ(all.size(), 100U);
    block_on(*simulation, joins(all));
    EXPECT_EQ(sum, 100);
    EXPECT_EQ(all.size(), 0U);
}

TEST_F(scope_test, joins_at_once_when_it_is_empty) {
    scope all{*simulation};
    block_on(*simulation, joins(all));
    block_on(*simulation, joins(all));
}

TEST_F(scope_test, can_be_used_again_after_a_join) {
    int sum = 0;
    scope all{*simulation};
    for (int i = 0; i != 3; ++i) {
        all.spawn(adds_after(1s, sum));
        block_on(*simulation, joins(all));
    }
    EXPECT_EQ(sum, 3);
}

TEST_F(scope_test, a_failure_stops_the_others_and_is_rethrown) {
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    scope all{*simulation};
    all.spawn(notes_why(24h, seen));
    all.spawn(throws_after(1h, "first"));
    all.spawn(throws_after(2h, "second"));
    try {
        block_on(*simulation, joins(all));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& caught) {
        EXPECT_STREQ(caught.what(), "first");
    }
    EXPECT_EQ(seen, std::vector{wake_reason::stopped});
    EXPECT_EQ(clock.now(), begin + 1h);
}

TEST_F(scope_test, starts_nothing_after_a_stop) {
    int sum = 0;
    scope all{*simulation};
    all.request_stop();
    EXPECT_FALSE(all.spawn(adds_after(1s, sum)));
    block_on(*simulation, joins(all));
    EXPECT_EQ(sum, 0);
}

// 1. A child is spawned and queued. 2. The scope is asked to stop. 3. The child starts: its first
// wait must end, or the join hangs for as long as the child wants to sleep.
TEST_F(scope_test, a_stop_reaches_children_that_have_not_begun) {
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    scope all{*simulation};
    all.spawn(notes_why(24h, seen));
    all.request_stop();
    block_on(*simulation, joins(all));
    EXPECT_EQ(seen, std::vector{wake_reason::stopped});
    EXPECT_EQ(clock.now(), begin);
}

TEST_F(scope_test, a_stop_of_the_joiner_is_passed_on) {
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    scope all{*simulation};
    all.spawn(notes_why(24h, seen));
    auto handle = spawn(*simulation, joins(all));
    simulation->run_until_idle();
    handle.request_stop();
    simulation->drain();
    EXPECT_EQ(seen, std::vector{wake_reason::stopped});
    EXPECT_EQ(clock.now(), begin);
}

task<> loops(manual_clock& time) {
    co_await for_each_index(1'000'000, [&time](std::size_t) { time.advance(1ms); });
}
task<> fails_to_clean_up() {
    static_cast<void>(co_await as_result(sleep_for(24h)));
    co_await shielded(sleep_for(1h));
    throw std::runtime_error{"it"};
}

// The stop ends the loop early, so the loop ends before the failing child.
TEST_F(scope_test, a_failure_does_not_hide_behind_a_stop) {
    scope all{*simulation};
    all.spawn(loops(clock));
    all.spawn(fails_to_clean_up());
    simulation->run_until(clock.now(), 5);
    all.request_stop();
    try {
        block_on(*simulation, joins(all));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& caught) {
        EXPECT_STREQ(caught.what(), "it");
    }
}

// --- a stop or a deadline of the joiner ----------------------------------------------------------

TEST_F(scope_test, a_deadline_ends_the_join_and_leaves_the_children) {
    int sum = 0;
    scope all{*simulation};
    all.spawn(adds_after(1h, sum));
    const auto joins_in_vain = [&](time_point begin) -> task<> {
        const auto at_once = co_await all.join_until(begin - 1s);
        EXPECT_EQ(at_once.error(), wait_error::expired);
        const auto too_soon = co_await all.join_until(begin + 1min);
        EXPECT_EQ(too_soon.error(), wait_error::expired);
        EXPECT_EQ(clock.now(), begin + 1min);
        EXPECT_TRUE(all.spawn(adds_after(1min, sum))) << "it was not asked to stop";
        EXPECT_TRUE((co_await all.join_until(begin + 2h)).has_value());
    };
    block_on(*simulation, joins_in_vain(clock.now()));
    EXPECT_EQ(sum, 2);
}

TEST_F(scope_test, a_join_that_a_stop_has_cut_says_so) {
    const auto body = [](scheduler& on, duration nap, bool shields) -> task<bool> {
        scope all{on};
        const auto naps = [](duration time, bool is_shielded) -> task<> {
            if (is_shielded) {
                co_await shielded(sleep_for(time));
            } else {
                co_await sleep_for(time);
            }
        };
        all.spawn(naps(nap, shields));
        (co_await current_task()).request_stop();
        bool cut = false;
        try {
            co_await all.join();
        } catch (const stopped_error&) {
            cut = true;
        }
        EXPECT_EQ(all.size(), 0U);
        const auto again = co_await all.join_until(never);
        EXPECT_TRUE(again.has_value()) << "the cut is told once";
        co_return cut;
    };
    EXPECT_TRUE(block_on(*simulation, body(*simulation, 1h, false)));
    EXPECT_FALSE(block_on(*simulation, body(*simulation, 1h, true))) << "nothing is missing";
}

// A child that was stopped alone has not failed, and stops no other child.
TEST_F(scope_test, a_child_that_was_stopped_alone_is_no_failure) {
    std::stop_source source;
    int sum = 0;
    const auto naps = []() -> task<> { co_await sleep_for(24h); };
    const auto body = [&](scope& all) -> task<> {
        all.spawn(naps(), {.name = "stopped", .stop = source.get_token()});
        all.spawn(adds_after(1h, sum));
        co_await sleep_for(1s);
        source.request_stop();
        co_await sleep_for(1s);
        EXPECT_EQ(all.size(), 1U);
    };
    block_on(*simulation, with_scope(body));
    EXPECT_EQ(sum, 1);
}

TEST(scope_on_threads, deadlines_race_with_the_ends) {
    const watchdog guard;
    scheduler threads{{.workers = 3}};
    static constexpr auto naps = [](duration time, std::atomic<int>& ended) -> task<> {
        co_await sleep_for(time);
        ++ended;
    };
    static constexpr auto round = [](scheduler& on, int seed, std::atomic<int>& ended) -> task<> {
        scope all{on};
        for (int child = 0; child != 4; ++child) all.spawn(naps((seed + child) % 5 * 10us, ended));
        for (bool joined = false; !joined;) {
            const auto ended_in_time = co_await all.join_until(clock::now() + seed % 7 * 5us);
            joined = ended_in_time.has_value();
        }
        EXPECT_EQ(all.size(), 0U);
    };
    for (int i = 0; i != 1000; ++i) {
        std::atomic<int> ended{0};
        block_on(threads, round(threads, i, ended));
        EXPECT_EQ(ended, 4);
    }
}

// --- with_scope ----------------------------------------------------------------------------------

task<> waits_for_more(scope& all, std::vector<wake_reason>& reasons) {
    all.spawn(notes_why(1h, reasons));
    reasons.push_back(
        co_await test::ending_of(sleep_for(1h)));  // as a server waits for the next connection
}

TEST_F(scope_test, a_stop_that_ended_the_body_is_passed_on) {
    std::vector<wake_reason> reasons;
    auto server =
        spawn(*simulation,
              with_scope([&](scope& all) -> task<> { return waits_for_more(all, reasons); }));
    simulation->run_until_idle();
    const time_point began = clock.now();
    server.request_stop();
    server.get();
    EXPECT_EQ(reasons, (std::vector{wake_reason::stopped, wake_reason::stopped}));
    EXPECT_EQ(clock.now(), began);
}

TEST_F(scope_test, with_scope_joins_after_its_body) {
    int sum = 0;
    block_on(*simulation, with_scope([&sum](scope& all) -> task<> {
        for (int i = 0; i != 10; ++i) all.spawn(adds_after(1h, sum));
        co_return;
    }));
    EXPECT_EQ(sum, 10);
}

TEST_F(scope_test, with_scope_stops_the_children_when_its_body_throws) {
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    try {
        block_on(*simulation, with_scope([&seen](scope& all) -> task<> {
            all.spawn(notes_why(24h, seen));
            co_await sleep_for(1h);
            throw std::runtime_error{"the body"};
        }));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& caught) {
        EXPECT_STREQ(caught.what(), "the body");
    }
    EXPECT_EQ(seen, std::vector{wake_reason::stopped});
    EXPECT_EQ(clock.now(), begin + 1h);
}

TEST_F(scope_test, with_scope_prefers_the_exception_of_its_body) {
    const auto both_throw = [](scope& all) -> task<> {
        all.spawn(throws_after(0s, "a child"));
        co_await sleep_for(1h);
        throw std::logic_error{"the body"};
    };
    EXPECT_THROW(block_on(*simulation, with_scope(both_throw)), std::logic_error);
}

TEST_F(scope_test, with_scope_prefers_a_failure_to_a_stop_of_its_body) {
    auto handle = spawn(*simulation, with_scope([this](scope& all) -> task<> {
        all.spawn(fails_to_clean_up());
        co_await loops(clock);
    }));
    simulation->run_until(clock.now(), 5);
    handle.request_stop();
    try {
        handle.get();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& caught) {
        EXPECT_STREQ(caught.what(), "it");
    }
}

task<int> nested(int depth) {
    int below = 0;
    if (depth != 0) {
        // gcc12: trivial
        co_await with_scope([&below, depth](scope& all) -> task<> {
            static constexpr auto child = [](int levels, int& result) -> task<> {
                result = co_await nested(levels);
            };
            all.spawn(child(depth - 1, below));
            co_return;
        });
    }
    co_return below + 1;
}

TEST_F(scope_test, nests) { EXPECT_EQ(block_on(*simulation, nested(1000)), 1001); }

using scope_death_test = scope_test;

TEST_F(scope_death_test, one_that_was_not_joined_says_so) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    static int sum = 0;
    EXPECT_DEATH(
        {
            scope all{*simulation};
            all.spawn(adds_after(1s, sum));
        },
        "co_await its join");
}

task<> naps_for_a_day() { co_await sleep_for(24h); }

TEST_F(scope_death_test, an_exception_that_leaves_the_owner_is_named_as_the_cause) {
    const auto throws = [](scheduler& on) -> task<> {
        scope all{on};
        all.spawn(naps_for_a_day());
        throw std::runtime_error{"it"};
        co_return;
    };
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(block_on(*simulation, throws(*simulation)), "an exception leaves the owner");
}

// --- on threads ----------------------------------------------------------------------------------

// The objects of a child, parameters included, are destroyed when join returns.
TEST(scope_on_threads, frees_the_frames_before_join_returns) {
    const watchdog guard;
    scheduler threads{{.workers = 3}};
    static constexpr auto holds = [](counted held) -> task<> {
        static_cast<void>(held);
        co_return;
    };
    static constexpr auto repeats = [](std::atomic<int>& alive) -> task<int> {
        int left_over = 0;
        for (int i = 0; i != 5000; ++i) {
            scope all{co_await current_scheduler()};
            for (int child = 0; child != 4; ++child) all.spawn(holds(counted{alive}));
            co_await all.join();
            left_over += alive != 0;
        }
        co_return left_over;
    };
    std::atomic<int> alive{0};
    EXPECT_EQ(block_on(threads, repeats(alive)), 0);
}

TEST(scope_on_threads, children_spawn_into_it_while_it_is_joined_and_stopped) {
    const watchdog guard;
    scheduler threads{{.workers = 3}};
    static constexpr auto child = [](auto& self, scope& all, std::atomic<int>& runs,
                                     int depth) -> task<> {
        ++runs;
        co_await yield();
        if (depth == 0) co_return;
        all.spawn(self(self, all, runs, depth - 1));
        all.spawn(self(self, all, runs, depth - 1));
    };
    static constexpr auto whole = [](std::atomic<int>& runs, bool stops) -> task<> {
        scope all{co_await current_scheduler()};
        all.spawn(child(child, all, runs, 6));
        if (stops) {
            co_await yield();
            all.request_stop();
        }
        co_await all.join();
    };
    for (int i = 0; i != 100; ++i) {
        std::atomic<int> runs{0};
        block_on(threads, whole(runs, i % 2 == 1));
        EXPECT_LE(runs, 127);
        EXPECT_TRUE(i % 2 == 1 || runs == 127);
    }
}

// A stop that comes at any moment of the children's lives ends them all.
TEST(scope_on_threads, a_stop_races_with_the_starts) {
    const watchdog guard;
    scheduler threads{{.workers = 3}};
    static constexpr auto sleeps_long = [](std::atomic<int>& stopped) -> task<> {
        stopped += co_await test::ending_of(sleep_for(24h)) == wake_reason::stopped;
    };
    for (int i = 0; i != 500; ++i) {
        std::atomic<int> stopped{0};
        scope all{threads};
        for (int child = 0; child != 8; ++child) all.spawn(sleeps_long(stopped));
        all.request_stop();
        block_on(threads, joins(all));
        EXPECT_EQ(stopped, 8);
    }
}

// --- a token for one child -----------------------------------------------------------------------

TEST_F(scope_test, a_token_stops_one_child_and_no_other) {
    std::stop_source source;
    wake_reason first{};
    wake_reason second{};
    static constexpr auto sleeps_into = [](wake_reason& why) -> task<> {
        why = co_await test::ending_of(sleep_for(1h));
    };
    const auto body = [&](scope& all) -> task<> {
        all.spawn(sleeps_into(first), {.name = "first", .stop = source.get_token()});
        all.spawn(sleeps_into(second));
        co_await sleep_for(1s);
        source.request_stop();
    };
    block_on(*simulation, with_scope(body));
    EXPECT_EQ(first, wake_reason::stopped);
    EXPECT_EQ(second, wake_reason::expired);
}

}  // namespace
}  // namespace fairlead::scope_tests
