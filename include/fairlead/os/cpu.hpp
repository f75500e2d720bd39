// How many processors this process may use.
#pragma once

namespace fairlead::os {

/// The number of processors that this process may use at once: its affinity mask, lowered to the
/// processor quota of its control group (rounded up). At least 1. Reads files under /proc and
/// /sys/fs/cgroup; allocates.
[[nodiscard]] unsigned available_cpus();

}  // namespace fairlead::os
