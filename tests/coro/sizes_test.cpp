// What a task takes in memory: docs/internals/performance.md has the table.
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/task.hpp>

#include <gtest/gtest.h>

namespace fairlead::sizes_tests {
namespace {

TEST(Sizes, OfATask) {
    if (sizeof(task_state) != 4) GTEST_SKIP() << "a checked build has larger atomics";
    EXPECT_EQ(sizeof(basic_task), 64U);
    EXPECT_EQ(sizeof(coro::root), 64U + 96U);
    EXPECT_EQ(sizeof(coro::spawned<void>), 64U + 96U + 40U);
    EXPECT_EQ(sizeof(coro::frame_link), 40U);
    EXPECT_EQ(sizeof(coro::promise<void>), 40U + 8U);
}

}  // namespace
}  // namespace fairlead::sizes_tests
