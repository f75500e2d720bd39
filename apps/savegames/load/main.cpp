// savegames-load: drives the save-game service, measures it, and checks its answers.
//
// Exit status: 0: all is well; 1: an answer was wrong, or nothing could be measured; 2: an option
// is wrong.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>

#include <fmt/format.h>

#include "savegames/load/options.hpp"
#include "savegames/load/report.hpp"
#include "savegames/load/run.hpp"

namespace {

namespace load = savegames::load;

int drive(const load::load_options& options) {
    const load::run_result result = load::run(options, ::isatty(STDERR_FILENO) == 1);
    if (!result.problem.empty()) {
        fmt::print(stderr, "savegames-load: {}\n", result.problem);
        return 1;
    }
    const load::totals& counted = result.counted;
    fmt::print("{}", load::text_report(options, result));
    if (!options.json_path.empty()) {
        std::ofstream file{options.json_path};
        file << load::json_report(options, result);
        file.close();
        if (!file) {
            fmt::print(stderr, "savegames-load: cannot write the file {} of --json\n",
                       options.json_path);
            return 1;
        }
    }
    if (counted.wrong > 0) {
        fmt::print(stderr, "savegames-load: {} answers were wrong, see the report\n",
                   counted.wrong);
        return 1;
    }
    if (counted.done() == 0 && counted.errors > 0) {
        fmt::print(stderr, "savegames-load: none of {} requests succeeded, see the report\n",
                   counted.errors);
        return 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = load::parse_options(argc, argv);
    if (!options) return options.error();
    try {
        return drive(*options);
    } catch (const std::exception& failed) {
        fmt::print(stderr, "savegames-load: {}\n", failed.what());
        return 1;
    }
}
