// W6, a loop: one function for each of very many indices, divided among the workers.
//
//     tiny     a multiplication and a byte of memory, the same for all: what does dividing cost?
//     skewed   none to 64 dependent multiplications, the more the higher the index: which runtime
//              divides evenly?
//
// `Loops` runs body(index) for all indices below count, `rounds` times one loop after the other,
// begun by a worker: repeat(rounds, count, body).
#pragma once

#include "support/result.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace bench::w6 {

inline constexpr std::uint64_t rounds = 10;
inline constexpr std::uint64_t odd = 0x9E37'79B9'7F4A'7C15;

/// Adds a byte that follows from the index, so that a sum tells whether each index ran as often as
/// it should.
struct tiny_body {
    std::uint8_t* sums;

    void operator()(std::size_t index) const {
        sums[index] = static_cast<std::uint8_t>(sums[index] + ((index * odd) >> 56));
    }
};

struct skewed_body {
    std::uint8_t* sums;
    std::size_t count;

    void operator()(std::size_t index) const {
        std::uint64_t value = index;
        for (std::size_t step = index * 64 / count; step != 0; --step) value = value * odd + 1;
        sums[index] = static_cast<std::uint8_t>(sums[index] + (value >> 56));
    }
};

/// After so many rounds from nothing, by a plain loop.
template <class Body>
bool is_right(Body body, const std::vector<std::uint8_t>& found, std::uint64_t times) {
    std::vector<std::uint8_t> once(found.size());
    body.sums = once.data();
    for (std::size_t i = 0; i != once.size(); ++i) body(i);
    for (std::size_t i = 0; i != once.size(); ++i) {
        if (found[i] != static_cast<std::uint8_t>(once[i] * times)) return false;
    }
    return true;
}

template <class Loops, class Body>
measurement measure_body(Loops& loops, Body body, std::size_t count) {
    std::vector<std::uint8_t> sums(count);
    body.sums = sums.data();
    loops.repeat(1, count, body);  // before the clock starts: a tenth
    const stopwatch watch;
    loops.repeat(rounds, count, body);
    measurement found = watch.per_item(rounds * count);
    if (!is_right(body, sums, rounds + 1)) found.failure = "an index was lost, or came twice";
    return found;
}

template <class Loops>
std::optional<measurement> measure(const options& asked) {
    if (asked.count == 0) usage_error("--count must not be 0");
    Loops loops{asked.workers};
    const std::size_t count = asked.count;
    if (asked.name == "tiny") return measure_body(loops, tiny_body{nullptr}, count);
    if (asked.name == "skewed") return measure_body(loops, skewed_body{nullptr, count}, count);
    return std::nullopt;
}

template <class Loops>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W6", Loops::name, measure<Loops>);
}

}  // namespace bench::w6
