// The embedded default store: saves in one SQLite file, locks in memory.
//
//   get ──> read queue ──> reader threads, a connection each
//   put, erase ──> write queue ──> one writer thread: a group of writes, one commit
//   acquire, release ──> lease table, answered at once on the caller's thread
//
// Invariants:
// 1. A write is reported as done only after its COMMIT, with journal_mode=WAL and
//    synchronous=FULL: the log is on the disk.
// 2. What waits together commits together: the cost of the disk's flush is shared. When the group's
//    transaction fails, each write is tried alone, so a bad write fails nobody else.
// 3. Every operation that was accepted completes, also in `stop`: queued ones are carried out,
//    later ones get store_failed. A queue over its limits gives overloaded at once. The queues are
//    shared by games, which have their turn one after the other: who fills his part gets over_share.
// 4. One store has a file (see database_files.hpp); another process, or another store of this one,
//    is refused when it opens. Hence leases can live in memory, cost no flush, are measured on the
//    steady clock, and vanish with the process whose requests they guard. Several servers on one
//    set of saves need a store on a server.
// 5. `put` and `erase` check version and lease in the writer, which is the only one to write. A
//    lease can expire between this check and the commit; the version check still excludes a lost
//    update, because a later owner's write comes after ours in the same thread.
// 6. Before it reports a write as done, the writer sees that the database and its log are still the
//    files at their paths, with all that was in them. Else the write fails, and `ready` tells why.
//
// Rejected: leases in the same file (a flush for each lock and unlock, three for an update), and
// leases in a second file with synchronous=OFF (a commit for each, and files that a machine crash
// may leave broken, to gain what invariant 4 makes needless).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "savegames/store.hpp"

namespace savegames {

struct sqlite_options {
    std::string path{};                        // the file; its folder must exist
    std::size_t readers = 2;                   // threads; more help only while the disk is read
    std::size_t queue_max = 4096;              // waiting operations, reads and writes each
    std::size_t queue_bytes_max = 256U << 20;  // compressed bytes waiting to be written
    std::size_t group_max = 512;               // writes in one commit: more is slower to answer
    std::size_t group_bytes_max = 8U << 20;    // and bytes in one commit
    std::chrono::milliseconds busy_timeout{5000};
};

struct sqlite_counters {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;    // carried out, refused ones (conflict ...) included
    std::uint64_t commits = 0;   // writes / commits: how well grouping works
    std::uint64_t failures = 0;  // operations that ended as store_failed
    std::uint64_t refused = 0;   // overloaded, over a share, or after stop
    std::size_t queued_reads = 0;
    std::size_t queued_writes = 0;
    std::string last_failure;  // SQLite's words, for people
};

class sqlite_store final : public profile_store, public blob_store {
public:
    // Opens or creates the file, brings its schema up to date, starts the threads. Blocks for disk
    // I/O. The error is a sentence for a person: no folder, no permission, in use by another
    // process, a second hard link, no database, written by a newer version.
    [[nodiscard]] static std::expected<std::unique_ptr<sqlite_store>, std::string> open(
        sqlite_options options);

    // Stops, as `stop`. Every call of another thread has returned.
    ~sqlite_store() override;
    sqlite_store(const sqlite_store&) = delete;
    sqlite_store& operator=(const sqlite_store&) = delete;

    // From any thread. `done` runs before the call returns.
    void acquire(const profile_key& key, owner_token owner, std::chrono::milliseconds lease,
                 completion<lock_result> done) override;
    void release(const profile_key& key, owner_token owner, completion<void> done) override;

    // From any thread. `done` runs on a store thread, or before the call returns when refused.
    void get(const profile_key& key, completion<save> done) override;
    void put(const profile_key& key, const write_condition& condition, save value,
             completion<std::uint64_t> done) override;
    void erase(const profile_key& key, const write_condition& condition,
               completion<void> done) override;

    // Refuses new operations, carries out the queued ones, joins the threads. Blocks; any thread
    // but a store's; harmless when repeated.
    void stop();

    // From any thread.
    [[nodiscard]] sqlite_counters counters() const;

    // Whether a write would succeed, as far as it can be told without one: the files are in place,
    // and the latest write has succeeded. If it has not, a write that changes no save is tried
    // meanwhile, for the next question. The error is a sentence without a path. From any thread;
    // some system calls.
    [[nodiscard]] std::expected<void, std::string> ready() const;

private:
    class state;

    explicit sqlite_store(std::unique_ptr<state> opened);

    const std::unique_ptr<state> state_;
};

}  // namespace savegames
