// Ticks at the multiples of a period, in virtual time.
#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/interval.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fairlead::io::interval_tests {
namespace {

using namespace std::chrono_literals;

// When a tick was told, when it was due, both since the begin, and what was missed.
struct told {
    duration at;
    duration due;
    std::uint64_t missed;
    bool operator==(const told&) const = default;
};

// A job that takes `lengths` of time, one after the other, and after that no time.
task<std::vector<told>> runs(std::vector<duration> lengths, std::size_t count) {
    const time_point begin = clock::now();
    interval ticks{10s};
    std::vector<told> found;
    for (std::size_t i = 0; i < count; ++i) {
        const interval_tick tick = co_await ticks.next();
        found.push_back({clock::now() - begin, tick.due - begin, tick.missed});
        if (i < lengths.size()) co_await sleep_for(lengths[i]);
    }
    co_return found;
}

TEST(Interval, TicksAtTheMultiplesWhateverTheJobTakes) {
    test::simulated_scheduler home;
    EXPECT_EQ(home.run(runs({3s, 9s, 1s}, 4)),
              (std::vector<told>{{10s, 10s, 0}, {20s, 20s, 0}, {30s, 30s, 0}, {40s, 40s, 0}}));
}

TEST(Interval, AJobOfExactlyAPeriodMissesNothing) {
    test::simulated_scheduler home;
    EXPECT_EQ(home.run(runs({10s, 10s}, 3)),
              (std::vector<told>{{10s, 10s, 0}, {20s, 20s, 0}, {30s, 30s, 0}}));
}

TEST(Interval, ALateTaskIsToldOnceAndKeepsThePhase) {
    test::simulated_scheduler home;
    EXPECT_EQ(home.run(runs({35s}, 3)),
              (std::vector<told>{{10s, 10s, 0}, {45s, 40s, 2}, {50s, 50s, 0}}));
}

TEST(Interval, BeginsAtTheGivenTime) {
    test::simulated_scheduler home;
    home.run([]() -> task<> {
        const time_point begin = clock::now();
        interval ticks{10s, immediately};
        const interval_tick first = co_await ticks.next();
        EXPECT_EQ(first.due, begin);
        EXPECT_EQ(clock::now(), begin);
        EXPECT_EQ(ticks.due(), begin + 10s);
        EXPECT_EQ(ticks.period(), 10s);
    }());
}

TEST(Interval, HasNoTickAfterTheEndOfTime) {
    test::simulated_scheduler home;
    home.run([]() -> task<> {
        interval ticks{duration::max(), clock::now()};
        static_cast<void>(co_await ticks.next());
        EXPECT_EQ(ticks.due(), never);
    }());
}

TEST(Interval, ASelectOfAnotherBranchUsesNoTick) {
    test::simulated_scheduler home;
    home.run([]() -> task<> {
        const time_point begin = clock::now();
        interval ticks{10s};
        const auto slept = [] { return 1; };
        const auto ticked = [](interval_tick) { return 2; };
        const auto first = co_await select(on(ticks.next(), ticked), on(sleep_for(4s), slept));
        EXPECT_EQ(first, 1);
        EXPECT_EQ(ticks.due(), begin + 10s);
        const auto second = co_await select(on(ticks.next(), ticked), on(sleep_for(60s), slept));
        EXPECT_EQ(second, 2);
        EXPECT_EQ(clock::now(), begin + 10s);
        EXPECT_EQ(ticks.due(), begin + 20s);
    }());
}

// The handler of the other branch takes longer than a period, and the branch is always ready.
TEST(Interval, ABranchThatIsAlwaysReadyDoesNotStarveTheTicks) {
    test::simulated_scheduler home;
    const int ticks_told = home.run([]() -> task<int> {
        channel<int> items{16};
        for (int i = 0; i < 16; ++i) EXPECT_TRUE(items.try_send(int{i}));
        interval ticks{10s};
        int count = 0;
        bool is_item = false;
        const auto item = [&](waited<int>) { is_item = true; };
        const auto tick = [&](interval_tick) { is_item = false; };
        for (int i = 0; i < 16; ++i) {
            const auto ended = co_await select(on(items.receive(), item), on(ticks.next(), tick));
            EXPECT_TRUE(ended.has_value());
            if (is_item) {
                co_await sleep_for(15s);
            } else {
                ++count;
            }
        }
        co_return count;
    }());
    EXPECT_GE(ticks_told, 5);
    EXPECT_LE(ticks_told, 8);  // nor do the ticks starve the items
}

TEST(Interval, AStopEndsTheWaitAndUsesNoTick) {
    test::simulated_scheduler home;
    interval ticks{10s};
    const time_point due = ticks.due();
    bool stopped = false;
    auto waiter = spawn(home, [](interval& of, bool& was_stopped) -> task<> {
        try {
            static_cast<void>(co_await of.next());
        } catch (const stopped_error&) {
            was_stopped = true;
        }
    }(ticks, stopped));
    home.run_for(5s);
    EXPECT_FALSE(waiter.ended());
    waiter.request_stop();
    home.run_for(1s);
    EXPECT_TRUE(waiter.ended());
    EXPECT_TRUE(stopped);
    EXPECT_EQ(ticks.due(), due);
}

}  // namespace
}  // namespace fairlead::io::interval_tests
