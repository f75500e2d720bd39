// Writes traces of the concurrent parts of the library. tools/traces.py runs it:
//     trace_recorder FOLDER TRACES PLANTED
//         TRACES traces of the code, and PLANTED of each bug in the scenarios
//     trace_recorder FOLDER SPECIFICATION.BUG PLANTED
//         PLANTED traces of a library with this bug: see planted.hpp
#include "execution.hpp"
#include "planted.hpp"
#include "recordings.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace fairlead::traces {
namespace {

unsigned number(const char* text) { return static_cast<unsigned>(std::atoi(text)); }

void record_all(const wanted& wanted) {
    record_front_queue(wanted);
    record_run_queue(wanted);
    record_block_queue(wanted);
    record_signal(wanted);
    record_task_state(wanted);
    record_join(wanted);
    // Their traces are several times longer.
    record_parking({wanted.folder, wanted.count / 4, wanted.planted_count / 2});
    record_scheduler(wanted.folder, "code", wanted.count / 4);
    record_kept_posts(wanted.folder, "code", wanted.count / 4);
    if constexpr (!by_model_checker) record_edge_source(wanted.folder, "code", wanted.count / 2);
    record_destruction(wanted.folder, "code", wanted.count);
    record_groups(wanted.folder, "code", wanted.count / 2);
}

void record_planted(const std::string& folder, std::string_view name, unsigned count) {
    const std::string_view specification = name.substr(0, name.find('.'));
    const std::string bug{name.substr(specification.size() + 1)};
    planted_bug = bug;
    if (specification == "Parking") return record_parking(folder, bug, count / 2);
    if (specification == "Destruction") return record_destruction(folder, bug, count);
    if (specification == "Groups") return record_groups(folder, bug, count);
    if (specification == "KeptPosts") return record_kept_posts(folder, bug, count / 2);
    if constexpr (!by_model_checker) {
        if (specification == "EdgeSource") return record_edge_source(folder, bug, count);
    }
    if (specification == "Join") return record_join(folder, bug, count);
    return record_scheduler(folder, bug, count);
}

}  // namespace
}  // namespace fairlead::traces

int main(int count, char** arguments) {
    using namespace fairlead::traces;
    if (count != 4) {
        std::fprintf(stderr, "usage: %s FOLDER TRACES|SPECIFICATION.BUG PLANTED\n", arguments[0]);
        return 2;
    }
    const std::string folder = arguments[1];
    const std::string_view what = arguments[2];
    const unsigned planted = number(arguments[3]);
    if (what.find('.') == what.npos) {
        record_all({folder, number(arguments[2]), planted});
    } else {
        record_planted(folder, what, planted);
    }
    return 0;
}
