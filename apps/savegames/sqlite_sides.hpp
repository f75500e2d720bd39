// The two sides of the embedded store: the connection of a reader thread, and that of the writer
// thread, each with its statements. One thread at a time uses a side.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

#include "savegames/sqlite_connection.hpp"

namespace savegames {

// The connection of one reader thread.
struct sqlite_reader {
    sqlite_connection connection;
    sqlite_statement select;
};

// The connection of the writer thread.
struct sqlite_writer {
    sqlite_connection connection;
    sqlite_statement begin, commit, select, upsert, probe;
    std::uint64_t page_size = 0;

    // How many bytes of the log are in use. By the format of the log: a header, and a header before
    // each page. A new log is empty.
    [[nodiscard]] std::uint64_t log_end() const {
        const std::uint64_t pages = connection.log_pages();
        return pages == 0 ? 0 : 32 + pages * (24 + page_size);
    }
};

// `busy_timeout`: until `set_busy_timeout`. Both block for disk I/O. The error is a sentence for a
// person.
[[nodiscard]] std::expected<sqlite_reader, std::string> open_reader(
    const std::string& path, std::chrono::milliseconds busy_timeout);

// Creates the file, or brings its schema up to date.
[[nodiscard]] std::expected<sqlite_writer, std::string> open_writer(
    const std::string& path, std::chrono::milliseconds busy_timeout);

}  // namespace savegames
