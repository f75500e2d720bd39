// How often a worker looks at the clock, without threads and without a clock.
#include "sched/worker/clock_looks.hpp"

#include <gtest/gtest.h>

namespace fairlead::sched::clock_looks_tests {
namespace {

using namespace std::chrono_literals;

constexpr duration limit = 10us;

/// Steps until the next look.
int steps_to_look(clock_looks& looks) {
    int steps = 1;
    while (!looks.is_due()) ++steps;
    return steps;
}

TEST(ClockLooks, WhileStepsAreShortTheyBecomeRare) {
    clock_looks looks;
    time_point now{};
    for (const int expected : {1, 2, 4, 8, 16, 16}) {
        EXPECT_EQ(steps_to_look(looks), expected);
        EXPECT_TRUE(looks.look(now += limit, limit));
    }
}

TEST(ClockLooks, ComeAtEachStepAfterALongOneAndAfterTheNext) {
    clock_looks looks;
    time_point now{};
    for (int i = 0; i != 5; ++i) static_cast<void>(looks.look(now += limit, limit));
    EXPECT_EQ(steps_to_look(looks), 16);
    EXPECT_FALSE(looks.look(now += limit + 1ns, limit));
    EXPECT_EQ(steps_to_look(looks), 1);
    EXPECT_FALSE(looks.look(now += limit, limit)) << "it comes after a long one";
    EXPECT_EQ(steps_to_look(looks), 1);
    EXPECT_TRUE(looks.look(now += limit, limit));
    EXPECT_EQ(steps_to_look(looks), 2);
}

TEST(ClockLooks, ComeAtTheNextStepOnRequest) {
    clock_looks looks;
    time_point now{};
    for (int i = 0; i != 5; ++i) static_cast<void>(looks.look(now += limit, limit));
    looks.be_due_next();
    EXPECT_EQ(steps_to_look(looks), 1);
}

}  // namespace
}  // namespace fairlead::sched::clock_looks_tests
