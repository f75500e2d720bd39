// One call for all that ask for the same at the same time.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/single_flight.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::single_flight_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

using loads = single_flight<std::string, int>;

// A source that takes 10 ms, and counts.
struct source {
    int begun = 0;
    int stopped = 0;

    [[nodiscard]] auto load() {
        return [this](const std::string& key) -> task<int> {
            const int number = ++begun;
            const auto length = static_cast<int>(key.size());
            try {
                co_await sleep_for(10ms);
            } catch (const stopped_error& error) {
                EXPECT_EQ(error.reason(), stopped_by::unwanted);
                ++stopped;
                throw;
            }
            co_return 100 * length + number;
        };
    }
};

TEST(SingleFlight, OneCallServesAllThatAskMeanwhile) {
    simulation sim;
    source from;
    loads all{sim.scheduler};
    std::vector<int> results;
    const auto gets = [&](std::string key) -> task<> {
        results.push_back(*co_await all.get(std::move(key), from.load()));
    };
    for (int i = 0; i != 3; ++i) spawn(sim.scheduler, gets("a")).detach();
    spawn(sim.scheduler, gets("bb")).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.flights(), 2U);
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(results, (std::vector{101, 101, 101, 202}));
    EXPECT_EQ(all.flights(), 0U) << "the result is not kept";
    block_on(sim.scheduler, gets("a"));
    EXPECT_EQ(results.back(), 103);
}

// tailscale#18919: the task that has begun the flight is stopped.
TEST(SingleFlight, AStopOfTheFirstCallerIsNoStopOfTheFlight) {
    simulation sim;
    source from;
    loads all{sim.scheduler};
    std::vector<int> results;
    const auto gets = [&]() -> task<> {
        const waited<int> result = co_await all.get("a", from.load());
        results.push_back(result ? *result : -static_cast<int>(result.error()));
    };
    auto first = spawn(sim.scheduler, gets());
    sim.scheduler.run_until_idle();
    auto second = spawn(sim.scheduler, gets());
    sim.scheduler.run_until_idle();
    first.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(first.ended());
    auto third = spawn(sim.scheduler, gets());
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(results, (std::vector{-static_cast<int>(wait_error::stopped), 101, 101}));
    EXPECT_EQ(from.begun, 1);
    EXPECT_EQ(from.stopped, 0);
}

// cockroach#91038.
TEST(SingleFlight, TheFlightLastsAsLongAsTheLatestDeadline) {
    simulation sim;
    const time_point begin = sim.clock.now();
    source from;
    loads all{sim.scheduler};
    std::vector<std::pair<duration, bool>> log;
    const auto gets = [&](duration patience) -> task<> {
        const waited<int> result = co_await all.get("a", from.load(), begin + patience);
        log.emplace_back(sim.clock.now() - begin, result.has_value());
        EXPECT_TRUE(result || result.error() == wait_error::expired);
    };
    for (const duration patience : {2ms, 60'000ms, 5ms})
        spawn(sim.scheduler, gets(patience)).detach();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(log,
              (std::vector<std::pair<duration, bool>>{{2ms, false}, {5ms, false}, {10ms, true}}));
    EXPECT_EQ(from.begun, 1);
}

// From the moment at which the last caller has left, a new caller begins a new flight.
TEST(SingleFlight, TheLastCallerThatLeavesStopsTheFlight) {
    simulation sim;
    const time_point begin = sim.clock.now();
    source from;
    loads all{sim.scheduler};
    std::optional<wait_error> error;
    const auto gives_up = [&](duration patience) -> task<> {
        error = (co_await all.get("a", from.load(), begin + patience)).error();
        EXPECT_LE(sim.clock.now(), begin + 5ms);
    };
    const auto gets = [&]() -> task<> { EXPECT_EQ(*co_await all.get("a", from.load()), 102); };
    auto first = spawn(sim.scheduler, gives_up(5ms));
    auto second = spawn(sim.scheduler, gives_up(3ms));
    sim.scheduler.run_until_idle();
    while (!first.ended()) {
        sim.scheduler.run_until(begin + 5ms);
        sim.scheduler.run_until_idle();
        EXPECT_EQ(from.stopped, first.ended() ? 1 : 0);
    }
    EXPECT_EQ(error, wait_error::expired);
    EXPECT_EQ(all.flights(), 0U);
    auto third = spawn(sim.scheduler, gets());
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    third.get();
    EXPECT_EQ(from.begun, 2);
}

// The flight that was asked to stop has not ended: its scheduler has not run yet.
TEST(SingleFlight, ANewCallerBeginsANewFlightBesideTheOneThatStops) {
    simulation sim;
    const time_point begin = sim.clock.now();
    int begun = 0;
    int stopped = 0;
    const auto make = [&](const std::string&) -> task<int> {
        const int number = ++begun;
        try {
            co_await yield();
        } catch (const stopped_error&) {
            ++stopped;
            throw;
        }
        co_return number;
    };
    scheduler other{{.run_on_caller = true}};
    loads all{other};
    const auto gives_up = [&]() -> task<> {
        const waited<int> result = co_await all.get("a", make, begin + 5ms);
        EXPECT_EQ(result.error(), wait_error::expired);
    };
    const auto gets = [&]() -> task<> { EXPECT_EQ(*co_await all.get("a", make), 2); };
    auto first = spawn(sim.scheduler, gives_up());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.flights(), 1U);
    sim.scheduler.run_until(begin + 5ms);
    sim.scheduler.run_until_idle();
    ASSERT_TRUE(first.ended());
    EXPECT_EQ(all.flights(), 0U) << "no caller may join the flight that stops";
    auto second = spawn(sim.scheduler, gets());
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.flights(), 1U);
    EXPECT_EQ(stopped, 0);
    other.run_until_idle();
    EXPECT_EQ(begun, 2);
    EXPECT_EQ(stopped, 1);
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(second.ended());
    EXPECT_EQ(all.flights(), 0U);
}

// go#41133.
TEST(SingleFlight, AFailureGoesToAllAndTheNextCallBeginsAnew) {
    simulation sim;
    loads all{sim.scheduler};
    int begun = 0;
    const auto make = [&](const std::string&) -> task<int> {
        ++begun;
        co_await sleep_for(1ms);
        if (begun == 1) throw std::runtime_error{"broken"};
        co_return begun;
    };
    const auto gets = [&]() -> task<int> { co_return *co_await all.get("a", make); };
    std::vector<join_handle<int>> callers;
    for (int i = 0; i != 3; ++i) callers.push_back(spawn(sim.scheduler, gets()));
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    for (auto& each : callers) EXPECT_THROW(each.get(), std::runtime_error);
    EXPECT_EQ(block_on(sim.scheduler, gets()), 2);
}

TEST(SingleFlight, AFunctionThatThrowsBeforeItsTaskIsAFailureToo) {
    simulation sim;
    loads all{sim.scheduler};
    const auto make = [](const std::string&) -> task<int> { throw std::runtime_error{"broken"}; };
    const auto throws = [&](const std::string& key) -> task<int> {
        if (key == "a") throw std::runtime_error{"broken"};
        return make(key);
    };
    const auto gets = [&]() -> task<int> { co_return *co_await all.get("a", throws); };
    EXPECT_THROW(block_on(sim.scheduler, gets()), std::runtime_error);
    EXPECT_EQ(all.flights(), 0U);
}

TEST(SingleFlight, AStopThatCameBeforeBeginsNoFlight) {
    simulation sim;
    source from;
    loads all{sim.scheduler};
    const auto gets = [&]() -> task<> {
        EXPECT_EQ((co_await all.get("a", from.load())).error(), wait_error::stopped);
    };
    auto handle = spawn(sim.scheduler, gets());
    handle.request_stop();
    sim.scheduler.run_until_idle();
    handle.get();
    EXPECT_EQ(from.begun, 0);
}

// The scheduler of the flights is destroyed while callers of another one wait.
TEST(SingleFlight, TheEndOfTheSchedulerOfTheFlightAnswersClosed) {
    simulation sim;
    source from;
    std::optional<scheduler> other{std::in_place,
                                   scheduler_options{.stop_limit = 0ms, .run_on_caller = true}};
    loads all{*other};
    std::optional<wait_error> error;
    const auto gets = [&]() -> task<> { error = (co_await all.get("a", from.load())).error(); };
    auto caller = spawn(sim.scheduler, gets());
    sim.scheduler.run_until_idle();
    other->run_until_idle();
    EXPECT_EQ(from.begun, 1);
    other.reset();
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(caller.ended());
    EXPECT_EQ(error, wait_error::closed);
}

TEST(SingleFlight, TasksAndThreadsShareFlightsAndGiveUp) {
    test::watchdog guard;
    constexpr int rounds = 500;
    scheduler scheduler{{.workers = 2}};
    single_flight<int, int> all{scheduler};
    std::atomic<int> flying{0};
    std::atomic<int> begun{0};
    const auto make = [&](const int& key) -> task<int> {
        ++begun;
        ++flying;
        const std::shared_ptr<void> lands{nullptr, [&](void*) { --flying; }};
        for (int i = 0; i != 3; ++i) co_await yield();
        co_return key + 1;
    };
    const auto gets = [&](int seed) -> task<> {
        for (int i = seed; i != seed + rounds; ++i) {
            const time_point deadline = i % 3 == 0 ? clock::now() + i % 5 * 10us : never;
            const waited<int> result = co_await all.get(i % 4, make, deadline);
            EXPECT_EQ(result.value_or(i % 4 + 1), i % 4 + 1);
            EXPECT_TRUE(result || result.error() == wait_error::expired);
        }
    };
    std::vector<join_handle<void>> callers;
    for (int i = 0; i != 4; ++i) callers.push_back(spawn(scheduler, gets(i)));
    test::run_together(3, [&](std::size_t index) {
        for (int i = static_cast<int>(index); i != rounds; ++i) {
            const time_point deadline = i % 3 == 0 ? clock::now() + i % 5 * 10us : never;
            const waited<int> result = all.get_blocking(i % 4, make, deadline);
            EXPECT_EQ(result.value_or(i % 4 + 1), i % 4 + 1);
        }
    });
    for (auto& each : callers) each.get();
    scheduler.drain();
    EXPECT_EQ(flying, 0);
    EXPECT_EQ(all.flights(), 0U);
    EXPECT_LE(begun, 7 * rounds);
}

}  // namespace
}  // namespace fairlead::single_flight_tests
