// A barrier for all threads of the process, which makes barriers of the other threads cheap.
#pragma once

#include <fairlead/detail/base/language.hpp>

namespace fairlead::os {

/// Whether the system has `heavy_barrier`; prepares its use. Linux since 4.14 has it, unless a
/// filter of system calls forbids it.
[[nodiscard]] bool has_heavy_barrier() noexcept;

/// Makes every thread of the process pass a full memory barrier: the other half of
/// `sync::light_barrier`. Takes some microseconds. False: the system refused, and nothing is
/// ordered.
[[nodiscard]] bool heavy_barrier() noexcept;

}  // namespace fairlead::os
