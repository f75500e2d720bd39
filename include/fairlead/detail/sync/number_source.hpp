// Numbers that look random: the same again from the same seed.
//
// SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", 2014):
// a bijection of a counter, so no number comes twice in 2^64 draws. Not for secrets.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>

#include <cstdint>

namespace fairlead::sync {

/// Any thread; one atomic addition for a number.
class number_source {
public:
    explicit number_source(std::uint64_t seed) noexcept : next_{seed} {}

    /// Never zero.
    [[nodiscard]] std::uint64_t draw() noexcept {
        constexpr std::uint64_t step = 0x9e3779b97f4a7c15;
        for (;;) {
            std::uint64_t number = next_.fetch_add(step, relaxed) + step;
            number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
            number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
            number ^= number >> 31;
            if (number != 0) return number;
        }
    }

private:
    // Relaxed: each draw only needs a number that no other draw has.
    atomic<std::uint64_t> next_;
};

/// A seed that the system draws. Throws what `std::random_device` throws.
[[nodiscard]] std::uint64_t seed_of_system();

}  // namespace fairlead::sync
