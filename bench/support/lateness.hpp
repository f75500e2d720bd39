// How late sleepers wake, for the benchmarks of timers.
#pragma once

#include "support/percentiles.hpp"
#include "support/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

using time_point = std::chrono::steady_clock::time_point;
using std::chrono::nanoseconds;

/// What the sleepers of a run write down, each in a place of its own.
class lateness {
public:
    explicit lateness(std::uint64_t count) : deadlines_(count), late_ns_(count) {}

    void expect(std::size_t index, time_point deadline) { deadlines_[index] = deadline; }
    [[nodiscard]] time_point deadline(std::size_t index) const { return deadlines_[index]; }
    void record(std::size_t index) {
        const nanoseconds late = std::chrono::steady_clock::now() - deadlines_[index];
        late_ns_[index] = late.count();
    }

    /// What is known after the last record, in microseconds. An early step voids the run.
    void report(measurement& found) {
        const percentiles late{late_ns_};
        if (late.least() < 0) found.failure = "a timer was early";
        found.value = static_cast<double>(late.at(0.99)) * 1e-3;
        found.unit = "us";
        found.beside.push_back({"p50", static_cast<double>(late.at(0.5)) * 1e-3, "us"});
        found.beside.push_back({"max", static_cast<double>(late.at(1)) * 1e-3, "us"});
    }

private:
    std::vector<time_point> deadlines_;
    std::vector<std::int64_t> late_ns_;
};

}  // namespace bench
