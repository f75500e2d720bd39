// Failures on demand: the n-th allocation, or the n-th call of a function of the system, fails.
//
//     sweep(failing_allocations, [] { scenario(); });
//
// The faults enter through the linker: faults.cpp and raw_calls.cpp replace `operator new` and
// define the functions of the C library that Fairlead calls. So the library under test is compiled
// as always. A plan counts the calls of all threads while it is armed. The method is that of
// SQLite: n = 1, 2, ... until a run meets no failure.
#pragma once

#include "support/sanitizer.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace fairlead::test {

/// Calls in a row, counted from 1.
struct call_range {
    std::int64_t first;
    std::int64_t last;

    [[nodiscard]] static call_range only(std::int64_t n) { return {n, n}; }
    [[nodiscard]] static call_range from(std::int64_t n) {
        return {n, std::numeric_limits<std::int64_t>::max()};
    }
};

/// A failure of allocations, or of a function of the system.
struct fault {
    enum class how : std::uint8_t {
        instead,  ///< the call does nothing
        after,    ///< the call is made, and then said to have failed
        cut,      ///< the call is made for one byte
        nothing,  ///< the call does nothing, and says that it has moved 0 bytes
    };

    const char* call = "operator new";
    int error = ENOMEM;
    how manner = how::instead;
};

/// A fault, and the calls at which it happens.
struct planned_fault {
    fault what;
    call_range when;
};

/// Arms one or two faults for its lifetime. Only one object may exist at a time.
class armed {
public:
    armed(const fault& what, call_range when);
    /// The calls of `second` count from the moment when `first` was met.
    armed(const planned_fault& first, const planned_fault& second);
    armed(const armed&) = delete;
    armed& operator=(const armed&) = delete;
    ~armed();

    /// How many of the faults were met.
    [[nodiscard]] std::size_t hits() const;
    [[nodiscard]] bool hit() const { return hits() != 0; }
};

/// How many of the armed faults have been met. Any thread.
[[nodiscard]] std::size_t faults_met();

/// The number of objects that `operator new` made and that are not freed yet. Any thread.
[[nodiscard]] std::int64_t live_allocations();

/// Whether live_allocations() is exact: the library then keeps no freed memory for later. It does
/// in builds without sanitizers.
inline constexpr bool counts_exactly = sanitized;

/// The number of open descriptors of the process.
[[nodiscard]] int open_descriptors();

}  // namespace fairlead::test
