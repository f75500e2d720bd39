// Percentiles of what was measured once each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

class percentiles {
public:
    explicit percentiles(std::vector<std::int64_t> values) : sorted_{std::move(values)} {
        std::ranges::sort(sorted_);
    }

    [[nodiscard]] std::int64_t least() const { return sorted_.front(); }

    /// The least value that `share` of them do not exceed. 1: the greatest.
    [[nodiscard]] std::int64_t at(double share) const {
        const auto rank = static_cast<std::size_t>(share * static_cast<double>(sorted_.size()));
        return sorted_[std::min(rank, sorted_.size() - 1)];
    }

private:
    std::vector<std::int64_t> sorted_;
};

}  // namespace bench
