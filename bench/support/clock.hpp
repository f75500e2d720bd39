// Clocks and resources of this process, for the benchmarks.
#pragma once

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

namespace bench {

inline std::uint64_t read_clock_ns(clockid_t which) noexcept {
    timespec time{};
    clock_gettime(which, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(time.tv_nsec);
}

inline std::uint64_t now_ns() noexcept { return read_clock_ns(CLOCK_MONOTONIC); }

/// CPU time of all threads of this process, user and system.
inline double process_cpu_seconds() noexcept {
    return static_cast<double>(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)) * 1e-9;
}

/// Keeps the calling thread busy for `work_ns` of its own CPU time. Not of wall time: with more
/// threads than cores, time during which the thread was switched off would count as work.
inline void burn_cpu(std::uint64_t work_ns) noexcept {
    const std::uint64_t end = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + work_ns;
    while (read_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
}

/// The most memory that a process ever held: this one, or that of another status file in /proc. Not
/// `ru_maxrss`, which an exec inherits from the process before it.
inline std::uint64_t peak_rss_bytes(const std::string& path = "/proc/self/status") {
    std::ifstream status{path};
    for (std::string line; std::getline(status, line);) {
        unsigned long long kib = 0;
        if (std::sscanf(line.c_str(), "VmHWM: %llu kB", &kib) == 1) return kib * 1024;
    }
    return 0;
}

}  // namespace bench
