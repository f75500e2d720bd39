// Writes traces of what the concurrent parts of the library do. tools/traces.py runs it:
//     trace_recorder FOLDER TRACES PLANTED          so many of the code, and of each bug in the scenarios
//     trace_recorder_with_BUG FOLDER BUG PLANTED    of the scheduler, in which a bug is planted
#include "execution.hpp"
#include "recordings.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

unsigned number(const char* text) { return static_cast<unsigned>(std::atoi(text)); }

}  // namespace

int main(int count, char** arguments) {
    using namespace fairlead::traces;
    if (count != 4) {
        std::fprintf(stderr, "usage: %s FOLDER TRACES|BUG PLANTED\n", arguments[0]);
        return 2;
    }
    const std::string folder = arguments[1];
    const wanted wanted{folder, number(arguments[2]), number(arguments[3])};
    if (wanted.count == 0) {
        if constexpr (by_model_checker)
            record_scheduler(folder, arguments[2], wanted.planted_count);
        return 0;
    }
    record_front_queue(wanted);
    record_run_queue(wanted);
    record_block_queue(wanted);
    record_signal(wanted);
    record_task_state(wanted);
    // Its traces are several times longer.
    if constexpr (by_model_checker) record_scheduler(folder, "code", wanted.count / 4);
    return 0;
}
