// Starting tasks and joining them: handles, threads that wait, stop tokens.
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/when_all.hpp>

#include "support/ending_of.hpp"
#include "support/probes.hpp"
#include "support/simulated.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::spawn_tests {
namespace {

using namespace std::chrono_literals;
using test::manual_clock;
using test::move_only;
using test::simulated_driver;
using test::watchdog;

task<int> number(int value) { co_return value; }
task<move_only> movable(int value) { co_return move_only{value}; }
task<int&> reference(int& to) { co_return to; }
task<> throws() {
    throw std::runtime_error{"thrown"};
    co_return;
}
task<int> joins(join_handle<int> other) { co_return co_await other; }
task<wake_reason> sleeps(duration delay) { co_return co_await test::ending_of(sleep_for(delay)); }
task<wake_reason> waits_for_a_signal() { co_return co_await receive_signal(); }

class spawn_on_caller : public testing::Test {
protected:
    scheduler_options options() {
        scheduler_options made = test::simulated(clock, driver);
        made.on_unhandled = [this](std::exception_ptr failure, const failure_origin& from) {
            unhandled.push_back(std::move(failure));
            names.emplace_back(from.last().name);
        };
        return made;
    }

    manual_clock clock;
    simulated_driver* driver = nullptr;
    std::vector<std::exception_ptr> unhandled;
    std::vector<std::string> names;
    std::optional<scheduler> simulation{std::in_place, options()};
};

// --- results -------------------------------------------------------------------------------------

TEST_F(spawn_on_caller, gives_the_result_to_a_thread) {
    auto handle = spawn(*simulation, number(3));
    EXPECT_FALSE(handle.ended());
    simulation->run_until_idle();
    EXPECT_TRUE(handle.ended());
    EXPECT_EQ(handle.get(), 3);
}

TEST_F(spawn_on_caller, gives_every_kind_of_result) {
    int object = 0;
    auto moved = spawn(*simulation, movable(4));
    auto referred = spawn(*simulation, reference(object));
    auto thrown = spawn(*simulation, throws());
    simulation->run_until_idle();
    EXPECT_EQ(moved.get().value, 4);
    EXPECT_EQ(&referred.get(), &object);
    EXPECT_THROW(thrown.get(), std::runtime_error);
    EXPECT_TRUE(unhandled.empty());
}

TEST_F(spawn_on_caller, is_joined_by_a_coroutine_before_and_after_its_end) {
    auto outer = spawn(*simulation, joins(spawn(*simulation, number(5))));
    simulation->run_until_idle();
    EXPECT_EQ(outer.get(), 5);
    auto ended = spawn(*simulation, number(6));
    simulation->run_until_idle();
    EXPECT_EQ(block_on(*simulation, joins(std::move(ended))), 6);
}

TEST_F(spawn_on_caller, a_chain_of_joins) {
    auto last = spawn(*simulation, number(7));
    for (int i = 0; i != 10'000; ++i) last = spawn(*simulation, joins(std::move(last)));
    simulation->run_until_idle();
    EXPECT_EQ(last.get(), 7);
}

TEST_F(spawn_on_caller, goes_on_when_its_handle_is_gone) {
    bool done = false;
    static constexpr auto sets = [](bool& what) -> task<> {
        co_await sleep_for(1h);
        what = true;
    };
    { const auto handle = spawn(*simulation, sets(done)); }
    simulation->drain();
    EXPECT_TRUE(done);
}

// --- exceptions that no joiner takes -------------------------------------------------------------

TEST_F(spawn_on_caller, reports_an_exception_of_a_detached_task_by_name) {
    spawn(*simulation, throws(), {.name = "the thrower"}).detach();
    simulation->run_until_idle();
    ASSERT_EQ(unhandled.size(), 1U);
    EXPECT_THROW(std::rethrow_exception(unhandled.front()), std::runtime_error);
    EXPECT_EQ(names.front(), "the thrower");
}

TEST_F(spawn_on_caller, reports_an_exception_when_the_handle_goes_after_the_end) {
    {
        const auto handle = spawn(*simulation, throws());
        simulation->run_until_idle();
        EXPECT_TRUE(unhandled.empty());
    }
    EXPECT_EQ(unhandled.size(), 1U);
}

// 1. The task throws, and its handle is kept. 2. The scheduler is destroyed. 3. The handle is
// destroyed.
TEST_F(spawn_on_caller, a_handle_of_a_failed_task_may_outlive_the_scheduler) {
    auto handle = spawn(*simulation, throws());
    simulation->run_until_idle();
    simulation.reset();
    handle.detach();
    EXPECT_LE(unhandled.size(), 1U);
}

TEST(spawn_on_threads, counts_every_unhandled_exception_once) {
    const watchdog guard;
    std::atomic<int> reported{0};
    {
        scheduler_options options{.workers = 3};
        options.on_unhandled = [&](std::exception_ptr, const failure_origin&) { ++reported; };
        scheduler threads{std::move(options)};
        // Some handles are dropped before the end of their task, some after it, some meanwhile.
        for (int i = 0; i != 2000; ++i) spawn(threads, throws()).detach();
        threads.drain();
    }
    EXPECT_EQ(reported, 2000);
}

using spawn_death_test = testing::Test;

TEST(spawn_death_test, a_handle_that_gave_its_result_refuses_questions) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    scheduler home{{.workers = 1}};
    auto handle = spawn(home, number(1));
    EXPECT_EQ(handle.get(), 1);
    EXPECT_DEATH(static_cast<void>(handle.ended()), "used after it gave its result");
    EXPECT_DEATH(handle.request_stop(), "used after it gave its result");
    EXPECT_DEATH(static_cast<void>(handle.get_task()), "used after it gave its result");
}

TEST(spawn_death_test, an_unhandled_exception_ends_the_program_with_its_name) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(
        {
            scheduler here{{.run_on_caller = true}};
            spawn(here, throws(), {.name = "the thrower"}).detach();
            here.run_until_idle();
        },
        "the thrower.*thrown");
}

TEST(spawn_death_test, a_handle_gives_its_result_once) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(
        {
            scheduler here{{.run_on_caller = true}};
            auto handle = spawn(here, number(1));
            static_cast<void>(handle.get());
            static_cast<void>(handle.get());
        },
        "after it gave its result");
}

// The end of the task would tell a joiner of which it knows nothing, or free what still runs.
TEST(spawn_death_test, a_handle_is_awaited_once_at_a_time_and_lives_as_long) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    static constexpr auto joins = [](join_handle<int>& other) -> task<> { co_await other; };
    static constexpr auto sleeps = []() -> task<int> {
        co_await sleep_for(1h);
        co_return 1;
    };
    const auto run = [](bool twice) {
        scheduler home{{.run_on_caller = true}};
        std::optional<join_handle<int>> sleeping = spawn(home, sleeps());
        spawn(home, joins(*sleeping)).detach();
        home.run_until_idle();
        if (twice) spawn(home, joins(*sleeping)).detach();
        if (!twice) sleeping.reset();
        home.run_until_idle();
    };
    EXPECT_DEATH(run(true), "a handle was awaited twice");
    EXPECT_DEATH(run(false), "destroyed while it was awaited");
}

TEST(spawn_death_test, blocking_on_a_worker_says_so) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    static constexpr auto blocks = [](scheduler& on) -> task<> {
        block_on(on, number(1));
        co_return;
    };
    EXPECT_DEATH(
        {
            scheduler here{{.run_on_caller = true}};
            block_on(here, blocks(here));
        },
        "would block it");
}

// --- stop by handle and by token -----------------------------------------------------------------

TEST_F(spawn_on_caller, is_stopped_by_its_handle) {
    auto handle = spawn(*simulation, sleeps(1h));
    simulation->run_until_idle();
    handle.request_stop();
    simulation->run_until_idle();
    EXPECT_EQ(handle.get(), wake_reason::stopped);
}

TEST_F(spawn_on_caller, is_stopped_by_a_token) {
    std::stop_source source;
    auto handle = spawn(*simulation, sleeps(1h), {.stop = source.get_token()});
    simulation->run_until_idle();
    source.request_stop();
    simulation->run_until_idle();
    EXPECT_EQ(handle.get(), wake_reason::stopped);
}

TEST_F(spawn_on_caller, a_token_that_was_stopped_before_ends_the_first_wait) {
    const time_point now = clock.now();
    std::stop_source source;
    source.request_stop();
    auto handle = spawn(*simulation, sleeps(1h), {.stop = source.get_token()});
    simulation->drain();
    EXPECT_EQ(handle.get(), wake_reason::stopped);
    EXPECT_EQ(clock.now(), now);
}

TEST_F(spawn_on_caller, a_token_may_be_stopped_by_the_task_itself_and_after_its_end) {
    std::stop_source source;
    static constexpr auto stops_all = [](std::stop_source& all) -> task<> {
        all.request_stop();
        co_return;
    };
    auto handle = spawn(*simulation, stops_all(source), {.stop = source.get_token()});
    auto other = spawn(*simulation, number(1), {.stop = source.get_token()});
    simulation->run_until_idle();
    handle.get();
    source.request_stop();
    EXPECT_EQ(other.get(), 1);
}

TEST(spawn_on_threads, a_stop_by_token_races_with_the_end) {
    const watchdog guard;
    scheduler threads{{.workers = 2}};
    for (int i = 0; i != 3000; ++i) {
        std::stop_source source;
        auto handle = spawn(threads, sleeps(i % 3 * 10us), {.stop = source.get_token()});
        source.request_stop();
        static_cast<void>(handle.get());
    }
    threads.drain();
}

// --- stop of a task that waits for tasks ---------------------------------------------------------

// 1. A when_all has ended, and its stop callback is gone. 2. The task joins a handle. 3. A stop of
// the task must not call the callback of 1.
TEST_F(spawn_on_caller, a_stop_while_joining_does_not_reach_an_older_when_all) {
    static constexpr auto waits_for_both = [](join_handle<int> other) -> task<int> {
        co_await when_all(sleeps(1s), sleeps(1s));
        co_return co_await shielded(other);
    };
    static constexpr auto sleeps_then_gives = []() -> task<int> {
        co_await sleep_for(1h);
        co_return 8;
    };
    const time_point due = clock.now() + 1h;
    auto handle = spawn(*simulation, waits_for_both(spawn(*simulation, sleeps_then_gives())));
    simulation->run_until_idle();
    simulation->run_until(clock.now() + 2s);
    handle.request_stop();
    simulation->drain();
    EXPECT_EQ(handle.get(), 8);
    EXPECT_EQ(clock.now(), due);
}

TEST(block_on_on_threads, throws_when_no_worker_will_run_the_body) {
    const watchdog guard;
    scheduler threads{{.workers = 1}};
    std::atomic<int> begun{0};
    const auto body = [&]() -> task<int> {
        ++begun;
        co_return 1;
    };
    EXPECT_EQ(block_on(threads, body()), 1);
    EXPECT_TRUE(threads.stop(1s).clean());
    EXPECT_THROW(static_cast<void>(block_on(threads, body())), stopped_error);
    EXPECT_EQ(begun, 1);
    threads.start();
    EXPECT_EQ(block_on(threads, body()), 1);
}

// 1. The stop gives up on a step. 2. A thread asks for the result in vain. 3. The step ends. 4. The
// thread asks again.
TEST(get_on_threads, does_not_wait_for_a_step_that_the_stop_gave_up_on) {
    const watchdog guard;
    scheduler threads{{.workers = 1}};
    std::atomic<bool> runs{false};
    std::atomic<bool> may_end{false};
    static constexpr auto is_stuck = [](std::atomic<bool>& began,
                                        std::atomic<bool>& gate) -> task<int> {
        began = true;
        began.notify_one();
        gate.wait(false);
        co_return 1;
    };
    auto stuck = spawn(threads, is_stuck(runs, may_end));
    runs.wait(false);
    EXPECT_EQ(threads.stop(0s).running, 1U);
    EXPECT_THROW(static_cast<void>(stuck.get()), stopped_error);
    may_end = true;
    may_end.notify_one();
    while (!stuck.ended()) std::this_thread::yield();
    EXPECT_EQ(stuck.get(), 1);
}

// The scheduler is destroyed while a thread asks whether it has ended its workers.
TEST(get_on_threads, races_with_the_destructor_of_a_stopped_scheduler) {
    const watchdog guard;
    for (int i = 0; i != 300; ++i) {
        std::optional<scheduler> threads{std::in_place, scheduler_options{.workers = 1}};
        static_cast<void>(threads->stop(1s));
        auto late = spawn(*threads, number(1));
        std::jthread gets{[&] { EXPECT_THROW(static_cast<void>(late.get()), stopped_error); }};
        if (i % 2 == 0) std::this_thread::yield();
        threads.reset();
    }
}

// --- a stop or a deadline of the joiner ----------------------------------------------------------

task<int> gives_after(duration delay, int number) {
    co_await sleep_for(delay);
    co_return number;
}

TEST_F(spawn_on_caller, a_stop_ends_the_wait_of_a_joiner_and_leaves_the_task) {
    auto other = spawn(*simulation, gives_after(1h, 8));
    const auto joins_twice = [&]() -> task<int> {
        EXPECT_FALSE((co_await other.join()).has_value());
        co_return co_await other;  // throws
    };
    const time_point begin = clock.now();
    auto handle = spawn(*simulation, joins_twice());
    simulation->run_until_idle();
    handle.request_stop();
    simulation->run_until_idle();
    EXPECT_THROW(static_cast<void>(handle.get()), stopped_error);
    EXPECT_EQ(clock.now(), begin);
    ASSERT_TRUE(other.valid());
    EXPECT_FALSE(other.get_task().stop_requested());
    EXPECT_EQ(other.get(), 8);
}

TEST_F(spawn_on_caller, a_stop_is_passed_on_at_request) {
    auto other = spawn(*simulation, gives_after(1h, 8));
    const auto joins_and_stops = [&]() -> task<int> {
        co_return *co_await other.join(on_stop::pass_on);
    };
    const time_point begin = clock.now();
    auto handle = spawn(*simulation, joins_and_stops());
    simulation->run_until_idle();
    handle.request_stop();
    simulation->run_until_idle();
    EXPECT_THROW(static_cast<void>(handle.get()), stopped_error);
    EXPECT_EQ(clock.now(), begin);
    EXPECT_FALSE(other.valid()) << "the joiner has waited for its end";
}

TEST_F(spawn_on_caller, a_deadline_ends_the_wait_of_a_joiner) {
    auto other = spawn(*simulation, gives_after(1h, 8));
    const auto asks = [&](time_point begin) -> task<> {
        const auto at_once = co_await other.join_until(begin - 1s);
        EXPECT_EQ(at_once.error(), wait_error::expired);
        const auto too_soon = co_await other.join_until(begin + 1min);
        EXPECT_EQ(too_soon.error(), wait_error::expired);
        EXPECT_EQ(clock.now(), begin + 1min);
        EXPECT_EQ(co_await other.join_until(begin + 2h), 8);
    };
    block_on(*simulation, asks(clock.now()));
    EXPECT_FALSE(other.valid());
}

// The end and the deadline are at the same time: the task ended first, and its result wins.
TEST_F(spawn_on_caller, a_result_wins_over_a_deadline) {
    auto other = spawn(*simulation, gives_after(1h, 8));
    const auto asks = [&](time_point begin) -> task<> {
        EXPECT_EQ(co_await other.join_until(begin + 1h + 1ns), 8);
    };
    block_on(*simulation, asks(clock.now()));
}

TEST_F(spawn_on_caller, an_exception_of_the_task_comes_with_a_deadline_too) {
    static constexpr auto fails = []() -> task<int> {
        co_await sleep_for(1s);
        throw std::runtime_error{"it"};
    };
    auto other = spawn(*simulation, fails());
    const auto asks = [&]() -> task<> { static_cast<void>(co_await other.join()); };
    EXPECT_THROW(block_on(*simulation, asks()), std::runtime_error);
}

// The task ends at any moment of the wait, which a deadline or a stop ends.
TEST(spawn_on_threads, deadlines_and_stops_race_with_the_end) {
    const watchdog guard;
    scheduler first{{.workers = 2}};
    scheduler second{{.workers = 2}};
    static constexpr auto asks = [](join_handle<int>& other, duration patience) -> task<int> {
        int waits = 0;
        for (;;) {
            const auto number = co_await other.join_until(clock::now() + patience);
            ++waits;
            if (number) co_return *number;
            if (number.error() == wait_error::stopped) co_return -waits;
        }
    };
    int stopped = 0;
    for (int i = 0; i != 2000; ++i) {
        auto other = spawn(first, gives_after(i % 7 * 10us, i));
        auto handle = spawn(second, asks(other, i % 5 * 5us));
        if (i % 3 == 0) handle.request_stop();
        const int got = handle.get();
        if (got < 0) {
            ++stopped;
            EXPECT_EQ(other.get(), i);
        } else {
            EXPECT_EQ(got, i);
            EXPECT_FALSE(other.valid());
        }
    }
    EXPECT_LE(stopped, 667);
}

// --- a thread that waits until a deadline --------------------------------------------------------

TEST_F(spawn_on_caller, a_deadline_ends_the_wait_of_a_thread) {
    const time_point begin = clock.now();
    auto other = spawn(*simulation, gives_after(1h, 8));
    EXPECT_EQ(other.get_until(begin - 1s).error(), wait_error::expired);
    EXPECT_EQ(clock.now(), begin);
    EXPECT_EQ(other.get_until(begin + 1min).error(), wait_error::expired);
    EXPECT_EQ(clock.now(), begin + 1min) << "the thread has run its scheduler meanwhile";
    ASSERT_TRUE(other.valid());
    EXPECT_EQ(other.get_until(begin + 1h), 8) << "what has ended at the deadline wins";
    EXPECT_EQ(clock.now(), begin + 1h);
    EXPECT_FALSE(other.valid());
}

TEST_F(spawn_on_caller, what_has_ended_wins_over_a_deadline_that_has_passed) {
    auto ended = spawn(*simulation, number(8));
    auto failed = spawn(*simulation, throws());
    auto nothing = spawn(*simulation, []() -> task<> { co_return; }());
    simulation->run_until_idle();
    EXPECT_EQ(ended.get_until(immediately), 8);
    EXPECT_THROW(static_cast<void>(failed.get_until(immediately)), std::runtime_error);
    EXPECT_TRUE(nothing.get_until(immediately).has_value());
}

TEST_F(spawn_on_caller, a_coroutine_joins_after_a_thread_has_given_up) {
    auto other = spawn(*simulation, gives_after(1h, 8));
    EXPECT_FALSE(other.get_until(clock.now() + 1s).has_value());
    EXPECT_EQ(spawn(*simulation, joins(std::move(other))).get(), 8);
}

TEST_F(spawn_on_caller, a_thread_that_waits_until_a_deadline_is_told_of_the_end_of_the_scheduler) {
    scheduler_options at_once = options();
    at_once.stop_limit = duration{0};
    simulation.emplace(std::move(at_once));
    auto other = spawn(*simulation, waits_for_a_signal());
    EXPECT_FALSE(other.get_until(clock.now() + 1s).has_value());
    simulation.reset();
    EXPECT_THROW(static_cast<void>(other.get_until(immediately)), stopped_error);
    EXPECT_FALSE(other.valid());
}

TEST(spawn_on_threads, deadlines_of_a_thread_race_with_the_end) {
    const watchdog guard;
    scheduler threads{{.workers = 2}};
    int expired = 0;
    for (int i = 0; i != 2000; ++i) {
        auto other = spawn(threads, gives_after(i % 7 * 10us, i));
        for (;;) {
            const auto got = other.get_until(clock::now() + i % 5 * 5us);
            if (got) {
                EXPECT_EQ(got, i);
                break;
            }
            EXPECT_EQ(got.error(), wait_error::expired);
            ++expired;
        }
        EXPECT_FALSE(other.valid());
    }
    EXPECT_GT(expired, 0);
}

// --- from another scheduler ----------------------------------------------------------------------

TEST(spawn_on_threads, is_joined_from_another_scheduler) {
    const watchdog guard;
    scheduler first{{.workers = 2}};
    scheduler second{{.workers = 2}};
    for (int i = 0; i != 2000; ++i) {
        EXPECT_EQ(block_on(second, joins(spawn(first, number(i)))), i);
    }
}

// A scheduler is destroyed while one of its tasks joins a task of another scheduler that does not
// end.
TEST_F(spawn_on_caller, a_joiner_is_given_back_though_what_it_joins_goes_on_elsewhere) {
    const watchdog guard{20s};
    test::scheduler_in_real_time elsewhere{1};
    static constexpr auto joins_reason = [](join_handle<wake_reason>& other) -> task<wake_reason> {
        co_return co_await other;
    };
    auto other = spawn(*elsewhere, waits_for_a_signal());
    auto handle = spawn(*simulation, joins_reason(other));
    simulation->run_until_idle();
    simulation.reset();
    EXPECT_THROW(static_cast<void>(handle.get()), stopped_error);
}

// --- block_on ------------------------------------------------------------------------------------

TEST(block_on, gives_results_and_exceptions) {
    const watchdog guard;
    scheduler threads{{.workers = 2}};
    int object = 0;
    EXPECT_EQ(block_on(threads, number(9)), 9);
    EXPECT_EQ(block_on(threads, movable(9)).value, 9);
    EXPECT_EQ(&block_on(threads, reference(object)), &object);
    EXPECT_THROW(block_on(threads, throws()), std::runtime_error);
}

TEST(block_on, from_many_threads_at_once) {
    const watchdog guard;
    scheduler threads{{.workers = 2}};
    test::run_together(4, [&](std::size_t index) {
        for (int i = 0; i != 1000; ++i) {
            const int value = static_cast<int>(index) * 1000 + i;
            EXPECT_EQ(block_on(threads, number(value)), value);
        }
    });
}

TEST(block_on, frees_the_frame_before_it_returns) {
    const watchdog guard;
    scheduler threads{{.workers = 2}};
    std::atomic<int> alive{0};
    static constexpr auto holds = [](test::counted held) -> task<> {
        static_cast<void>(held);
        co_return;
    };
    for (int i = 0; i != 1000; ++i) {
        block_on(threads, holds(test::counted{alive}));
        ASSERT_EQ(alive, 0);
    }
}

}  // namespace
}  // namespace fairlead::spawn_tests
