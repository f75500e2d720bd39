// The mutex in one word: exclusion, sleeps and wake-ups, and its end.
#include "model/explore.hpp"

#include <fairlead/detail/sync/futex_mutex.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

namespace fairlead::sync::futex_mutex_tests {
namespace {

using short_mutex = spinning_futex_mutex<1>;
using model::plain;
using model::require;

// The counter of sleepers is older than the execution: it begins anew.
void begin(short_mutex& guards) {
    std::construct_at(&mutex_sleepers::at(reinterpret_cast<const std::uint32_t*>(&guards)));
}

// [FM1] What an owner does is seen by the next one.
TEST(ModelFutexMutex, OneThreadAtATimeHasIt) {
    model::expect_passes({.preemptions = 2}, [] {
        short_mutex guards;
        begin(guards);
        plain<int> guarded{0};
        const auto adds = [&] {
            std::lock_guard lock{guards};
            guarded = guarded + 1;
        };
        model::in_threads(adds, adds, adds);
        require(guarded == 3, "each had it alone");
        require(guards.try_lock(), "it is free");
        guards.unlock();
    });
}

TEST(ModelFutexMutex, ATryFailsOnlyWhileAThreadHasIt) {
    model::expect_passes([] {
        short_mutex guards;
        begin(guards);
        plain<int> guarded{0};
        bool had = false;
        model::in_threads(
            [&] {
                std::lock_guard lock{guards};
                guarded = guarded + 1;
            },
            [&] {
                had = guards.try_lock();
                if (!had) return;
                guarded = guarded + 1;
                guards.unlock();
            });
        require(guarded == (had ? 2 : 1), "each had it alone");
    });
}

// The first unlock is the last touch of its thread.
TEST(ModelFutexMutex, TheNextOwnerMayDestroyIt) {
    model::expect_passes({.spurious = 1}, [] {
        auto guards = std::make_unique<short_mutex>();
        short_mutex& shared = *guards;
        begin(shared);
        plain<bool> is_over{false};
        shared.lock();
        model::in_threads(
            [&] {
                is_over = true;
                shared.unlock();
            },
            [&] {
                shared.lock();
                require(is_over, "the first owner is through");
                shared.unlock();
                guards.reset();
            });
    });
}

}  // namespace
}  // namespace fairlead::sync::futex_mutex_tests
