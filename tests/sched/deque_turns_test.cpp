// Which task a worker with policy::stealing takes next, without threads and without a clock.
#include "sched/worker/deque_turns.hpp"

#include <gtest/gtest.h>

namespace fairlead::sched::deque_turns_tests {
namespace {

using namespace std::chrono_literals;
using turn = deque_turns::turn;

constexpr duration interval = 1ms;
constexpr time_point start{1s};

TEST(DequeTurns, ComeOnceInSixtyFourTasks) {
    deque_turns turns;
    int due = 0;
    for (int i = 0; i != 640; ++i) due += turns.is_due() ? 1 : 0;
    EXPECT_EQ(due, 10);
}

TEST(DequeTurns, TheOldestAndWhatCameFromElsewhereTakeTurns) {
    deque_turns turns;
    for (int i = 0; i != 5; ++i) {
        const time_point now = start + i * interval;
        EXPECT_EQ(turns.next(now, interval, 10), turn::oldest);
        EXPECT_EQ(turns.next(now, interval, 10), turn::elsewhere);
    }
}

TEST(DequeTurns, TheOldestHasOneInAnInterval) {
    deque_turns turns;
    EXPECT_EQ(turns.next(start, interval, 0), turn::oldest);
    for (int i = 0; i != 10; ++i) {
        EXPECT_EQ(turns.next(start + 999us, interval, 0), turn::elsewhere);
    }
    EXPECT_EQ(turns.next(start + 1ms, interval, 0), turn::elsewhere);
    EXPECT_EQ(turns.next(start + 1ms, interval, 0), turn::oldest);
}

// What came from elsewhere divides into more: it waits while the deque grows, but not for ever.
TEST(DequeTurns, WhileTheDequeGrowsWhatCameFromElsewhereWaits) {
    deque_turns turns;
    EXPECT_EQ(turns.next(start, interval, 10), turn::oldest);
    EXPECT_EQ(turns.next(start, interval, 10), turn::elsewhere);
    EXPECT_EQ(turns.next(start + 10us, interval, 11), turn::newest);
    EXPECT_EQ(turns.next(start + 10us, interval, 10), turn::elsewhere);
    EXPECT_EQ(turns.next(start + 20us, interval, 12), turn::newest);
    EXPECT_EQ(turns.next(start + 30us, interval, 12), turn::newest);
    EXPECT_EQ(turns.next(start + 1ms + 9us, interval, 12), turn::oldest);
    EXPECT_EQ(turns.next(start + 1ms + 10us, interval, 12), turn::elsewhere);
}

// In simulated time an interval may never pass.
TEST(DequeTurns, WhatCameFromElsewhereIsNotSkippedForEver) {
    deque_turns turns;
    EXPECT_EQ(turns.next(start, interval, 0), turn::oldest);
    EXPECT_EQ(turns.next(start, interval, 0), turn::elsewhere);
    int skipped = 0;
    while (turns.next(start, interval, 1) == turn::newest) ++skipped;
    EXPECT_EQ(skipped, 255);
}

TEST(DequeTurns, HurryBringsTheNextTurnAtOnce) {
    deque_turns turns;
    EXPECT_EQ(turns.next(start, interval, 10), turn::oldest);
    EXPECT_EQ(turns.next(start, interval, 10), turn::elsewhere);
    EXPECT_FALSE(turns.is_due());
    turns.hurry();
    EXPECT_TRUE(turns.is_due());
    EXPECT_EQ(turns.next(start + 1us, interval, 1'000), turn::elsewhere);
    EXPECT_FALSE(turns.is_due());
}

}  // namespace
}  // namespace fairlead::sched::deque_turns_tests
