#include "savegames/sqlite_schema.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace savegames {
namespace {

// Migration i brings a file from version i to i + 1. Only append: files in use have run these.
// An erased save keeps its row, with data NULL, because its version number must not be used again.
constexpr std::array migrations{
    R"(CREATE TABLE saves (
         game     TEXT NOT NULL,
         player   TEXT NOT NULL,
         version  INTEGER NOT NULL,
         checksum INTEGER NOT NULL,
         size     INTEGER NOT NULL,
         data     BLOB,
         UNIQUE (game, player)))",
};

std::expected<std::size_t, std::string> schema_version(sqlite_connection& connection) {
    auto text = connection.query_text("SELECT coalesce(max(version), 0) FROM schema_version");
    if (!text) return std::unexpected(std::move(text.error()));
    std::size_t version = 0;
    const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), version);
    if (code != std::errc{} || end != text->data() + text->size()) {
        return std::unexpected("the table schema_version must hold a whole number, not \"" + *text +
                               "\"");
    }
    return version;
}

std::expected<void, std::string> migrate(sqlite_connection& connection, std::size_t from) {
    const std::string sql = fmt::format(
        "BEGIN IMMEDIATE; {}; INSERT INTO schema_version VALUES ({}, datetime('now')); COMMIT",
        migrations[from], from + 1);
    if (auto done = connection.execute(sql); !done) {
        connection.roll_back();
        return std::unexpected(
            fmt::format("cannot migrate the schema to version {}: {}", from + 1, done.error()));
    }
    return {};
}

}  // namespace

std::expected<void, std::string> prepare_schema(sqlite_connection& connection) {
    // SQLite uses the page size only for a new file. Saves are tens of kilobytes.
    if (auto sized = connection.execute("PRAGMA page_size = 8192"); !sized) return sized;
    auto mode = connection.query_text("PRAGMA journal_mode = WAL");
    if (!mode) return std::unexpected(std::move(mode.error()));
    if (*mode != "wal") {
        return std::unexpected("the file system must support WAL, but the journal mode is \"" +
                               *mode + "\": put the database on a local disk");
    }
    auto ready = connection.execute(
        "PRAGMA synchronous = FULL;"
        "PRAGMA journal_size_limit = 67108864;"  // bytes of the log that a checkpoint leaves
        "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at TEXT)");
    if (!ready) return ready;
    auto version = schema_version(connection);
    if (!version) return std::unexpected(std::move(version.error()));
    if (*version > migrations.size()) {
        return std::unexpected(fmt::format(
            "a newer version of this program wrote the file: its schema is {}, this program knows "
            "up to {}; run the newer program",
            *version, migrations.size()));
    }
    for (std::size_t from = *version; from < migrations.size(); ++from) {
        if (auto done = migrate(connection, from); !done) return done;
    }
    return {};
}

}  // namespace savegames
