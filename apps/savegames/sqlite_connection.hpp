// A thin, owning wrapper of one SQLite connection and its statements.
//
// Not thread-safe: one thread at a time uses a connection and its statements. Statements are
// destroyed before their connection. Texts and blobs that are bound must live until `reset`.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace savegames {

class sqlite_statement {
public:
    enum class outcome : std::uint8_t { row, done, failed };

    sqlite_statement() = default;

    void bind(int index, std::int64_t value);
    void bind(int index, std::string_view text);
    void bind_blob(int index, std::string_view bytes);
    void bind_null(int index);

    // The next row, or the end. A failed bind shows here too.
    [[nodiscard]] outcome step();

    // Of the current row; columns count from 0. The views live until the next step or reset.
    [[nodiscard]] std::int64_t integer(int column) const;
    [[nodiscard]] std::string_view bytes(int column) const;
    [[nodiscard]] bool is_null(int column) const;

    // Ready to be bound and stepped again; lets go of the read or write lock.
    void reset();

private:
    friend class sqlite_connection;
    struct closer {
        void operator()(sqlite3_stmt* statement) const noexcept;
    };

    std::unique_ptr<sqlite3_stmt, closer> statement_;
    bool bind_failed_ = false;
};

class sqlite_connection {
public:
    sqlite_connection() = default;

    // Opens or creates `path`. `busy`: how long a statement waits for a lock of another process.
    [[nodiscard]] static std::expected<sqlite_connection, std::string> open(
        const std::string& path, std::chrono::milliseconds busy);

    // Runs statements that answer no rows. The error names the statement and SQLite's reason.
    [[nodiscard]] std::expected<void, std::string> execute(const std::string& sql);

    // The first column of the first row; an error when there is none.
    [[nodiscard]] std::expected<std::string, std::string> query_text(const std::string& sql);

    [[nodiscard]] std::expected<sqlite_statement, std::string> prepare(std::string_view sql);

    // Ends the transaction, if one is open, without its changes.
    void roll_back() noexcept;

    // SQLite's words for the last failure.
    [[nodiscard]] std::string message() const;

private:
    struct closer {
        void operator()(sqlite3* connection) const noexcept;
    };

    std::unique_ptr<sqlite3, closer> connection_;
};

}  // namespace savegames
