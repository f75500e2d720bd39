// What the service needs of a store: locks on profiles, and versions of saves.
//
// The rules of every implementation, so that any scheduler can drive any store:
// 1. An operation starts at once and never blocks the caller for I/O.
// 2. `done` is called exactly once: from a thread of the store, or, when the answer needs no
//    waiting (a full queue, a lock in memory), on the caller's thread before the call returns.
//    So the caller holds no lock that `done` takes.
// 3. `done` must not block; it may call the store again.
// 4. What a call is given by reference may be gone when it returns; the store copies what it needs.
// 5. A write is reported as done only when it survives a crash of this process and of the machine.
//
// Operations of one caller on one key take effect in no promised order unless each begins after
// the `done` of the one before.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>

#include "savegames/model.hpp"

namespace savegames {

template <class T>
using completion = std::move_only_function<void(std::expected<T, error>)>;

// The answer to `acquire`.
struct lock_result {
    bool granted = false;
    // How long the lease lasts: ours when granted, else the other owner's. A duration and not a
    // point in time, because the clocks of two machines differ.
    std::chrono::milliseconds left{0};
};

// Locks on profiles. A lock is a lease: it ends by itself, so a dead request cannot keep it.
class profile_store {
public:
    virtual ~profile_store() = default;

    // Takes the lock of `key` for `lease`, if it is free, expired, or already `owner`'s (then it is
    // extended). Not granted is no error. Errors: overloaded, store_failed.
    virtual void acquire(const profile_key& key, owner_token owner, std::chrono::milliseconds lease,
                         completion<lock_result> done) = 0;

    // Gives the lock back. lease_lost when `owner` does not hold it (any more).
    virtual void release(const profile_key& key, owner_token owner, completion<void> done) = 0;
};

// What must hold for a write to happen, checked in one transaction with the write.
struct write_condition {
    // The version that is stored now; 0: no save is stored. Empty: any.
    std::optional<std::uint64_t> expected_version;
    // Who must hold the lock of the profile. Empty: nobody need.
    std::optional<owner_token> owner;
};

// Versions of saves.
//
// An erased save leaves its version number behind, so that a number is never used twice for one
// profile: a writer that read version 7 of a save cannot overwrite a later save that happens to be
// version 7 as well.
class blob_store {
public:
    virtual ~blob_store() = default;

    // Errors: not_found, overloaded, over_share, store_failed.
    virtual void get(const profile_key& key, completion<save> done) = 0;

    // Stores `value` as the next version, whatever `value.version` says; answers the new version.
    // Errors: conflict, lease_lost, overloaded, over_share, store_failed. After store_failed the write may
    // or may not have happened.
    virtual void put(const profile_key& key, const write_condition& condition, save value,
                     completion<std::uint64_t> done) = 0;

    // Errors: not_found, and those of `put`.
    virtual void erase(const profile_key& key, const write_condition& condition,
                       completion<void> done) = 0;
};

}  // namespace savegames
