// Calls in parallel inside coroutines: beside the forks of these, under a stop, and what the calls
// start.
#include <fairlead/context/context.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/sched/parallel_invoke.hpp>

#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <latch>
#include <thread>
#include <utility>

namespace fairlead::parallel_invoke_tests {
namespace {

using namespace std::chrono_literals;
using test::watchdog;

task<> nothing() { co_return; }

// The second call is taken: it begins while the first waits for it.
void call_elsewhere() {
    std::latch begun{1};
    parallel_invoke([&] { begun.wait(); }, [&] { begun.count_down(); });
}

task<> calls() {
    call_elsewhere();
    co_return;
}

TEST(parallel_invoke_in_coroutines, in_a_child_of_a_fork) {
    watchdog guard;
    for (int i = 0; i != 100; ++i) {
        scheduler scheduler{{.workers = 3}};
        constexpr auto parent = []() -> task<> { co_await fork_join(calls(), nothing()); };
        block_on(scheduler, parent());
    }
}

TEST(parallel_invoke_in_coroutines, in_a_child_of_a_scope) {
    watchdog guard;
    for (int i = 0; i != 100; ++i) {
        scheduler scheduler{{.workers = 3}};
        constexpr auto parent = []() -> task<> {
            co_await with_scope([](scope& children) -> task<> {
                co_await children.fork(calls());
                co_await children.fork(nothing());
            });
        };
        block_on(scheduler, parent());
    }
}

TEST(parallel_invoke_in_coroutines, in_a_loop) {
    watchdog guard;
    for (int i = 0; i != 20; ++i) {
        scheduler scheduler{{.workers = 3}};
        constexpr auto parent = []() -> task<> {
            std::array<std::uint64_t, 20> elements{};
            co_await for_each(elements, [](std::uint64_t& each) {
                const auto [left, right] = parallel_invoke([] { return std::uint64_t{1}; },
                                                           [] { return std::uint64_t{2}; });
                each = left + right;
            });
            for (const std::uint64_t each : elements) EXPECT_EQ(each, 3U);
        };
        block_on(scheduler, parent());
    }
}

TEST(parallel_invoke_in_coroutines, after_a_fork_and_while_the_scheduler_stops) {
    watchdog guard;
    for (int i = 0; i != 20; ++i) {
        scheduler scheduler{{.workers = 3}};
        std::latch begun{1};
        static constexpr auto child = [](std::latch& has_begun) -> task<> {
            has_begun.count_down();
            std::this_thread::sleep_for(2ms);
            call_elsewhere();
            co_return;
        };
        static constexpr auto parent = [](std::latch& has_begun) -> task<> {
            co_await fork_join(child(has_begun), nothing());
        };
        auto handle = spawn(scheduler, parent(begun));
        begun.wait();
        EXPECT_TRUE(scheduler.stop(5s).clean());
        handle.get();
    }
}

// A task that a taken call starts has the depth of the tasks that the parent of the call starts.
TEST(parallel_invoke_in_coroutines, tasks_of_a_taken_call_are_as_deep_as_those_of_its_parent) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    static constexpr auto child = []() -> task<> {
        std::latch begun{1};
        std::uint32_t depth = 0;
        parallel_invoke([&] { begun.wait(); },
                        [&] {
                            depth = sched::access::depth_of_new_task();
                            begun.count_down();
                        });
        EXPECT_EQ(depth, sched::access::depth_of_new_task());
        EXPECT_GT(depth, 1U);
        co_return;
    };
    static constexpr auto parent = []() -> task<> {
        co_await with_scope([](scope& children) -> task<> { co_await children.fork(child()); });
    };
    for (int i = 0; i != 100; ++i) block_on(scheduler, parent());
}

}  // namespace
}  // namespace fairlead::parallel_invoke_tests
