// Leases in memory: the locks of the embedded store.
//
// Thread-safe by one mutex, held for a table lookup. Reads no clock: the caller passes the time.
//
// A sweep drops expired entries when the table has doubled since the sweep before. So the table has
// at most 256 entries, or twice as many as had not expired at the latest sweep.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "savegames/model.hpp"
#include "savegames/store.hpp"

namespace savegames {

class lease_table {
public:
    // As `profile_store::acquire`. Takes over an expired lease of another owner.
    [[nodiscard]] lock_result acquire(const profile_key& key, owner_token owner,
                                      std::chrono::milliseconds lease, time_point now);

    // Ends the lease. False if `owner` does not hold a lease that is good at `now`.
    [[nodiscard]] bool release(const profile_key& key, owner_token owner, time_point now);

    [[nodiscard]] bool holds(const profile_key& key, owner_token owner, time_point now) const;

    // The number of entries, also of expired ones that no sweep has dropped yet.
    [[nodiscard]] std::size_t size() const;

private:
    static constexpr std::size_t sweep_size_min = 256;

    struct holder {
        owner_token owner;
        time_point until;
    };

    void sweep(time_point now);

    mutable std::mutex mutex_;
    std::unordered_map<profile_key, holder, profile_key_hash> leases_;
    std::size_t sweep_size_ = sweep_size_min;
};

}  // namespace savegames
