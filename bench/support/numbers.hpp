// Numbers that tasks pass on, and whose sum says whether each of them arrived once.
#pragma once

#include "support/options.hpp"
#include "support/result.hpp"

#include <cstdint>

namespace bench {

/// The numbers of a task: `first`, `first` + 1, ...
struct part {
    std::uint64_t first;
    std::uint64_t count;
};

/// The numbers below `count` that are those of task `index` of `tasks`.
inline part part_of(std::uint64_t index, std::uint64_t tasks, std::uint64_t count) {
    const std::uint64_t first = count * index / tasks;
    return {first, count * (index + 1) / tasks - first};
}

inline std::uint64_t sum_below(std::uint64_t count) {
    return count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
}

/// `pass(count)` passes the numbers below `count` on, and gives the sum of those that arrived. A
/// tenth of them come before the measurement. A run is void if the sum is wrong.
template <class Pass>
measurement measure_sum(const options& asked, Pass pass) {
    const auto is_right = [&pass](std::uint64_t count) { return pass(count) == sum_below(count); };
    const bool warm = is_right(asked.count / 10);
    const stopwatch watch;
    const bool measured = is_right(asked.count);
    measurement result = watch.per_item(asked.count);
    if (!warm || !measured) result.failure = "a number was lost, or came twice";
    return result;
}

}  // namespace bench
