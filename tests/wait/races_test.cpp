// Threads and workers that lock, wait, give up and stop each other in real time.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/event.hpp>
#include <fairlead/wait/latch.hpp>
#include <fairlead/wait/mutex.hpp>
#include <fairlead/wait/semaphore.hpp>

#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::races_tests {
namespace {

using namespace std::chrono_literals;
using test::watchdog;

// Each deadline is some microseconds away, or past.
time_point soon(int i) { return clock::now() + (i % 7 - 1) * 5us; }

// Kotlin/kotlinx.coroutines#2233, #4145: deadlines, stops and unlocks at any moment.
TEST(WaitRaces, AMutexIsNeverLeftLocked) {
    watchdog guard;
    constexpr int rounds = 2'000;
    scheduler home{{.workers = 2}};
    mutex one;
    int guarded = 0;  // by the mutex
    std::atomic<int> had{0};
    const auto locks = [&]() -> task<> {
        for (int i = 0; i != rounds; ++i) {
            const waited<mutex_lock> lock = co_await one.lock(i % 3 == 0 ? never : soon(i));
            if (!lock) {
                if (lock.error() == wait_error::stopped) co_return;
                continue;
            }
            ++guarded;
            ++had;
            if (i % 16 == 0) co_await yield();
        }
    };
    std::vector<join_handle<void>> tasks;
    for (int i = 0; i != 20; ++i) tasks.push_back(spawn(home, locks()));
    test::run_together(3, [&](std::size_t thread) {
        for (int i = 0; i != rounds; ++i) {
            if (thread == 0 && i % 200 == 0) {
                tasks[static_cast<std::size_t>(i) / 200].request_stop();
            }
            const waited<mutex_lock> lock = one.lock_blocking(i % 2 == 0 ? never : soon(i));
            if (!lock) {
                EXPECT_EQ(lock.error(), wait_error::expired);
                continue;
            }
            ++guarded;
            ++had;
        }
    });
    for (auto& each : tasks) {
        try {
            each.get();
        } catch (const stopped_error&) {
            EXPECT_FALSE(each.valid());  // of the yield
        }
    }
    EXPECT_EQ(guarded, had);
    EXPECT_GE(had, 3 * rounds / 2);
    EXPECT_TRUE(one.try_lock());
    EXPECT_EQ(one.waiting(), 0U);
}

// dotnet/runtime#37671, #129796: a stop that comes while the wait begins.
TEST(WaitRaces, AStopThatComesWhileAWaitBeginsIsHeard) {
    watchdog guard;
    scheduler home{{.workers = 1}};
    mutex one;
    mutex_lock held = one.try_lock();
    for (int i = 0; i != 2'000; ++i) {
        std::atomic<bool> begins{false};
        const auto asks = [&]() -> task<> {
            begins = true;
            const waited<mutex_lock> lock = co_await one.lock();
            EXPECT_FALSE(lock.has_value());
            EXPECT_EQ(lock.error(), wait_error::stopped);
        };
        auto handle = spawn(home, asks());
        test::await([&] { return begins.load(); });
        handle.request_stop();
        handle.get();
    }
    EXPECT_EQ(one.waiting(), 0U);
}

TEST(WaitRaces, ASemaphoreLosesNoPermit) {
    watchdog guard;
    constexpr std::uint64_t size = 5;
    constexpr int rounds = 2'000;
    scheduler home{{.workers = 2}};
    semaphore all{size};
    std::atomic<std::uint64_t> taken{0};
    const auto uses = [&](semaphore_units units) {
        EXPECT_LE(taken.fetch_add(units.count()) + units.count(), size + 1);
        semaphore_units part = units.split(units.count() / 2);
        taken -= units.count();
        units.release();
        taken -= part.count();
    };
    const auto asks = [&](std::uint32_t count) -> task<> {
        for (int i = 0; i != rounds; ++i) {
            waited<semaphore_units> units = co_await all.acquire(count, soon(i));
            if (units) uses(*std::move(units));
        }
    };
    std::vector<join_handle<void>> tasks;
    for (std::uint32_t i = 0; i != 15; ++i) tasks.push_back(spawn(home, asks(i % 5 + 1)));
    test::run_together(3, [&](std::size_t thread) {
        for (int i = 0; i != rounds; ++i) {
            if (thread == 0) all.resize(i % 2 == 0 ? size + 1 : size);
            waited<semaphore_units> units =
                all.acquire_blocking(static_cast<std::uint32_t>(thread) + 1, soon(i));
            if (units) uses(*std::move(units));
        }
    });
    for (auto& each : tasks) each.get();
    all.resize(size);
    EXPECT_EQ(all.available(), size);
    EXPECT_EQ(all.waiting(), 0U);
    EXPECT_TRUE(all.try_acquire(static_cast<std::uint32_t>(size)));
}

TEST(WaitRaces, ACloseEndsTheWaitsOfTasksAndThreads) {
    watchdog guard;
    scheduler home{{.workers = 2}};
    for (int i = 0; i != 200; ++i) {
        semaphore all{1};
        std::atomic<int> closed{0};
        const auto asks = [&]() -> task<> {
            for (;;) {
                const waited<semaphore_units> units = co_await all.acquire();
                if (!units) break;
            }
            ++closed;
        };
        std::vector<join_handle<void>> tasks;
        for (int j = 0; j != 5; ++j) tasks.push_back(spawn(home, asks()));
        test::run_together(3, [&](std::size_t thread) {
            if (thread == 0) {
                EXPECT_TRUE(all.close());
                return;
            }
            while (all.acquire_blocking()) {
            }
            ++closed;
        });
        for (auto& each : tasks) each.get();
        EXPECT_EQ(closed, 7);
        EXPECT_EQ(all.available(), 1U);
    }
}

// Each set of an event that keeps one set ends one wait, whatever deadlines there are.
TEST(WaitRaces, AnAutoEventHandsOverEachTurn) {
    watchdog guard;
    constexpr int turns = 3'000;
    scheduler home{{.workers = 1}};
    auto_event ping;
    auto_event pong;
    int turn = 0;  // by the events
    const auto answers = [&]() -> task<> {
        for (int i = 0; i != turns; ++i) {
            for (int j = i;; ++j) {
                const waited<void> came = co_await ping.wait(soon(j));
                if (came) break;
            }
            EXPECT_EQ(turn++, 2 * i + 1);
            EXPECT_TRUE(pong.set());
        }
    };
    auto handle = spawn(home, answers());
    for (int i = 0; i != turns; ++i) {
        EXPECT_EQ(turn++, 2 * i);
        EXPECT_TRUE(ping.set());
        int j = i;
        while (!pong.wait_blocking(soon(j))) ++j;
    }
    handle.get();
    EXPECT_EQ(turn, 2 * turns);
}

TEST(WaitRaces, AnEventWakesTasksAndThreads) {
    watchdog guard;
    scheduler home{{.workers = 2}};
    for (int i = 0; i != 300; ++i) {
        event ready;
        int written = 0;
        std::vector<join_handle<int>> tasks;
        const auto reads = [&]() -> task<int> {
            static_cast<void>(co_await ready.wait(soon(i)));
            static_cast<void>(co_await ready.wait());
            co_return written;
        };
        for (int j = 0; j != 3; ++j) tasks.push_back(spawn(home, reads()));
        test::run_together(3, [&](std::size_t thread) {
            if (thread == 0) {
                written = 1;
                EXPECT_TRUE(ready.set());
            } else {
                EXPECT_TRUE(ready.wait_blocking());
                EXPECT_EQ(written, 1);
            }
        });
        for (auto& each : tasks) EXPECT_EQ(each.get(), 1);
    }
}

// --- what goes on destroys the object as its first act -------------------------------------------

TEST(WaitRaces, ATaskDestroysTheMutexThatItHas) {
    watchdog guard;
    scheduler home{{.workers = 1}};
    for (int i = 0; i != 2'000; ++i) {
        auto one = std::make_unique<mutex>();
        mutex_lock held = one->try_lock();
        const auto destroys = [&]() -> task<> {
            mutex_lock lock = *co_await one->lock();
            lock.unlock();
            one.reset();
        };
        auto handle = spawn(home, destroys());
        if (i % 2 == 0) test::await([&] { return one->waiting() != 0; });
        held.unlock();
        handle.get();
        EXPECT_EQ(one, nullptr);
    }
}

TEST(WaitRaces, ATaskDestroysTheEventThatHasCome) {
    watchdog guard;
    scheduler home{{.workers = 1}};
    for (int i = 0; i != 2'000; ++i) {
        auto one = std::make_unique<event>();
        const auto destroys = [&]() -> task<> {
            EXPECT_TRUE(co_await one->wait());
            one.reset();
        };
        event& sets = *one;
        auto handle = spawn(home, destroys());
        sets.set();
        handle.get();
    }
}

TEST(WaitRaces, AThreadDestroysTheLatchThatHasOpened) {
    watchdog guard;
    scheduler home{{.workers = 2}};
    for (int i = 0; i != 1'000; ++i) {
        auto all = std::make_unique<latch>(3);
        latch& arrives_at = *all;
        int written[3] = {};
        const auto arrives = [&](int& own) -> task<> {
            own = 1;
            arrives_at.arrive();
            co_return;
        };
        std::vector<join_handle<void>> tasks;
        for (int& each : written) tasks.push_back(spawn(home, arrives(each)));
        if (i % 2 == 0) {
            EXPECT_TRUE(all->wait_blocking());
        } else {
            test::await([&] { return all->is_open(); });
        }
        EXPECT_EQ(written[0] + written[1] + written[2], 3);
        all.reset();
        for (auto& each : tasks) each.get();
    }
}

// --- blocking forms ------------------------------------------------------------------------------

TEST(WaitBlocking, ADeadlineEndsTheWaitOfAThread) {
    mutex one;
    semaphore all{1};
    event ready;
    auto_event more;
    latch opens{1};
    const mutex_lock lock = one.try_lock();
    const semaphore_units units = all.try_acquire();
    for (const time_point deadline : {immediately, clock::now() - 1s, clock::now() + 2ms}) {
        EXPECT_EQ(one.lock_blocking(deadline).error(), wait_error::expired);
        EXPECT_EQ(all.acquire_blocking(1, deadline).error(), wait_error::expired);
        EXPECT_EQ(ready.wait_blocking(deadline).error(), wait_error::expired);
        EXPECT_EQ(more.wait_blocking(deadline).error(), wait_error::expired);
        EXPECT_EQ(opens.wait_blocking(deadline).error(), wait_error::expired);
        EXPECT_GE(clock::now(), deadline);
    }
    EXPECT_EQ(one.waiting() + all.waiting(), 0U);
}

TEST(WaitBlocking, WhatIsFreeWinsOverThePastDeadline) {
    mutex one;
    semaphore all{3};
    event ready;
    auto_event more;
    ready.set();
    more.set();
    EXPECT_TRUE(one.lock_blocking(immediately));
    EXPECT_EQ(all.acquire_blocking(3, immediately)->count(), 3U);
    EXPECT_TRUE(ready.wait_blocking(immediately));
    EXPECT_TRUE(more.wait_blocking(immediately));
    EXPECT_FALSE(more.try_wait());
}

}  // namespace
}  // namespace fairlead::races_tests
