// The n-th call fails, for n = 1, 2, ... until a run meets no failure; once by itself, and once with all
// that follow.
#pragma once

#include "faults/faults.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <initializer_list>
#include <new>
#include <string>
#include <system_error>

namespace fairlead::test {

/// What a scenario reports: nothing, or an error of the library. Any other exception is a failure of
/// the test.
template <std::invocable Scenario>
std::error_code outcome_of(Scenario& scenario) {
    try {
        scenario();
        return {};
    } catch (const std::bad_alloc&) {
        return std::make_error_code(std::errc::not_enough_memory);
    } catch (const std::system_error& failure) {
        return failure.code();
    }
}

/// Which outcomes of a run that met the fault are right.
enum class outcome : std::uint8_t {
    invisible,       ///< nothing is reported
    reported,        ///< the error of the fault is reported, always
    maybe_reported,  ///< it is reported, or the library could do without
};

inline void expect_outcome(std::error_code seen, const fault& what, outcome right, bool hit) {
    const std::error_code injected{what.error, std::system_category()};
    const bool same = seen.default_error_condition() == injected.default_error_condition();
    if (!hit || right == outcome::invisible) {
        EXPECT_FALSE(seen) << seen.message();
    } else if (right == outcome::reported) {
        EXPECT_TRUE(same) << "reported: " << seen.message();
    } else {
        EXPECT_TRUE(!seen || same) << "reported: " << seen.message();
    }
}

/// Runs `scenario` with the fault at the n-th call for n = 1, 2, ..., `n_max`, until it is not met. After
/// each failure the scenario must pass, and leave as much memory and as many descriptors as before.
template <std::invocable Scenario>
void sweep_range(const fault& what, outcome right, Scenario scenario,
                 call_range (*range)(std::int64_t), std::int64_t n_max) {
    ASSERT_FALSE(outcome_of(scenario));  // what is made once in a process is made now
    for (std::int64_t n = 1; n <= n_max; ++n) {
        SCOPED_TRACE(testing::Message{} << what.call << ", error " << what.error << ", call " << n);
        const std::int64_t memory = live_allocations();
        const int descriptors = open_descriptors();
        bool hit = false;
        std::error_code seen;
        {
            const armed plan{what, range(n)};
            seen = outcome_of(scenario);
            hit = plan.hit();
        }
        EXPECT_TRUE(hit || n != 1) << "the scenario makes no such call";
        expect_outcome(seen, what, right, hit);
        EXPECT_FALSE(outcome_of(scenario));  // usable afterwards
        if (counts_exactly) {
            EXPECT_EQ(live_allocations(), memory);
        }
        EXPECT_EQ(open_descriptors(), descriptors);
        if (!hit || testing::Test::HasFailure()) return;
    }
}

template <std::invocable Scenario>
void sweep(const fault& what, outcome right, Scenario scenario, std::int64_t n_max = 1000) {
    sweep_range(what, right, scenario, call_range::only, n_max);
    sweep_range(what, right, scenario, call_range::from, n_max);
}

}  // namespace fairlead::test
