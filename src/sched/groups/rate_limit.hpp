// A limit of a rate: so many starts a second, and after a pause a few at once.
//
// It is a bucket of tokens, one for each start. One time stands for the bucket: when it is full
// again. Plain code without a clock.
//
// Source: the generic cell rate algorithm, ITU-T I.371, annex A.
#pragma once

#include <fairlead/base/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace fairlead::sched {

class rate_limit {
public:
    // `per_second`: 0 for no limit, or 1/3600 to 10^9. `burst`: 1 to 10^6 starts at once.
    rate_limit(double per_second, unsigned burst) noexcept
        : burst_{burst}, per_second_{per_second}, interval_{interval_of(per_second)} {}

    [[nodiscard]] double per_second() const noexcept { return per_second_; }

    // Changes the rate. As many tokens as before are missing in the bucket.
    void set(double per_second, time_point now) noexcept {
        using exact = std::chrono::duration<double, duration::period>;
        const exact missing = full_at_ > now ? full_at_ - now : duration::zero();
        const exact before = interval_;
        per_second_ = per_second;
        interval_ = interval_of(per_second);
        full_at_ = now;
        if (before != exact::zero()) {
            full_at_ += std::chrono::duration_cast<duration>(missing / before * exact{interval_});
        }
    }

    // Takes a token. False: it is too early for one more.
    [[nodiscard]] bool take(time_point now) noexcept {
        if (next() > now) return false;
        full_at_ = std::max(full_at_, now) + interval_;
        return true;
    }

    // A token that was taken is not used.
    void give_back() noexcept { full_at_ -= interval_; }

    // When there is one more token. This time may be past.
    [[nodiscard]] time_point next() const noexcept { return full_at_ - interval_ * (burst_ - 1); }

private:
    static constexpr time_point long_ago{duration{-(std::int64_t{1} << 62)}};  // for all clocks

    // Rounded up, so that the rate is not exceeded.
    static duration interval_of(double per_second) noexcept {
        if (per_second == 0) return duration::zero();
        return std::chrono::ceil<duration>(std::chrono::duration<double>{1 / per_second});
    }

    const std::int64_t burst_;
    double per_second_;
    duration interval_;
    time_point full_at_ = long_ago;
};

}  // namespace fairlead::sched
