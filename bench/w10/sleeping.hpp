// W10, memory: `count` coroutines sleep; `value` is what each adds to the memory of the process, in
// bytes. Cases:
//
//     parked    until a waker wakes them
//     asleep    until a deadline, an hour ahead
//
// A hundred sleep before, so that what the runtime itself needs does not count.
#pragma once

#include "support/options.hpp"
#include "support/result.hpp"
#include "support/tally.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <thread>

namespace bench::w10 {

inline std::uint64_t resident_bytes() {
    std::ifstream file{"/proc/self/statm"};
    std::uint64_t all_pages = 0;
    std::uint64_t resident_pages = 0;
    file >> all_pages >> resident_pages;
    return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Starts `count` coroutines with spawn(), each of which calls tally::add() before it sleeps, and
/// waits until all do.
template <class Spawn>
void put_to_sleep(std::uint64_t count, Spawn spawn) {
    const std::uint64_t target = tally::total() + count;
    for (std::uint64_t i = 0; i != count; ++i) spawn();
    tally::wait_for_total(target);
    // The last tasks are on their way from the step to their sleep, which cannot be seen.
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
}

template <class Spawn>
measurement measure_sleepers(std::uint64_t count, Spawn spawn) {
    put_to_sleep(100, spawn);
    const stopwatch watch;
    const std::uint64_t before = resident_bytes();
    put_to_sleep(count, spawn);
    measurement found = watch.per_item(count);
    found.value = static_cast<double>(resident_bytes() - before) / static_cast<double>(count);
    found.unit = "bytes";
    return found;
}

template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    Runtime runtime{asked.workers};
    if (asked.name == "parked") {
        return measure_sleepers(asked.count, [&] { runtime.spawn_parked(); });
    }
    if (asked.name == "asleep") {
        return measure_sleepers(asked.count, [&] { runtime.spawn_asleep(); });
    }
    return std::nullopt;
}

template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W10", Runtime::name, measure<Runtime>);
}

}  // namespace bench::w10
