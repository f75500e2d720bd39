// An inherited deadline ends each wait, and says which deadline it was.
#include <fairlead/channel/channel.hpp>
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/condition.hpp>
#include <fairlead/wait/event.hpp>
#include <fairlead/wait/mutex.hpp>

#include "support/ending_of.hpp"
#include "support/simulated_test.hpp"

#include <gtest/gtest.h>

#include <expected>
#include <functional>
#include <stdexcept>
#include <vector>

namespace fairlead::with_deadline_tests {
namespace {

using namespace std::chrono_literals;

class with_deadline_test : public test::simulated_test {
protected:
    template <class T>
    T run(task<T> body) {
        return block_on(*simulation, std::move(body));
    }
};

task<> sleeps(duration length) { co_await sleep_for(length); }
task<int> gives_after(duration length, int value) {
    co_await sleep_for(length);
    co_return value;
}
task<wake_reason> ends(duration length) { co_return co_await test::ending_of(sleep_for(length)); }

TEST_F(with_deadline_test, gives_the_result_of_a_body_that_is_in_time) {
    EXPECT_EQ(run(with_deadline(2s, gives_after(1s, 7))), 7);
    EXPECT_TRUE(run(with_deadline(2s, sleeps(1s))).has_value());
}

TEST_F(with_deadline_test, ends_a_body_at_its_deadline) {
    const time_point begin = clock.now();
    const auto late = run(with_deadline(2s, gives_after(1h, 7)));
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error(), wait_error::expired);
    EXPECT_EQ(clock.now() - begin, 2s);
}

TEST_F(with_deadline_test, takes_a_point_in_time) {
    const time_point begin = clock.now();
    EXPECT_EQ(run(with_deadline(begin + 3s, sleeps(1h))).error(), wait_error::expired);
    EXPECT_EQ(clock.now() - begin, 3s);
}

// A body may give the result of another task, which had a deadline of its own.
TEST_F(with_deadline_test, takes_no_result_of_another_task_for_its_own) {
    const auto body = []() -> task<waited<int>> { co_return std::unexpected{wait_error::overdue}; };
    EXPECT_EQ(run(with_deadline(2s, body())).error(), wait_error::overdue);
}

// It has passed the end on, and waits; its own deadline still counts.
TEST_F(with_deadline_test, a_join_that_passes_it_on_ends_at_its_own_deadline) {
    const auto insists = []() -> task<int> {
        co_await shielded(sleep_for(1h));
        co_return 7;
    };
    const auto joins = [](join_handle<int>& other, time_point own) -> task<waited<int>> {
        co_return co_await other.join_until(own, on_stop::pass_on);
    };
    const time_point begin = clock.now();
    auto other = spawn(*simulation, insists());
    EXPECT_EQ(run(with_deadline(1s, joins(other, begin + 2s))).error(), wait_error::expired);
    EXPECT_EQ(clock.now() - begin, 2s);
    EXPECT_EQ(other.get(), 7);
}

TEST_F(with_deadline_test, does_not_end_a_wait_whose_own_deadline_is_earlier) {
    const auto body = [](event& never_set, time_point own) -> task<waited<void>> {
        co_return co_await never_set.wait(own);
    };
    event never_set;
    const auto ended = run(with_deadline(2s, body(never_set, clock.now() + 1s)));
    EXPECT_EQ(ended.error(), wait_error::expired);
}

task<std::vector<wait_error>> waits_again(event& never_set, duration* at_end) {
    std::vector<wait_error> seen;
    const time_point begin = (co_await current_scheduler()).now();
    for (int i = 0; i != 3; ++i) {
        const auto ended = co_await never_set.wait();
        seen.push_back(ended ? wait_error::closed : ended.error());
    }
    *at_end = (co_await current_scheduler()).now() - begin;
    co_return seen;
}

TEST_F(with_deadline_test, is_sticky_until_the_body_is_left) {
    event never_set;
    duration at_end{};
    const auto body = [&]() -> task<std::vector<wait_error>> {
        auto seen = co_await with_deadline(2s, waits_again(never_set, &at_end));
        const time_point after = (co_await current_scheduler()).now() + 1s;
        const auto later = co_await never_set.wait(after);
        seen->push_back(later.error());
        co_return *seen;
    };
    const std::vector<wait_error> expected{wait_error::overdue, wait_error::overdue,
                                           wait_error::overdue, wait_error::expired};
    EXPECT_EQ(run(body()), expected);
    EXPECT_EQ(at_end, 2s);
}

// A wait that would find what it asks for.
TEST_F(with_deadline_test, ends_a_wait_before_anything_is_taken) {
    channel<int> numbers{4};
    const auto body = [&]() -> task<waited<int>> {
        static_cast<void>(co_await as_result(sleep_for(1h)));
        auto got = co_await numbers.receive();
        co_return got;
    };
    ASSERT_TRUE(numbers.try_send(7).has_value());
    EXPECT_EQ(run(with_deadline(1s, body())).error(), wait_error::expired);
    EXPECT_EQ(numbers.try_receive(), 7);
}

TEST_F(with_deadline_test, ends_each_kind_of_wait) {
    event never_set;
    mutex kept;
    std::vector<wait_error> seen;
    std::vector<wake_reason> reasons;
    ASSERT_TRUE(kept.try_lock());
    const auto body = [&]() -> task<> {
        const auto of_event = co_await never_set.wait();
        seen.push_back(of_event.error());
        const auto of_mutex = co_await kept.lock();
        seen.push_back(of_mutex.error());
        const auto of_turn = co_await as_result(yield());
        seen.push_back(of_turn.error());
        const auto of_call = co_await as_result(blocking([] { return 1; }));
        seen.push_back(of_call.error());
        const auto of_loop = co_await as_result(for_each_index(10, [](std::size_t) {}));
        seen.push_back(of_loop.error());
        reasons.push_back(co_await wait_until_woken());
        reasons.push_back(co_await receive_signal());
    };
    EXPECT_TRUE(run(with_deadline(1s, body())).has_value());
    EXPECT_EQ(seen, std::vector(5, wait_error::overdue));
    EXPECT_EQ(reasons, std::vector(2, wake_reason::overdue));
}

TEST_F(with_deadline_test, ends_the_wait_for_a_condition_with_the_mutex_locked) {
    mutex guard;
    condition never_true;
    const auto body = [&]() -> task<waited<void>> {
        auto lock = co_await guard.lock();
        const auto ended = co_await never_true.wait(*lock, [] { return false; });
        EXPECT_FALSE(guard.try_lock());
        co_return ended;
    };
    EXPECT_EQ(run(with_deadline(1s, body())).error(), wait_error::expired);
    EXPECT_TRUE(guard.try_lock());
}

// --- which deadline ------------------------------------------------------------------------------

TEST_F(with_deadline_test, an_inner_deadline_that_is_earlier_is_its_own) {
    const auto body = [&]() -> task<wait_error> {
        const auto inner = co_await with_deadline(1s, sleeps(1h));
        co_return inner.error();
    };
    const auto outer = run(with_deadline(2s, body()));
    ASSERT_TRUE(outer.has_value());
    EXPECT_EQ(*outer, wait_error::expired);
}

TEST_F(with_deadline_test, an_outer_deadline_that_is_earlier_passes_through_the_inner) {
    bool inner_has_given = false;
    const auto body = [&]() -> task<> {
        static_cast<void>(co_await with_deadline(2s, sleeps(1h)));
        inner_has_given = true;
    };
    EXPECT_EQ(run(with_deadline(1s, body())).error(), wait_error::expired);
    EXPECT_FALSE(inner_has_given);
}

// Both have passed when the body looks.
TEST_F(with_deadline_test, the_earlier_deadline_counts_when_both_have_passed) {
    const time_point begin = clock.now();
    const auto inner = [&](bool inner_is_first) -> task<waited<void>> {
        const auto busy = [&]() -> task<> {
            clock.advance(10s);
            co_await yield();
        };
        co_return co_await with_deadline(begin + (inner_is_first ? 1s : 3s), busy());
    };
    const auto outer = run(with_deadline(begin + 2s, inner(true)));
    EXPECT_EQ(outer.error(), wait_error::expired);  // the value of the inner: its own
    const time_point again = clock.now();
    const auto late = [&]() -> task<int> {
        const auto busy = [&]() -> task<> {
            clock.advance(10s);
            co_await yield();
        };
        static_cast<void>(co_await with_deadline(again + 3s, busy()));
        co_return 1;
    };
    EXPECT_EQ(run(with_deadline(again + 2s, late())).error(), wait_error::expired);
}

TEST_F(with_deadline_test, the_outer_of_two_equal_deadlines_counts) {
    const time_point end = clock.now() + 1s;
    bool inner_has_given = false;
    const auto body = [&]() -> task<> {
        static_cast<void>(co_await with_deadline(end, sleeps(1h)));
        inner_has_given = true;
    };
    EXPECT_EQ(run(with_deadline(end, body())).error(), wait_error::expired);
    EXPECT_FALSE(inner_has_given);
}

TEST_F(with_deadline_test, a_value_of_an_outer_deadline_stays_overdue) {
    event never_set;
    std::vector<wait_error> seen;
    const auto waits = [&]() -> task<waited<void>> { co_return co_await never_set.wait(); };
    const auto body = [&]() -> task<> {
        const auto inner = co_await with_deadline(2s, waits());
        seen.push_back(inner.error());
    };
    EXPECT_TRUE(run(with_deadline(1s, body())).has_value());
    EXPECT_EQ(seen, std::vector{wait_error::overdue});
}

TEST_F(with_deadline_test, the_error_tells_the_deadline) {
    const time_point end = clock.now() + 1s;
    time_point told{};
    const auto body = [&]() -> task<> {
        try {
            co_await sleep_for(1h);
        } catch (const overdue_error& late) {
            told = late.deadline();
        }
    };
    EXPECT_TRUE(run(with_deadline(end, body())).has_value());
    EXPECT_EQ(told, end);
}

// --- results, stops, shields ---------------------------------------------------------------------

TEST_F(with_deadline_test, a_result_that_comes_late_is_given) {
    const auto body = [&]() -> task<int> {
        clock.advance(1h);
        co_return 7;
    };
    EXPECT_EQ(run(with_deadline(1s, body())), 7);
}

TEST_F(with_deadline_test, other_exceptions_pass) {
    const auto body = []() -> task<> {
        co_await yield();
        throw std::runtime_error{"its own"};
    };
    EXPECT_THROW(static_cast<void>(run(with_deadline(1s, body()))), std::runtime_error);
}

TEST_F(with_deadline_test, a_stop_comes_before_the_deadline) {
    const auto body = [&]() -> task<wait_error> {
        (co_await current_task()).request_stop();
        clock.advance(1h);
        const auto ended = co_await as_result(sleep_for(1s));
        co_return ended.error();
    };
    EXPECT_EQ(run(with_deadline(1s, body())), wait_error::stopped);
}

TEST_F(with_deadline_test, a_shield_hides_it) {
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    const auto body = [&]() -> task<> {
        seen.push_back(co_await ends(1h));
        seen.push_back(co_await shielded(ends(1min)));
        seen.push_back(co_await ends(1min));
    };
    EXPECT_TRUE(run(with_deadline(1s, body())).has_value());
    const std::vector expected{wake_reason::overdue, wake_reason::expired, wake_reason::overdue};
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(clock.now() - begin, 61s);
}

TEST_F(with_deadline_test, a_deadline_inside_a_shield_counts) {
    const time_point begin = clock.now();
    const auto body = [&]() -> task<wait_error> {
        static_cast<void>(co_await ends(1h));
        const auto cleaned = co_await shielded(with_deadline(5s, sleeps(1h)));
        co_return cleaned.error();
    };
    EXPECT_EQ(run(with_deadline(1s, body())), wait_error::expired);
    EXPECT_EQ(clock.now() - begin, 6s);
}

TEST_F(with_deadline_test, a_shield_inside_a_deadline_inside_a_shield_hides_it) {
    const auto inner = [&]() -> task<wake_reason> { co_return co_await shielded(ends(1min)); };
    const auto body = [&]() -> task<wake_reason> {
        const auto seen = co_await with_deadline(5s, inner());
        co_return *seen;
    };
    const auto shield = [&]() -> task<wake_reason> { co_return co_await shielded(body()); };
    EXPECT_EQ(run(with_deadline(1s, shield())), wake_reason::expired);
}

TEST_F(with_deadline_test, a_loop_that_never_finishes_is_ended) {
    const auto body = [&]() -> task<> {
        for (;;) {
            clock.advance(1ms);
            co_await yield();
        }
    };
    EXPECT_EQ(run(with_deadline(1s, body())).error(), wait_error::expired);
}

TEST_F(with_deadline_test, frames_that_are_destroyed_with_their_scheduler_give_it_back) {
    event never_set;
    const auto body = [](event& waits_for) -> task<waited<void>> {
        co_return co_await waits_for.wait();
    };
    auto handle = spawn(*simulation, with_deadline(1h, body(never_set)));
    simulation->run_until(clock.now() + 1s);
    simulation.reset();
    EXPECT_TRUE(handle.ended());
}

}  // namespace
}  // namespace fairlead::with_deadline_tests
