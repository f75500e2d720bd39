// How a worker that finds nothing goes to sleep: in the driver, if that is free, or parked. Which
// workers sleep, and which worker is woken: idle.hpp.
//
// On the thread of the worker alone.
#pragma once

#include "sched/slot/slot.hpp"
#include "sched/worker/post_watch.hpp"

#include <fairlead/base/time.hpp>

#include <cstdint>

namespace fairlead::sched {

class core;
class thief;

class sleeper {
public:
    // Throws std::bad_alloc.
    sleeper(core& in, slot& own, thief& thief);
    sleeper(const sleeper&) = delete;
    sleeper& operator=(const sleeper&) = delete;

    // Looks on until there is something, for a while. Not in place of the sleep in the driver,
    // which sees what this loop does not; nor while a thread waits for the answer that workers give
    // on their way to sleep.
    void spin() noexcept;

    // Sleeps until woken or, if it watches the posts that steps keep, for a while. True: a step
    // that runs still has kept some since the watch began, so a round is to take them.
    [[nodiscard]] bool sleep() noexcept;

    // Sleeps in the driver, until `limit` at most. False: the driver cannot be had. True: look
    // again.
    bool sleep_in_driver(time_point limit) noexcept;

    // Without a thread: a foreign main loop sleeps in place of the driver, until
    // `return_from_loop`. Returns until when it may: `immediately` if it must not.
    [[nodiscard]] time_point wait_in_loop() noexcept;
    [[nodiscard]] bool is_in_loop() const noexcept { return in_loop_; }
    void return_from_loop() noexcept;

private:
    enum class in_driver : std::uint8_t { not_entered, found_task, leaves, stays };

    [[nodiscard]] in_driver enter_driver(time_point limit) noexcept;
    void park(time_point limit) noexcept;
    void answer_drain() noexcept;

    static constexpr int relaxed_between_looks = 8;  // each some 40 cycles

    core& core_;
    slot& slot_;
    post_watch watch_;
    bool in_loop_ = false;
};

}  // namespace fairlead::sched
