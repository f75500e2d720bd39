// The bugs in the library of a recorder, each behind a switch: see CMakeLists.txt. Included before
// everything else.
#pragma once

#include <string_view>

namespace fairlead::traces {

/// The one bug that this execution has; none if it is empty. Set before the first thread starts.
inline std::string_view planted_bug;

}  // namespace fairlead::traces

namespace fairlead {

/// Whether this execution has the bug.
[[nodiscard]] inline bool planted(std::string_view bug) { return bug == traces::planted_bug; }

}  // namespace fairlead
