// A barrier that makes those of other threads cheap.
#pragma once

#include <fairlead/base/language.hpp>

namespace fairlead::os {

/// Whether the system has `heavy_barrier`, which it makes ready. Linux since 4.14, where no filter of system calls forbids it.
[[nodiscard]] bool has_heavy_barrier() noexcept;

/// Every thread of the process passes a full memory barrier: the other half of `sync::light_barrier`. Some microseconds.
/// False: the system has refused it, and nothing is ordered.
[[nodiscard]] bool heavy_barrier() noexcept;

}  // namespace fairlead::os
