// Coroutines and threads that wait for a permit in the queue of a group.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/permit_in.hpp>
#include <fairlead/coro/spawn.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace fairlead::permit_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

task<> writes(std::vector<int>& log, int number) {
    log.push_back(number);
    co_return;
}

// The poster goes on when a task begins, so it is never ahead by more than the bound.
TEST(PermitIn, WhoPostsFasterThanTheGroupRunsIsHeldUp) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 3}};
    std::vector<int> log;
    int posted = 0;
    const auto posts = [&]() -> task<> {
        for (; posted != 100; ++posted) {
            permit next = *co_await permit_in(one);
            EXPECT_TRUE(next);
            EXPECT_LE(posted - static_cast<int>(log.size()), 3);
            spawn(std::move(next), writes(log, posted)).detach();
        }
    };
    one.pause();
    auto poster = spawn(sim.scheduler, posts());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(posted, 3);
    EXPECT_EQ(one.stats().waiting_posts, 1U);
    EXPECT_FALSE(one.try_post([] {})) << "others wait";
    one.resume();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(poster.ended());
    EXPECT_EQ(one.stats().waiting_posts, 0U);
    ASSERT_EQ(log.size(), 100U);
    for (int i = 0; i != 100; ++i) EXPECT_EQ(log[static_cast<std::size_t>(i)], i);
}

// Permits become free when tasks begin, and tasks begin at the rate.
TEST(PermitIn, WhoPostsFasterThanTheRateIsHeldUp) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 2, .rate_max = 100}};
    const time_point begin = sim.clock.now();
    std::vector<duration> posted;
    const auto posts = [&]() -> task<> {
        while (posted.size() != 6) {
            permit next = *co_await permit_in(one);
            posted.push_back(sim.clock.now() - begin);
            std::move(next).post([] {});
        }
    };
    auto poster = spawn(sim.scheduler, posts());
    EXPECT_TRUE(sim.scheduler.drain_for(10s));
    EXPECT_TRUE(poster.ended());
    EXPECT_EQ(posted, (std::vector<duration>{0ms, 0ms, 0ms, 10ms, 20ms, 30ms}));
}

TEST(PermitIn, IsGrantedInTheOrderOfAsking) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    std::vector<int> log;
    const auto asks = [&](int number) -> task<> {
        permit mine = *co_await permit_in(one);
        std::move(mine).post([&log, number] { log.push_back(number); });
    };
    permit first = one.try_permit();
    for (int i = 0; i != 50; ++i) {
        spawn(sim.scheduler, asks(i)).detach();
        sim.scheduler.run_until_idle();
    }
    EXPECT_EQ(one.stats().waiting_posts, 50U);
    EXPECT_TRUE(log.empty());
    first = {};
    sim.scheduler.run_until_idle();
    ASSERT_EQ(log.size(), 50U);
    for (int i = 0; i != 50; ++i) EXPECT_EQ(log[static_cast<std::size_t>(i)], i);
    EXPECT_TRUE(one.try_permit());
}

TEST(PermitIn, AHigherBoundLetsThemIn) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    std::deque<permit> permits;
    const auto asks = [&]() -> task<> { permits.push_back(*co_await permit_in(one)); };
    for (int i = 0; i != 5; ++i) spawn(sim.scheduler, asks()).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(permits.size(), 1U);
    one.set_queue_max(3);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(permits.size(), 3U);
    one.set_queue_max(0);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(permits.size(), 5U);
}

TEST(PermitIn, AStopEndsTheWaitWithoutOne) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    permit first = one.try_permit();
    std::vector<int> log;
    const auto asks = [&](int number) -> task<> {
        const waited<permit> mine = co_await permit_in(one);
        log.push_back(mine ? number : -number);
        EXPECT_NE(mine.has_value(), co_await stop_requested());
        EXPECT_TRUE(mine.has_value() || mine.error() == wait_error::stopped);
    };
    auto second = spawn(sim.scheduler, asks(2));
    auto third = spawn(sim.scheduler, asks(3));
    sim.scheduler.run_until_idle();
    second.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{-2}));
    first = {};
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{-2, 3}));
    EXPECT_TRUE(second.ended() && third.ended());
    EXPECT_TRUE(one.try_permit()) << "all were given back";
}

TEST(PermitIn, ADeadlineEndsTheWaitAndTheNextIsGranted) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    permit first = one.try_permit();
    std::vector<int> log;
    const auto asks = [&](int number, duration patience) -> task<> {
        const waited<permit> mine = co_await permit_in(one, sim.clock.now() + patience);
        log.push_back(mine ? number : -number);
        EXPECT_TRUE(mine.has_value() || mine.error() == wait_error::expired);
    };
    const time_point begin = sim.clock.now();
    auto second = spawn(sim.scheduler, asks(2, 5ms));
    auto third = spawn(sim.scheduler, asks(3, 10s));
    auto late = spawn(sim.scheduler, asks(4, -1s));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{-4})) << "one look, then its deadline";
    sim.scheduler.run_until(begin + 5ms);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{-4, -2}));
    EXPECT_EQ(sim.clock.now(), begin + 5ms);
    first = {};
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{-4, -2, 3}));
    EXPECT_TRUE(second.ended() && third.ended() && late.ended());
    EXPECT_TRUE(one.try_permit()) << "all were given back";
}

// A task that was stopped before takes no permit.
TEST(PermitIn, AStopThatCameBeforeTakesNoPermit) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    const auto asks = [&]() -> task<> {
        const waited<permit> mine = co_await permit_in(one);
        EXPECT_FALSE(mine.has_value());
        EXPECT_EQ(one.stats().waiting_posts, 0U);
    };
    auto handle = spawn(sim.scheduler, asks());
    handle.request_stop();
    sim.scheduler.run_until_idle();
    handle.get();
}

TEST(PermitIn, AWaitThatHasExpiredCanBeAwaitedAgain) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    permit first = one.try_permit();
    const auto asks = [&]() -> task<> {
        auto wait = permit_in(one, sim.clock.now() + 1s);
        EXPECT_EQ((co_await wait).error(), wait_error::expired);
        first = {};
        EXPECT_TRUE((co_await wait).has_value());
    };
    auto handle = spawn(sim.scheduler, asks());
    sim.scheduler.run_until(sim.clock.now() + 2s);
    handle.get();
    // The same of a join.
    const auto ends = [&]() -> task<> { co_await sleep_for(5s); };
    const auto joins = [&]() -> task<> {
        auto other = spawn(sim.scheduler, ends());
        auto wait = other.join_until(sim.clock.now() + 1s);
        EXPECT_EQ((co_await wait).error(), wait_error::expired);
        co_await sleep_for(10s);
        EXPECT_TRUE((co_await wait).has_value());
    };
    block_on(sim.scheduler, joins());
}

TEST(PermitIn, ALoopThatIgnoresTheStopDoesNotKeepItsWorker) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    int waits = 0;
    const auto asks = [&]() -> task<> {
        for (; waits != 10'000; ++waits) EXPECT_FALSE((co_await permit_in(one)).has_value());
    };
    auto handle = spawn(sim.scheduler, asks());
    handle.request_stop();
    int waits_before = -1;
    sim.scheduler.post([&] { waits_before = waits; });
    sim.scheduler.run_until_idle();
    handle.get();
    EXPECT_EQ(waits, 10'000);
    EXPECT_LT(waits_before, 10'000) << "another task has its turn before the loop ends";
}

// The scheduler is destroyed while some tasks wait, and one has just been granted its permit.
TEST(PermitIn, WhoWaitsIsStoppedOrGivenBackWithTheScheduler) {
    for (const duration limit : {0ms, 1'000ms}) {
        std::optional<scheduler> home{
            std::in_place, scheduler_options{.stop_limit = limit, .run_on_caller = true}};
        std::optional<group> one{std::in_place, *home, group_options{.queue_max = 1}};
        permit first = one->try_permit();
        std::vector<bool> granted;
        const auto asks = [&]() -> task<> {
            const waited<permit> mine = co_await permit_in(*one);
            granted.push_back(mine.has_value());
        };
        for (int i = 0; i != 3; ++i) spawn(*home, asks()).detach();
        home->run_until_idle();
        EXPECT_EQ(one->stats().waiting_posts, 3U);
        first = {};
        EXPECT_EQ(one->stats().waiting_posts, 2U);
        one.reset();
        home.reset();
        if (limit == 0ms) {
            EXPECT_TRUE(granted.empty());
        } else {
            EXPECT_EQ(std::ranges::count(granted, false), 2);
            EXPECT_EQ(granted.size(), 3U);
        }
    }
}

TEST(PermitIn, IsThereAtOnceIfTheOldestAreDropped) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 2, .drop_oldest = true}};
    one.pause();
    std::vector<int> log;
    std::vector<join_handle<void>> all;
    const auto posts = [&]() -> task<> {
        for (int i = 0; i != 10; ++i)
            all.push_back(spawn(*co_await permit_in(one), writes(log, i)));
    };
    block_on(sim.scheduler, posts());
    sim.scheduler.run_until_idle();
    one.resume();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(log, (std::vector{8, 9}));
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (i < 8) {
            EXPECT_THROW(all[i].get(), stopped_error) << i;
        } else {
            all[i].get();
        }
    }
}

TEST(PermitIn, AThreadThatIsNoWorkerWaits) {
    test::watchdog guard;
    constexpr int bound = 5;
    constexpr int posts = 3'000;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler, {.queue_max = bound}};
    std::atomic<int> ahead{0};
    std::atomic<int> ran{0};
    test::run_together(3, [&](std::size_t) {
        for (int i = 0; i != posts; ++i) {
            permit mine = wait_for_permit_in(one);
            EXPECT_LE(ahead.fetch_add(1) + 1, bound + 2)
                << "two have begun, and are about to say so";
            std::move(mine).post([&] {
                --ahead;
                ++ran;
            });
        }
    });
    scheduler.drain();
    EXPECT_EQ(ran, 3 * posts);
    EXPECT_EQ(one.stats().refused, 0U);
}

TEST(PermitIn, AThreadThatWaitsRunsTheTasksOfItsScheduler) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    int ran = 0;
    for (int i = 0; i != 100; ++i) wait_for_permit_in(one).post([&] { ++ran; });
    EXPECT_EQ(ran, 99);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(ran, 100);
}

TEST(PermitIn, ADeadlineEndsTheWaitOfAThread) {
    simulation sim;
    group one{sim.scheduler, {.queue_max = 1}};
    const time_point begin = sim.scheduler.now();
    one.pause();
    permit first = wait_for_permit_in(one);
    EXPECT_EQ(wait_for_permit_in(one, begin - 1s).error(), wait_error::expired);
    EXPECT_EQ(wait_for_permit_in(one, begin + 1s).error(), wait_error::expired);
    EXPECT_EQ(sim.scheduler.now(), begin + 1s);
    EXPECT_EQ(one.stats().waiting_posts, 0U);
    first = {};
    const waited<permit> second = wait_for_permit_in(one, begin);
    EXPECT_TRUE(second.has_value() && *second) << "what is free wins over the deadline";
}

// A permit comes back at any moment of the wait of a thread.
TEST(PermitIn, DeadlinesOfThreadsRaceWithPermits) {
    test::watchdog guard;
    constexpr int posts = 1'000;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler, {.queue_max = 1}};
    std::atomic<int> ran{0};
    test::run_together(3, [&](std::size_t) {
        for (int posted = 0; posted != posts;) {
            waited<permit> mine = wait_for_permit_in(one, clock::now() + posted % 5 * 5us);
            if (!mine) continue;
            std::move(*mine).post([&] { ++ran; });
            ++posted;
        }
    });
    scheduler.drain();
    EXPECT_EQ(ran, 3 * posts);
    EXPECT_TRUE(one.try_permit()) << "no permit is lost";
}

// Coroutines of one scheduler wait for permits of a group of another, with threads and stops in
// between.
TEST(PermitIn, NothingIsLostAcrossSchedulers) {
    test::watchdog guard;
    constexpr int posters = 50;
    constexpr int posts = 200;
    scheduler target{{.workers = 1}};
    scheduler source{{.workers = 2}};
    group one{target, {.max_concurrency = 1, .queue_max = 4}};
    int ran = 0;  // in a strand
    std::atomic<int> accepted{0};
    const auto asks = [&]() -> task<> {
        for (int i = 0; i != posts; ++i) {
            waited<permit> mine = co_await permit_in(one);
            if (!mine) co_return;
            ++accepted;
            std::move(*mine).post([&] { ++ran; });
        }
    };
    std::vector<join_handle<void>> all;
    for (int i = 0; i != posters; ++i) all.push_back(spawn(source, asks()));
    for (std::size_t i = 0; i < all.size(); i += 2) {
        test::await([&] { return accepted > static_cast<int>(i) * 10; });
        all[i].request_stop();
    }
    for (auto& each : all) each.get();
    target.drain();
    EXPECT_EQ(ran, accepted);
    EXPECT_GE(ran, posters / 2 * posts);
    EXPECT_EQ(one.stats().waiting_posts, 0U);
}

}  // namespace
}  // namespace fairlead::permit_tests
