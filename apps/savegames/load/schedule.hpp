// When requests are due.
//
// Closed loop: the next request is due at once. Open loop: request k is due at begin + k / rate,
// whether or not a connection is free. The next free connection sends it, late if need be, and its
// latency counts from when it was due. So a service that stalls cannot hide the requests that would
// have come meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include <fairlead/base/time.hpp>

#include "savegames/load/options.hpp"

namespace savegames::load {

class schedule {
public:
    schedule(const load_options& options, fairlead::time_point begin, std::stop_token interrupted)
        : begin_{begin},
          end_{options.requests ? fairlead::never : fairlead::after(begin, options.run_time)},
          requests_max_{options.requests.value_or(std::numeric_limits<std::uint64_t>::max())},
          rate_{options.rate},
          interrupted_{std::move(interrupted)} {}

    // When the next request is due, perhaps in the past. Nothing: there are no more requests. Any
    // thread.
    [[nodiscard]] std::optional<fairlead::time_point> next(fairlead::time_point now) {
        if (interrupted_.stop_requested()) return std::nullopt;
        const std::lock_guard lock{mutex_};
        const fairlead::time_point due = rate_ > 0 ? due_time(given_) : now;
        if (given_ >= requests_max_ || due >= end_) return std::nullopt;
        ++given_;
        return due;
    }

private:
    [[nodiscard]] fairlead::time_point due_time(std::uint64_t number) const {
        const double offset_s = static_cast<double>(number) / rate_;
        return fairlead::after(
            begin_, fairlead::duration{static_cast<std::int64_t>(std::min(offset_s, 1e9) * 1e9)});
    }

    const fairlead::time_point begin_;
    const fairlead::time_point end_;
    const std::uint64_t requests_max_;
    const double rate_;
    const std::stop_token interrupted_;
    std::mutex mutex_;
    std::uint64_t given_ = 0;
};

}  // namespace savegames::load
