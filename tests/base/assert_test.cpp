#include <fairlead/detail/base/assert.hpp>

#include <gtest/gtest.h>

namespace fairlead::base::assert_tests {
namespace {

TEST(AssertDeathTest, SaysWhatWasBrokenAndWhy) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(FAIRLEAD_ASSERT(1 + 1 == 3, "sums are wrong"),
                 "assert_test.cpp.*sums are wrong.*1 \\+ 1 == 3");
}

TEST(Assert, IsAnExpressionThatDoesNothingWhenItHolds) {
    int evaluated = 0;
    FAIRLEAD_ASSERT(++evaluated == 1, "evaluated once");
    EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace fairlead::base::assert_tests
