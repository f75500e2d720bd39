// The check of tests/fuzz/interleavings_fuzz.cpp can fail: it finds planted mistakes.
#include "fuzz/interleavings_check.hpp"
#include "fuzz/random_input.hpp"

#include <gtest/gtest.h>

#include <string>

namespace fairlead::fuzz::interleavings_check_tests {
namespace {

// The first failure that random bytes find, if any: a fuzzer begins with such bytes.
template <class Scheduler>
std::string found_in() {
    constexpr int runs = 2000;  // a lost post needs about two hundred
    std::string found;
    const auto check = [&found](input bytes) {
        if (!found.empty()) return;
        const model::verdict verdict = check_interleaving<Scheduler>(bytes);
        if (!verdict.passed) found = verdict.what;
    };
    run_with_random_bytes(check, runs);
    return found;
}

struct scheduler_that_counts : scheduler {
    using scheduler::scheduler;
    void post(basic_task& task) {
        posts = posts + 1;
        scheduler::post(task);
    }
    model::plain<int> posts{0};
};

// Loses one of two posts at the same time.
struct scheduler_that_is_busy : scheduler {
    using scheduler::scheduler;
    void post(basic_task& task) {
        if (busy.exchange(true, sync::acq_rel)) return;
        scheduler::post(task);
        busy.store(false, sync::release);
    }
    sync::atomic<bool> busy{false};
};

struct scheduler_that_does_not_wait : scheduler {
    using scheduler::scheduler;
    void post_delay(basic_task& task, duration) { post(task); }
};

TEST(InterleavingsCheck, AcceptTheScheduler) { EXPECT_EQ(found_in<scheduler>(), ""); }
TEST(InterleavingsCheck, SeeARace) {
    EXPECT_NE(found_in<scheduler_that_counts>().find("a data race"), std::string::npos);
}
TEST(InterleavingsCheck, SeeALostPost) { EXPECT_NE(found_in<scheduler_that_is_busy>(), ""); }
TEST(InterleavingsCheck, SeeAnEarlyStep) {
    EXPECT_NE(found_in<scheduler_that_does_not_wait>().find("not early"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::fuzz::interleavings_check_tests
