#include <fairlead/sched/failure_origin.hpp>

#include <cstddef>
#include <string>

namespace fairlead {

std::string failure_origin::to_string() const {
    constexpr std::size_t named_max = 10;
    std::string line;
    for (std::size_t i = 0; i != tasks_.size(); ++i) {
        if (i == named_max && tasks_.size() > named_max + 1) {
            line += " of " + std::to_string(tasks_.size() - named_max - 1) + " more";
            i = tasks_.size() - 1;
        }
        if (!line.empty()) line += " of ";
        line.append("\"").append(tasks_[i].name).append("\"");
    }
    const std::source_location at = thrower().spawned_at;
    if (at.line() != 0) {
        line.append(", spawned at ").append(at.file_name()).append(":");
        line += std::to_string(at.line());
    }
    return line;
}

}  // namespace fairlead
