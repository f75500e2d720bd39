// Owns one SQLite connection and its statements.
//
// Not thread-safe: one thread at a time uses a connection and its statements. Destroy statements
// before their connection. A text or blob that is bound must live until `reset`.
//
// Connections use SQLite's VFS "unix-excl". The file is locked for this process, and the index of
// the log, which all connections share, is in the memory of this process. With the default VFS the
// index is a mapped file, "-shm": a program that cuts that file ends this process with SIGBUS. The
// VFS also saves the system calls that lock that file, two for each read. The price: no other
// program can open the database meanwhile.
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

    // Goes to the next row, or to the end. Fails if a bind before it failed.
    [[nodiscard]] outcome step();

    // Values of the current row. Columns count from 0. A view lives until the next step or reset.
    [[nodiscard]] std::int64_t integer(int column) const;
    [[nodiscard]] std::string_view bytes(int column) const;
    [[nodiscard]] bool is_null(int column) const;

    // Makes the statement ready to be bound and stepped again. Releases its read or write lock.
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

    // Opens or creates `path`. `busy`: how long a statement waits for a lock: that of another
    // connection or, in the first statement, of another process.
    [[nodiscard]] static std::expected<sqlite_connection, std::string> open(
        const std::string& path, std::chrono::milliseconds busy);

    // Changes that time for the statements to come.
    void set_busy_timeout(std::chrono::milliseconds busy) noexcept;

    // Runs statements that return no rows. The error names the statement and SQLite's reason.
    [[nodiscard]] std::expected<void, std::string> execute(const std::string& sql);

    // The first column of the first row. No row is an error.
    [[nodiscard]] std::expected<std::string, std::string> query_text(const std::string& sql);

    [[nodiscard]] std::expected<sqlite_statement, std::string> prepare(std::string_view sql);

    // Rolls the open transaction back, if there is one.
    void roll_back() noexcept;

    // Turns automatic checkpoints off: from now on only `checkpoint` and the end of the connection
    // move the log into the database. Until then, each commit does so once the log is long.
    void checkpoint_by_hand();

    // Requires `checkpoint_by_hand`. How many pages the log has after the latest commit or
    // checkpoint. The next commit is appended, or overwrites the log if all of it is in the
    // database.
    [[nodiscard]] std::uint64_t log_pages() const noexcept;

    // Moves as much of the log into the database as it can without waiting for readers. A failure
    // only leaves the log longer.
    void checkpoint() noexcept;

    // Makes the end of the connection leave the log as it is.
    void keep_log() noexcept;

    // SQLite's message for the last failure. Lives until the next call.
    [[nodiscard]] std::string_view message() const;

private:
    struct closer {
        void operator()(sqlite3* connection) const noexcept;
    };

    std::unique_ptr<std::uint64_t> log_pages_;  // SQLite writes it through its address
    std::unique_ptr<sqlite3, closer> connection_;
};

}  // namespace savegames
