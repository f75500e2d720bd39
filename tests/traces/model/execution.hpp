// Executions by the model checker: each has another schedule, chosen at random and by priorities.
#pragma once

#include "model/checker/atomic.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/detail/os/thread.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

namespace fairlead::traces {

/// Runs each of `bodies` in its own thread, and returns when all have ended.
template <class... Bodies>
void in_threads(const Bodies&... bodies) {
    const model::thread running[]{model::thread{bodies}...};
}

inline constexpr bool by_model_checker = true;

/// The number of the calling thread, in the order in which they were started, from 1.
inline std::size_t this_thread() { return model::explorer::running()->here() + 1; }

/// The number of operations of a thread. It is small: traces are short, and many.
inline constexpr unsigned few = 2;
inline constexpr unsigned some = 3;

/// A clock whose ticks have the order of the threads' steps: threads run one at a time.
class execution_clock {
public:
    std::uint64_t tick() noexcept { return now_++; }
    void reset() noexcept { now_ = 0; }

private:
    std::uint64_t now_ = 0;
};

/// Memory that is allocated while the object exists outlives the execution.
class outside : model::explorer::outside_scenario {
public:
    outside() : outside_scenario{*model::explorer::running()} {}
};

/// The random numbers that select the operations of a scenario. The checker's own choices are not
/// evenly distributed.
inline std::mt19937 chance;

/// A random number of 0 ... count - 1, different in each execution.
inline unsigned choose(unsigned count) {
    const outside own;
    return static_cast<unsigned>(chance() % count);
}

/// Does nothing: the checker can switch to another thread at any access.
inline void dawdle() {}
/// Lets the other threads run some steps.
inline void linger() {
    for (unsigned left = choose(20); left != 0; --left) os::yield();
}

/// A deadline that an event may come before. It has passed whenever a thread wakes up.
inline time_point soon() { return immediately; }
/// A deadline after `soon`.
inline time_point later() { return time_point{}; }

/// A time in the middle of the scenario.
inline time_point some_time_later() { return time_point{std::chrono::milliseconds{1}}; }
/// After this time the scenario is over.
inline constexpr duration patience = std::chrono::hours{1};

[[noreturn]] inline void give_up(const std::string& why) {
    std::fprintf(stderr, "trace recorder: %s\n", why.c_str());
    std::exit(1);
}

/// Runs `scenario` `count` times, and `ended` after each. Nothing may go wrong if it `is_right`.
///
/// Memory is sequentially consistent here, as in the specifications. With older stores to read a
/// queue seems empty after a push, or a step does not use up a wake-up that came before and is
/// followed by another step: right by the contract of the library, but no behaviour of a
/// specification.
inline void execute(unsigned count, bool is_right, const std::function<void()>& scenario,
                    const std::function<void()>& ended) {
    std::uint64_t steps = 1;  // of the longest execution
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
        const bool by_priorities = seed % 2 == 0;
        chance.seed(static_cast<std::mt19937::result_type>(seed));
        const model::verdict found =
            model::explore({.how = by_priorities ? model::search::pct : model::search::random,
                            .executions_max = 1,
                            .seed = seed,
                            .depth = static_cast<unsigned>(2 + seed % 7),
                            .steps_expected = steps,
                            .stale_reads = 0,
                            .steps_max = 40'000,
                            .spurious = 3,
                            .early_time_outs = seed % 3 != 0},
                           scenario);
        steps = std::max(steps, found.steps);
        if (is_right && !found.passed) give_up(found.what + '\n' + found.trace);
        ended();
    }
}

}  // namespace fairlead::traces
