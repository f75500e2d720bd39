// The scenarios: what the workers of a scheduler do all the time.
//
//     chains   tasks that post themselves, each with a step of `step` ns; `many` for each worker
//     grouped  the same in `groups` groups, by turns
//     posts    a thread beside the workers posts `many` tasks for each worker again and again, each
//              as soon as it has run
//     bursts   that thread sleeps, posts `many` tasks at once every `gap` ns, and sleeps again
//     pairs    tasks that wait for a signal, step, and signal their partner; `many` pairs for each
//              worker
//
// A step lasts from 3/4 to 5/4 of its length, by the seed, so that tasks do not march in step.
#pragma once

#include <fairlead/sched/options.hpp>

#include <cstdint>
#include <string>

namespace fairlead::cores {

struct asked {
    std::string scenario = "chains";
    unsigned workers = 1;
    fairlead::policy policy = fairlead::policy::fair;
    double many = 16;
    unsigned groups = 1;
    std::int64_t step = 1'000;
    std::int64_t gap = 100'000;
    std::int64_t warm = 200'000;      // ns before the window
    std::int64_t window = 1'000'000;  // ns
    std::uint64_t seed = 1;
};

struct rounds_and_more {
    std::uint64_t rounds = 0;
    std::uint64_t wakeups = 0;
    std::uint64_t stolen = 0;
};

struct outcome {
    std::uint64_t begun = 0;  // tasks or steps that the scenario has posted, from begin to end
    std::uint64_t ran = 0;    // and those that ran
    std::int64_t window = 0;  // ns
    rounds_and_more counts;   // in the window
};

// Throws std::invalid_argument if there is no such scenario.
[[nodiscard]] outcome play(const asked& how);

}  // namespace fairlead::cores
