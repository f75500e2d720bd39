// The recorded scenarios, one function for each specification. Each writes traces of the library's
// code, and with `planted_count` those of a variant for each bug that TLC must find.
#pragma once

#include <string>

namespace fairlead::traces {

struct wanted {
    std::string folder;
    unsigned count;          // traces of the code, for each specification
    unsigned planted_count;  // traces of each planted bug; 0: none
};

void record_front_queue(const wanted& traces);
void record_run_queue(const wanted& traces);
void record_block_queue(const wanted& traces);
void record_signal(const wanted& traces);
void record_task_state(const wanted& traces);
void record_parking(const wanted& traces);
void record_join(const wanted& traces);

// `variant` is the planted bug of the program, or "code".
void record_parking(const std::string& folder, const std::string& variant, unsigned count);
void record_join(const std::string& folder, const std::string& variant, unsigned count);
void record_scheduler(const std::string& folder, const std::string& variant, unsigned count);
void record_kept_posts(const std::string& folder, const std::string& variant, unsigned count);
void record_edge_source(const std::string& folder, const std::string& variant,
                        unsigned count);  // on threads
void record_groups(const std::string& folder, const std::string& variant, unsigned count);
void record_destruction(const std::string& folder, const std::string& variant, unsigned count);

}  // namespace fairlead::traces
