// The counted costs of the hot paths:
//
//     paths [--only NAME] [--size OPERATIONS]
//     paths --handovers
#include "counts/handovers.hpp"
#include "counts/meter.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

std::atomic<std::int64_t> present_ns{1'000'000'000};
constexpr std::int64_t reading_ns = 10;

}  // namespace

// Every clock of this program. It does not go by the time that a step takes, which is another in
// every run, and under callgrind would make all steps long.
extern "C" int clock_gettime(clockid_t, timespec* now) noexcept {
    ++bench::counts::here.clock_reads;
    const std::int64_t ns = present_ns.fetch_add(reading_ns, std::memory_order_relaxed);
    now->tv_sec = ns / 1'000'000'000;
    now->tv_nsec = ns % 1'000'000'000;
    return 0;
}

int main(int argc, char** argv) {
    std::string_view only;
    std::uint64_t size = 4096;
    bool handovers = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "--handovers") {
            handovers = true;
            continue;
        }
        if (++i == argc) return 64;
        if (option == "--only") only = argv[i];
        if (option == "--size") size = std::strtoull(argv[i], nullptr, 10);
    }
    if (handovers) {
        bench::counts::run_handovers();
        return 0;
    }
    if (size == 0 || size % bench::counts::burst != 0) {
        std::fprintf(stderr, "the size must be a multiple of %llu\n",
                     static_cast<unsigned long long>(bench::counts::burst));
        return 64;
    }
    const auto before = fairlead::clock::now();
    if (fairlead::clock::now() - before != std::chrono::nanoseconds{reading_ns}) {
        std::fprintf(stderr, "the clock is not the one of this program: counts would differ\n");
        return 1;
    }
    bench::counts::meter found{only, size};
    bench::counts::measure_structures(found);
    bench::counts::measure_posts(found);
    bench::counts::measure_coroutines(found);
    bench::counts::measure_calls(found);
    bench::counts::measure_timers(found);
    bench::counts::measure_waits(found);
    bench::counts::measure_results(found);
    found.print();
}
