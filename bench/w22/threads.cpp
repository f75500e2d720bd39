// Threads of the system, one for each task, whatever the number of workers is: std::mutex, which
// hands nothing over: an unlock lets any thread have it, mostly the same one again.
#include "w22/waiting.hpp"

#include <mutex>
#include <thread>
#include <vector>

namespace {

using bench::measurement;
using bench::options;

std::uint64_t lock_in_turn(const options& asked, std::uint64_t count) {
    std::mutex guards;
    std::uint64_t sum = 0;
    std::vector<std::thread> tasks;
    for (std::uint64_t i = 0; i != asked.chains; ++i) {
        tasks.emplace_back([&, mine = bench::part_of(i, asked.chains, count)] {
            for (std::uint64_t k = 0; k != mine.count; ++k) {
                const std::lock_guard lock{guards};
                sum += mine.first + k;
                if (asked.name == "mutex_yield") std::this_thread::yield();
            }
        });
    }
    for (std::thread& each : tasks) each.join();
    return sum;
}

std::optional<measurement> measure(const options& asked) {
    if (asked.name != "mutex" && asked.name != "mutex_yield") return std::nullopt;
    return bench::measure_sum(asked,
                              [&](std::uint64_t count) { return lock_in_turn(asked, count); });
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W22", "threads", measure); }
