// For the functions that the test program has in place of those of the system: whether a call
// meets a fault of the plan.
#pragma once

#include "faults/faults.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <optional>

namespace fairlead::test {

// Returns the fault that this call of `name` meets, and sets errno; empty if it meets none.
std::optional<fault> meet(const char* name) noexcept;

// The result of the call, or of its fault.
template <class Call>
auto answer(const char* name, Call real) noexcept -> decltype(real()) {
    const auto met_here = meet(name);
    if (!met_here) return real();
    if (met_here->manner == fault::how::after) {
        static_cast<void>(real());
        errno = met_here->error;
    }
    return -1;
}

template <class Function>
Function* next(const char* name) noexcept {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace fairlead::test
