// W3, avalanche: one thread outside the runtime posts `count` closures; from the first post to the
// end of the last one. Cases:
//
//     empty    they only count themselves: the time for one
//     timed    each burns `work_ns` of CPU time: the time for one beyond what the processors need
//              for the work alone
//
// A thousand run before the clock starts: threads are awake, but no allocator has memory for an
// avalanche. Small ones are repeated, with all memory as the last one has left it. The end is seen
// up to 0.1 ms late, the same for all.
#pragma once

#include "support/clock.hpp"
#include "support/ideal.hpp"
#include "support/options.hpp"
#include "support/result.hpp"
#include "support/tally.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace bench::w3 {

inline constexpr std::uint64_t warming = 1'000;
inline constexpr std::uint64_t total_min = 1'000'000;  // empty tasks, of all repetitions

template <class Runtime>
void avalanche(Runtime& runtime, std::uint64_t count, std::uint64_t work_ns) {
    const std::uint64_t target = tally::total() + count;
    for (std::uint64_t i = 0; i != count; ++i) {
        runtime.post_one_shot([work_ns] {
            if (work_ns != 0) burn_cpu(work_ns);
            tally::add();
        });
    }
    tally::wait_for_total(target);
}

template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    const bool timed = asked.name == "timed";
    if (!timed && asked.name != "empty") return std::nullopt;
    Runtime runtime{asked.workers};
    avalanche(runtime, warming, 0);
    const std::uint64_t work_ns = timed ? asked.work_ns : 0;
    const std::uint64_t rounds = timed ? 1 : std::max<std::uint64_t>(1, total_min / asked.count);
    const stopwatch watch;
    for (std::uint64_t i = 0; i != rounds; ++i) avalanche(runtime, asked.count, work_ns);
    measurement found = watch.per_item(rounds * asked.count);
    if (timed) {
        found.total = found.value;
        found.value -= ideal_ns(work_ns, asked.workers);
    }
    return found;
}

template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W3", Runtime::name, measure<Runtime>);
}

}  // namespace bench::w3
