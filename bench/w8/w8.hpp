// W8, channels: `producers` tasks send `count` integers in all through a channel to `consumers`
// tasks, on `workers` threads; nanoseconds for an element. Cases:
//
//     bounded      a channel of 1,024 places, an element at a time
//     unbounded    a channel without a bound, an element at a time
//     batched      a channel of 1,024 places, 64 elements at a time
//     ping_pong    two tasks send a token to each other, `count` times, by channels of one place
//
// A tenth of the elements come before the measurement. A run is void if the sum of the elements
// that were received is not that of those sent.
#pragma once

#include "support/options.hpp"
#include "support/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace bench::w8 {

inline constexpr std::size_t places = 1024;
inline constexpr std::size_t batch = 64;

/// The elements of a producer: `first`, `first` + 1, ...
struct part {
    std::uint64_t first;
    std::uint64_t count;
};

inline part part_of(std::uint64_t index, std::uint64_t producers, std::uint64_t count) {
    const std::uint64_t first = count * index / producers;
    return {first, count * (index + 1) / producers - first};
}

inline std::uint64_t sum_below(std::uint64_t count) {
    return count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
}

/// `stream(count)` sends the numbers below `count` and gives the sum of what was received.
template <class Stream>
measurement measure_stream(const options& asked, Stream stream) {
    static_cast<void>(stream(asked.count / 10));
    const stopwatch watch;
    const std::uint64_t sum = stream(asked.count);
    measurement result = watch.per_item(asked.count);
    if (sum != sum_below(asked.count)) result.failure = "an element was lost, or came twice";
    return result;
}

}  // namespace bench::w8
