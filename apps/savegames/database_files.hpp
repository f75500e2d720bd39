// The two files of a database, the database itself and its log. One store alone has them. This
// class detects when a restart would no longer open the same files.
//
// SQLite opens a file once, and then writes to it, whatever happens to its name. So writes to a
// database that was deleted, moved or replaced are lost at a restart; if the log was cut,
// acknowledged writes are lost. Therefore the writer checks the files before each transaction, and
// again between the commit and the acknowledgement.
//
// Invariants:
// 1. One store has a file, whatever its name. The lock is on the inode, not on a name: it belongs
//    to an open file description, and covers a byte that SQLite does not use. A file with a second
//    hard link is refused: SQLite names the log after the database, so each link would have its own
//    log.
// 2. The descriptor of the database is closed after all of SQLite's, because closing any descriptor
//    of a file drops SQLite's locks on that file. For the same reason a second store of this
//    process is refused before it opens the file.
// 3. SQLite has the database for this process alone (see sqlite_connection.hpp), so the writer
//    knows every change: the database never shrinks. The log is never smaller than the part that
//    the latest commit left in use, except during the next transaction, which may begin it anew.
//
// Rejected: a lock on `<path>.lock`, because another name of the database, or the deletion of that
// file, evades it; inotify, because it reports late, and also reports the service's own writes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <fairlead/os/unique_fd.hpp>

namespace savegames {

class database_files {
public:
    // The error is a sentence without a path, in static memory, so that the writer allocates
    // nothing.
    using intact = std::expected<void, std::string_view>;

    // Opens the database, or creates it for the user of this process alone, and locks it. The error
    // is a sentence for a person, with the path.
    [[nodiscard]] static std::expected<std::unique_ptr<database_files>, std::string> claim(
        const std::string& path);

    // Requires that every SQLite connection to the database is closed.
    ~database_files();
    database_files(const database_files&) = delete;
    database_files& operator=(const database_files&) = delete;

    // Call it when SQLite has opened the database and its log. `log_end`: how many bytes of the log
    // are in use.
    [[nodiscard]] std::expected<void, std::string> open_log(std::uint64_t log_end);

    // Makes the names of new files durable. The error is a sentence with the path.
    [[nodiscard]] std::expected<void, std::string> flush_names() const;

    // --- for the writer --------------------------------------------------------------------------

    // Before a transaction. After an error, begin none.
    [[nodiscard]] intact begin_write();

    // Right after a commit: whether the commit is in the files that are at their paths.
    [[nodiscard]] intact end_write(std::uint64_t log_end);

    // After a transaction without a commit.
    void abandon_write();

    // After a checkpoint: the database may have grown.
    void note_size();

    // --- for any thread --------------------------------------------------------------------------

    // Whether both files are at their paths, with one hard link each, and not cut.
    [[nodiscard]] intact check() const;

    // Whether a part of a file is known to be lost. Then leave the rest as it is.
    [[nodiscard]] bool is_cut() const;

private:
    struct watched_file {
        std::string_view gone, linked;  // the errors: not at its path; a second hard link
        std::string path;
        fairlead::os::unique_fd opened{};
        dev_t device = 0;
        ino_t inode = 0;
        std::uint64_t size_min = 0;
    };

    explicit database_files(watched_file database) : database_{std::move(database)} {}

    // Require mutex_.
    intact check_both() const;
    intact check_name(const watched_file& each) const;
    bool has_hole_before(std::uint64_t end) const;

    mutable std::mutex mutex_;
    watched_file database_;
    watched_file log_;
    bool writing_ = false;      // in a transaction: the log may have any size
    mutable bool cut_ = false;  // never false again
};

}  // namespace savegames
