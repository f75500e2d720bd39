// The time that work needs on the processors alone, for benchmarks that measure the overhead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

namespace bench {

/// Nanoseconds for `work_ns` of work, shared evenly by as many of `lanes` as there are processors.
inline double ideal_ns(std::uint64_t work_ns, std::uint64_t lanes) {
    const std::uint64_t cores = std::max(1u, std::thread::hardware_concurrency());
    return static_cast<double>(work_ns) / static_cast<double>(std::min(lanes, cores));
}

}  // namespace bench
