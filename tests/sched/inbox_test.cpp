// Which push to an inbox has a duty, and what comes out of it.
#include "sched/entry/inbox.hpp"

#include <fairlead/sched/callback_task.hpp>

#include <gtest/gtest.h>

namespace fairlead::sched::inbox_tests {
namespace {

TEST(Inbox, TheFirstPushToALaneIsAnnounced) {
    inbox box;
    callback_task first, second, third, of_control;
    EXPECT_EQ(box.push(lane::groups, first, first), wake_duty::announce);
    EXPECT_EQ(box.push(lane::groups, second, second), wake_duty::none);
    EXPECT_EQ(box.push(lane::control, of_control, of_control), wake_duty::announce);
    EXPECT_EQ(box.take(lane::groups), &second);
    EXPECT_EQ(box.push(lane::groups, third, third), wake_duty::announce);
}

TEST(Inbox, KnowsWhichLanesHaveTasks) {
    inbox box;
    callback_task first, second;
    EXPECT_FALSE(box.has_grouped());
    static_cast<void>(box.push(lane::everyone, first, first));
    EXPECT_FALSE(box.empty(lane::everyone));
    EXPECT_FALSE(box.has_grouped());
    static_cast<void>(box.push(lane::control, second, second));
    EXPECT_TRUE(box.has_grouped());
    EXPECT_TRUE(box.empty(lane::groups));
    EXPECT_EQ(box.take(lane::control), &second);
    EXPECT_EQ(box.take(lane::control), nullptr);
    EXPECT_FALSE(box.has_grouped());
}

}  // namespace
}  // namespace fairlead::sched::inbox_tests
