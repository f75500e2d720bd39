// Each bug of the corpus is found, and its fix passes. See corpus.hpp.
#include "historical/corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

namespace fairlead::model::historical::historical_tests {

// What gtest calls the parameter of a test.
void PrintTo(const bug& which, std::ostream* out) { *out << which.name; }

namespace {

std::vector<bug> all_bugs() {
    std::vector<bug> all;
    for (const auto& group :
         {wake_ups(), queues(), deques(), lifetimes(), reclamation(), timers(), descriptors()}) {
        all.insert(all.end(), group.begin(), group.end());
    }
    return all;
}

// What is recorded goes into docs/internals/historical.md.
class Bug : public testing::TestWithParam<bug> {
protected:
    [[nodiscard]] static verdict explore_it(bool fixed) {
        const bug& which = GetParam();
        const verdict found = explore(which.bounds, [&] { which.scenario(fixed); });
        RecordProperty("executions", std::to_string(found.executions));
        return found;
    }
};

TEST_P(Bug, IsFound) {
    const bug& which = GetParam();
    const verdict found = explore_it(false);
    EXPECT_FALSE(found.passed) << "all " << found.executions << " executions passed";
    EXPECT_TRUE(found.what.contains(which.found_as)) << found.what << '\n' << found.trace;
    RecordProperty("where", which.where);
    RecordProperty("mistake", which.mistake);
    RecordProperty("fix", which.fix);
    RecordProperty("found_as", which.found_as);
}

// Whether stale loads are needed, or the order of steps is enough. With the bounds of the other
// searches.
TEST_P(Bug, IsFoundByOrderAlone) {
    options bounds = GetParam().bounds;
    bounds.stale_reads = 0;
    const verdict found = explore(bounds, [] { GetParam().scenario(false); });
    EXPECT_TRUE(found.complete || !found.passed);
    RecordProperty("order_alone", found.passed ? "no" : "yes");
}

// The median of the executions until it is found, over some seeds: how frequent the bug is, which
// the systematic search does not say.
std::string median_of(search how) {
    constexpr std::uint64_t most = 10'000;
    const bug& which = Bug::GetParam();
    std::array<std::uint64_t, 25> executions;
    for (std::size_t i = 0; i != executions.size(); ++i) {
        options bounds = which.bounds;
        bounds.how = how;
        bounds.executions_max = most;
        bounds.seed = i + 1;
        const verdict found = explore(bounds, [&] { which.scenario(false); });
        EXPECT_TRUE(found.passed || found.what.contains(which.found_as)) << found.what;
        executions[i] = found.passed ? most + 1 : found.executions;
    }
    std::ranges::sort(executions);
    const std::uint64_t median = executions[executions.size() / 2];
    return median > most ? "> " + std::to_string(most) : std::to_string(median);
}

TEST_P(Bug, IsFoundByChance) {
    const std::string by_priorities = median_of(search::pct);
    EXPECT_FALSE(by_priorities.starts_with(">")) << by_priorities;
    RecordProperty("by_priorities", by_priorities);
    RecordProperty("at_random", median_of(search::random));
}

TEST_P(Bug, FixPasses) {
    const bug& which = GetParam();
    const verdict found = explore_it(true);
    EXPECT_TRUE(found.passed) << found.what << "\nreplay: " << found.choices << '\n' << found.trace;
    EXPECT_TRUE(found.complete || !found.passed);
    if (which.bounds.preemptions != unlimited) {
        RecordProperty("preemptions", std::to_string(which.bounds.preemptions));
    }
}

INSTANTIATE_TEST_SUITE_P(Historical, Bug, testing::ValuesIn(all_bugs()),
                         [](const auto& each) { return std::string{each.param.name}; });

}  // namespace
}  // namespace fairlead::model::historical::historical_tests
