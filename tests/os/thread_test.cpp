#include <fairlead/detail/os/thread.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/prctl.h>

#include <memory>

namespace fairlead::os::thread_tests {
namespace {

TEST(Thread, HasTheNameCutToWhatTheKernelKeeps) {
    char name[32] = {};
    auto started = start_thread("a-name-that-is-too-long", [&name] {
        pthread_getname_np(pthread_self(), name, sizeof(name));
    });
    ASSERT_TRUE(started.has_value());
    started->join();
    EXPECT_STREQ(name, "a-name-that-is-");
}

TEST(Thread, SleepsWithoutSlack) {
    int slack_ns = 0;
    auto started = start_thread("x", [&slack_ns] { slack_ns = prctl(PR_GET_TIMERSLACK); });
    ASSERT_TRUE(started.has_value());
    started->join();
    EXPECT_EQ(slack_ns, 1);
}

TEST(Thread, TakesABodyThatCanOnlyBeMoved) {
    int seen = 0;
    auto started = start_thread("x", [&seen, value = std::make_unique<int>(3)] { seen = *value; });
    ASSERT_TRUE(started.has_value());
    started->join();
    EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace fairlead::os::thread_tests
