#include <fairlead/base/time.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <ratio>

namespace fairlead::time_tests {
namespace {

using namespace std::chrono_literals;

constexpr time_point noon = time_point{} + 12h;

TEST(Time, AfterAddsTheDelay) {
    EXPECT_EQ(after(noon, 5ns), noon + 5ns);
    EXPECT_EQ(after(noon, 0ns), noon);
    EXPECT_EQ(after(noon, -5s), noon - 5s);
}

TEST(Time, ADelayPastTheEndOfTimeIsNever) {
    EXPECT_EQ(after(noon, duration::max()), never);
    EXPECT_EQ(after(never, 1ns), never);
    EXPECT_EQ(after(never, duration::max()), never);
    EXPECT_EQ(after(never - 1ns, 1ns), never);
    EXPECT_EQ(after(never - 2ns, 1ns), never - 1ns);
}

TEST(Time, ADelayBeforeTheBeginningOfTimeIsImmediately) {
    EXPECT_EQ(after(time_point{} - 1ns, duration::min()), immediately);
    EXPECT_EQ(after(immediately, -1ns), immediately);
    EXPECT_EQ(after(immediately, duration::min()), immediately);
    EXPECT_EQ(after(noon, duration::min()), time_point{duration::min() + 12h});
}

TEST(Time, IsAConstantExpression) {
    static_assert(after(noon, 1h) == noon + 1h);
    static_assert(after(noon, duration::max()) == never);
    static_assert(immediately < noon && noon < never);
}

TEST(TimeSpan, TakesAnyUnit) {
    EXPECT_EQ(duration{time_span{3us}}, 3000ns);
    EXPECT_EQ(duration{time_span{-2h}}, -2h);
    EXPECT_EQ(duration{time_span{std::chrono::duration<unsigned char>{250}}}, 250s);
    EXPECT_EQ(duration{time_span{0.5s}}, 500ms);
}

TEST(TimeSpan, RoundsAFractionUp) {
    using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
    EXPECT_EQ(duration{time_span{picoseconds{1}}}, 1ns);
    EXPECT_EQ(duration{time_span{picoseconds{1000}}}, 1ns);
    EXPECT_EQ(duration{time_span{picoseconds{-1999}}}, -1ns);
    EXPECT_EQ(duration{(time_span{std::chrono::duration<double, std::nano>{2.25}})}, 3ns);
}

TEST(TimeSpan, SaturatesWhatIsTooLong) {
    using std::chrono::hours;
    EXPECT_EQ(duration{time_span{hours::max()}}, duration::max());
    EXPECT_EQ(duration{time_span{hours::min()}}, duration::min());
    EXPECT_EQ(duration{time_span{std::chrono::years{1000}}}, duration::max());
    EXPECT_EQ(duration{time_span{std::chrono::duration<std::uint64_t>{UINT64_MAX}}},
              duration::max());
    EXPECT_EQ(duration{time_span{std::chrono::duration<double>{1e300}}}, duration::max());
    EXPECT_EQ(duration{time_span{std::chrono::duration<double>{-1e300}}}, duration::min());
    EXPECT_EQ(duration{time_span{duration::max()}}, duration::max());
    EXPECT_EQ(duration{time_span{duration::min()}}, duration::min());
    EXPECT_EQ(after(noon, hours::max()), never);
}

TEST(TimeSpan, TakesTheLongestThatFits) {
    constexpr std::int64_t seconds_max = INT64_MAX / 1'000'000'000;
    EXPECT_EQ(duration{time_span{std::chrono::seconds{seconds_max}}},
              duration{seconds_max * 1'000'000'000});
    EXPECT_EQ(duration{time_span{std::chrono::seconds{seconds_max + 1}}}, duration::max());
}

TEST(TimeSpan, TakesNotANumberForNothing) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(duration{time_span{std::chrono::duration<double>{none}}}, duration::zero());
}

}  // namespace
}  // namespace fairlead::time_tests
