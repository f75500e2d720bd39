#include <fairlead/sched/scheduler.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace fairlead {

std::string stop_report::to_string() const {
    const auto list = [this](std::string& line, const char* state, std::size_t count) {
        if (count == 0) return;
        if (!line.empty()) line += ", ";
        line += std::to_string(count) + " " + state + " (";
        std::size_t named = 0;
        for (const left_task& task : tasks) {
            if (std::string_view{task.state} != state || named == 5) continue;
            if (named++ != 0) line += ", ";
            line += task.name;
        }
        if (count > named) line += named == 0 ? "..." : ", ...";
        line += ")";
    };
    std::string line;
    list(line, "waiting", waiting);
    list(line, "queued", queued);
    list(line, "running", running);
    list(line, "late", late);
    return line.empty() ? "nothing left" : line;
}

}  // namespace fairlead
