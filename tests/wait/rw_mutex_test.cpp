// Readers that share, and writers that are alone.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/rw_mutex.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::rw_mutex_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

// Tasks that read and write for 1 ms each, and write into a log when they begin.
struct users {
    simulation& sim;
    rw_mutex guards{};
    std::string log{};
    int readers = 0;
    int writers = 0;

    task<> reads(char name) {
        const waited<rw_read_lock> lock = co_await guards.lock_shared();
        EXPECT_TRUE(lock.has_value());
        log += name;
        ++readers;
        EXPECT_EQ(writers, 0);
        co_await sleep_for(1ms);
        --readers;
        EXPECT_EQ(writers, 0);
    }

    task<> writes(char name) {
        const waited<rw_write_lock> lock = co_await guards.lock();
        EXPECT_TRUE(lock.has_value());
        log += name;
        ++writers;
        EXPECT_EQ(writers, 1);
        EXPECT_EQ(readers, 0);
        co_await sleep_for(1ms);
        EXPECT_EQ(readers, 0);
        --writers;
    }

    // Small letters read, capitals write; each begins to wait before the next.
    void begin(const std::string& names) {
        for (const char each : names) {
            const bool is_reader = each >= 'a';
            spawn(sim.scheduler, is_reader ? reads(each) : writes(each)).detach();
            sim.scheduler.run_until_idle();
        }
    }
};

TEST(RwMutex, ReadersShareAndWritersAreAlone) {
    simulation sim;
    users all{sim};
    all.begin("abc");
    EXPECT_EQ(all.readers, 3);
    EXPECT_EQ(all.guards.readers(), 3U);
    EXPECT_FALSE(all.guards.is_locked());
    all.begin("A");
    EXPECT_EQ(all.writers, 0);
    EXPECT_EQ(all.guards.waiting(), 1U);
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(all.log, "abcA");
    EXPECT_EQ(all.guards.readers(), 0U);
}

// The end of a writer lets in all readers that wait; the end of a phase one writer.
TEST(RwMutex, GoesOnInPhases) {
    simulation sim;
    users all{sim};
    const time_point begin = sim.clock.now();
    all.begin("aABbCcd");
    EXPECT_EQ(all.log, "a") << "a reader waits behind a writer that waits";
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(all.log, "aAbcdBC") << "the second writer comes after the readers";
    EXPECT_EQ(sim.clock.now(), begin + 5ms) << "three readers in one phase";
}

// tokio#2849: a task that reads, and reads again behind a writer that waits, waits for itself. A
// try says so, and a deadline ends the wait; then both the task and the writer go on.
TEST(RwMutex, ASecondReadBehindAWriterEndsByItsDeadline) {
    simulation sim;
    users all{sim};
    const auto reads_twice = [&]() -> task<> {
        const rw_read_lock first = *co_await all.guards.lock_shared();
        co_await sleep_for(1ms);
        EXPECT_EQ(all.guards.waiting(), 1U) << "the writer";
        EXPECT_FALSE(all.guards.try_lock_shared());
        const auto second = co_await all.guards.lock_shared(sim.clock.now() + 1ms);
        EXPECT_EQ(second.error(), wait_error::expired);
    };
    auto reader = spawn(sim.scheduler, reads_twice());
    sim.scheduler.run_until_idle();
    all.begin("A");
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    reader.get();
    EXPECT_EQ(all.log, "A");
}

// Many readers that lock again and again, and writers that do the same.
TEST(RwMutex, NeitherKindStarves) {
    simulation sim;
    rw_mutex guards;
    duration longest_read = 0ms;
    duration longest_write = 0ms;
    const auto reads = [&](duration offset) -> task<> {
        co_await sleep_for(offset);
        for (int i = 0; i != 100; ++i) {
            const time_point begin = sim.clock.now();
            const waited<rw_read_lock> lock = co_await guards.lock_shared();
            longest_read = std::max(longest_read, sim.clock.now() - begin);
            co_await sleep_for(1ms);
        }
    };
    const auto writes = [&]() -> task<> {
        for (int i = 0; i != 50; ++i) {
            const time_point begin = sim.clock.now();
            const waited<rw_write_lock> lock = co_await guards.lock();
            longest_write = std::max(longest_write, sim.clock.now() - begin);
            co_await sleep_for(1ms);
        }
    };
    std::vector<join_handle<void>> all;
    for (int i = 0; i != 5; ++i) all.push_back(spawn(sim.scheduler, reads(i * 300us)));
    for (int i = 0; i != 2; ++i) all.push_back(spawn(sim.scheduler, writes()));
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    for (auto& each : all) each.get();
    EXPECT_LE(longest_read, 2ms) << "the rest of a phase of readers, and one writer";
    EXPECT_LE(longest_write, 4ms) << "two phases of readers, one writer and the rest of another";
}

TEST(RwMutex, AWriterThatGivesUpLetsTheReadersIn) {
    simulation sim;
    const time_point begin = sim.clock.now();
    users all{sim};
    rw_read_lock first = all.guards.try_lock_shared();
    ASSERT_TRUE(first);
    std::vector<wait_error> errors;
    const auto gives_up = [&](duration patience) -> task<> {
        const auto lock = co_await all.guards.lock(begin + patience);
        EXPECT_FALSE(lock.has_value());
        errors.push_back(lock.error());
    };
    auto stopped = spawn(sim.scheduler, gives_up(1h));
    auto expires = spawn(sim.scheduler, gives_up(5ms));
    sim.scheduler.run_until_idle();
    all.begin("ab");
    EXPECT_FALSE(all.guards.try_lock_shared());
    stopped.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.log, "") << "a writer waits still";
    sim.scheduler.run_until(begin + 5ms);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.log, "ab");
    EXPECT_EQ(errors, (std::vector{wait_error::stopped, wait_error::expired}));
    EXPECT_TRUE(all.guards.try_lock_shared());
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
}

TEST(RwMutex, AReaderThatGivesUpLeavesTheRest) {
    simulation sim;
    users all{sim};
    rw_write_lock writer = all.guards.try_lock();
    ASSERT_TRUE(writer);
    const auto stops = [&]() -> task<> {
        EXPECT_EQ((co_await all.guards.lock_shared()).error(), wait_error::stopped);
    };
    auto reader = spawn(sim.scheduler, stops());
    sim.scheduler.run_until_idle();
    all.begin("a");
    EXPECT_EQ(all.guards.waiting(), 2U);
    reader.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.guards.waiting(), 1U);
    writer.unlock();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.log, "a");
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
}

TEST(RwMutex, AStopThatCameBeforeLocksNothing) {
    simulation sim;
    rw_mutex guards;
    const auto locks = [&]() -> task<> {
        EXPECT_EQ((co_await guards.lock_shared()).error(), wait_error::stopped);
        EXPECT_EQ((co_await guards.lock()).error(), wait_error::stopped);
    };
    auto handle = spawn(sim.scheduler, locks());
    handle.request_stop();
    sim.scheduler.run_until_idle();
    handle.get();
    EXPECT_TRUE(guards.try_lock());
}

// A task whose budget is used up. See the test of a mutex of this name.
TEST(RwMutex, ATaskTakesItsTurnWithoutTheMutex) {
    for (const bool writes : {true, false}) {
        simulation sim;
        rw_mutex one;
        int locked = 0;
        int turns = 0;
        const auto takes = [&]() -> task<> {
            for (int i = 0; i != coro::budget_of_step + 1; ++i) {
                if (writes) {
                    static_cast<void>(co_await one.lock());
                } else {
                    static_cast<void>(co_await one.lock_shared());
                }
                ++locked;
            }
        };
        spawn(sim.scheduler, takes()).detach();
        sim.scheduler.post([&] {
            EXPECT_TRUE(one.try_lock());
            turns += locked == coro::budget_of_step ? 1 : 0;
        });
        sim.scheduler.run_until_idle();
        EXPECT_EQ(turns, 1);
        EXPECT_EQ(locked, coro::budget_of_step + 1);
    }
}

TEST(RwMutex, ADowngradeLetsReadersInAndNoWriter) {
    simulation sim;
    users all{sim};
    rw_write_lock writer = all.guards.try_lock();
    all.begin("Aab");
    rw_read_lock reader = std::move(writer).downgrade();
    EXPECT_TRUE(reader);
    EXPECT_EQ(all.guards.readers(), 3U);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.log, "ab");
    EXPECT_FALSE(reader.try_upgrade()) << "other readers, and a writer that waits";
    EXPECT_TRUE(reader);
    EXPECT_FALSE(sim.scheduler.drain_for(10ms)) << "the writer waits for this reader";
    reader.unlock();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(all.log, "abA");
}

TEST(RwMutex, OnlyTheSoleReaderBecomesTheWriter) {
    rw_mutex guards;
    rw_read_lock first = guards.try_lock_shared();
    rw_read_lock second = guards.try_lock_shared();
    EXPECT_FALSE(first.try_upgrade());
    second.unlock();
    rw_write_lock writer = first.try_upgrade();
    EXPECT_TRUE(writer && !first);
    EXPECT_TRUE(guards.is_locked());
    EXPECT_FALSE(guards.try_lock_shared());
    EXPECT_FALSE(first.try_upgrade()) << "a lock that has nothing";
    writer = {};
    EXPECT_TRUE(guards.try_lock());
}

TEST(RwMutex, LocksMove) {
    rw_mutex guards;
    rw_mutex other;
    rw_read_lock first = guards.try_lock_shared();
    rw_read_lock second{std::move(first)};
    EXPECT_EQ(guards.readers(), 1U);
    second = other.try_lock_shared();
    EXPECT_EQ(guards.readers(), 0U) << "what was locked before is unlocked";
    rw_write_lock third = guards.try_lock();
    rw_write_lock fourth{std::move(third)};
    EXPECT_TRUE(fourth && guards.is_locked());
    fourth = {};
    EXPECT_FALSE(guards.is_locked());
}

// The scheduler is destroyed while a reader and a writer wait, and readers were just let in.
TEST(RwMutex, WhatWaitsLeavesWithItsScheduler) {
    for (const duration limit : {0ms, 1'000ms}) {
        rw_mutex guards;
        const auto reads = [&]() -> task<> { static_cast<void>(co_await guards.lock_shared()); };
        const auto writes = [&]() -> task<> { static_cast<void>(co_await guards.lock()); };
        {
            scheduler home{{.stop_limit = limit, .run_on_caller = true}};
            rw_write_lock writer = guards.try_lock();
            spawn(home, reads()).detach();
            spawn(home, writes()).detach();
            home.run_until_idle();
            writer.unlock();
            EXPECT_EQ(guards.readers(), 1U);
            spawn(home, reads()).detach();
            EXPECT_EQ(guards.waiting(), 1U);
        }
        EXPECT_TRUE(guards.try_lock());
    }
}

TEST(RwMutex, TasksAndThreadsReadAndWrite) {
    test::watchdog guard;
    constexpr int rounds = 2'000;
    scheduler scheduler{{.workers = 2}};
    rw_mutex guards;
    int first = 0;
    int second = 0;
    std::atomic<int> written{0};
    const auto write = [&] {
        ++first;
        ++second;
        ++written;
    };
    const auto uses = [&](int seed) -> task<> {
        for (int i = seed; i != seed + rounds; ++i) {
            if (i % 4 == 0) {
                if (auto lock = co_await guards.lock(clock::now() + i % 3 * 20us)) {
                    write();
                    co_await yield();
                    EXPECT_EQ(first, second);
                    const rw_read_lock reader = std::move(*lock).downgrade();
                    EXPECT_EQ(first, second);
                }
            } else if (auto lock = co_await guards.lock_shared()) {
                EXPECT_EQ(first, second);
                if (const rw_write_lock writer = lock->try_upgrade()) write();
            }
        }
    };
    std::vector<join_handle<void>> all;
    for (int i = 0; i != 3; ++i) all.push_back(spawn(scheduler, uses(i)));
    test::run_together(3, [&](std::size_t index) {
        for (int i = static_cast<int>(index); i != rounds; ++i) {
            if (i % 4 == 0) {
                const auto lock = guards.lock_blocking(clock::now() + i % 3 * 20us);
                if (lock) write();
            } else {
                const auto lock = guards.lock_shared_blocking();
                EXPECT_EQ(first, second);
            }
        }
    });
    for (auto& each : all) each.get();
    EXPECT_EQ(first, written);
    EXPECT_TRUE(guards.try_lock()) << "nothing is lost";
}

TEST(RwMutex, TheLastTaskToLockMayDestroyIt) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int i = 0; i != 1'000; ++i) {
        auto guards = std::make_unique<rw_mutex>();
        std::atomic<int> left{3};
        const auto writes = [&]() -> task<> {
            auto lock = *co_await guards->lock();
            if (--left != 0) co_return;
            lock.unlock();
            guards.reset();
        };
        std::vector<join_handle<void>> all;
        for (int k = 0; k != 3; ++k) all.push_back(spawn(scheduler, writes()));
        for (auto& each : all) each.get();
        EXPECT_EQ(guards, nullptr);
    }
}

}  // namespace
}  // namespace fairlead::rw_mutex_tests
