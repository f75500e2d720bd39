// The interface of the stores: locks on profiles, and versions of saves.
//
// Every implementation keeps these rules, so that any scheduler can drive any store:
// 1. An operation starts at once, and never blocks its caller for I/O.
// 2. The store calls `done` exactly once: on a thread of the store, or, if the answer needs no
//    waiting (a full queue, a lock in memory), on the caller's thread before the call returns. So
//    the caller must hold no lock that `done` takes.
// 3. `done` must not block. It may call the store.
// 4. Arguments that are references may end when the call returns; the store copies what it needs.
// 5. A write is reported as done only when it survives a crash of this process and of the machine
//    that keeps the saves.
// 6. A read or write whose deadline has passed does not begin: its answer is `deadline`, and it has
//    not happened. After its beginning it waits for no lock beyond the deadline, and fails then.
//    The operations of locks have no deadline: a lock must be given back, however late it is.
// 7. Fencing: a write with an owner is refused if anything was written to the profile since the
//    lease ended. So a request that was paused beyond its lease never overwrites a newer version.
//
// Two operations of one caller on one key take effect in any order, unless the second begins after
// the `done` of the first.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "savegames/model.hpp"

namespace savegames {

template <class T>
using completion = std::move_only_function<void(std::expected<T, error>)>;

// The answer to `acquire`.
struct lock_result {
    bool granted = false;
    // The rest of the lease: of the caller's if granted, else of the other owner's. A duration, not
    // a point in time, because the clocks of two machines differ.
    std::chrono::milliseconds left{0};
};

// Locks on profiles. A lock is a lease: it ends by itself, so a dead request cannot keep it.
class profile_store {
public:
    virtual ~profile_store() = default;

    // Takes the lock of `key` for `lease`, if it is free or expired. Extends it if `owner` has it
    // already. A refusal is not an error. Errors: overloaded, store_failed.
    virtual void acquire(const profile_key& key, owner_token owner, std::chrono::milliseconds lease,
                         completion<lock_result> done) = 0;

    // Gives the lock back. lease_lost if `owner` does not hold it, or no longer.
    virtual void release(const profile_key& key, owner_token owner, completion<void> done) = 0;
};

// The condition of a write. The store checks it in the transaction of the write.
struct write_condition {
    // The version that must be stored; 0: no save must be stored. Empty: any version.
    std::optional<std::uint64_t> expected_version;
    // The owner that must hold the lock of the profile. Empty: the lock does not matter. A write
    // without an owner, while another has the lock, may cost that owner the lock (lease_lost).
    std::optional<owner_token> owner;
    // Of the request, see rule 6.
    time_point deadline = time_point::max();
};

// Versions of saves.
//
// An erased save leaves its version number behind, so that a profile never uses a number twice. So
// a writer that has read version 7 cannot overwrite a later save that has the number 7 as well.
class blob_store {
public:
    virtual ~blob_store() = default;

    // Errors: not_found, overloaded, over_share, store_failed, deadline.
    virtual void get(const profile_key& key, time_point deadline, completion<save> done) = 0;

    // Stores `value` as the next version, whatever `value.version` says; returns the new version.
    // Errors: conflict, lease_lost, overloaded, over_share, store_failed, deadline. After
    // store_failed the write may or may not have happened.
    virtual void put(const profile_key& key, const write_condition& condition, save value,
                     completion<std::uint64_t> done) = 0;

    // Erases the save. Errors: not_found, and those of `put`.
    virtual void erase(const profile_key& key, const write_condition& condition,
                       completion<void> done) = 0;
};

// What a store has done since its start, for reports.
struct store_counters {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;       // carried out, also those that were refused (conflict ...)
    std::uint64_t commits = 0;      // writes / commits is the mean size of a group
    std::uint64_t failures = 0;     // operations that ended with store_failed
    std::uint64_t refused = 0;      // operations for which there was no room, or after the end
    std::uint64_t overdue = 0;      // operations that did not begin: their deadline had passed
    std::uint64_t connects = 0;     // connections made to servers; the embedded store has none
    std::size_t queued_reads = 0;   // that have not begun; of servers: that are under way
    std::size_t queued_writes = 0;  // the same
    std::string last_failure;       // a sentence for a person, often of the database
};

// Both stores in one, and what an operator asks it. All members may be called by any thread.
class save_store : public profile_store, public blob_store {
public:
    [[nodiscard]] virtual store_counters counters() const = 0;

    // Whether a write would succeed, as far as is known; a call may start what the next call needs
    // to know. The error is a sentence for a person, without a path or a password. Does not block
    // for I/O but for some system calls.
    [[nodiscard]] virtual std::expected<void, std::string> ready() const = 0;
};

}  // namespace savegames
