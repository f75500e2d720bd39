// A run of the load generator: connections as coroutines, in a closed or open loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "savegames/load/options.hpp"
#include "savegames/load/statistics.hpp"

namespace savegames::load {

struct run_result {
    totals counted;
    double elapsed_s = 0;         // from the first request to the last answer
    std::string problem{};        // why nothing was measured; empty: there is no problem
    std::uint64_t preloaded = 0;  // saves that were stored before the measurement
};

// Does what `options` say: makes the pool, preloads, measures. Blocks. SIGINT and SIGTERM end it
// early: it sends no more requests then. `show_progress`: shows a progress line on the standard
// error.
[[nodiscard]] run_result run(const load_options& options, bool show_progress);

}  // namespace savegames::load
