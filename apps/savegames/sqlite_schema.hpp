// The tables of the embedded store, and how old files become new ones.
#pragma once

#include <expected>
#include <string>

#include "savegames/sqlite_connection.hpp"

namespace savegames {

// Sets the file up (WAL, synchronous=FULL) and applies the migrations it lacks, each in its own
// transaction. The error is a sentence for a person. Blocks for disk I/O.
[[nodiscard]] std::expected<void, std::string> prepare_schema(sqlite_connection& connection);

}  // namespace savegames
