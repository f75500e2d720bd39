// when_all_settled, when_any, race: results, losers, failures, stops.
#include "combine/children.hpp"
#include "support/probes.hpp"
#include "support/sanitizer.hpp"
#include "support/watchdog.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/combine/race.hpp>
#include <fairlead/combine/when_all_settled.hpp>
#include <fairlead/combine/when_any.hpp>
#include <fairlead/combine/with_timeout.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <malloc.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead::when_any_tests {
namespace {

using namespace std::chrono_literals;
using test::combine_test;
using test::fails;
using test::fails_late;
using test::gives;
using test::insists;
using test::move_only;
using test::throws_at_once;
using test::watchdog;
using test::what_of;

task<> nothing() { co_return; }
task<move_only> movable(int value) { co_return move_only{value}; }

// --- when_all_settled ----------------------------------------------------------------------------

TEST_F(combine_test, settled_gives_every_end_in_order) {
    const time_point begin = clock.now();
    const auto [one, two, three, four] = block_on(
        *simulation, when_all_settled(gives(3h, 1), fails(1h, "it"), nothing(), movable(4)));
    EXPECT_EQ(one, 1);
    EXPECT_EQ(what_of(two.error()), "it");
    EXPECT_FALSE(was_stopped(two));
    EXPECT_TRUE(three.has_value());
    EXPECT_EQ(four->value, 4);
    EXPECT_EQ(clock.now(), begin + 3h) << "a failure does not touch the rest";
}

TEST_F(combine_test, settled_of_a_vector) {
    std::vector<task<int>> bodies;
    bodies.push_back(gives(2h, 1));
    bodies.push_back(fails(1h, "it"));
    const auto all = block_on(*simulation, when_all_settled(std::move(bodies)));
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0], 1);
    EXPECT_EQ(what_of(all[1].error()), "it");
    EXPECT_TRUE(block_on(*simulation, when_all_settled(std::vector<task<int>>{})).empty());
    EXPECT_EQ(std::tuple_size_v<decltype(block_on(*simulation, when_all_settled()))>, 0U);
}

TEST_F(combine_test, settled_tells_a_stop) {
    const time_point begin = clock.now();
    const auto ended =
        stopped_after(1h, when_all_settled(gives(24h, 1), insists(3h, 2), gives(30min, 3)));
    const auto& [one, two, three] = ended.value();
    EXPECT_TRUE(was_stopped(one));
    EXPECT_EQ(two, 2);
    EXPECT_FALSE(was_stopped(two));
    EXPECT_EQ(three, 3);
    EXPECT_EQ(clock.now(), begin + 3h);
}

// --- when_any ------------------------------------------------------------------------------------

TEST_F(combine_test, any_gives_the_first_and_waits_for_the_rest) {
    const time_point begin = clock.now();
    const auto first = block_on(*simulation, when_any(gives(24h, 1), gives(1h, 2), insists(2h, 3)));
    EXPECT_EQ(first.index, 1U);
    EXPECT_EQ(first.result, 2);
    EXPECT_EQ(clock.now(), begin + 2h) << "the first loser was stopped, the second awaited";
}

TEST_F(combine_test, any_of_several_types_gives_a_variant) {
    const auto text = []() -> task<std::string> { co_return "text"; };
    const auto first = block_on(*simulation, when_any(gives(1h, 1), text(), nothing()));
    static_assert(std::is_same_v<decltype(first.result),
                                 const settled<std::variant<int, std::string, std::monostate>>> ||
                  std::is_same_v<std::remove_cv_t<decltype(first.result)>,
                                 settled<std::variant<int, std::string, std::monostate>>>);
    EXPECT_EQ(first.index, 1U);
    EXPECT_EQ(std::get<1>(*first.result), "text");
    const auto void_first = block_on(*simulation, when_any(nothing(), nothing()));
    static_assert(std::is_same_v<std::remove_cv_t<decltype(void_first.result)>, settled<void>>);
    EXPECT_TRUE(void_first.result.has_value());
}

// The bug of libcoro: a branch that throws never ended its when_any.
TEST_F(combine_test, a_branch_that_throws_ends_each_combinator) {
    for (const bool throws_first : {true, false}) {
        const auto branch = [&](bool first) {
            return first == throws_first ? throws_at_once("it") : gives(24h, 1);
        };
        const time_point begin = clock.now();
        const auto any = block_on(*simulation, when_any(branch(true), branch(false)));
        EXPECT_EQ(any.index, throws_first ? 0U : 1U);
        EXPECT_EQ(what_of(any.result.error()), "it");
        EXPECT_THROW(block_on(*simulation, when_all(branch(true), branch(false))),
                     std::runtime_error);
        EXPECT_EQ(clock.now(), begin);
        EXPECT_EQ(block_on(*simulation, race(branch(true), branch(false))), 1);
        EXPECT_EQ(clock.now(), begin + 24h);
    }
}

TEST_F(combine_test, results_of_losers_go_to_the_sink_in_order) {
    std::vector<std::pair<std::size_t, std::string>> lost;
    const auto sink = [&](std::size_t index, settled<int> ended) {
        lost.emplace_back(index, ended ? std::to_string(*ended) : what_of(ended.error()));
    };
    const auto first = block_on(*simulation, when_any(on_loser(sink), insists(3h, 1), gives(1h, 2),
                                                      fails_late(2h, "it"), gives(24h, 4)));
    EXPECT_EQ(first.index, 1U);
    const std::vector<std::pair<std::size_t, std::string>> expected{
        {0, "1"}, {2, "it"}, {3, stopped_error{}.what()}};
    EXPECT_EQ(lost, expected);

    lost.clear();
    std::vector<task<int>> bodies;
    bodies.push_back(gives(1h, 1));
    bodies.push_back(insists(2h, 2));
    EXPECT_EQ(block_on(*simulation, when_any(on_loser(sink), std::move(bodies))).index, 0U);
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost.front(), (std::pair<std::size_t, std::string>{1, "2"}));
}

TEST_F(combine_test, an_exception_of_the_sink_leaves_any) {
    const auto refuses = [](std::size_t, const settled<int>&) { throw std::runtime_error{"sink"}; };
    try {
        block_on(*simulation, when_any(on_loser(refuses), gives(1h, 1), gives(2h, 2)));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& caught) {
        EXPECT_STREQ(caught.what(), "sink");
    }
}

// Its moves throw when they are counted down.
struct heavy {
    explicit heavy(int& moves_left) : left{&moves_left} {}
    heavy(heavy&& from) : left{from.left} {
        if ((*left)-- == 0) throw std::runtime_error{"a move"};
    }
    int* left;
};
task<heavy> gives_heavy(duration delay, int& moves_left) {
    co_await shielded(sleep_for(delay));
    co_return heavy{moves_left};
}

TEST_F(combine_test, a_result_that_is_not_given_is_not_moved) {
    int of_winner = 100;
    int of_loser = 1;  // into the result of the child
    const auto first =
        block_on(*simulation, when_any(gives_heavy(1h, of_winner), gives_heavy(2h, of_loser)));
    EXPECT_EQ(first.index, 0U);
    EXPECT_TRUE(first.result.has_value());
    EXPECT_EQ(of_loser, 0);
}

TEST_F(combine_test, a_move_that_throws_leaves_each_combinator) {
    const auto each = [&](auto make) {
        for (int moves = 0;; ++moves) {
            int left = moves;
            int rest = 100;
            try {
                block_on(*simulation, make(left, rest));
            } catch (const std::exception& failure) {
                ASSERT_STREQ(failure.what(), "a move");
                continue;
            }
            EXPECT_GT(moves, 2) << "it was moved at least so often";
            return;
        }
    };
    const auto run = [](auto combined) -> task<> {
        static_cast<void>(co_await std::move(combined));
    };
    each([&](int& a, int& b) { return run(when_all(gives_heavy(1h, a), gives_heavy(2h, b))); });
    each([&](int& a, int&) { return run(with_timeout(gives_heavy(1h, a), 2h)); });
}

TEST_F(combine_test, any_is_stopped) {
    const time_point begin = clock.now();
    const auto ended = stopped_after(1h, when_any(insists(3h, 1), gives(24h, 2)));
    EXPECT_EQ(ended.value().index, 1U);
    EXPECT_TRUE(was_stopped(ended.value().result));
    EXPECT_EQ(clock.now(), begin + 3h);
}

TEST_F(combine_test, any_takes_every_awaitable) {
    static constexpr auto waits = [](channel<int>& from) -> task<> {
        auto first = co_await when_any(from.receive(), sleep_for(1h), gives(24h, 3));
        EXPECT_EQ(first.index, 1U);
        static_cast<void>(from.try_send(5));
        auto second = co_await when_any(from.receive(), sleep_for(1h), gives(24h, 3));
        EXPECT_EQ(second.index, 0U);
        EXPECT_EQ(std::get<0>(*second.result), 5);
        EXPECT_EQ(from.length(), 0U);
        auto handle = spawn(co_await current_executor(), gives(1h, 7));
        auto third = co_await when_any(handle, gives(24h, 3));
        EXPECT_EQ(third.result, 7);
        EXPECT_EQ(third.index, 0U);
    };
    channel<int> numbers{4};
    block_on(*simulation, waits(numbers));
}

// Resumes its coroutine on the spot: an awaiter of another library.
struct foreign {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) const { waiting.resume(); }
    [[nodiscard]] int await_resume() const noexcept { return value; }
    int value;
};

TEST_F(combine_test, all_and_race_take_foreign_awaitables) {
    const auto [one, two] = block_on(*simulation, when_all(foreign{1}, gives(1h, 2)));
    EXPECT_EQ(one, 1);
    EXPECT_EQ(two, 2);
    EXPECT_EQ(block_on(*simulation, race(foreign{3}, gives(1h, 2))), 3);
    std::vector<foreign> many{{1}, {2}};
    EXPECT_EQ(block_on(*simulation, when_all(std::move(many))), (std::vector{1, 2}));
}

// --- race ----------------------------------------------------------------------------------------

TEST_F(combine_test, race_gives_the_first_success) {
    const time_point begin = clock.now();
    EXPECT_EQ(block_on(*simulation, race(fails(1h, "it"), gives(24h, 1), gives(2h, 2))), 2);
    EXPECT_EQ(clock.now(), begin + 2h);
    EXPECT_EQ(block_on(*simulation, race(movable(3), movable(4))).value, 3);
    block_on(*simulation, race(nothing(), nothing()));
}

TEST_F(combine_test, race_fails_with_every_failure) {
    const time_point begin = clock.now();
    try {
        block_on(*simulation, race(fails(2h, "one"), fails(1h, "two")));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const race_error& caught) {
        ASSERT_EQ(caught.failures().size(), 2U);
        EXPECT_EQ(what_of(caught.failures()[0]), "one");
        EXPECT_EQ(what_of(caught.failures()[1]), "two");
    }
    EXPECT_EQ(clock.now(), begin + 2h);
    try {
        block_on(*simulation, race(std::vector<task<int>>{}));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const race_error& caught) {
        EXPECT_TRUE(caught.failures().empty());
    }
}

TEST_F(combine_test, a_stop_of_a_race_is_no_failure) {
    const auto cut = stopped_after(2h, race(fails(1h, "it"), gives(24h, 1)));
    EXPECT_TRUE(was_stopped(cut));
    EXPECT_EQ(stopped_after(2h, race(fails(1h, "it"), insists(24h, 1))), 1);
}

TEST_F(combine_test, losers_of_a_race_go_to_the_sink) {
    std::vector<std::string> lost;
    const auto sink = [&](std::size_t, settled<int> ended) {
        lost.push_back(ended ? std::to_string(*ended) : what_of(ended.error()));
    };
    EXPECT_EQ(
        block_on(*simulation, race(on_loser(sink), fails(1h, "it"), gives(2h, 2), insists(3h, 3))),
        2);
    EXPECT_EQ(lost, (std::vector<std::string>{"it", "3"}));
}

// --- a bound -------------------------------------------------------------------------------------

task<int> counts(int& at_once, int& most, duration delay, int value) {
    most = std::max(most, ++at_once);
    const auto ended = co_await as_result(sleep_for(delay));
    --at_once;
    if (!ended) throw stopped_error{};
    co_return value;
}

TEST_F(combine_test, a_bound_holds_and_starts_the_next_at_each_end) {
    int at_once = 0;
    int most = 0;
    std::vector<task<int>> bodies;
    for (int i = 0; i != 100; ++i) bodies.push_back(counts(at_once, most, 1h, i));
    const time_point begin = clock.now();
    const auto all = block_on(*simulation, when_all(std::move(bodies), max_concurrency{7}));
    ASSERT_EQ(all.size(), 100U);
    for (int i = 0; i != 100; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(most, 7);
    EXPECT_EQ(clock.now(), begin + 15h);
}

TEST_F(combine_test, what_has_not_begun_never_does_after_a_decision) {
    int begun = 0;
    const auto notes = [&](duration delay) -> task<int> {
        const int number = ++begun;
        co_await sleep_for(delay);
        if (number == 3) throw std::runtime_error{"third"};
        co_return number;
    };
    const auto many = [&] {
        begun = 0;
        std::vector<task<int>> bodies;
        for (int i = 0; i != 10; ++i) bodies.push_back(notes(1h));
        return bodies;
    };
    EXPECT_THROW(block_on(*simulation, when_all(many(), max_concurrency{1})), std::runtime_error);
    EXPECT_EQ(begun, 3);
    const auto first = block_on(*simulation, when_any(many(), max_concurrency{1}));
    EXPECT_EQ(first.result, 1);
    EXPECT_EQ(begun, 1);
    const auto all = block_on(*simulation, when_all_settled(many(), max_concurrency{1}));
    EXPECT_EQ(begun, 10);
    EXPECT_EQ(what_of(all[2].error()), "third");
    const auto cut = stopped_after(150min, when_all_settled(many(), max_concurrency{1}));
    EXPECT_EQ(begun, 3);
    ASSERT_EQ(cut.value().size(), 10U);
    EXPECT_EQ(cut.value()[1], 2);
    for (std::size_t i = 2; i != 10; ++i) EXPECT_TRUE(was_stopped(cut.value()[i])) << i;
}

TEST_F(combine_test, a_bounded_race_tries_one_after_the_other) {
    std::vector<task<int>> bodies;
    bodies.push_back(fails(1h, "one"));
    bodies.push_back(fails(1h, "two"));
    bodies.push_back(gives(1h, 3));
    bodies.push_back(gives(1h, 4));
    const time_point begin = clock.now();
    EXPECT_EQ(block_on(*simulation, race(std::move(bodies), max_concurrency{1})), 3);
    EXPECT_EQ(clock.now(), begin + 3h);
}

// --- the end of the scheduler, threads -----------------------------------------------------------

TEST_F(combine_test, a_scheduler_is_destroyed_in_the_middle) {
    std::atomic<int> alive = 0;
    const auto keeps = [](test::counted kept) -> task<int> {
        co_await sleep_for(24h);
        static_cast<void>(kept);
        co_return 1;
    };
    const auto two = [&] {
        std::vector<task<int>> bodies;
        for (int i = 0; i != 4; ++i) bodies.push_back(keeps(test::counted{alive}));
        return bodies;
    };
    spawn(*simulation, when_any(two())).detach();
    spawn(*simulation, when_any(two(), max_concurrency{2})).detach();
    spawn(*simulation, when_all_settled(two(), max_concurrency{1})).detach();
    spawn(*simulation, race(two(), max_concurrency{3})).detach();
    run_for(1h);
    EXPECT_EQ(alive, 16);
    simulation.reset();
    EXPECT_EQ(alive, 0);
}

TEST_F(combine_test, ten_thousand_children) {
    const auto many = [&](auto make) {
        std::vector<task<int>> bodies;
        for (int i = 0; i != 10'000; ++i) bodies.push_back(make(i));
        return bodies;
    };
    const auto later = [](int i) { return gives((i + 1) * 1s, i); };
    const auto bad = [](int i) { return i == 9999 ? gives(1s, i) : throws_at_once("it"); };
    EXPECT_EQ(block_on(*simulation, when_any(many(later))).index, 0U);
    EXPECT_EQ(block_on(*simulation, race(many(bad), max_concurrency{10})), 9999);
    EXPECT_EQ(block_on(*simulation, when_all_settled(many(later), max_concurrency{100})).size(),
              10'000U);
}

// What the losers have allocated is given back, each round: their frames and their results.
TEST(combine_memory, stays_flat_over_rounds_with_losers) {
    constexpr int counted_rounds = test::sanitized ? 1'000 : 100'000;
    test::simulated_scheduler simulated;
    std::atomic<int> alive = 0;
    const auto holds = [&](duration delay, bool hears) -> task<std::unique_ptr<test::counted>> {
        auto kept = std::make_unique<test::counted>(alive);
        if (hears) co_await sleep_for(delay);
        if (!hears) co_await shielded(sleep_for(delay));
        co_return kept;
    };
    const auto rounds = [&](int count) -> task<int> {
        int lost = 0;
        const auto counts = [&](std::size_t, auto ended) { lost += ended.has_value() ? 1 : 0; };
        for (int i = 0; i != count; ++i) {
            // The first loser is stopped, the second one ends with a result.
            const auto first = co_await when_any(on_loser(counts), holds(1s, true),
                                                 holds(24h, true), holds(2s, false));
            if (first.index != 0) co_return -1;
        }
        co_return lost;
    };
    constexpr time_span ages = std::chrono::hours{1'000'000};
    EXPECT_EQ(simulated.run(rounds(1'000), ages), 1'000);  // what is kept for reuse is there now
    const auto before = mallinfo2().uordblks;
    EXPECT_EQ(simulated.run(rounds(counted_rounds), ages), counted_rounds);
    const auto after = mallinfo2().uordblks;
    EXPECT_LT(after, before + 10'000);
    EXPECT_EQ(alive, 0);
}

TEST(combine_on_threads, ends_race_with_each_other_and_with_a_stop) {
    const watchdog guard;
    scheduler threads{{.workers = 4}};
    for (int i = 0; i != 2000; ++i) {
        std::vector<task<int>> bodies;
        for (int j = 0; j != 6; ++j) bodies.push_back(gives((i + j) % 3 * 5us, j));
        auto handle = spawn(threads, when_any(std::move(bodies), max_concurrency{3}));
        if (i % 2 == 0) handle.request_stop();
        const auto first = handle.get();
        EXPECT_TRUE(first.result || was_stopped(first.result));
        if (first.result) {
            EXPECT_EQ(static_cast<std::size_t>(*first.result), first.index);
        }
    }
}

TEST(combine_on_threads, a_bound_holds) {
    const watchdog guard;
    scheduler threads{{.workers = 4}};
    std::atomic<int> at_once = 0;
    std::atomic<bool> exceeded = false;
    const auto body = [&](int value) -> task<int> {
        if (++at_once > 5) exceeded = true;
        co_await yield();
        --at_once;
        co_return value;
    };
    for (int i = 0; i != 100; ++i) {
        std::vector<task<int>> bodies;
        for (int j = 0; j != 50; ++j) bodies.push_back(body(j));
        const auto all = block_on(threads, when_all(std::move(bodies), max_concurrency{5}));
        for (int j = 0; j != 50; ++j) EXPECT_EQ(all[static_cast<std::size_t>(j)], j);
    }
    EXPECT_FALSE(exceeded);
}

}  // namespace
}  // namespace fairlead::when_any_tests
