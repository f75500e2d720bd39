// The mutex in one word, on real threads and the real kernel. tests/model has every order of steps.
#include <fairlead/detail/sync/futex_mutex.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace fairlead::sync::futex_mutex_tests {
namespace {

// Without a spin nearly each lock that fails sleeps: a wake-up that is lost would hang.
TEST(FutexMutex, ThreadsThatSleepAreWoken) {
    constexpr int threads = 4;
    constexpr int times = 20'000;
    spinning_futex_mutex<0> guards;
    int guarded = 0;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i != threads; ++i) {
            all.emplace_back([&] {
                for (int j = 0; j != times; ++j) {
                    std::lock_guard lock{guards};
                    ++guarded;
                }
            });
        }
    }
    EXPECT_EQ(guarded, threads * times);
}

// The thread that sleeps next destroys the mutex, while the first may still be in its unlock.
TEST(FutexMutex, TheNextOwnerDestroysIt) {
    for (int i = 0; i != 2'000; ++i) {
        auto guards = std::make_unique<spinning_futex_mutex<0>>();
        auto& shared = *guards;
        shared.lock();
        std::jthread other{[&] {
            shared.lock();
            shared.unlock();
            guards.reset();
        }};
        shared.unlock();
    }
}

}  // namespace
}  // namespace fairlead::sync::futex_mutex_tests
