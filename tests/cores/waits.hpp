// How long tasks have waited: counts by length, 16 lengths in each power of two.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace fairlead::cores {

class waits {
public:
    void add(std::int64_t ns) noexcept {
        const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
        ++counts_[place_of(length)];
        ++count_;
        longest_ = std::max(longest_, length);
    }
    void add(const waits& other) noexcept {
        for (std::size_t i = 0; i != counts_.size(); ++i) counts_[i] += other.counts_[i];
        count_ += other.count_;
        longest_ = std::max(longest_, other.longest_);
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t longest() const noexcept { return longest_; }

    /// The length that `share` of the tasks did not exceed, up to 6 %.
    [[nodiscard]] std::uint64_t at(double share) const noexcept {
        auto left = static_cast<std::uint64_t>(share * static_cast<double>(count_));
        for (std::size_t i = 0; i != counts_.size(); ++i) {
            if (left < counts_[i]) return length_of(i);
            left -= counts_[i];
        }
        return longest_;
    }

private:
    static constexpr unsigned parts_bits = 4;
    static constexpr std::uint64_t parts = 1 << parts_bits;

    static constexpr std::size_t place_of(std::uint64_t length) noexcept {
        if (length < parts) return length;
        const auto power = static_cast<unsigned>(std::bit_width(length)) - 1 - parts_bits;
        return (power + 1) * parts + ((length >> power) - parts);
    }
    static constexpr std::uint64_t length_of(std::size_t place) noexcept {
        if (place < parts) return place;
        const std::uint64_t power = place / parts - 1;
        return (place % parts + parts) << power;
    }

    std::array<std::uint64_t, 64 * parts> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t longest_ = 0;
};

}  // namespace fairlead::cores
