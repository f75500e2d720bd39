// How often a call is tried again, and when.
#pragma once

#include <fairlead/base/time.hpp>

#include <chrono>
#include <cstdint>

namespace fairlead {

class retry_budget;

/// `retry({.attempts = 5, .budget = &to_store}, load)`. All members have defaults.
///
/// The delay before the first retry is `first_delay`. Each later one is `factor` times as long, but
/// not longer than `longest_delay`. Of each delay the part `jitter` is random, so that callers that
/// have failed together do not come back together.
struct retry_policy {
    /// How often the call is made in all, at least once.
    std::uint32_t attempts = 3;
    /// Before the first retry.
    duration first_delay = std::chrono::milliseconds{100};
    /// How many times as long as its predecessor a delay is, at least 1.
    double factor = 2;
    /// The bound of a delay.
    duration longest_delay = std::chrono::seconds{10};
    /// From 0, no randomness, to 1, anything between no delay and the whole one.
    double jitter = 0.5;
    /// From the beginning of the first attempt: no delay begins that would end later, and the last
    /// failure is given at once. It does not end an attempt: see `with_timeout`.
    duration total = duration::max();
    /// Shared by many calls: a retry takes a token. Null: none.
    retry_budget* budget = nullptr;
    /// Of the randomness. It is mixed with the time of the first attempt, so real calls differ
    /// without it. In virtual time equal calls at the same time have equal delays unless their
    /// seeds differ, and each run is the same.
    std::uint64_t seed = 0;

    /// The delay before the retry `number`, from 1, of a call that began at `begun`. Pure.
    [[nodiscard]] duration delay_before(std::uint32_t number, time_point begun) const noexcept;
};

}  // namespace fairlead
