#include "os/task_file.hpp"

#include <fairlead/os/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

namespace fairlead::os {

std::string_view read_task_file(int id, const char* name, std::span<char> to) noexcept {
    std::array<char, 64> path;
    std::snprintf(path.data(), path.size(), "/proc/self/task/%d/%s", id, name);
    const unique_fd file{::open(path.data(), O_RDONLY | O_CLOEXEC)};
    if (!file.valid()) return {};
    const ssize_t count = ::read(file.get(), to.data(), to.size());
    return {to.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

}  // namespace fairlead::os
