// The results of a run, for people and for programs.
#pragma once

#include <string>

#include "savegames/load/options.hpp"
#include "savegames/load/run.hpp"

namespace savegames::load {

[[nodiscard]] std::string text_report(const load_options& options, const run_result& result);
[[nodiscard]] std::string json_report(const load_options& options, const run_result& result);

}  // namespace savegames::load
