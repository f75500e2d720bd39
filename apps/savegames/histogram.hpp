// A histogram of latencies, with buckets of equal ratio: 1 us to 100 s, within 1 % of the true
// value.
//
// One thread at a time: give each thread its own histogram, and `merge` them. About 10 KB each.
// Recording allocates nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include <boost/histogram.hpp>

namespace savegames {

class latency_histogram {
public:
    using nanoseconds = std::chrono::nanoseconds;

    // A latency below 1 us counts as 1 us, above 100 s as 100 s. `min` and `max` stay exact.
    void record(nanoseconds latency) {
        counts_(static_cast<double>(latency.count()));
        ++count_;
        sum_s_ += std::chrono::duration<double>(latency).count();
        min_ = std::min(min_, latency);
        max_ = std::max(max_, latency);
    }

    void merge(const latency_histogram& other) {
        // Not std::ranges: it asks whether a histogram is an iterator, and Boost's operators then
        // name a type trait that is deprecated.
        std::transform(counts_.begin(), counts_.end(), other.counts_.begin(), counts_.begin(),
                       std::plus{});
        count_ += other.count_;
        sum_s_ += other.sum_s_;
        min_ = std::min(min_, other.min_);
        max_ = std::max(max_, other.max_);
    }

    // The smallest latency that at least `share` (0 to 1) of the records do not exceed: 0.5 gives
    // the median, 1 the maximum. Zero if nothing was recorded.
    [[nodiscard]] nanoseconds quantile(double share) const {
        if (count_ == 0) return nanoseconds{0};
        const double wanted = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
        const auto rank = std::clamp(static_cast<std::uint64_t>(wanted), std::uint64_t{1}, count_);
        if (rank == count_) return max_;
        std::uint64_t seen = 0;
        int bucket = -1;  // the first counter of the storage is of values below the range
        for (const std::uint64_t in_bucket : counts_) {
            seen += in_bucket;
            if (seen >= rank) return within_bucket(bucket);
            ++bucket;
        }
        return max_;
    }

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] nanoseconds min() const { return count_ == 0 ? nanoseconds{0} : min_; }
    [[nodiscard]] nanoseconds max() const { return max_; }
    [[nodiscard]] nanoseconds mean() const {
        if (count_ == 0) return nanoseconds{0};
        return nanoseconds{std::llround(sum_s_ * 1e9 / static_cast<double>(count_))};
    }

private:
    static constexpr double lowest_ns = 1e3;
    static constexpr double highest_ns = 1e11;
    static constexpr unsigned bucket_count = 1200;  // ratio 1.0155: 0.8 % from middle to edge

    using log_axis =
        boost::histogram::axis::regular<double, boost::histogram::axis::transform::log>;
    using counts =
        boost::histogram::histogram<std::tuple<log_axis>,
                                    boost::histogram::storage_adaptor<std::vector<std::uint64_t>>>;

    // The geometric middle of bucket `i`, clamped to the latencies that were recorded.
    [[nodiscard]] nanoseconds within_bucket(int i) const {
        const auto& buckets = counts_.axis();
        if (i < 0) return min_;
        if (i >= buckets.size()) return max_;
        const nanoseconds middle{std::llround(buckets.bin(i).center())};
        return std::clamp(middle, min_, max_);
    }

    counts counts_{log_axis{bucket_count, lowest_ns, highest_ns}};
    std::uint64_t count_ = 0;
    double sum_s_ = 0;
    nanoseconds min_ = nanoseconds::max();
    nanoseconds max_{0};
};

}  // namespace savegames
