// The n-th call fails, for n = 1, 2, ... until a run meets no failure: once alone, and once with
// all later calls.
#pragma once

#include "faults/faults.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <initializer_list>
#include <new>
#include <string>
#include <system_error>

namespace fairlead::test {

/// The report of a scenario: no error, or an error of the library. Any other exception fails the
/// test.
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

/// The right outcomes of a run that met the fault.
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

struct faulty_run {
    std::error_code seen;
    std::size_t hits;
};

/// Runs `scenario` with `armed{plan...}`. Afterwards the scenario must pass without faults, and
/// leave as much memory and as many descriptors as before.
template <std::invocable Scenario, class... Plan>
faulty_run run_with(Scenario& scenario, const Plan&... plan) {
    const std::int64_t memory = live_allocations();
    const int descriptors = open_descriptors();
    faulty_run run{};
    {
        const armed faults{plan...};
        run.seen = outcome_of(scenario);
        run.hits = faults.hits();
    }
    EXPECT_FALSE(outcome_of(scenario));
    if (counts_exactly) {
        EXPECT_EQ(live_allocations(), memory);
    }
    EXPECT_EQ(open_descriptors(), descriptors);
    return run;
}

/// More calls than a scenario makes.
inline constexpr std::int64_t calls_max = 5000;

/// Runs `scenario` with the fault at the n-th call for n = 1, 2, ... until a run does not meet it.
/// Records that the function was swept: tools/faults.py compares with the functions that the
/// library calls.
template <std::invocable Scenario>
void sweep_range(const fault& what, outcome right, Scenario scenario,
                 call_range (*range)(std::int64_t)) {
    ASSERT_FALSE(outcome_of(scenario));  // allocates now what a process allocates only once
    for (std::int64_t n = 1; n <= calls_max; ++n) {
        SCOPED_TRACE(testing::Message{} << what.call << ", error " << what.error << ", call " << n);
        const auto [seen, hits] = run_with(scenario, what, range(n));
        EXPECT_TRUE(hits != 0 || n != 1) << "the scenario makes no such call";
        expect_outcome(seen, what, right, hits != 0);
        if (testing::Test::HasFailure()) return;
        if (hits == 0) {
            return testing::Test::RecordProperty(std::string{"swept "} + what.call,
                                                 std::to_string(n - 1));
        }
    }
    FAIL() << what.call << ": there is no end of its calls";
}

template <std::invocable Scenario>
void sweep(const fault& what, outcome right, Scenario scenario) {
    sweep_range(what, right, scenario, call_range::only);
    sweep_range(what, right, scenario, call_range::from);
}

}  // namespace fairlead::test
