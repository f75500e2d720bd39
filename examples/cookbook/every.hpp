// A job that is repeated: shared by the recipe of periodic jobs and that of virtual time.
#pragma once

#include <fairlead/fairlead.hpp>

#include <functional>

// [every]
// Runs the job at each multiple of the period, by the clock of the scheduler, until a stop. Times
// count from the first, so the job does not drift. A job that takes too long skips what it missed.
inline fairlead::task<> every(fairlead::duration period, std::function<fairlead::task<>()> job) {
    fairlead::scheduler& home = co_await fairlead::current_scheduler();
    fairlead::time_point next = home.now() + period;
    for (;;) {
        co_await fairlead::sleep_until(next);  // a stop ends the repetition here
        co_await job();
        const fairlead::time_point now = home.now();
        do next += period;
        while (next <= now);
    }
}
// [/every]
