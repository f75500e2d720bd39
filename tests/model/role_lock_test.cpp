// The lock of the role: one thread has it at a time. The holder notices each thread that fails to
// get it [RL1].
#include "sched/round/role_lock.hpp"
#include "model/explore.hpp"

#include <gtest/gtest.h>

namespace fairlead::sched::role_lock_tests {
namespace {

using model::plain;
using model::require;

// The holder writes plain memory. The next holder sees the writes, for each kind of release.
TEST(ModelRoleLock, OneThreadHasIt) {
    for (const bool alone : {false, true}) {
        model::expect_passes([alone] {
            role_lock lock;
            plain<int> of_the_holder{0};
            const auto tries = [&] {
                for (int i = 0; i != 2; ++i) {
                    if (!lock.try_acquire()) continue;
                    of_the_holder = of_the_holder + 1;
                    alone ? lock.release_alone() : lock.release();
                }
            };
            model::in_threads(tries, tries);
            require(lock.try_acquire(), "it is free");
            require(of_the_holder >= 2, "one of them had it each time");
        });
    }
}

// The holder reads the word only after its release. The accesses of the word are relaxed: the
// failed try and the release alone must order them.
TEST(ModelRoleLock, WhoFailsToGetItIsSeenAfterItsRelease) {
    model::expect_passes([] {
        role_lock lock;
        sync::atomic<int> word{0};
        int seen = 0;
        bool failed = false;
        require(lock.try_acquire(), "it is free");
        model::in_threads(
            [&] {
                lock.release();
                seen = word.load(sync::relaxed);
            },
            [&] {
                word.store(1, sync::relaxed);
                failed = !lock.try_acquire();
            });
        require(!failed || seen == 1, "its word was seen");
    });
}

}  // namespace
}  // namespace fairlead::sched::role_lock_tests
