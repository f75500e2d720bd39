// The test kit as a user has it.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace fairlead::test::simulated_scheduler_tests {
namespace {

using namespace std::chrono_literals;

task<duration> sleeps(duration length) {
    const time_point begin = clock::now();
    co_await sleep_for(length);
    co_return clock::now() - begin;
}

TEST(simulated_scheduler, time_passes_exactly) {
    simulated_scheduler simulated;
    const time_point begin = clock::now();
    EXPECT_EQ(simulated.run(sleeps(3h)), 3h);
    EXPECT_EQ(clock::now(), begin + 3h);
    EXPECT_EQ(simulated.clock().now(), begin + 3h);
    EXPECT_EQ(simulated.scheduler().now(), begin + 3h);
}

TEST(simulated_scheduler, the_thread_is_in_real_time_again_afterwards) {
    const time_point real = clock::now();
    { const simulated_scheduler simulated; }
    EXPECT_FALSE(clock_override::is_active());
    EXPECT_GE(clock::now(), real);
}

TEST(simulated_scheduler, tasks_run_in_the_order_of_their_deadlines_with_those_times) {
    simulated_scheduler simulated;
    std::vector<duration> at;
    const time_point begin = clock::now();
    const auto notes = [&](duration when) -> task<> {
        co_await sleep_until(begin + when);
        at.push_back(clock::now() - begin);
    };
    for (const duration when : {duration{5s}, duration{1s}, duration{24h}, duration{3s}}) {
        spawn(simulated, notes(when)).detach();
    }
    simulated.scheduler().drain();
    EXPECT_EQ(at, (std::vector<duration>{1s, 3s, 5s, 24h}));
}

TEST(simulated_scheduler, an_exception_leaves_run) {
    simulated_scheduler simulated;
    const auto fails = []() -> task<> {
        co_await sleep_for(1h);
        throw std::logic_error{"late"};
    };
    EXPECT_THROW(simulated.run(fails()), std::logic_error);
}

TEST(simulated_scheduler, what_has_not_ended_at_the_limit_is_reported_and_goes_on) {
    simulated_scheduler simulated;
    const time_point begin = clock::now();
    bool ended = false;
    const auto long_one = [&]() -> task<> {
        co_await sleep_for(1h);
        ended = true;
    };
    EXPECT_THROW(simulated.run(long_one(), 59min), std::runtime_error);
    EXPECT_EQ(clock::now(), begin + 59min);
    EXPECT_FALSE(ended);
    simulated.run_for(1min);
    EXPECT_TRUE(ended);
}

TEST(simulated_scheduler, what_ends_at_the_limit_has_ended) {
    simulated_scheduler simulated;
    EXPECT_EQ(simulated.run(sleeps(1h), 1h), 1h);
}

TEST(simulated_scheduler, a_task_that_nothing_wakes_is_reported) {
    simulated_scheduler simulated;
    const auto waits = []() -> task<> { static_cast<void>(co_await wait_until_woken()); };
    EXPECT_THROW(simulated.run(waits()), std::runtime_error);
}

TEST(simulated_scheduler, run_for_ends_at_its_time_with_what_is_due_then) {
    simulated_scheduler simulated;
    const time_point begin = clock::now();
    int runs = 0;
    callback_task at_the_end{[&runs](callback_task&) { ++runs; }};
    callback_task later{[&runs](callback_task&) { runs += 100; }};
    simulated.scheduler().post_deadline(at_the_end, begin + 10s);
    simulated.scheduler().post_deadline(later, begin + 10s + 1ns);
    simulated.run_for(10s);
    EXPECT_EQ(clock::now(), begin + 10s);
    EXPECT_EQ(runs, 1);
    simulated.run_for(1ns);
    EXPECT_EQ(runs, 101);
}

TEST(simulated_scheduler, a_call_that_blocks_runs_on_the_spot) {
    simulated_scheduler simulated;
    std::thread::id where;
    const auto body = [&]() -> task<> {
        co_await blocking([&] { where = std::this_thread::get_id(); });
    };
    simulated.run(body());
    EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(simulated_scheduler, a_wake_up_from_another_thread_arrives) {
    simulated_scheduler simulated;
    callback_task woken{[](callback_task&) {}};
    simulated.scheduler().post_deadline(woken, never);
    simulated.scheduler().run_until_idle();
    std::jthread other{[&] { woken.wakeup(); }};
    EXPECT_EQ(simulated.scheduler().run_until(never, 1), 1U);
}

TEST(simulated_scheduler, two_share_the_time_of_the_thread) {
    manual_clock manual;
    scheduler_options options;
    options.run_on_caller = true;
    options.driver = std::make_unique<jumping_driver>(manual);
    scheduler first{std::move(options)};
    scheduler second{{.run_on_caller = true}};
    const time_point begin = clock::now();
    EXPECT_EQ(block_on(first, sleeps(1h)), 1h);
    EXPECT_EQ(second.now(), begin + 1h);
}

TEST(simulated_scheduler, options_are_kept) {
    scheduler_options options;
    options.policy = policy::stealing;
    std::string reported;
    options.on_unhandled = [&](std::exception_ptr, const failure_origin& from) {
        reported = from.last().name;
    };
    simulated_scheduler simulated{std::move(options)};
    simulated.scheduler().post([] { throw 1; });
    simulated.run_for(0s);
    EXPECT_EQ(reported, "posted callable");
}

}  // namespace
}  // namespace fairlead::test::simulated_scheduler_tests
