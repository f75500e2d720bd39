// What the monitor knows of the step that runs at one slot: since when it runs, and whether it
// blocks.
//
// A step blocks if the kernel says so at two looks. They are half of the time apart after which the
// step is reported, because one look may fall into a short wait.
//
// The step is the same as at the look before if as many steps have ended at the slot, and the slot
// was passed on as often. The first number alone does not tell: a step that loses its slot does not
// count there when it ends, so the next step at the slot has the same number.
//
// Plain code that reads no clock and asks no kernel: the caller says what it sees, and when.
#pragma once

#include <fairlead/base/time.hpp>

#include <cstdint>
#include <utility>

namespace fairlead::sched {

class sight {
public:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    // Takes what a look finds at the slot: whether a step runs, how many steps have ended there,
    // and how often the slot was passed on. True: the step of the look before still runs.
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

    // Takes the answer of the kernel. True: the step has blocked for long.
    [[nodiscard]] bool answer(bool blocked, time_point now, duration report_after) noexcept {
        const bool was_blocked = std::exchange(blocked_, blocked);
        asks_kernel_at_ = after(since_, report_after);
        if (now < asks_kernel_at_) return false;
        asks_kernel_at_ = after(now, report_after / 2);
        return blocked && was_blocked;
    }

    // The step has lost its slot.
    void forget() noexcept { number_ = none; }

    // The number of the step: how many steps ended before it. `none`: no step is watched.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    // How often the slot was passed on before the step.
    [[nodiscard]] std::uint64_t times_passed() const noexcept { return times_passed_; }
    // When the step was seen first.
    [[nodiscard]] time_point since() const noexcept { return since_; }

private:
    std::uint64_t number_ = none;
    std::uint64_t times_passed_ = 0;
    time_point since_{};
    time_point asks_kernel_at_{};
    bool blocked_ = false;  // at the last answer
};

}  // namespace fairlead::sched
