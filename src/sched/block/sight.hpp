// What the monitor knows of the step that runs at one slot: since when, and whether it blocks.
//
// A step blocks if the kernel says so at two looks, half of the time apart after which it is reported: one look may fall
// into a short wait. It is the same step as before if as many steps have ended at the slot, and the slot was passed on as
// often: a step that loses its slot ends elsewhere, and its number is that of the step after it.
//
// Plain code without a clock and without the kernel: the caller says what it sees, and when.
#pragma once

#include <fairlead/base/time.hpp>

#include <cstdint>
#include <utility>

namespace fairlead::sched {

class sight {
public:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    // What a look finds at the slot: whether a step runs, how many have ended there, and how often it was passed on.
    // True: the step that ran at the look before still does.
    [[nodiscard]] bool look(bool runs, std::uint64_t ended, std::uint64_t times_passed,
                            time_point now, duration report_after) noexcept {
        if (runs && ended == number_ && times_passed == times_passed_) return true;
        *this = {};
        number_ = runs ? ended : none;
        times_passed_ = times_passed;
        since_ = now;
        asks_kernel_at_ = after(now, report_after / 2);
        return false;
    }

    // Whether it is time to ask the kernel whether the step is blocked.
    [[nodiscard]] bool wants_answer(time_point now) const noexcept {
        return number_ != none && asks_kernel_at_ <= now;
    }

    // The answer. True: the step has blocked for long.
    [[nodiscard]] bool answer(bool blocked, time_point now, duration report_after) noexcept {
        const bool was_blocked = std::exchange(blocked_, blocked);
        asks_kernel_at_ = after(since_, report_after);
        if (now < asks_kernel_at_) return false;
        asks_kernel_at_ = after(now, report_after / 2);
        return blocked && was_blocked;
    }

    // The step has lost its slot.
    void forget() noexcept { number_ = none; }

    // Of the step: how many were before it. `none`: none runs.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    // How often the slot was passed on before it.
    [[nodiscard]] std::uint64_t times_passed() const noexcept { return times_passed_; }
    // When it was seen first.
    [[nodiscard]] time_point since() const noexcept { return since_; }

private:
    std::uint64_t number_ = none;
    std::uint64_t times_passed_ = 0;
    time_point since_{};
    time_point asks_kernel_at_{};
    bool blocked_ = false;  // at the last answer
};

}  // namespace fairlead::sched
