#include "savegames/sqlite_sides.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "savegames/sqlite_schema.hpp"

namespace savegames {

std::expected<sqlite_reader, std::string> open_reader(const std::string& path,
                                                      std::chrono::milliseconds busy_timeout) {
    auto connection = sqlite_connection::open(path, busy_timeout);
    if (!connection) return std::unexpected(std::move(connection.error()));
    auto select = connection->prepare(
        "SELECT version, checksum, size, data FROM saves WHERE game = ? AND player = ?");
    if (!select) return std::unexpected(std::move(select.error()));
    return sqlite_reader{std::move(*connection), std::move(*select)};
}

std::expected<sqlite_writer, std::string> open_writer(const std::string& path,
                                                      std::chrono::milliseconds busy_timeout) {
    auto connection = sqlite_connection::open(path, busy_timeout);
    if (!connection) return std::unexpected(std::move(connection.error()));
    if (auto schema = prepare_schema(*connection); !schema) {
        return std::unexpected(fmt::format("cannot use the database {}: {}", path, schema.error()));
    }
    connection->checkpoint_by_hand();
    connection->checkpoint();  // sets log_pages
    auto page_size = connection->query_text("PRAGMA page_size");
    if (!page_size) return std::unexpected(std::move(page_size.error()));
    sqlite_writer result{std::move(*connection), {}, {}, {}, {}, {}, std::stoull(*page_size)};
    const std::pair<sqlite_statement*, std::string_view> statements[] = {
        {&result.begin, "BEGIN IMMEDIATE"},
        {&result.commit, "COMMIT"},
        {&result.select, "SELECT version, data IS NULL FROM saves WHERE game = ? AND player = ?"},
        {&result.probe, "PRAGMA user_version = 1"},  // writes a page even if the value is 1 already
        {&result.upsert,
         "INSERT INTO saves (game, player, version, checksum, size, data) "
         "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (game, player) DO UPDATE SET "
         "version = excluded.version, checksum = excluded.checksum, "
         "size = excluded.size, data = excluded.data"}};
    for (const auto& [statement, sql] : statements) {
        auto made = result.connection.prepare(sql);
        if (!made) return std::unexpected(std::move(made.error()));
        *statement = std::move(*made);
    }
    return result;
}

}  // namespace savegames
