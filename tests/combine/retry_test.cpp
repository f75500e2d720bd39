// with_timeout, retry and its budget, repeat, fold, the forms for std::expected.
#include "combine/children.hpp"

#include <fairlead/channel/broadcast.hpp>
#include <fairlead/channel/channel.hpp>
#include <fairlead/combine/fold.hpp>
#include <fairlead/combine/race.hpp>
#include <fairlead/combine/repeat.hpp>
#include <fairlead/combine/retry.hpp>
#include <fairlead/combine/when_all_ok.hpp>
#include <fairlead/combine/with_timeout.hpp>
#include <fairlead/context/context.hpp>
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/wait/event.hpp>
#include <fairlead/wait/mutex.hpp>
#include <fairlead/wait/semaphore.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead::retry_tests {
namespace {

using namespace std::chrono_literals;
using test::answer;
using test::answers;
using test::fails;
using test::fails_late;
using test::gives;
using test::insists;
using test::refuses;
using test::what_of;

// --- with_timeout --------------------------------------------------------------------------------

class timeout_test : public test::combine_test {};

TEST_F(timeout_test, ends_in_time_or_expired) {
    const time_point begin = clock.now();
    EXPECT_EQ(block_on(*simulation, with_timeout(gives(1h, 1), 2h)), 1);
    EXPECT_EQ(clock.now(), begin + 1h);
    const auto late = block_on(*simulation, with_timeout(gives(24h, 1), clock.now() + 2h));
    EXPECT_EQ(late.error(), wait_error::expired);
    EXPECT_EQ(clock.now(), begin + 3h);
    EXPECT_TRUE(block_on(*simulation, with_timeout(sleep_for(1h), 2h)));
}

TEST_F(timeout_test, a_late_success_wins_and_a_failure_is_thrown) {
    const time_point begin = clock.now();
    EXPECT_EQ(block_on(*simulation, with_timeout(insists(5h, 1), 2h)), 1);
    EXPECT_EQ(clock.now(), begin + 5h);
    EXPECT_THROW(block_on(*simulation, with_timeout(fails_late(5h, "it"), 2h)), std::runtime_error);
}

// The child ends after both, and the earlier of the two is told.
TEST_F(timeout_test, tells_a_stop_from_the_deadline) {
    static constexpr auto cleans_up = []() -> task<int> {
        const auto ended = co_await as_result(sleep_for(24h));
        co_await shielded(sleep_for(10h));
        if (!ended) throw stopped_error{};
        co_return 1;
    };
    EXPECT_EQ(stopped_after(1h, with_timeout(cleans_up(), 2h)).value().error(),
              wait_error::stopped);
    EXPECT_EQ(stopped_after(3h, with_timeout(cleans_up(), 2h)).value().error(),
              wait_error::expired);
}

// The wait is moved into the task, so the function may return it.
task<waited<int>> receives_within(channel<int>& from, time_span limit) {
    return with_timeout(from.receive(), limit);
}
task<waited<held<const int>>> hears_within(subscription<int>& from, time_span limit) {
    return with_timeout(from.receive(), limit);
}

TEST_F(timeout_test, a_wait_may_leave_the_function_that_has_made_it) {
    channel<int> numbers{1};
    auto late = receives_within(numbers, 1h);
    auto in_time = receives_within(numbers, 3h);
    const auto sends = [&]() -> task<> {
        co_await sleep_for(2h);
        static_cast<void>(co_await numbers.send(4));
    };
    const auto [none, four, sent] =
        block_on(*simulation, when_all(std::move(late), std::move(in_time), sends()));
    EXPECT_EQ(none.error(), wait_error::expired);
    EXPECT_EQ(four, 4);

    broadcast<int> lines{4};
    auto all = lines.subscribe();
    auto hears = hears_within(all, 1h);
    EXPECT_TRUE(lines.try_send(5));
    const auto heard = block_on(*simulation, std::move(hears));
    EXPECT_EQ(**heard, 5);

    semaphore one{1};
    mutex guard;
    auto units = with_timeout(one.acquire(), 1h);
    auto locks = with_timeout(guard.lock(), 1h);
    EXPECT_TRUE(block_on(*simulation, std::move(units)).has_value());
    EXPECT_TRUE(block_on(*simulation, std::move(locks)).has_value());
    EXPECT_EQ(one.available(), 1U) << "what was granted was given back with the results";
    EXPECT_FALSE(guard.is_locked());
}

TEST_F(timeout_test, of_a_wait_that_says_stopped_itself) {
    static constexpr auto waits = [](channel<int>& from) -> task<> {
        const auto late = co_await with_timeout(from.receive(), 1h);
        static_assert(std::is_same_v<decltype(late), const waited<int>>);
        EXPECT_EQ(late.error(), wait_error::expired);
        from.close();
        const auto closed = co_await with_timeout(from.receive(), 1h);
        EXPECT_EQ(closed.error(), wait_error::closed);
    };
    channel<int> numbers{1};
    block_on(*simulation, waits(numbers));
}

// A child that has left the context of the caller, and does not end by its deadline.
task<int> apart(duration delay) {
    static constexpr auto sleeps = [](duration length) -> task<int> {
        co_await sleep_for(length);
        co_return 1;
    };
    return with_context(context{}, sleeps(delay));
}
task<waited<int>> times(duration limit, duration delay) {
    co_return co_await with_timeout(apart(delay), limit);
}

TEST_F(timeout_test, holds_after_an_inherited_deadline_that_is_earlier) {
    const time_point begin = clock.now();
    const auto late = block_on(*simulation, with_deadline(1h, times(2h, 24h)));
    EXPECT_EQ(late.error(), wait_error::expired);
    EXPECT_EQ(clock.now() - begin, 2h);
}

TEST_F(timeout_test, holds_beside_an_inherited_deadline_at_the_same_time) {
    const time_point begin = clock.now();
    EXPECT_FALSE(block_on(*simulation, with_deadline(2h, times(2h, 24h))).has_value());
    EXPECT_LT(clock.now() - begin, 2h + 1s);
}

// --- retry ---------------------------------------------------------------------------------------

class retry_test : public test::combine_test {
protected:
    // Fails until the attempt `good`.
    auto fails_until(std::uint32_t good) {
        return [this, good](std::uint32_t attempt) -> task<int> {
            begun.push_back(clock.now() - start);
            if (attempt < good) throw std::runtime_error{std::to_string(attempt)};
            co_return static_cast<int>(attempt);
        };
    }

    const time_point start = clock.now();
    std::vector<duration> begun;
};

TEST_F(retry_test, tries_again_with_growing_delays) {
    const retry_policy policy{
        .attempts = 6, .first_delay = 1s, .factor = 3, .longest_delay = 10s, .jitter = 0};
    EXPECT_EQ(block_on(*simulation, retry(policy, fails_until(6))), 6);
    EXPECT_EQ(begun, (std::vector<duration>{0s, 1s, 4s, 13s, 23s, 33s}));
}

TEST_F(retry_test, gives_the_last_failure) {
    try {
        block_on(*simulation, retry({.attempts = 3}, fails_until(9)));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& caught) {
        EXPECT_STREQ(caught.what(), "3");
    }
    EXPECT_EQ(begun.size(), 3U);
}

TEST_F(retry_test, the_jitter_is_within_its_bounds_and_each_run_is_the_same) {
    const retry_policy policy{.first_delay = 1s, .factor = 1, .jitter = 0.25, .seed = 7};
    duration least = 1h;
    duration most = 0s;
    for (std::uint32_t number = 1; number != 1000; ++number) {
        const duration delay = policy.delay_before(number, start);
        EXPECT_EQ(delay, policy.delay_before(number, start));
        least = std::min(least, delay);
        most = std::max(most, delay);
    }
    EXPECT_GE(least, 750ms);
    EXPECT_LE(least, 760ms);
    EXPECT_LE(most, 1s);
    EXPECT_GE(most, 990ms);
    retry_policy other = policy;
    other.seed = 8;
    EXPECT_NE(policy.delay_before(1, start), other.delay_before(1, start));
    EXPECT_NE(policy.delay_before(1, start), policy.delay_before(1, start + 1ns));
}

TEST_F(retry_test, asks_whether_a_failure_is_worth_it) {
    const auto not_two = [](const std::exception_ptr& failure) { return what_of(failure) != "2"; };
    EXPECT_THROW(block_on(*simulation, retry({.attempts = 9}, fails_until(5), not_two)),
                 std::runtime_error);
    EXPECT_EQ(begun.size(), 2U);
}

TEST_F(retry_test, an_error_is_a_failure) {
    int made = 0;
    const auto make = [&]() -> task<answer> {
        ++made;
        return made == 3 ? answers(1s, 3) : refuses(1s, "no " + std::to_string(made));
    };
    EXPECT_EQ(block_on(*simulation, retry({.attempts = 5}, make)), 3);
    made = 0;
    EXPECT_EQ(block_on(*simulation, retry({.attempts = 2}, make)).error(), "no 2");
    made = 0;
    const auto never_worth = [](const std::string&) { return false; };
    EXPECT_EQ(block_on(*simulation, retry({.attempts = 5}, make, never_worth)).error(), "no 1");
    EXPECT_EQ(made, 1);
}

TEST_F(retry_test, begins_no_delay_beyond_the_total) {
    const retry_policy policy{
        .attempts = 100, .first_delay = 1s, .factor = 1, .jitter = 0, .total = 3500ms};
    EXPECT_THROW(block_on(*simulation, retry(policy, fails_until(99))), std::runtime_error);
    EXPECT_EQ(begun, (std::vector<duration>{0s, 1s, 2s, 3s}));
    EXPECT_EQ(clock.now(), start + 3s) << "gives up at once";
}

TEST_F(retry_test, begins_no_delay_beyond_the_deadline_of_the_context) {
    const retry_policy policy{.attempts = 100, .first_delay = 1s, .factor = 1, .jitter = 0};
    EXPECT_THROW(
        block_on(*simulation, with_deadline(time_span{3500ms}, retry(policy, fails_until(99)))),
        std::runtime_error);
    EXPECT_EQ(begun, (std::vector<duration>{0s, 1s, 2s, 3s}));
    EXPECT_EQ(clock.now(), start + 3s) << "gives up at once";
}

TEST_F(retry_test, a_stop_ends_the_delay) {
    const auto cut = stopped_after(
        1h, retry({.first_delay = 24h, .longest_delay = 24h, .jitter = 0}, fails_until(9)));
    EXPECT_TRUE(was_stopped(cut));
    EXPECT_EQ(begun.size(), 1U);
    EXPECT_EQ(clock.now(), start + 1h);
}

TEST_F(retry_test, a_stop_is_not_tried_again) {
    int made = 0;
    const auto stopped = [&]() -> task<int> {
        ++made;
        co_await sleep_for(24h);
        co_return 1;
    };
    EXPECT_TRUE(was_stopped(stopped_after(1h, retry({.attempts = 9}, stopped))));
    channel<int> silent{1};
    const auto receives = [&]() -> task<waited<int>> {
        ++made;
        co_return co_await with_timeout(silent.receive(), 24h);
    };
    EXPECT_EQ(stopped_after(1h, retry({.attempts = 9}, receives)).value().error(),
              wait_error::stopped);
    EXPECT_EQ(made, 2);
}

TEST_F(retry_test, an_exception_of_the_question_leaves_it) {
    int calls = 0;
    const auto asks = [&calls]() -> task<answer> {
        ++calls;
        return refuses(1h, "busy");
    };
    const auto cannot_say = [](const std::string&) -> bool {
        throw std::logic_error{"cannot say"};
    };
    EXPECT_THROW(block_on(*simulation, retry({}, asks, cannot_say)), std::logic_error);
    EXPECT_EQ(calls, 1);
    // Also if the question would take that exception for a failure of the attempt.
    const auto cannot_say_either = [&](const auto& of) -> bool {
        if constexpr (std::is_same_v<decltype(of), const std::string&>) return cannot_say(of);
        return true;
    };
    EXPECT_THROW(block_on(*simulation, retry({}, asks, cannot_say_either)), std::logic_error);
    EXPECT_EQ(calls, 2);
}

// The attempt says itself that the time is over: no token is taken, and what it says is given.
TEST_F(retry_test, an_attempt_that_is_overdue_is_not_tried_again) {
    retry_budget budget{0, 10};
    const auto calls = [&]() -> task<waited<int>> {
        event never_set;
        const auto waits = [&]() -> task<waited<int>> {
            const auto ended = co_await never_set.wait();
            co_return std::unexpected{ended.error()};
        };
        // No delay: the next attempt would begin at the deadline, not after it.
        const retry_policy often{.attempts = 5, .first_delay = {}, .budget = &budget};
        const auto ended = co_await retry(often, waits);
        EXPECT_EQ(ended.error(), wait_error::overdue);
        co_return ended;
    };
    EXPECT_EQ(block_on(*simulation, with_deadline(1h, calls())).error(), wait_error::expired);
    EXPECT_EQ(budget.tokens(), 10);
}

// Retries for ever, without a bound of the delay: an overflow would make a delay none.
TEST_F(retry_test, delays_saturate) {
    const retry_policy grows{.longest_delay = duration::max(), .jitter = 0};
    duration last{0};
    for (const std::uint32_t number : {1U, 2U, 30U, 37U, 38U, 64U, 2000U, UINT32_MAX}) {
        const duration delay = grows.delay_before(number, start);
        EXPECT_GE(delay, last) << number;
        last = delay;
    }
    EXPECT_EQ(last, duration::max());
    const retry_policy steady{.factor = 1, .jitter = 0};
    EXPECT_EQ(steady.delay_before(UINT32_MAX, start), 100ms) << "in constant time";
    const retry_policy thrice{.factor = 3, .longest_delay = 24h, .jitter = 0};
    EXPECT_EQ(thrice.delay_before(6, start), 100ms * 243);
}

TEST_F(retry_test, takes_tokens_that_calls_share) {
    retry_budget budget{0.5, 2};
    const retry_policy policy{.attempts = 2, .budget = &budget};
    for (int i = 0; i != 20; ++i) {
        EXPECT_THROW(block_on(*simulation, retry(policy, fails_until(9))), std::runtime_error);
    }
    // 2 at first, and 0.5 of each later call: the deposit of the first finds the bucket full.
    EXPECT_EQ(begun.size(), 20U + 11U);
    EXPECT_LT(budget.tokens(), 1);
    budget.deposit();
    budget.deposit();
    EXPECT_TRUE(budget.try_take());
    for (int i = 0; i != 100; ++i) budget.deposit();
    EXPECT_EQ(budget.tokens(), 2) << "never more than its size";
}

// --- loops ---------------------------------------------------------------------------------------

class loops_test : public test::combine_test {};

TEST_F(loops_test, repeat_runs_steps_one_after_the_other) {
    std::vector<std::size_t> seen;
    const auto step = [&](std::size_t index) -> task<> {
        co_await sleep_for(1h);
        seen.push_back(index);
    };
    const time_point begin = clock.now();
    block_on(*simulation, repeat(3, step));
    EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2}));
    EXPECT_EQ(clock.now(), begin + 3h);
    block_on(*simulation, repeat(0, step));
    EXPECT_EQ(seen.size(), 3U);
}

TEST_F(loops_test, the_first_failure_ends_the_loop) {
    int made = 0;
    const auto throws = [&](std::size_t index) {
        ++made;
        return index == 2 ? fails(1s, "it") : gives(1s, 0);
    };
    EXPECT_THROW(block_on(*simulation, repeat(9, throws)), std::runtime_error);
    EXPECT_EQ(made, 3);
    const auto errs = [&](std::size_t index) {
        ++made;
        return index == 2 ? refuses(1s, "no") : answers(1s, 0);
    };
    made = 0;
    const auto ended = block_on(*simulation, repeat(9, errs));
    static_assert(std::is_same_v<decltype(ended), const std::expected<void, std::string>>);
    EXPECT_EQ(ended.error(), "no");
    EXPECT_EQ(made, 3);
    EXPECT_TRUE(block_on(*simulation, repeat(2, errs)));
}

TEST_F(loops_test, a_stop_ends_a_loop_of_steps_that_never_wait) {
    int made = 0;
    const auto step = [&]() -> task<> {
        if (++made == 10) (co_await current_task()).request_stop();
    };
    EXPECT_TRUE(was_stopped(stopped_after(1h, repeat(1000, step))));
    EXPECT_EQ(made, 10);
    const auto adds = [&](int sum, int element) -> task<int> {
        if (element == 2) (co_await current_task()).request_stop();
        ++made;
        co_return sum + element;
    };
    EXPECT_TRUE(was_stopped(stopped_after(1h, fold(std::vector{1, 2, 3}, 0, adds))));
    EXPECT_EQ(made, 12);
}

TEST_F(loops_test, fold_makes_a_value_in_order) {
    const auto joins = [](std::string before, const std::string& element) -> task<std::string> {
        co_await sleep_for(1h);
        co_return before + element;
    };
    const std::vector<std::string> words{"a", "b", "c"};
    EXPECT_EQ(block_on(*simulation, fold(words, std::string{"-"}, joins)), "-abc");
    EXPECT_EQ(block_on(*simulation, fold(std::vector<std::string>{}, std::string{"-"}, joins)),
              "-");
    const auto checks = [](int sum, int element) {
        return element == 3 ? refuses(1s, "three") : answers(1s, sum + element);
    };
    EXPECT_EQ(block_on(*simulation, fold(std::vector{1, 2}, 0, checks)), 3);
    EXPECT_EQ(block_on(*simulation, fold(std::vector{1, 3, 2}, 0, checks)).error(), "three");
}

// --- children that give a std::expected ----------------------------------------------------------

class ok_test : public test::combine_test {};

TEST_F(ok_test, all_gives_the_values_or_the_first_error_in_time) {
    const auto nothing = []() -> task<std::expected<void, std::string>> {
        co_return std::expected<void, std::string>{};
    };
    const auto all = block_on(*simulation, when_all_ok(answers(1h, 1), nothing(), answers(1s, 3)));
    EXPECT_EQ(all, (std::tuple{1, std::monostate{}, 3}));
    const time_point begin = clock.now();
    const auto failed = block_on(
        *simulation, when_all_ok(answers(24h, 1), refuses(2h, "later"), refuses(1h, "sooner")));
    EXPECT_EQ(failed.error(), "sooner");
    EXPECT_EQ(clock.now(), begin + 1h) << "the rest were stopped";
}

TEST_F(ok_test, all_of_a_vector) {
    const auto many = [](bool fails) {
        std::vector<task<answer>> bodies;
        for (int i = 0; i != 5; ++i) bodies.push_back(answers(1h, i));
        if (fails) bodies.push_back(refuses(1s, "no"));
        return bodies;
    };
    EXPECT_EQ(block_on(*simulation, when_all_ok(many(false), max_concurrency{2})),
              (std::vector{0, 1, 2, 3, 4}));
    EXPECT_EQ(block_on(*simulation, when_all_ok(many(true))).error(), "no");
}

TEST_F(ok_test, an_exception_and_a_stop) {
    const auto throws = []() -> task<answer> {
        throw std::runtime_error{"thrown"};
        co_return 1;
    };
    EXPECT_THROW(block_on(*simulation, when_all_ok(throws(), refuses(1h, "no"))),
                 std::runtime_error);
    EXPECT_TRUE(was_stopped(stopped_after(1h, when_all_ok(answers(24h, 1)))));
}

TEST_F(ok_test, race_of_expected_takes_the_first_value) {
    EXPECT_EQ(block_on(*simulation, race_ok(refuses(1s, "no"), answers(24h, 1), answers(1h, 2))),
              2);
    EXPECT_EQ(block_on(*simulation, race_ok(refuses(2s, "one"), refuses(1s, "two"))).error(),
              (std::vector<std::string>{"one", "two"}));
    std::vector<task<answer>> bodies;
    bodies.push_back(refuses(1s, "no"));
    bodies.push_back(answers(1h, 1));
    EXPECT_EQ(block_on(*simulation, race_ok(std::move(bodies), max_concurrency{1})), 1);
}

}  // namespace
}  // namespace fairlead::retry_tests
