// A store for tests, around two real ones: it fails chosen operations, or holds their answers back.
//
// Held answers make races repeatable: the test decides what happens after the store did the work
// and before the caller gets the answer. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "savegames/store.hpp"

namespace savegames {

enum class store_operation : std::uint8_t { acquire, release, get, put, erase };

struct fault {
    enum class kind : std::uint8_t {
        none,         // the operation passes
        fail_before,  // the operation is not carried out; it fails at once, on the caller's thread
        fail_after,   // the operation is carried out, but the caller gets the error as its answer
        hold,         // the operation is carried out; its answer waits for release_held
    };
    kind what = kind::none;
    error code = error::store_failed;
};

// Chooses the fault of an operation. Called under a mutex, in the order in which operations begin.
// Must not call the store.
using fault_plan = std::move_only_function<fault(store_operation, const profile_key&)>;

class flaky_store final : public profile_store, public blob_store {
public:
    // The stores outlive this object. No operation is under way when it is destroyed.
    flaky_store(profile_store& profiles, blob_store& blobs, fault_plan plan);
    ~flaky_store() override;  // gives the held answers to their callers

    void acquire(const profile_key& key, owner_token owner, std::chrono::milliseconds lease,
                 completion<lock_result> done) override;
    void release(const profile_key& key, owner_token owner, completion<void> done) override;
    void get(const profile_key& key, time_point deadline, completion<save> done) override;
    void put(const profile_key& key, const write_condition& condition, save value,
             completion<std::uint64_t> done) override;
    void erase(const profile_key& key, const write_condition& condition,
               completion<void> done) override;

    // Takes effect with the next operation.
    void set_plan(fault_plan plan);

    // Blocks until at least `count` answers are held.
    void wait_held(std::size_t count);

    // Gives all held answers to their callers, on this thread. Returns their number.
    std::size_t release_held();

private:
    template <class T>
    bool arrange(store_operation operation, const profile_key& key, completion<T>& done);

    profile_store& profiles_;
    blob_store& blobs_;
    std::mutex mutex_;
    std::condition_variable held_changed_;
    fault_plan plan_;
    std::vector<std::move_only_function<void()>> held_;
};

}  // namespace savegames
