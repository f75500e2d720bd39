// Leases in memory: the locks of the embedded store.
//
// Thread-safe by one mutex, held for a table lookup. Reads no clock: time is passed in.
// Entries of owners that never came back are swept out whenever the table has doubled, so it has at
// most twice as many entries as leases were good at the last sweep, or 256.
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
    // As profile_store::acquire. An expired lease of another owner is taken over.
    [[nodiscard]] lock_result acquire(const profile_key& key, owner_token owner,
                                      std::chrono::milliseconds lease, time_point now);

    // False when `owner` does not hold a lease that is still good at `now`.
    [[nodiscard]] bool release(const profile_key& key, owner_token owner, time_point now);

    [[nodiscard]] bool holds(const profile_key& key, owner_token owner, time_point now) const;

    // Entries, expired ones that were not swept yet included.
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
