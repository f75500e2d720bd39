// The processors: how many this process may use, and how to wait on one.
#pragma once

#include <fairlead/detail/base/language.hpp>

namespace fairlead::os {

/// The number of processors that this process may use at once: its affinity mask, lowered to the
/// processor quota of its control group (rounded up). At least 1. Reads files under /proc and
/// /sys/fs/cgroup; allocates.
[[nodiscard]] unsigned available_cpus();

/// Tells the processor that the thread waits in a loop, so that the loop takes less power. For a
/// loop that looks at memory which another thread is about to change.
inline void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace fairlead::os
