// The tables of the embedded store, and the migrations of old files.
#pragma once

#include <expected>
#include <string>

#include "savegames/sqlite_connection.hpp"

namespace savegames {

// Prepares the file (WAL, synchronous=FULL) and applies the migrations it lacks, each in its own
// transaction. The error is a sentence for a person. Blocks for disk I/O.
[[nodiscard]] std::expected<void, std::string> prepare_schema(sqlite_connection& connection);

}  // namespace savegames
