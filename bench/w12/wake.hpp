// W12, wake: the runtime is idle. Cases:
//
//     wake    `count` times, a millisecond apart, one task is posted from outside: from the post to
//             the start of the task; p50, in microseconds
//     idle    nothing happens for `count` milliseconds: context switches of the workers
//
// The CPU time is that of the process, with its main thread, which sleeps between the posts.
#pragma once

#include "support/clock.hpp"
#include "support/options.hpp"
#include "support/percentiles.hpp"
#include "support/result.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace bench::w12 {

template <class Runtime>
struct stamped_task : Runtime::item {
    stamped_task()
        : Runtime::item{[](typename Runtime::item& self) {
              static_cast<stamped_task&>(self).began_ns.store(now_ns(), std::memory_order_release);
          }} {}

    /// When it began to run; 0: it has not.
    std::atomic<std::uint64_t> began_ns{0};
};

template <class Runtime>
measurement wake(Runtime& runtime, std::vector<stamped_task<Runtime>>& tasks) {
    std::vector<std::int64_t> latencies;
    latencies.reserve(tasks.size());
    const stopwatch watch;
    for (stamped_task<Runtime>& task : tasks) {
        const std::uint64_t posted_ns = now_ns();
        runtime.post(task);
        std::uint64_t began_ns = 0;
        do {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            began_ns = task.began_ns.load(std::memory_order_acquire);
        } while (began_ns == 0);
        latencies.push_back(static_cast<std::int64_t>(began_ns - posted_ns));
    }
    measurement found = watch.per_item(tasks.size());
    const percentiles latency{std::move(latencies)};
    found.value = static_cast<double>(latency.at(0.5)) * 1e-3;
    found.unit = "us";
    found.beside = {{"p99", static_cast<double>(latency.at(0.99)) * 1e-3, "us"},
                    {"max", static_cast<double>(latency.at(1)) * 1e-3, "us"}};
    return found;
}

/// Context switches, of both kinds, of all threads of this process but the main one.
inline std::uint64_t switches_of_workers() {
    std::uint64_t sum = 0;
    for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
        if (thread.path().filename() == std::filesystem::read_symlink("/proc/self")) continue;
        std::ifstream status{thread.path() / "status"};
        for (std::string word; status >> word;) {
            std::uint64_t count = 0;
            if (word.ends_with("voluntary_ctxt_switches:") && status >> count) sum += count;
        }
    }
    return sum;
}

template <class Runtime>
measurement idle(Runtime& runtime, std::uint64_t milliseconds) {
    std::vector<stamped_task<Runtime>> first(10);
    wake(runtime, first);  // the workers have started, and have gone to sleep again
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    const stopwatch watch;
    const std::uint64_t before = switches_of_workers();
    std::this_thread::sleep_for(std::chrono::milliseconds{milliseconds});
    measurement found = watch.per_item(milliseconds);
    found.value = static_cast<double>(switches_of_workers() - before);
    found.unit = "switches";
    return found;
}

template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    std::vector<stamped_task<Runtime>> tasks(asked.name == "wake" ? asked.count : 0);
    Runtime runtime{asked.workers};
    if (asked.name == "wake") return wake(runtime, tasks);
    if (asked.name == "idle") return idle(runtime, asked.count);
    return std::nullopt;
}

template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W12", Runtime::name, measure<Runtime>);
}

}  // namespace bench::w12
