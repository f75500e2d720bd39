#include <fairlead/sched/group.hpp>
#include <fairlead/sched/task_name.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace fairlead::task_name_tests {
namespace {

TEST(TaskName, IsALiteralOrAnInternedText) {
    constexpr task_name literal = "session";
    EXPECT_STREQ(literal.c_str(), "session");

    std::string text = "player 1";
    const task_name interned = task_name::intern(text);
    text.assign(text.size(), 'x');
    EXPECT_STREQ(interned.c_str(), "player 1");
}

TEST(TaskName, IsTheSameForEqualTexts) {
    const task_name first = task_name::intern(std::string{"a tenant"});
    EXPECT_EQ(first.c_str(), task_name::intern("a tenant").c_str());
    EXPECT_NE(first.c_str(), task_name::intern("another tenant").c_str());
}

TEST(TaskName, OutlivesItsTask) {
    callback_task task{[](callback_task&) {}, task_name::intern(std::string{"short"} + " lived")};
    EXPECT_STREQ(task.name(), "short lived");
}

// A scheduler or a group that were executors could be copied in part.
static_assert(!std::is_base_of_v<executor, scheduler>);
static_assert(!std::is_base_of_v<executor, group>);
static_assert(std::is_convertible_v<scheduler&, executor>);
static_assert(std::is_convertible_v<group&, executor>);
static_assert(!std::is_copy_constructible_v<post_target>);

TEST(ExecutorDeathTest, ThatRefersToNothingRefusesTasks) {
    callback_task task{[](callback_task&) {}};
    EXPECT_DEATH(executor{}.post(task), "an executor that refers to nothing");
    EXPECT_DEATH(executor{}.post_wait(task), "an executor that refers to nothing");
    EXPECT_DEATH(executor{}.post([] {}), "an executor that refers to nothing");
}

}  // namespace
}  // namespace fairlead::task_name_tests
