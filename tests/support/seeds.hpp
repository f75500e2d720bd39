// Seeds of a property test: fixed seeds, and after them new seeds for a short time.
//
//     test::for_each_seed(200, [](std::mt19937_64& random) { ... });
//
// The message of a failed run has its seed. FAIRLEAD_TEST_SEED runs only that seed.
// FAIRLEAD_TEST_SECONDS is the time for new seeds, by default a quarter of a second.
#pragma once

#include "support/sanitizer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace fairlead::test {

/// The seed of the current run, for the message of an assertion that ends the program.
inline volatile std::uint64_t seed_that_runs = 0;

extern "C" inline void say_the_seed(int) {
    std::fprintf(stderr, "again: FAIRLEAD_TEST_SEED=%llu\n",
                 static_cast<unsigned long long>(seed_that_runs));
}

/// Runs `body` with one seed. Returns false if it fails.
template <std::invocable<std::mt19937_64&> Body>
bool passes_with_seed(std::uint64_t seed, Body& body) {
    SCOPED_TRACE("again: FAIRLEAD_TEST_SEED=" + std::to_string(seed));
    seed_that_runs = seed;
    std::mt19937_64 random{seed};
    body(random);
    return !testing::Test::HasFailure();
}

/// How many times as long a run takes with a sanitizer.
inline constexpr std::uint64_t seeds_in_one = sanitized ? 10 : 1;

/// Runs `body` with the seeds 1 to `fixed` (with a sanitizer a tenth of them) and then with new
/// seeds, until a run fails.
template <std::invocable<std::mt19937_64&> Body>
void for_each_seed(std::uint64_t fixed, Body body) {
    std::signal(SIGABRT, say_the_seed);
    if (const char* const given = std::getenv("FAIRLEAD_TEST_SEED")) {
        static_cast<void>(passes_with_seed(std::strtoull(given, nullptr, 10), body));
        return;
    }
    for (std::uint64_t seed = 1; seed <= fixed / seeds_in_one; ++seed) {
        if (!passes_with_seed(seed, body)) return;
    }
    const char* const given = std::getenv("FAIRLEAD_TEST_SECONDS");
    const std::chrono::duration<double> time{given != nullptr ? std::strtod(given, nullptr) : 0.25};
    const auto end = std::chrono::steady_clock::now() + time;
    std::uint64_t seed = std::random_device{}();
    std::cout << "new seeds from " << seed << " on\n";
    while (std::chrono::steady_clock::now() < end && passes_with_seed(seed, body)) ++seed;
}

/// A random number of 0 ... bound - 1.
template <std::integral Number>
Number below(std::mt19937_64& random, Number bound) {
    return static_cast<Number>(random() % static_cast<std::uint64_t>(bound));
}

}  // namespace fairlead::test
