// Assertions for programmer errors. They are always on, in every build, and have no side effects:
// an operating error (a full disk, a refused connection) is a value, never an assertion.
#pragma once

#include <fairlead/detail/base/language.hpp>

namespace fairlead::base {

/// Prints the failed condition with its reason to standard error and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* reason, const char* file,
                                   int line) noexcept;

}  // namespace fairlead::base

/// Aborts with `reason` when `condition` is false. `condition` must not have side effects.
#define FAIRLEAD_ASSERT(condition, reason) \
    (static_cast<bool>(condition)          \
         ? static_cast<void>(0)            \
         : ::fairlead::base::assertion_failed(#condition, reason, __FILE__, __LINE__))
