// Turns a hang into a failure that names the test. It synchronises nothing: a passing test never
// waits for it. Its limits are for a real processor, with or without a sanitizer.
// FAIRLEAD_TEST_PATIENCE multiplies them for an emulator.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace fairlead::test {

class watchdog {
public:
    explicit watchdog(std::chrono::seconds limit = std::chrono::seconds{180})
        : what_{name_of_test()}, thread_{[this, limit] { watch(limit * patience()); }} {}
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;
    ~watchdog() {
        {
            std::lock_guard lock{mutex_};
            over_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

    /// The factor of all limits.
    static int patience() {
        const char* const given = std::getenv("FAIRLEAD_TEST_PATIENCE");
        return given != nullptr ? std::max(1, std::atoi(given)) : 1;
    }

private:
    static std::string name_of_test() {
        const auto* info = testing::UnitTest::GetInstance()->current_test_info();
        if (info == nullptr) return "(no test)";
        return std::string{info->test_suite_name()} + "." + info->name();
    }

    void watch(std::chrono::seconds limit) {
        std::unique_lock lock{mutex_};
        if (changed_.wait_for(lock, limit, [this] { return over_; })) return;
        std::fprintf(stderr, "watchdog: %s hangs\n", what_.c_str());
        std::abort();
    }

    const std::string what_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;  // guarded by mutex_
    std::thread thread_;
};

}  // namespace fairlead::test
