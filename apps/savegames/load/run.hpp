// A run of the load: connections as coroutines, closed or open loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "savegames/load/options.hpp"
#include "savegames/load/statistics.hpp"

namespace savegames::load {

struct run_result {
    totals counted;
    double elapsed_s = 0;         // from the first request to the last answer
    std::string problem{};        // why nothing was measured; empty: it was
    std::uint64_t preloaded = 0;  // saves stored before the measurement
};

// Does what `options` say: makes the pool, preloads, measures. Blocks. Asks `interrupted` between
// requests, from any worker. With `show_progress` it keeps a line on the standard error.
[[nodiscard]] run_result run(const load_options& options, const std::function<bool()>& interrupted,
                             bool show_progress);

}  // namespace savegames::load
