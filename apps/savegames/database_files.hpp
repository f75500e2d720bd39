// The two files of a database, the database and its log: this store alone has them, and sees when
// they are not any more what a restart would open.
//
// SQLite opens a file once, and writes to it whatever becomes of its name. So a database that was
// deleted, moved or replaced takes writes that no restart finds, and a log that was cut loses what
// was acknowledged. The writer therefore asks here before each transaction, and again between the
// commit and the acknowledgement.
//
// Invariants:
// 1. One store has a file, whatever its name: the lock is on the inode, not on a name. It is a lock
//    of an open file description on a byte that SQLite does not use. A file with a second hard link
//    is refused: SQLite names the log after the database, so each link would have its own.
// 2. The descriptor of the database is closed after all of SQLite's: closing any descriptor of a
//    file drops the locks that SQLite has on it. For the same reason a second store of this process
//    is refused before it opens the file.
// 3. SQLite has the database for this process alone (see sqlite_connection.hpp), and the writer
//    knows what it does: the database never becomes smaller, and the log is never smaller than what
//    the latest commit left in use, except within the next transaction, which may begin it anew.
//
// Rejected: a lock on `<path>.lock`, which another name of the database, or a deletion of that
// file, evades; inotify, which tells late, and of our own writes, too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "savegames/descriptor.hpp"

namespace savegames {

class database_files {
public:
    // The error is a sentence without a path, in static memory: the writer allocates nothing.
    using intact = std::expected<void, std::string_view>;

    // Opens the database, or creates it for our user alone, and locks it. The error is a sentence
    // for a person, with the path.
    [[nodiscard]] static std::expected<std::unique_ptr<database_files>, std::string> claim(
        const std::string& path);

    // Every connection of SQLite to the database is closed.
    ~database_files();
    database_files(const database_files&) = delete;
    database_files& operator=(const database_files&) = delete;

    // SQLite has opened the database and its log. `log_end`: the part of the log that is in use.
    [[nodiscard]] std::expected<void, std::string> open_log(std::uint64_t log_end);

    // Makes the names of new files durable. The error is a sentence with a path.
    [[nodiscard]] std::expected<void, std::string> flush_names() const;

    // --- for the writer -------------------------------------------------------------------------

    // Before a transaction. After an error there must be none.
    [[nodiscard]] intact begin_write();

    // After a commit, before anything else: whether it is in the files that are at their paths.
    [[nodiscard]] intact end_write(std::uint64_t log_end);

    // After a transaction without a commit.
    void abandon_write();

    // After a checkpoint: the database may have grown.
    void note_size();

    // --- any thread -----------------------------------------------------------------------------

    [[nodiscard]] intact check() const;

    // Whether some of a file is known to be lost: what is left should be left as it is.
    [[nodiscard]] bool is_cut() const;

private:
    struct watched_file {
        std::string_view gone, linked;  // the sentences that say so
        std::string path;
        descriptor opened{};
        dev_t device = 0;
        ino_t inode = 0;
        std::uint64_t size_min = 0;
    };

    explicit database_files(watched_file database) : database_{std::move(database)} {}

    // These require mutex_.
    intact check_both() const;
    intact check_name(const watched_file& each) const;
    bool has_hole_before(std::uint64_t end) const;

    mutable std::mutex mutex_;
    watched_file database_;
    watched_file log_;
    bool writing_ = false;      // between begin_write and its end: the log may have any size
    mutable bool cut_ = false;  // for good
};

}  // namespace savegames
