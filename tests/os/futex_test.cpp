#include <fairlead/detail/os/futex.hpp>

#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace fairlead::os::futex_tests {
namespace {

using namespace std::chrono_literals;

TEST(Futex, ReturnsAtOnceWhenTheWordHasChanged) {
    test::watchdog guard;
    const std::uint32_t word = 1;
    futex_wait(&word, 0, never);
}

TEST(Futex, ReturnsAtOnceForADeadlineThatHasPassed) {
    test::watchdog guard;
    const std::uint32_t word = 0;
    futex_wait(&word, 0, immediately);
    futex_wait(&word, 0, time_point{});
    futex_wait(&word, 0, clock::now());
}

TEST(Futex, NeverWakesBeforeTheDeadlineUnlessItIsWoken) {
    test::watchdog guard;
    const std::uint32_t word = 0;
    const time_point deadline = clock::now() + 3ms;
    while (clock::now() < deadline) futex_wait(&word, 0, deadline);
    EXPECT_GE(clock::now(), deadline);
}

// A sleep until a deadline beyond the kernel's times must not return at once.
TEST(Futex, FarDeadlinesSleep) {
    test::watchdog guard;
    for (const time_point deadline : {never - 1ns, never, clock::now() + std::chrono::years{200}}) {
        std::atomic<std::uint32_t> word{0};
        const auto* address = reinterpret_cast<const std::uint32_t*>(&word);
        std::atomic<int> returns{0};
        std::atomic<bool> about_to_sleep{false};
        std::thread sleeper{[&] {
            while (word == 0) {
                about_to_sleep = true;
                about_to_sleep.notify_one();
                futex_wait(address, 0, deadline);
                ++returns;
            }
        }};
        about_to_sleep.wait(false);
        word = 1;
        futex_wake(address, 1);
        sleeper.join();
        EXPECT_LE(returns,
                  10);  // a spinning sleeper makes thousands; the kernel may err a few times
    }
}

TEST(Futex, WakesNoMoreThanItIsAskedTo) {
    test::watchdog guard;
    std::atomic<std::uint32_t> word{0};
    const auto* address = reinterpret_cast<const std::uint32_t*>(&word);
    std::atomic<int> awake{0};
    std::thread sleepers[2];
    for (auto& each : sleepers) {
        each = std::thread{[&] {
            while (word == 0) futex_wait(address, 0, never);
            ++awake;
        }};
    }
    word = 1;
    futex_wake(address, 1);
    futex_wake(address, 1);
    for (auto& each : sleepers) each.join();
    EXPECT_EQ(awake, 2);
}

// A sender may be about to wake a receiver that has freed the word: the address is only a name.
TEST(Futex, AWakeOfMemoryThatIsGoneIsHarmless) {
    void* const page =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    ASSERT_EQ(munmap(page, 4096), 0);
    futex_wake(static_cast<const std::uint32_t*>(page), 1);
}

}  // namespace
}  // namespace fairlead::os::futex_tests
