// What the kernel tells of one thread of this process.
#pragma once

#include <span>
#include <string_view>

namespace fairlead::os {

// The beginning of /proc/self/task/<id>/<name>, in `to`. Empty: there is no such thread, or it may not be read.
[[nodiscard]] std::string_view read_task_file(int id, const char* name,
                                              std::span<char> to) noexcept;

}  // namespace fairlead::os
