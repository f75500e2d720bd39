// Until when the sleeper in the driver sleeps: the first deadline, or the limit of its wait.
//
// The holder of the role alone touches it. A deadline may become earlier during the wait, by a
// round of another worker: then the driver is told, or woken.
//
// Spec: Deadlines in spec/MAP.md.
#pragma once

#include "sched/sleep/idle.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/sched/driver.hpp>

#include <algorithm>

namespace fairlead::sched {

class sleep_plan {
public:
    sleep_plan(driver& of, const idle& workers) noexcept : driver_{of}, idle_{workers} {}

    // A worker has entered the driver, and waits next. `due`: the first deadline.
    void begin(time_point limit, time_point due) noexcept {
        limit_ = limit;
        wakes_at_ = std::min(limit, due);
        static_cast<void>(driver_.set_deadline(wakes_at_));  // no wait under way needs it earlier
    }

    // The first deadline is this now. A worker that entered the driver before this round is seen
    // here, as it entered with the role.
    void hurry(time_point due) noexcept {
        if (due >= wakes_at_ || !idle_.driver_taken()) return;
        wakes_at_ = due;
        if (!driver_.set_deadline(wakes_at_)) driver_.wake();
    }

    // No worker is awake: the sleeper need not wake up for a deadline that is gone meanwhile.
    void put_off(time_point due) noexcept {
        if (std::min(limit_, due) > wakes_at_) begin(limit_, due);
    }

private:
    driver& driver_;
    const idle& idle_;
    time_point limit_ = never;     // the latest end of the wait
    time_point wakes_at_ = never;  // the deadline that the driver has
};

}  // namespace fairlead::sched
