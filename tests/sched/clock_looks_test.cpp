// How often a worker looks at the clock, without threads and without a clock.
#include "sched/worker/clock_looks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

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

TEST(ClockLooks, GiveTasksBeforeTwoStepsInARowAtMost) {
    clock_looks looks;
    std::string given;
    for (std::uint64_t step = 0; step != 7; ++step) {
        const bool gives = looks.may_give(step);
        given += gives ? 'x' : '-';
        if (gives) looks.gave(step);
    }
    EXPECT_EQ(given, "xx-xx-x");
}

// A step between two such tasks counts as the turn of what else there is.
TEST(ClockLooks, GiveTasksAgainAfterAnotherStep) {
    clock_looks looks;
    for (std::uint64_t step = 0; step != 100; step += 2) {
        EXPECT_TRUE(looks.may_give(step));
        looks.gave(step);
    }
}

}  // namespace
}  // namespace fairlead::sched::clock_looks_tests
