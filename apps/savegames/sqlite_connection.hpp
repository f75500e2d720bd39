// A thin, owning wrapper of one SQLite connection and its statements.
//
// Not thread-safe: one thread at a time uses a connection and its statements. Statements are
// destroyed before their connection. Texts and blobs that are bound must live until `reset`.
//
// Connections are of SQLite's VFS "unix-excl": the file is locked for this process, and the index
// of the log, which all its connections share, is in the memory of the process. With the default
// VFS the index is a mapped file, "-shm": any program that cuts it ends this one with SIGBUS. It
// also saves the system calls that lock that file, two for each read. The price: no other program
// can open the database meanwhile.
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

    // Opens or creates `path`. `busy`: how long a statement waits for a lock, of another connection
    // or, at the first statement, of another process.
    [[nodiscard]] static std::expected<sqlite_connection, std::string> open(
        const std::string& path, std::chrono::milliseconds busy);

    // Runs statements that answer no rows. The error names the statement and SQLite's reason.
    [[nodiscard]] std::expected<void, std::string> execute(const std::string& sql);

    // The first column of the first row; an error when there is none.
    [[nodiscard]] std::expected<std::string, std::string> query_text(const std::string& sql);

    [[nodiscard]] std::expected<sqlite_statement, std::string> prepare(std::string_view sql);

    // Ends the transaction, if one is open, without its changes.
    void roll_back() noexcept;

    // From now on this connection moves the log into the database only by `checkpoint`, and at its
    // end. Until then, once some number of pages is in the log, each commit does.
    void checkpoint_by_hand();

    // After `checkpoint_by_hand`: how many pages the log has, as the latest commit or checkpoint
    // left it. The next commit comes after them, or, when all are in the database, over them.
    [[nodiscard]] std::uint64_t log_pages() const noexcept;

    // Moves what it can of the log into the database, without waiting for readers. A failure costs
    // nothing but the room: the log stays.
    void checkpoint() noexcept;

    // At its end, the connection leaves the log as it is.
    void keep_log() noexcept;

    // SQLite's words for the last failure, until the next call.
    [[nodiscard]] std::string_view message() const;

private:
    struct closer {
        void operator()(sqlite3* connection) const noexcept;
    };

    std::unique_ptr<std::uint64_t> log_pages_;  // SQLite has its address
    std::unique_ptr<sqlite3, closer> connection_;
};

}  // namespace savegames
