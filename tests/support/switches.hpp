// Checks that threads are at rest, by the context switches that the kernel counts.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace fairlead::test {

struct switches {
    std::uint64_t total = 0;
    int threads = 0;
};

/// Context switches, voluntary and not, of the threads of this process called `prefix`...
inline switches switches_of(const std::string& prefix) {
    switches sum;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::ifstream file{task.path() / "status"};
        std::uint64_t own = 0;
        bool ours = false;
        for (std::string line; std::getline(file, line);) {
            const auto value = line.substr(line.find_last_of(" \t") + 1);
            if (line.starts_with("Name:")) ours = value.starts_with(prefix);
            if (line.find("ctxt_switches:") != std::string::npos) own += std::stoull(value);
        }
        if (!ours) continue;
        sum.total += own;
        ++sum.threads;
    }
    return sum;
}

/// Expects that the `threads` threads whose names begin with `prefix` make no context switch for a
/// second. The test sleeps for that second, because it measures the passing of time.
inline void expect_rest(const std::string& prefix, int threads) {
    // A worker may still be on its way to sleep when drain returns: wait for the first still
    // moment.
    switches before;
    switches after;
    do {
        before = switches_of(prefix);
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
        after = switches_of(prefix);
    } while (before.total != after.total);
    std::this_thread::sleep_for(std::chrono::seconds{1});
    after = switches_of(prefix);
    EXPECT_EQ(after.threads, threads);
    EXPECT_EQ(after.total, before.total);
}

}  // namespace fairlead::test
