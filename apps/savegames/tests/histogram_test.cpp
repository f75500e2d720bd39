#include "savegames/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <vector>

namespace savegames::histogram_tests {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

void expect_within_one_percent(nanoseconds got, nanoseconds wanted) {
    EXPECT_NEAR(static_cast<double>(got.count()), static_cast<double>(wanted.count()),
                0.01 * static_cast<double>(wanted.count()));
}

TEST(latency_histogram, empty) {
    const latency_histogram none;
    EXPECT_EQ(none.count(), 0U);
    EXPECT_EQ(none.quantile(0.5), 0ns);
    EXPECT_EQ(none.min(), 0ns);
    EXPECT_EQ(none.max(), 0ns);
    EXPECT_EQ(none.mean(), 0ns);
}

TEST(latency_histogram, quantiles_are_within_one_percent_over_the_whole_range) {
    std::mt19937_64 random{1};
    std::uniform_real_distribution<double> exponent{3, 11};
    latency_histogram histogram;
    std::vector<nanoseconds> all;
    for (int i = 0; i < 20'000; ++i) {
        all.emplace_back(static_cast<std::int64_t>(std::pow(10.0, exponent(random))));
        histogram.record(all.back());
    }
    std::ranges::sort(all);
    for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto rank = static_cast<std::size_t>(std::ceil(share * 20'000));
        expect_within_one_percent(histogram.quantile(share), all[rank - 1]);
    }
    EXPECT_EQ(histogram.max(), all.back());
    EXPECT_EQ(histogram.min(), all.front());
    EXPECT_EQ(histogram.quantile(1), all.back());
}

TEST(latency_histogram, counts_what_is_out_of_range_at_its_ends) {
    latency_histogram histogram;
    histogram.record(10ns);
    histogram.record(5ms);
    histogram.record(200s);
    EXPECT_EQ(histogram.quantile(0.1), 10ns);
    expect_within_one_percent(histogram.quantile(0.5), 5ms);
    EXPECT_EQ(histogram.quantile(0.9), 200s);
    EXPECT_EQ(histogram.max(), 200s);
    EXPECT_EQ(histogram.count(), 3U);
}

TEST(latency_histogram, merge_is_as_if_one_had_recorded_all) {
    latency_histogram a;
    latency_histogram b;
    latency_histogram both;
    for (int i = 1; i <= 1000; ++i) {
        const nanoseconds latency = i * 10us;
        (i % 3 == 0 ? a : b).record(latency);
        both.record(latency);
    }
    a.merge(b);
    a.merge(latency_histogram{});
    EXPECT_EQ(a.count(), both.count());
    EXPECT_EQ(a.quantile(0.5), both.quantile(0.5));
    EXPECT_EQ(a.quantile(0.99), both.quantile(0.99));
    EXPECT_EQ(a.max(), both.max());
    EXPECT_EQ(a.min(), both.min());
    EXPECT_EQ(a.mean(), both.mean());
    EXPECT_EQ(both.mean(), 5'005us);
}

}  // namespace
}  // namespace savegames::histogram_tests
