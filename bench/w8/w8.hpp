// W8, channels: `producers` tasks send `count` integers in all through a channel to `consumers`
// tasks, on `workers` threads; nanoseconds for an element. Cases:
//
//     bounded      a channel of 1,024 places, an element at a time
//     unbounded    a channel without a bound, an element at a time
//     batched      a channel of 1,024 places, 64 elements at a time
//     ping_pong    two tasks send a token to each other, `count` times, by channels of one place
//
// A sender has finished before the channel is closed, and a receiver ends when the channel is
// closed and empty, or, if it cannot be closed, at one more element for each receiver. A tenth of
// the elements come before the measurement. A run is void if the sum of the elements that were
// received is not that of those sent.
#pragma once

#include "support/numbers.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace bench::w8 {

inline constexpr std::size_t places = 1024;
inline constexpr std::size_t batch = 64;
/// The element at which a receiver ends, of a channel that cannot be closed.
inline constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();

/// How many elements the channel of a case holds, and whether they pass by batches; nothing if it
/// is no case of streams. `unbounded` is what the channel takes for no bound.
struct shape {
    std::size_t places;
    bool is_batched = false;
};

inline std::optional<shape> shape_of(const options& asked, std::size_t unbounded) {
    if (asked.name == "bounded") return shape{places};
    if (asked.name == "unbounded") return shape{unbounded};
    if (asked.name == "batched") return shape{places, true};
    return std::nullopt;
}

}  // namespace bench::w8
