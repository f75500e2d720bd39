// Writes traces of what the concurrent parts of the library do: trace_recorder FOLDER TRACES PLANTED.
// tools/traces.py runs it.
#include "recordings.hpp"

#include <cstdio>
#include <cstdlib>

int main(int count, char** arguments) {
    if (count != 4) {
        std::fprintf(stderr, "usage: %s FOLDER TRACES PLANTED\n", arguments[0]);
        return 2;
    }
    const fairlead::traces::wanted wanted{arguments[1],
                                          static_cast<unsigned>(std::atoi(arguments[2])),
                                          static_cast<unsigned>(std::atoi(arguments[3]))};
    fairlead::traces::record_front_queue(wanted);
    fairlead::traces::record_run_queue(wanted);
    fairlead::traces::record_block_queue(wanted);
    fairlead::traces::record_signal(wanted);
    fairlead::traces::record_task_state(wanted);
    return 0;
}
