// The expectations of the model tests: a scenario passes, or it fails in a known way.
#pragma once

#include "model/checker/atomic.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <iostream>
#include <string>

namespace fairlead::model {

/// Runs each of `bodies` in its own thread, and returns when all have ended.
template <class... Bodies>
void in_threads(const Bodies&... bodies) {
    const thread running[]{thread{bodies}...};
}

/// Expects that no execution goes wrong, and that an exhaustive search has seen all executions.
inline void expect_passes(const options& wanted, const std::function<void()>& scenario) {
    const verdict found = explore(wanted, scenario);
    EXPECT_TRUE(found.passed) << found.what << "\nseed " << found.seed << ", depth " << wanted.depth
                              << "; again: FAIRLEAD_MODEL_REPLAY=" << found.choices << '\n'
                              << found.trace;
    if (wanted.how == search::exhaustive && wanted.executions_max == unlimited) {
        EXPECT_TRUE(found.complete || !found.passed);
    }
    std::cout << found.executions << " executions, " << found.steps << " steps\n";
}

inline void expect_passes(const std::function<void()>& scenario) { expect_passes({}, scenario); }

/// For scenarios with a whole scheduler, which have far too many executions to see all. Time passes
/// only when no thread can go on otherwise.
inline void expect_passes_by_priorities(const std::function<void()>& scenario,
                                        std::uint64_t executions_max = 500) {
    for (const unsigned depth : {3U, 6U, 12U}) {
        expect_passes({.how = search::pct,
                       .executions_max = executions_max,
                       .seed = depth,
                       .depth = depth,
                       .steps_max = 40'000,
                       .spurious = 1,
                       .early_time_outs = false},
                      scenario);
    }
}

/// Expects that an execution goes wrong with a message that contains `what`.
inline void expect_fails(const options& wanted, const std::string& what,
                         const std::function<void()>& scenario) {
    const verdict found = explore(wanted, scenario);
    EXPECT_FALSE(found.passed) << "all " << found.executions << " executions passed";
    EXPECT_NE(found.what.find(what), std::string::npos) << found.what << '\n' << found.trace;
    std::cout << "found after " << found.executions << " executions\n";
}

inline void expect_fails(const std::string& what, const std::function<void()>& scenario) {
    expect_fails({}, what, scenario);
}

}  // namespace fairlead::model
