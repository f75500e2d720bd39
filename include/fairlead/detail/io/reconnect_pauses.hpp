// How long a client waits before it connects to its server again.
//
// Each failed attempt doubles the pause, up to a limit, and so does each connection that ends soon:
// a server that accepts and drops must not be asked without a pause. A connection counts as lost
// soon if it has lasted for less than its pause would be.
//
// Half of a pause is drawn by lot, so that the clients of a server that has restarted do not come
// all at once. One thread at a time.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/sync/number_source.hpp>

#include <algorithm>
#include <cstdint>

namespace fairlead::io::detail {

class reconnect_pauses {
public:
    /// `lots` must outlive it.
    reconnect_pauses(duration least, duration most, sync::number_source& lots) noexcept
        : least_{least}, most_{most}, lots_{lots} {}

    /// Whether the last attempt has failed.
    [[nodiscard]] bool are_failing() const noexcept { return failures_ != 0; }

    void opened() noexcept { failures_ = 0; }

    /// An attempt has failed: the pause before the next one.
    [[nodiscard]] duration after_failure() noexcept { return drawn(pause_after(failures_++)); }

    /// A connection was lost that has lasted for so long: the pause before the next attempt.
    [[nodiscard]] duration after_loss(duration lasted) noexcept {
        const duration pause = pause_after(losses_);
        if (lasted >= pause) {
            losses_ = 0;
            return duration::zero();
        }
        ++losses_;
        return drawn(pause);
    }

private:
    [[nodiscard]] duration pause_after(unsigned before) const noexcept {
        duration pause = least_;
        for (; before != 0 && pause < most_; --before) pause *= 2;
        return std::min(pause, most_);
    }
    [[nodiscard]] duration drawn(duration pause) noexcept {
        const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(pause.count() / 2, 1));
        return pause / 2 + duration{static_cast<std::int64_t>(lots_.draw() % half)};
    }

    const duration least_;
    const duration most_;
    sync::number_source& lots_;
    unsigned failures_ = 0;  // attempts, since the last success
    unsigned losses_ = 0;    // connections in a row that ended soon
};

}  // namespace fairlead::io::detail
