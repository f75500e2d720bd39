// Threads that wait for a task or for a permit, when a stop ends the workers: no wait is for ever.
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/permit_in.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>

#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace fairlead::halted_wait_tests {
namespace {

using namespace std::chrono_literals;
using test::watchdog;

task<int> number(int value) { co_return value; }

// Waits for a signal though it is asked to stop.
task<int> waits_for_a_signal(int value) {
    static_cast<void>(co_await shielded(receive_signal()));
    co_return value;
}

TEST(halted_wait, get_throws_after_a_stop_and_goes_on_after_the_start) {
    const watchdog guard;
    scheduler threads{{.workers = 2}};
    auto handle = spawn(threads, waits_for_a_signal(7));
    static_cast<void>(threads.stop(0s));
    EXPECT_THROW(static_cast<void>(handle.get()), stopped_error);
    ASSERT_TRUE(handle.valid());
    EXPECT_EQ(handle.get_until(never).error(), wait_error::stopped);
    EXPECT_EQ(handle.get_until(immediately).error(), wait_error::stopped);
    threads.start();
    EXPECT_EQ(handle.get_until(immediately).error(), wait_error::expired);
    handle.get_task().signal();
    EXPECT_EQ(handle.get(), 7);
}

TEST(halted_wait, a_task_that_is_spawned_after_a_stop_keeps_no_thread) {
    const watchdog guard;
    scheduler threads{{.workers = 1}};
    static_cast<void>(threads.stop(0s));
    auto handle = spawn(threads, number(7));
    EXPECT_THROW(static_cast<void>(handle.get()), stopped_error);
    EXPECT_TRUE(handle.valid());
    EXPECT_THROW(static_cast<void>(handle.get()), stopped_error) << "again";
    threads.start();
    EXPECT_EQ(handle.get(), 7);
}

// The destructor waits for a step that waits for a thread that waits for a task which is left.
TEST(halted_wait, the_destructor_tells_threads_while_a_step_goes_on) {
    const watchdog guard;
    std::optional<scheduler> threads{std::in_place,
                                     scheduler_options{.workers = 1, .stop_limit = 0s}};
    std::atomic<bool> runs{false};
    std::atomic<bool> told{false};
    threads->post([&] {
        runs = true;
        runs.notify_one();
        told.wait(false);
    });
    runs.wait(false);
    auto left = spawn(*threads, number(7));
    std::jthread gets{[&] {
        EXPECT_THROW(static_cast<void>(left.get()), stopped_error);
        told = true;
        told.notify_one();
    }};
    threads.reset();
}

TEST(halted_wait, a_result_that_is_there_wins) {
    const watchdog guard;
    scheduler threads{{.workers = 1}};
    auto handle = spawn(threads, number(7));
    threads.drain();
    static_cast<void>(threads.stop(0s));
    EXPECT_EQ(handle.get(), 7);
}

TEST(halted_wait, a_thread_that_waits_already_is_told) {
    const watchdog guard;
    for (int i = 0; i != 200; ++i) {
        scheduler threads{{.workers = 2}};
        auto handle = spawn(threads, waits_for_a_signal(7));
        std::thread stops{[&] { static_cast<void>(threads.stop(0s)); }};
        EXPECT_THROW(static_cast<void>(handle.get()), stopped_error);
        stops.join();
        threads.start();
        handle.get_task().signal();
        EXPECT_EQ(handle.get(), 7);
    }
}

TEST(halted_wait, stops_and_starts_race_with_the_ends) {
    const watchdog guard;
    scheduler threads{{.workers = 2}};
    std::atomic<bool> over{false};
    std::thread stops{[&] {
        while (!over) {
            static_cast<void>(threads.stop(0s));
            threads.start();
        }
    }};
    for (int i = 0; i != 2'000; ++i) {
        auto handle = spawn(threads, number(i));
        std::optional<int> result;
        while (!result) {
            const waited<int> got = handle.get_until(never);
            EXPECT_NE(got.has_value(), handle.valid());
            if (got) result = *got;
        }
        EXPECT_EQ(result, i);
    }
    over = true;
    stops.join();
}

// The task is not on the scheduler that was stopped.
TEST(halted_wait, a_task_that_has_moved_is_waited_for) {
    const watchdog guard;
    scheduler elsewhere{{.workers = 1}};
    std::optional<scheduler> home{std::in_place, scheduler_options{.workers = 1}};
    std::atomic<bool> moved{false};
    const auto moves = [](scheduler& to, std::atomic<bool>& there) -> task<int> {
        co_await resume_on(to);
        there = true;
        there.notify_one();
        co_return co_await waits_for_a_signal(7);
    };
    auto handle = spawn(*home, moves(elsewhere, moved));
    moved.wait(false);
    static_cast<void>(home->stop(0s));
    EXPECT_EQ(handle.get_until(clock::now() + 1ms).error(), wait_error::expired);
    home.reset();
    EXPECT_EQ(handle.get_until(clock::now() + 1ms).error(), wait_error::expired);
    handle.get_task().signal();
    EXPECT_EQ(handle.get(), 7);
}

// The scheduler ends at any moment of the wait, and the task has moved before or has not.
TEST(halted_wait, the_end_of_the_scheduler_races_with_a_move) {
    const watchdog guard;
    scheduler elsewhere{{.workers = 1}};
    const auto moves = [](scheduler& to) -> task<int> {
        co_await resume_on(to);
        co_return 7;
    };
    for (int i = 0; i != 500; ++i) {
        std::optional<scheduler> home{std::in_place, scheduler_options{.workers = 1}};
        auto handle = spawn(*home, moves(elsewhere));
        std::thread destroys{[&] { home.reset(); }};
        try {
            EXPECT_EQ(handle.get(), 7);
        } catch (const stopped_error&) {
            EXPECT_FALSE(handle.valid()) << "the task was stopped before it moved";
        }
        destroys.join();
    }
}

TEST(halted_wait, a_stop_ends_the_wait_for_a_permit) {
    const watchdog guard;
    scheduler threads{{.workers = 1}};
    group one{threads, {.queue_max = 1}};
    permit first = wait_for_permit_in(one);
    std::thread stops{[&] { static_cast<void>(threads.stop(0s)); }};
    EXPECT_THROW(static_cast<void>(wait_for_permit_in(one)), stopped_error);
    stops.join();
    EXPECT_EQ(wait_for_permit_in(one, never).error(), wait_error::stopped);
    first = {};
    EXPECT_TRUE(wait_for_permit_in(one, immediately).has_value()) << "what is free wins";
    threads.start();
    first = wait_for_permit_in(one);
    EXPECT_EQ(wait_for_permit_in(one, immediately).error(), wait_error::expired);
}

}  // namespace
}  // namespace fairlead::halted_wait_tests
