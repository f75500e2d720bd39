// Counts the tasks that ran, each thread for itself, so that counting is no bottleneck.
//
// A shared counter would cost more than the task that it counts. Each thread that runs tasks takes
// a line of its own, and only the thread that waits for the end adds them up.
#pragma once

#include "support/clock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace bench {

class tally {
public:
    /// One more task ran on the calling thread.
    static void add() noexcept {
        if (own_ == nullptr) own_ = &claim_line();
        // Release: what the task did happened before wait_for_total sees it. Not a
        // read-modify-write: only this thread writes the line.
        own_->count.store(own_->count.load(std::memory_order_relaxed) + 1,
                          std::memory_order_release);
    }

    /// Tasks counted by all threads, ever.
    static std::uint64_t total() noexcept {
        std::uint64_t sum = 0;
        for (const line& each : lines_) sum += each.count.load(std::memory_order_acquire);
        return sum;
    }

    /// Sleeps until `target` tasks were counted. It looks rarely while much is left, so that it
    /// takes no time from the workers, and every 50 us at the end.
    static void wait_for_total(std::uint64_t target) noexcept {
        const std::uint64_t began = now_ns();
        const std::uint64_t first = total();
        for (std::uint64_t done = first; done < target; done = total()) {
            const std::uint64_t elapsed = now_ns() - began;
            const std::uint64_t rest_ns = elapsed * (target - done) / (done - first + 1);
            const std::uint64_t sleep_ns =
                std::clamp<std::uint64_t>(rest_ns / 3, 50'000, 5'000'000);
            std::this_thread::sleep_for(std::chrono::nanoseconds{sleep_ns});
        }
    }

private:
    struct alignas(128) line {
        std::atomic<std::uint64_t> count;  // 0
    };

    static line& claim_line() noexcept {
        const std::size_t index = claimed_.fetch_add(1, std::memory_order_relaxed);
        if (index >= lines_.size()) {
            std::fputs("tally: too many threads\n", stderr);
            std::abort();
        }
        return lines_[index];
    }

    static inline std::array<line, 256> lines_;
    static inline std::atomic<std::size_t> claimed_{0};
    static inline thread_local line* own_ = nullptr;
};

}  // namespace bench
