// Runs the program with the clients of Go, see ../go_databases/main.go.
#pragma once

#include "w19/requests.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace bench::w19 {

/// Nothing: the program is not there, because its modules could not be fetched.
inline std::optional<measurement> ask_by_go(const temporary_folder& folder, const char* what,
                                            const std::string& where, const options& asked) {
    if (!std::filesystem::exists(FAIRLEAD_GO_DATABASES)) return std::nullopt;
    const std::string said =
        run_tool(folder, {FAIRLEAD_GO_DATABASES, what, where, std::to_string(asked.connections),
                          std::to_string(asked.in_flight), std::to_string(asked.count),
                          std::to_string(asked.size)});
    char* end = nullptr;
    const double rate = std::strtod(said.c_str(), &end);
    measurement found = told(rate, 0, asked);
    found.cpu_seconds = std::strtod(end, nullptr);
    return found;
}

}  // namespace bench::w19
