#include "savegames/sqlite_connection.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

namespace savegames {

void sqlite_statement::closer::operator()(sqlite3_stmt* statement) const noexcept {
    sqlite3_finalize(statement);
}

void sqlite_statement::bind(int index, std::int64_t value) {
    bind_failed_ |= sqlite3_bind_int64(statement_.get(), index, value) != SQLITE_OK;
}

void sqlite_statement::bind(int index, std::string_view text) {
    bind_failed_ |= sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(),
                                        SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK;
}

void sqlite_statement::bind_blob(int index, std::string_view bytes) {
    bind_failed_ |= sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(),
                                        SQLITE_STATIC) != SQLITE_OK;
}

void sqlite_statement::bind_null(int index) {
    bind_failed_ |= sqlite3_bind_null(statement_.get(), index) != SQLITE_OK;
}

sqlite_statement::outcome sqlite_statement::step() {
    if (bind_failed_) return outcome::failed;
    switch (sqlite3_step(statement_.get())) {
        case SQLITE_ROW:
            return outcome::row;
        case SQLITE_DONE:
            return outcome::done;
        default:
            return outcome::failed;
    }
}

std::int64_t sqlite_statement::integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

std::string_view sqlite_statement::bytes(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return data == nullptr ? std::string_view{}
                           : std::string_view{data, static_cast<std::size_t>(size)};
}

bool sqlite_statement::is_null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void sqlite_statement::reset() {
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    bind_failed_ = false;
}

void sqlite_connection::closer::operator()(sqlite3* connection) const noexcept {
    sqlite3_close_v2(connection);
}

std::expected<sqlite_connection, std::string> sqlite_connection::open(
    const std::string& path, std::chrono::milliseconds busy) {
    sqlite3* raw = nullptr;
    constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(path.c_str(), &raw, flags, "unix-excl");
    sqlite_connection connection;
    connection.connection_.reset(raw);  // also after a failure: SQLite keeps the message there
    if (code != SQLITE_OK) {
        return std::unexpected(fmt::format("cannot open the database {}: {}", path,
                                           raw == nullptr ? "no memory" : sqlite3_errmsg(raw)));
    }
    sqlite3_extended_result_codes(raw, 1);
    connection.set_busy_timeout(busy);
    return connection;
}

void sqlite_connection::set_busy_timeout(std::chrono::milliseconds busy) noexcept {
    sqlite3_busy_timeout(connection_.get(), static_cast<int>(busy.count()));
}

std::expected<void, std::string> sqlite_connection::execute(const std::string& sql) {
    if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) {
        return {};
    }
    return std::unexpected(fmt::format("{}: {}", sql, message()));
}

std::expected<std::string, std::string> sqlite_connection::query_text(const std::string& sql) {
    auto statement = prepare(sql);
    if (!statement) return std::unexpected(std::move(statement.error()));
    switch (statement->step()) {
        case sqlite_statement::outcome::row:
            return std::string{statement->bytes(0)};
        case sqlite_statement::outcome::done:
            return std::unexpected(sql + ": the database returned no row");
        case sqlite_statement::outcome::failed:
            break;
    }
    return std::unexpected(fmt::format("{}: {}", sql, message()));
}

std::expected<sqlite_statement, std::string> sqlite_connection::prepare(std::string_view sql) {
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    if (code != SQLITE_OK) return std::unexpected(fmt::format("{}: {}", sql, message()));
    sqlite_statement statement;
    statement.statement_.reset(raw);
    return statement;
}

void sqlite_connection::roll_back() noexcept {
    if (sqlite3_get_autocommit(connection_.get()) == 0) {
        sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    }
}

void sqlite_connection::checkpoint_by_hand() {
    log_pages_ = std::make_unique<std::uint64_t>(0);
    const auto note = [](void* to, sqlite3*, const char*, int pages) {
        *static_cast<std::uint64_t*>(to) = static_cast<std::uint64_t>(pages);
        return SQLITE_OK;
    };
    sqlite3_wal_hook(connection_.get(), note, log_pages_.get());  // replaces the automatic one
}

std::uint64_t sqlite_connection::log_pages() const noexcept { return *log_pages_; }

void sqlite_connection::checkpoint() noexcept {
    int pages = 0;
    const int code = sqlite3_wal_checkpoint_v2(connection_.get(), nullptr,
                                               SQLITE_CHECKPOINT_PASSIVE, &pages, nullptr);
    if (code == SQLITE_OK && pages >= 0) *log_pages_ = static_cast<std::uint64_t>(pages);
}

void sqlite_connection::keep_log() noexcept {
    sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

std::string_view sqlite_connection::message() const { return sqlite3_errmsg(connection_.get()); }

}  // namespace savegames
