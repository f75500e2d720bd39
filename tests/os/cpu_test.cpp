#include <fairlead/detail/os/cpu.hpp>

#include <gtest/gtest.h>

#include <sched.h>

#include <thread>

namespace fairlead::os::cpu_tests {
namespace {

TEST(Cpu, ThereIsOneAtLeastAndNoMoreThanTheMachineHas) {
    EXPECT_GE(available_cpus(), 1U);
    EXPECT_LE(available_cpus(), std::thread::hardware_concurrency());
}

TEST(Cpu, FollowsTheAffinityMask) {
    unsigned seen = 0;
    std::thread{[&] {
        cpu_set_t allowed;
        CPU_ZERO(&allowed);
        ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int i = 0; i != CPU_SETSIZE; ++i) {
            if (CPU_ISSET(i, &allowed)) {
                CPU_SET(i, &one);
                break;
            }
        }
        ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
        seen = available_cpus();
    }}.join();
    EXPECT_EQ(seen, 1U);
}

}  // namespace
}  // namespace fairlead::os::cpu_tests
