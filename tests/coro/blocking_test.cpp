// Blocking calls run on threads of their own.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/sched/block_in_place.hpp>

#include "support/ending_of.hpp"
#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace fairlead::blocking_tests {
namespace {

using namespace std::chrono_literals;

TEST(Blocking, GivesWhatTheCallGives) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    int number = 1;
    const auto calls = [&]() -> task<> {
        EXPECT_EQ(co_await blocking([] { return std::string{"text"}; }), "text");
        EXPECT_EQ(*co_await blocking([] { return std::make_unique<int>(7); }), 7);
        EXPECT_EQ(&co_await blocking([&]() -> int& { return number; }), &number);
        co_await blocking([&] { number = 2; });
        EXPECT_EQ(number, 2);
        EXPECT_THROW(co_await blocking([] { throw std::runtime_error{"it"}; }), std::runtime_error);
        EXPECT_THROW(co_await blocking([]() -> int { throw 5; }), int);
    };
    block_on(scheduler, calls());
}

TEST(Blocking, RunsOnAThreadOfItsOwn) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    const auto calls = [&]() -> task<> {
        const std::thread::id worker = std::this_thread::get_id();
        EXPECT_NE(co_await blocking([] { return std::this_thread::get_id(); }), worker);
        EXPECT_EQ(co_await blocking([] { return scheduler::current(); }), nullptr);
        EXPECT_EQ(std::this_thread::get_id(), worker);
    };
    block_on(scheduler, calls());
}

// One worker, and many calls that wait for each other, and for a task.
TEST(Blocking, KeepsNoWorker) {
    test::watchdog guard;
    constexpr int count = 40;
    scheduler scheduler{{.workers = 1}};
    std::latch all{count + 1};
    const auto waits = [&]() -> task<> { co_await blocking([&] { all.arrive_and_wait(); }); };
    for (int i = 0; i != count; ++i) spawn(scheduler, waits()).detach();
    scheduler.post([&] { all.count_down(); });
    scheduler.drain();
}

TEST(Blocking, NoMoreCallsBlockAtOnceThanMay) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2, .blocking_threads = 3}};
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    std::atomic<int> ended{0};
    const auto waits = [&]() -> task<> {
        co_await blocking([&] {
            const int now = ++running;
            int seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {
            }
            std::this_thread::sleep_for(1ms);
            --running;
        });
        ++ended;
    };
    for (int i = 0; i != 30; ++i) spawn(scheduler, waits()).detach();
    scheduler.drain();
    EXPECT_EQ(ended, 30);
    EXPECT_LE(most, 3);
}

// Threads that were started for spare workers do not raise the number of calls above the limit.
TEST(Blocking, NoMoreCallsBlockAtOnceThoughThereAreMoreThreads) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2, .blocking_threads = 1}};
    std::barrier all{8};
    for (int i = 0; i != 8; ++i) {
        scheduler.post([&] { block_in_place([&] { all.arrive_and_wait(); }); });
    }
    scheduler.drain();
    std::atomic<int> running{0};
    std::atomic<int> ended{0};
    const auto waits = [&]() -> task<> {
        co_await blocking([&] {
            EXPECT_EQ(++running, 1);
            std::this_thread::sleep_for(1ms);
            --running;
        });
        ++ended;
    };
    for (int i = 0; i != 16; ++i) spawn(scheduler, waits()).detach();
    scheduler.drain();
    EXPECT_EQ(ended, 16);
}

TEST(Blocking, AStopWaitsForTheCall) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    std::latch called{1};
    std::latch release{1};
    bool over = false;
    wake_reason next = wake_reason::expired;
    const auto waits = [&]() -> task<> {
        co_await blocking([&] {
            called.count_down();
            release.wait();
            over = true;
        });
        EXPECT_TRUE(over);
        next = co_await test::ending_of(sleep_for(1h));
    };
    auto handle = spawn(scheduler, waits());
    called.wait();
    handle.request_stop();
    release.count_down();
    handle.get();
    EXPECT_EQ(next, wake_reason::stopped);
}

// Calls in line do not begin. The destructor waits for the call that runs.
TEST(Blocking, ADestructorWaitsForTheCallThatRuns) {
    test::watchdog guard;
    std::latch called{1};
    std::atomic<int> began{0};
    std::atomic<bool> over{false};
    {
        scheduler scheduler{{.workers = 2, .blocking_threads = 1, .stop_limit = 0s}};
        const auto waits = [&]() -> task<> {
            co_await blocking([&] {
                if (++began == 1) called.count_down();
                std::this_thread::sleep_for(20ms);
                over = true;
            });
        };
        for (int i = 0; i != 10; ++i) spawn(scheduler, waits()).detach();
        called.wait();
    }
    EXPECT_TRUE(over);
    EXPECT_LE(began, 2);
}

// Calls in line are withdrawn while threads of the pool take them, and threads of hand-overs join
// the pool. Each call is made at most once, and no more calls than the limit run at once.
TEST(Blocking, ADestructorComesWhileCallsAreInLine) {
    test::watchdog guard;
    for (int round = 0; round != 100; ++round) {
        const int most = 1 + round % 3;
        std::atomic<int> inside{0};
        std::array<std::atomic<int>, 12> made{};
        {
            const auto waits = [&](std::size_t index) -> task<> {
                co_await blocking([&] {
                    EXPECT_LT(inside++, most);
                    ++made[index];
                    --inside;
                });
            };
            scheduler scheduler{
                {.workers = 2, .blocking_threads = static_cast<unsigned>(most), .stop_limit = 0s}};
            for (std::size_t i = 0; i != made.size(); ++i) {
                spawn(scheduler, waits(i)).detach();
                if (i % 4 == 0) scheduler.post([] { block_in_place([] {}); });
            }
        }
        EXPECT_EQ(inside, 0);
        for (const auto& each : made) EXPECT_LE(each, 1);
    }
}

TEST(Blocking, RunsOnTheCallerIfTasksDo) {
    test::simulation sim;
    const auto calls = []() -> task<std::thread::id> {
        co_return co_await blocking([] { return std::this_thread::get_id(); });
    };
    EXPECT_EQ(block_on(sim.scheduler, calls()), std::this_thread::get_id());
}

TEST(Blocking, ManyTasksCallAgainAndAgain) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3, .blocking_threads = 4}};
    std::atomic<int> calls{0};
    const auto often = [&]() -> task<> {
        for (int i = 0; i != 200; ++i) co_await blocking([&] { ++calls; });
    };
    for (int i = 0; i != 20; ++i) spawn(scheduler, often()).detach();
    scheduler.drain();
    EXPECT_EQ(calls, 4'000);
}

}  // namespace
}  // namespace fairlead::blocking_tests
