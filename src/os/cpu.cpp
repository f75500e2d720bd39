#include <fairlead/detail/os/cpu.hpp>

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace fairlead::os {
namespace {

unsigned affinity_width() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        return static_cast<unsigned>(CPU_COUNT(&set));
    }
    return std::thread::hardware_concurrency();
}

// The quota in `cpu.max` ("max 100000" or "150000 100000") of one group, rounded up; 0: no limit.
unsigned quota_of(const std::string& group) {
    std::ifstream file{"/sys/fs/cgroup" + group + "/cpu.max"};
    std::string quota;
    std::uint64_t period = 0;
    if (!(file >> quota >> period) || quota == "max" || period == 0) return 0;
    const std::uint64_t microseconds = std::strtoull(quota.c_str(), nullptr, 10);
    if (microseconds == 0) return 0;
    return static_cast<unsigned>((microseconds + period - 1) / period);
}

// The path of this process in the unified hierarchy: the line "0::/path" of /proc/self/cgroup.
std::string own_group() {
    std::ifstream file{"/proc/self/cgroup"};
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("0::")) return line.substr(3);
    }
    return "/";
}

}  // namespace

unsigned available_cpus() {
    unsigned width = std::max(1U, affinity_width());
    // Every ancestor's quota binds as well.
    for (std::string group = own_group();;) {
        if (const unsigned quota = quota_of(group); quota != 0) width = std::min(width, quota);
        if (group.empty() || group == "/") break;
        group.resize(group.find_last_of('/'));
    }
    return std::max(1U, width);
}

}  // namespace fairlead::os
