// The embedded store, the default: saves in one SQLite file, locks in memory.
//
//   get ──> read queue ──> reader threads, each with a connection
//   put, erase ──> write queue ──> one writer thread: many writes in one commit
//   acquire, release ──> lease table, answered at once on the caller's thread
//
// Invariants:
// 1. A write is reported as done only after its COMMIT, with journal_mode=WAL and
//    synchronous=FULL: the log is then on the disk.
// 2. Writes that wait together are committed together, and share the cost of the flush. If the
//    transaction of the group fails, the writer tries each write alone, so a bad write fails no
//    other write.
// 3. Every accepted operation completes. `stop` carries out the queued operations; later ones get
//    store_failed. An operation for which a queue has no room gets overloaded at once. Games share
//    the queues, and have their turn one after another; an operation of a game that has filled its
//    share gets over_share.
// 4. One store has a file (see database_files.hpp): another process, or another store of this
//    process, is refused when it opens the file. So leases are kept in memory: they cost no flush,
//    are measured on the steady clock, and end with the process whose requests they guard. Several
//    servers for one set of saves need databases that are servers: cluster_store.hpp.
// 5. Only the writer writes, and it checks version and lease of each `put` and `erase`. A lease can
//    expire between this check and the commit. The version check still prevents a lost update: a
//    later owner's write comes later in the same thread.
// 6. Before the writer reports a write as done, it checks that the database and its log are still
//    the files at their paths, and that nothing was cut off. Otherwise the write fails, and `ready`
//    says why.
// 7. An operation whose deadline has passed when a thread takes it from its queue does not begin.
//    A statement waits for a lock no longer than the deadline of its operation; a transaction of
//    several writes no longer than the latest of their deadlines.
//
// Rejected: leases in the same file (each lock and unlock costs a flush, so an update costs three);
// leases in a second file with synchronous=OFF (each costs a commit, a crash of the machine may
// leave the file broken, and invariant 4 makes it needless).
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
    std::size_t readers = 2;                   // threads; more help only while reads wait for disk
    std::size_t queue_max = 4096;              // waiting operations; for reads and writes each
    std::size_t queue_bytes_max = 256U << 20;  // compressed bytes that wait to be written
    std::size_t group_max = 512;               // writes in one commit; more delay each answer
    std::size_t group_bytes_max = 8U << 20;    // bytes in one commit
    std::chrono::milliseconds busy_timeout{5000};  // at most; see invariant 7
};

class sqlite_store final : public save_store {
public:
    // Opens or creates the file, brings its schema up to date, and starts the threads. Blocks for
    // disk I/O. The error is a sentence for a person: no folder, no permission, in use by another
    // process, a second hard link, not a database, written by a newer version.
    [[nodiscard]] static std::expected<std::unique_ptr<sqlite_store>, std::string> open(
        sqlite_options options);

    // Stops the store, as `stop` does. All calls on other threads must have returned.
    ~sqlite_store() override;
    sqlite_store(const sqlite_store&) = delete;
    sqlite_store& operator=(const sqlite_store&) = delete;

    // Any thread. `done` runs before the call returns.
    void acquire(const profile_key& key, owner_token owner, std::chrono::milliseconds lease,
                 completion<lock_result> done) override;
    void release(const profile_key& key, owner_token owner, completion<void> done) override;

    // Any thread. `done` runs on a thread of the store; if the operation is refused, before the
    // call returns.
    void get(const profile_key& key, time_point deadline, completion<save> done) override;
    void put(const profile_key& key, const write_condition& condition, save value,
             completion<std::uint64_t> done) override;
    void erase(const profile_key& key, const write_condition& condition,
               completion<void> done) override;

    // Refuses new operations, carries out the queued ones, and joins the threads. Blocks. Any
    // thread but those of the store. A second call does nothing.
    void stop();

    // Any thread.
    [[nodiscard]] store_counters counters() const override;

    // Whether a write would succeed, as far as that can be told without one: the files are in
    // place, and the latest write succeeded. If it failed, the call starts a write that changes no
    // save, and the next call knows its result. The error is a sentence without a path. Any thread;
    // some system calls.
    [[nodiscard]] std::expected<void, std::string> ready() const override;

private:
    class state;

    explicit sqlite_store(std::unique_ptr<state> opened);

    const std::unique_ptr<state> state_;
};

}  // namespace savegames
