#include <fairlead/base/time.hpp>

#include <gtest/gtest.h>

namespace fairlead {
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

}  // namespace
}  // namespace fairlead
