// The mutex of the library, behind the same seam as its atomics.
#pragma once

#include <fairlead/detail/base/language.hpp>

#ifdef FAIRLEAD_ATOMIC_HEADER
#include FAIRLEAD_ATOMIC_HEADER
#else

#include <fairlead/detail/sync/futex_mutex.hpp>

namespace fairlead::sync {

using mutex = futex_mutex;

}  // namespace fairlead::sync

#endif
