// A job that is repeated: shared by the recipe of periodic jobs and that of virtual time.
#pragma once

#include <fairlead/fairlead.hpp>

#include <functional>

// [every]
// Runs the job at each multiple of the period, by `fl::clock`, until a stop. Times
// count from the first, so the job does not drift. A job that takes too long skips what it missed.
inline fairlead::task<> every(fairlead::duration period, std::function<fairlead::task<>()> job) {
    fairlead::time_point next = fairlead::clock::now() + period;
    for (;;) {
        co_await fairlead::sleep_until(next);  // a stop ends the repetition here
        co_await job();
        const fairlead::time_point now = fairlead::clock::now();
        do next += period;
        while (next <= now);
    }
}
// [/every]
