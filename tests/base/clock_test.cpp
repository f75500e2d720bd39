// The clock, and its replacement on one thread.
#include <fairlead/base/clock_override.hpp>
#include <fairlead/base/time.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/test/manual_clock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <ratio>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

namespace fairlead::clock_tests {
namespace {

using namespace std::chrono_literals;

static_assert(std::chrono::is_clock_v<clock>);
static_assert(clock::is_steady&& noexcept(clock::now()));
static_assert(std::same_as<clock::rep, std::int64_t> && std::same_as<clock::period, std::nano>);
static_assert(std::same_as<time_point, std::chrono::time_point<clock, duration>>);
// A point of another clock is no deadline.
static_assert(!std::convertible_to<std::chrono::steady_clock::time_point, time_point>);

class fixed final : public clock_source {
public:
    explicit fixed(duration since_epoch) : now_{since_epoch} {}
    [[nodiscard]] time_point now() const noexcept override { return now_; }

private:
    time_point now_;
};

TEST(clock, is_the_monotonic_clock_of_the_system) {
    const auto before = std::chrono::steady_clock::now().time_since_epoch();
    const auto here = clock::now().time_since_epoch();
    const auto behind = std::chrono::steady_clock::now().time_since_epoch();
    EXPECT_LE(before, here);
    EXPECT_LE(here, behind);
}

TEST(clock, serves_what_the_standard_library_waits_by) {
    std::mutex mutex;
    std::condition_variable never_told;
    std::unique_lock lock{mutex};
    const time_point deadline = clock::now() + 1ms;
    EXPECT_FALSE(never_told.wait_until(lock, deadline, [] { return false; }));
    EXPECT_GE(clock::now(), deadline);
}

TEST(clock_override, counts_as_long_as_it_lives) {
    const time_point real = clock::now();
    const fixed source{7s};
    {
        const clock_override override{source};
        EXPECT_TRUE(clock_override::is_active());
        EXPECT_EQ(clock::now(), time_point{7s});
    }
    EXPECT_FALSE(clock_override::is_active());
    EXPECT_GE(clock::now(), real);
}

TEST(clock_override, the_newest_counts) {
    const fixed first{1s};
    const fixed second{2s};
    const clock_override outer{first};
    {
        const clock_override inner{second};
        EXPECT_EQ(clock::now(), time_point{2s});
    }
    EXPECT_EQ(clock::now(), time_point{1s});
}

TEST(clock_override, is_of_its_thread) {
    const time_point real = clock::now();
    const fixed source{-7s};
    const clock_override override{source};
    time_point elsewhere{};
    std::thread{[&] { elsewhere = clock::now(); }}.join();
    EXPECT_GE(elsewhere, real);
    EXPECT_EQ(clock::now(), time_point{-7s});
}

TEST(clock_override, schedulers_with_threads_are_refused) {
    const test::manual_clock manual;
    try {
        scheduler with_threads{{.workers = 1}};
        FAIL();
    } catch (const std::invalid_argument& refused) {
        EXPECT_NE(std::string{refused.what()}.find("run_on_caller"), std::string::npos);
    }
}

TEST(clock_override_death_test, ends_in_the_opposite_order) {
    const fixed source{1s};
    const fixed other{2s};
    EXPECT_DEATH(
        {
            auto* const first = new clock_override{source};
            const clock_override second{other};
            delete first;
        },
        "opposite order");
}

TEST(manual_clock, moves_when_it_is_told_to) {
    test::manual_clock manual;
    const time_point begin = clock::now();
    EXPECT_EQ(begin, manual.now());
    manual.advance(90min);
    EXPECT_EQ(clock::now() - begin, 90min);
    manual.set(time_point{24h});
    EXPECT_EQ(clock::now(), time_point{24h});
    manual.advance(duration::max());
    EXPECT_EQ(clock::now(), never);
}

}  // namespace
}  // namespace fairlead::clock_tests
