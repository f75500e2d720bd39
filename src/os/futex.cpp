#include <fairlead/detail/os/futex.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace fairlead::os {

void futex_wait(const std::uint32_t* word, std::uint32_t expected, time_point deadline) noexcept {
    timespec until{};
    timespec* limit = nullptr;
    if (deadline != never) {
        // FUTEX_WAIT_BITSET takes an absolute time of the monotonic clock: no rounding, no drift.
        auto since_boot = deadline.time_since_epoch();
        if (since_boot < duration::zero()) since_boot = duration::zero();
        auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
        until.tv_sec = static_cast<time_t>(seconds.count());
        until.tv_nsec = static_cast<long>((since_boot - seconds).count());
        limit = &until;
    }
    // Every outcome (woken, changed, timed out, interrupted) means the same: look again.
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, limit, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(const std::uint32_t* word, int count) noexcept {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace fairlead::os
