// The waits of a single coroutine, in simulated time: sleeps, wakeups, signals, yields, hops.
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>

#include "support/ending_of.hpp"
#include "support/simulated_test.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

namespace fairlead::awaits_tests {
namespace {

using namespace std::chrono_literals;
using test::manual_clock;
using test::simulated_driver;

// One scheduler in simulated time.
class awaits : public test::simulated_test {
protected:
    template <class T>
    join_handle<T> start(task<T> body) {
        return spawn(*simulation, std::move(body));
    }
};

// The result and the time of a wait, as the coroutine saw them.
struct ending {
    wake_reason why{};
    time_point when{};
};

task<ending> sleeps_until(time_point deadline) {
    const wake_reason why = co_await test::ending_of(sleep_until(deadline));
    co_return ending{why, (co_await current_scheduler()).now()};
}

task<ending> sleeps_for(duration delay) {
    const wake_reason why = co_await test::ending_of(sleep_for(delay));
    co_return ending{why, (co_await current_scheduler()).now()};
}

task<ending> waits_for_a_signal(time_point deadline = never) {
    const wake_reason why = co_await receive_signal(deadline);
    co_return ending{why, (co_await current_scheduler()).now()};
}

task<ending> waits_to_be_woken(time_point deadline = never) {
    const wake_reason why = co_await wait_until_woken(deadline);
    co_return ending{why, (co_await current_scheduler()).now()};
}

// --- time ----------------------------------------------------------------------------------------

TEST_F(awaits, sleep_until_ends_at_its_deadline) {
    const time_point due = clock.now() + 3h;
    const ending seen = block_on(*simulation, sleeps_until(due));
    EXPECT_EQ(seen.why, wake_reason::expired);
    EXPECT_EQ(seen.when, due);
}

TEST_F(awaits, sleep_for_counts_from_the_await) {
    const time_point due = clock.now() + 25ns;
    EXPECT_EQ(block_on(*simulation, sleeps_for(25ns)).when, due);
}

TEST_F(awaits, sleep_until_the_past_only_takes_a_turn) {
    const time_point now = clock.now();
    for (const time_point past : {now - 1h, now, immediately, time_point{}}) {
        const ending seen = block_on(*simulation, sleeps_until(past));
        EXPECT_EQ(seen.why, wake_reason::expired);
        EXPECT_EQ(seen.when, now);
    }
    EXPECT_EQ(block_on(*simulation, sleeps_for(-1h)).when, now);
}

TEST_F(awaits, sleep_for_the_longest_time_does_not_overflow) {
    auto handle = start(sleeps_for(duration::max()));
    simulation->run_until_idle();
    EXPECT_FALSE(handle.ended());
    handle.request_stop();
    simulation->run_until_idle();
    EXPECT_EQ(handle.get().why, wake_reason::stopped);
}

TEST_F(awaits, sleepers_wake_in_the_order_of_their_deadlines) {
    std::vector<int> order;
    static constexpr auto sleeper = [](std::vector<int>& into, int number) -> task<> {
        co_await sleep_for(number * 1s);
        into.push_back(number);
    };
    for (const int number : {5, 3, 9, 1, 7, 2, 8, 4, 6, 0}) {
        start(sleeper(order, number)).detach();
    }
    simulation->drain();
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(order.size(), 10U);
}

TEST_F(awaits, a_wakeup_does_not_shorten_a_sleep) {
    const time_point due = clock.now() + 1h;
    auto handle = start(sleeps_until(due));
    for (int i = 0; i != 10; ++i) {
        simulation->run_until_idle();
        clock.advance(1min);
        handle.get_task().wakeup();
    }
    simulation->run_until_idle();
    EXPECT_FALSE(handle.ended());
    simulation->drain();
    const ending seen = handle.get();
    EXPECT_EQ(seen.why, wake_reason::expired);
    EXPECT_EQ(seen.when, due);
}

TEST_F(awaits, a_wakeup_at_the_very_deadline_does_not_lose_it) {
    const time_point due = clock.now() + 1h;
    auto handle = start(sleeps_until(due));
    simulation->run_until_idle();
    clock.set(due);
    handle.get_task().wakeup();
    simulation->run_until_idle();
    ASSERT_TRUE(handle.ended());
    EXPECT_EQ(handle.get().why, wake_reason::expired);
}

TEST_F(awaits, a_sleep_ends_when_its_task_is_asked_to_stop) {
    const time_point now = clock.now();
    auto handle = start(sleeps_for(1h));
    simulation->run_until_idle();
    handle.request_stop();
    simulation->run_until_idle();
    ASSERT_TRUE(handle.ended());
    const ending seen = handle.get();
    EXPECT_EQ(seen.why, wake_reason::stopped);
    EXPECT_EQ(seen.when, now);
}

// --- stop: the request comes when the task does not wait -----------------------------------------

// 1. The task is posted, but has not run. 2. It is asked to stop. 3. It starts, and sleeps.
TEST_F(awaits, a_stop_before_the_start_ends_the_first_wait) {
    const time_point now = clock.now();
    auto handle = start(sleeps_for(1h));
    handle.request_stop();
    simulation->drain();
    const ending seen = handle.get();
    EXPECT_EQ(seen.why, wake_reason::stopped);
    EXPECT_EQ(seen.when, now);
}

TEST_F(awaits, a_stop_from_within_ends_the_next_wait) {
    static constexpr auto stops_itself = []() -> task<ending> {
        (co_await current_task()).request_stop();
        const wake_reason why = co_await test::ending_of(sleep_for(1h));
        co_return ending{why, (co_await current_scheduler()).now()};
    };
    const time_point now = clock.now();
    const ending seen = block_on(*simulation, stops_itself());
    EXPECT_EQ(seen.why, wake_reason::stopped);
    EXPECT_EQ(seen.when, now);
}

// 1. A signal and a stop come during one wait. 2. The wait returns the signal. 3. The task has not
// been told of the stop, so its next wait ends at once.
TEST_F(awaits, a_stop_that_comes_with_a_signal_ends_the_next_wait) {
    static constexpr auto waits_twice = [](std::vector<wake_reason>& seen) -> task<> {
        seen.push_back(co_await receive_signal());
        seen.push_back(co_await test::ending_of(sleep_for(1h)));
    };
    const time_point now = clock.now();
    std::vector<wake_reason> seen;
    auto handle = start(waits_twice(seen));
    simulation->run_until_idle();
    handle.get_task().signal();
    handle.request_stop();
    simulation->drain();
    EXPECT_EQ(seen, (std::vector{wake_reason::signalled, wake_reason::stopped}));
    EXPECT_EQ(clock.now(), now);
}

TEST_F(awaits, a_shielded_task_has_time_to_clean_up) {
    static constexpr auto cleans_up = [](std::vector<wake_reason>& seen) -> task<> {
        seen.push_back(co_await test::ending_of(sleep_for(1h)));
        seen.push_back(co_await shielded(test::ending_of(sleep_for(1s))));
        co_await shielded(sleep_for(1s));
        seen.push_back(co_await test::ending_of(sleep_for(1h)));
    };
    std::vector<wake_reason> seen;
    auto handle = start(cleans_up(seen));
    simulation->run_until_idle();
    const time_point begin = clock.now();
    handle.request_stop();
    simulation->drain();
    EXPECT_EQ(seen,
              (std::vector{wake_reason::stopped, wake_reason::expired, wake_reason::stopped}));
    EXPECT_EQ(clock.now(), begin + 2s);
}

TEST_F(awaits, every_wait_after_a_stop_ends_at_once) {
    static constexpr auto waits_on = [](std::vector<wake_reason>& seen) -> task<> {
        for (int i = 0; i != 3; ++i) {
            seen.push_back(co_await test::ending_of(sleep_for(1h)));
            seen.push_back(co_await wait_until_woken());
            seen.push_back(co_await receive_signal());
        }
    };
    std::vector<wake_reason> seen;
    auto handle = start(waits_on(seen));
    simulation->run_until_idle();
    const time_point begin = clock.now();
    handle.request_stop();
    simulation->drain();
    EXPECT_EQ(seen, std::vector(9, wake_reason::stopped));
    EXPECT_EQ(clock.now(), begin);
}

// A task that ignores the results of its waits still ends: by the exception, which runs its
// destructors.
TEST_F(awaits, a_stop_ends_a_task_that_does_not_look) {
    static constexpr auto naps = [](int& count) -> task<> {
        for (; count != 20; ++count) co_await sleep_for(1s);
    };
    static constexpr auto takes_turns = []() -> task<> {
        for (;;) co_await yield();
    };
    int count = 0;
    auto naps_on = start(naps(count));
    auto turns = start(takes_turns());
    simulation->run_until(clock.now(), 100);
    const time_point begin = clock.now();
    naps_on.request_stop();
    turns.request_stop();
    simulation->drain();
    EXPECT_THROW(naps_on.get(), stopped_error);
    EXPECT_THROW(turns.get(), stopped_error);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(clock.now(), begin);
}

TEST_F(awaits, shields_nest) {
    static constexpr auto inner = []() -> task<wake_reason> {
        co_await shielded(sleep_for(1s));
        co_return co_await test::ending_of(sleep_for(1s));  // still inside the outer adapter
    };
    static constexpr auto outer = []() -> task<wake_reason> {
        (co_await current_task()).request_stop();
        co_return co_await shielded(inner());
    };
    EXPECT_EQ(block_on(*simulation, outer()), wake_reason::expired);
}

TEST_F(awaits, a_shield_ends_with_an_exception) {
    static constexpr auto fails = []() -> task<> {
        co_await sleep_for(1s);
        throw std::runtime_error{"it"};
    };
    static constexpr auto outer = []() -> task<wake_reason> {
        (co_await current_task()).request_stop();
        try {
            co_await shielded(fails());
        } catch (const std::runtime_error&) {
        }
        co_return co_await test::ending_of(sleep_for(1s));
    };
    EXPECT_EQ(block_on(*simulation, outer()), wake_reason::stopped);
}

TEST_F(awaits, as_result_gives_a_stop_as_a_value_and_lets_failures_pass) {
    static constexpr auto number = [](bool fails) -> task<int> {
        co_await sleep_for(1s);
        if (fails) throw std::runtime_error{"it"};
        co_return 7;
    };
    static constexpr auto asks = []() -> task<> {
        EXPECT_EQ(co_await as_result(number(false)), 7);
        bool threw = false;
        try {
            static_cast<void>(co_await as_result(number(true)));
        } catch (const std::runtime_error&) {
            threw = true;
        }
        EXPECT_TRUE(threw);
        (co_await current_task()).request_stop();
        const auto stopped = co_await as_result(number(false));
        EXPECT_FALSE(stopped.has_value());
        EXPECT_EQ(stopped.error(), wait_error::stopped);
    };
    block_on(*simulation, asks());
}

TEST_F(awaits, stop_requested_answers_without_suspending) {
    static constexpr auto asks = []() -> task<std::vector<bool>> {
        std::vector<bool> answers;
        answers.push_back(co_await stop_requested());
        (co_await current_task()).request_stop();
        answers.push_back(co_await stop_requested());
        co_return answers;
    };
    EXPECT_EQ(block_on(*simulation, asks()), (std::vector{false, true}));
    EXPECT_EQ(simulation->stats().front().steps, 1U);
}

// --- wakeups -------------------------------------------------------------------------------------

TEST_F(awaits, a_wakeup_ends_a_wait) {
    auto handle = start(waits_to_be_woken());
    simulation->run_until_idle();
    EXPECT_FALSE(handle.ended());
    handle.get_task().wakeup();
    simulation->run_until_idle();
    EXPECT_EQ(handle.get().why, wake_reason::woken);
}

TEST_F(awaits, a_wait_for_a_wakeup_expires) {
    const time_point due = clock.now() + 1s;
    const ending seen = block_on(*simulation, waits_to_be_woken(due));
    EXPECT_EQ(seen.why, wake_reason::expired);
    EXPECT_EQ(seen.when, due);
}

TEST_F(awaits, a_wakeup_from_within_is_remembered) {
    static constexpr auto wakes_itself = []() -> task<wake_reason> {
        (co_await current_task()).wakeup();
        co_return co_await wait_until_woken();
    };
    EXPECT_EQ(block_on(*simulation, wakes_itself()), wake_reason::woken);
}

// --- signals -------------------------------------------------------------------------------------

TEST_F(awaits, a_signal_is_received_once) {
    static constexpr auto receives_twice = [](time_point until,
                                              std::vector<wake_reason>& seen) -> task<> {
        seen.push_back(co_await receive_signal(until));
        seen.push_back(co_await receive_signal(until));
    };
    std::vector<wake_reason> seen;
    auto handle = start(receives_twice(clock.now() + 1s, seen));
    simulation->run_until_idle();
    handle.get_task().signal();
    handle.get_task().signal();
    simulation->drain();
    EXPECT_EQ(seen, (std::vector{wake_reason::signalled, wake_reason::expired}));
}

TEST_F(awaits, a_wakeup_does_not_end_a_wait_for_a_signal) {
    auto handle = start(waits_for_a_signal());
    simulation->run_until_idle();
    handle.get_task().wakeup();
    simulation->run_until_idle();
    EXPECT_FALSE(handle.ended());
    handle.get_task().signal();
    simulation->run_until_idle();
    EXPECT_EQ(handle.get().why, wake_reason::signalled);
}

TEST_F(awaits, a_wait_for_a_signal_expires_and_stops) {
    const time_point due = clock.now() + 1s;
    EXPECT_EQ(block_on(*simulation, waits_for_a_signal(due)).when, due);
    auto handle = start(waits_for_a_signal());
    simulation->run_until_idle();
    handle.request_stop();
    simulation->run_until_idle();
    EXPECT_EQ(handle.get().why, wake_reason::stopped);
}

TEST_F(awaits, a_signal_during_a_sleep_is_remembered) {
    static constexpr auto sleeps_first = [](std::vector<wake_reason>& seen) -> task<> {
        seen.push_back(co_await test::ending_of(sleep_for(1h)));
        seen.push_back(co_await receive_signal());
    };
    const time_point due = clock.now() + 1h;
    std::vector<wake_reason> seen;
    auto handle = start(sleeps_first(seen));
    simulation->run_until_idle();
    handle.get_task().signal();
    simulation->run_until_idle();
    EXPECT_TRUE(seen.empty());
    simulation->drain();
    EXPECT_EQ(seen, (std::vector{wake_reason::expired, wake_reason::signalled}));
    EXPECT_EQ(clock.now(), due);
}

// A signal that comes before the task starts stays pending during a yield or a hop.
TEST_F(awaits, a_signal_is_remembered_across_a_yield) {
    static constexpr auto yields_first = []() -> task<wake_reason> {
        co_await yield();
        co_return co_await receive_signal((co_await current_scheduler()).now() + 1h);
    };
    auto handle = start(yields_first());
    handle.get_task().signal();
    simulation->drain();
    EXPECT_EQ(handle.get(), wake_reason::signalled);
}

TEST_F(awaits, a_signal_is_remembered_across_a_hop) {
    manual_clock other_clock;
    simulated_driver* other_driver = nullptr;
    scheduler other{test::simulated(other_clock, other_driver)};
    static constexpr auto hops_first = [](scheduler& to) -> task<wake_reason> {
        co_await resume_on(to);
        co_return co_await receive_signal(to.now() + 1h);
    };
    auto handle = start(hops_first(other));
    handle.get_task().signal();
    simulation->run_until_idle();
    other.drain();
    EXPECT_EQ(handle.get(), wake_reason::signalled);
}

// The waiting thread sleeps in the scheduler that it runs. A worker of another scheduler ends the
// task.
TEST(awaits_on_threads, a_task_that_moved_away_is_joined_by_who_runs_the_first_scheduler) {
    const test::watchdog guard;
    static constexpr auto moves = [](scheduler& to) -> task<int> {
        co_await resume_on(to);
        co_await sleep_for(100us);
        co_return 7;
    };
    scheduler threads{{.workers = 1}};
    for (int i = 0; i != 200; ++i) {
        scheduler on_caller{{.run_on_caller = true}};
        EXPECT_EQ(block_on(on_caller, moves(threads)), 7);
        EXPECT_EQ(spawn(on_caller, moves(threads)).get(), 7);
    }
}

// --- turns ---------------------------------------------------------------------------------------

TEST_F(awaits, those_who_yield_take_turns_in_order) {
    static constexpr auto player = [](std::string& into, char name) -> task<> {
        for (int i = 0; i != 4; ++i) {
            into += name;
            co_await yield();
        }
    };
    std::string order;
    for (const char name : {'a', 'b', 'c'}) start(player(order, name)).detach();
    simulation->drain();
    EXPECT_EQ(order, "abcabcabcabc");
}

TEST_F(awaits, a_yield_lets_those_go_first_who_became_ready_before) {
    static constexpr auto yields = [](std::string& into) -> task<> {
        into += 'a';
        co_await yield();
        into += 'd';
    };
    std::string order;
    start(yields(order)).detach();
    simulation->post([&] {
        order += 'b';
        simulation->post([&] { order += 'e'; });
    });
    simulation->post([&] { order += 'c'; });
    simulation->drain();
    EXPECT_EQ(order, "abcde");
}

// --- hops ----------------------------------------------------------------------------------------

TEST(hop, moves_a_task_to_another_scheduler_and_back) {
    const test::watchdog guard;
    scheduler first{{.workers = 2}};
    scheduler second{{.workers = 2}};
    static constexpr auto hops = [](scheduler& a, scheduler& b) -> task<int> {
        int there = 0;
        for (int i = 0; i != 1000; ++i) {
            co_await resume_on(b);
            there += scheduler::current() == &b && &co_await current_scheduler() == &b;
            co_await resume_on(a);
            there += scheduler::current() == &a && &co_await current_scheduler() == &a;
        }
        co_return there;
    };
    std::vector<join_handle<int>> all;
    for (int i = 0; i != 8; ++i) all.push_back(spawn(first, hops(first, second)));
    for (auto& each : all) EXPECT_EQ(each.get(), 2000);
    first.drain();
    second.drain();
}

TEST(hop, the_clock_is_that_of_the_new_home) {
    manual_clock clock;
    simulated_driver* driver = nullptr;
    scheduler simulation{test::simulated(clock, driver)};
    scheduler here{{.run_on_caller = true}};
    static constexpr auto sleeps_there = [](scheduler& to) -> task<wake_reason> {
        co_await resume_on(to);
        co_return co_await test::ending_of(sleep_for(1000h));
    };
    auto handle = spawn(here, sleeps_there(simulation));
    here.drain();
    simulation.drain();
    EXPECT_EQ(handle.get(), wake_reason::expired);
}

// --- on threads ----------------------------------------------------------------------------------

TEST(sleep_on_threads, is_never_early) {
    const test::watchdog guard;
    scheduler threads{{.workers = 2}};
    static constexpr auto sleeper = [](int seed) -> task<int> {
        int early = 0;
        for (int i = 0; i != 20; ++i) {
            const time_point due =
                clock::now() + std::chrono::microseconds{(seed * 7 + i * 131) % 900};
            co_await sleep_until(due);
            early += clock::now() < due;
        }
        co_return early;
    };
    std::vector<join_handle<int>> all;
    for (int i = 0; i != 50; ++i) all.push_back(spawn(threads, sleeper(i)));
    for (auto& each : all) EXPECT_EQ(each.get(), 0);
}

// --- lengths of time that nanoseconds cannot hold ------------------------------------------------

task<> sleeps_too_long() { co_await sleep_for(std::chrono::hours::max()); }

TEST_F(awaits, a_sleep_beyond_the_end_of_time_does_not_expire_at_once) {
    auto handle = start(sleeps_too_long());
    simulation->run_until_idle();
    EXPECT_FALSE(handle.ended());
    handle.request_stop();
    simulation->run_until_idle();
    EXPECT_TRUE(handle.ended());
}

task<wake_reason> sleeps_half_a_second() {
    co_return co_await test::ending_of(sleep_for(std::chrono::duration<double>{0.5}));
}

TEST_F(awaits, a_sleep_takes_a_floating_point_length) {
    const time_point begin = simulation->now();
    EXPECT_EQ(block_on(*simulation, sleeps_half_a_second()), wake_reason::expired);
    EXPECT_EQ(simulation->now(), begin + 500ms);
}

// The same as a `co_await` of the wait alone: each wait takes the full time.
TEST_F(awaits, a_wait_in_a_variable_can_be_adapted_again) {
    static constexpr auto body = []() -> task<> {
        auto nap = sleep_for(1s);
        for (int i = 0; i != 2; ++i) {
            EXPECT_TRUE((co_await as_result(nap)).has_value());
            co_await shielded(nap);
        }
    };
    const time_point begin = simulation->now();
    block_on(*simulation, body());
    EXPECT_EQ(simulation->now(), begin + 4s);
}

}  // namespace
}  // namespace fairlead::awaits_tests
