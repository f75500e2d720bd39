// Files of the kernel about one thread of this process.
#pragma once

#include <span>
#include <string_view>

namespace fairlead::os {

// Reads the beginning of /proc/self/task/<id>/<name> into `to`. Empty: there is no such thread, or
// the file may not be read.
[[nodiscard]] std::string_view read_task_file(int id, const char* name,
                                              std::span<char> to) noexcept;

}  // namespace fairlead::os
