#include "savegames/lease_table.hpp"

#include <algorithm>

namespace savegames {

lock_result lease_table::acquire(const profile_key& key, owner_token owner,
                                 std::chrono::milliseconds lease, time_point now) {
    const std::lock_guard lock{mutex_};
    sweep(now);
    const auto [entry, fresh] = leases_.try_emplace(key, owner, now + lease);
    if (!fresh && entry->second.owner != owner && entry->second.until > now) {
        // Rounded up: at a retry after `left`, the lease has expired.
        return {false, std::chrono::ceil<std::chrono::milliseconds>(entry->second.until - now)};
    }
    entry->second = {owner, now + lease};
    return {true, lease};
}

bool lease_table::release(const profile_key& key, owner_token owner, time_point now) {
    const std::lock_guard lock{mutex_};
    const auto entry = leases_.find(key);
    if (entry == leases_.end() || entry->second.owner != owner) return false;
    const bool good = entry->second.until > now;
    leases_.erase(entry);
    return good;
}

bool lease_table::holds(const profile_key& key, owner_token owner, time_point now) const {
    const std::lock_guard lock{mutex_};
    const auto entry = leases_.find(key);
    return entry != leases_.end() && entry->second.owner == owner && entry->second.until > now;
}

std::size_t lease_table::size() const {
    const std::lock_guard lock{mutex_};
    return leases_.size();
}

// Sweeps if the table has doubled since the latest sweep: a constant cost for each new entry.
void lease_table::sweep(time_point now) {
    if (leases_.size() < sweep_size_) return;
    std::erase_if(leases_, [now](const auto& entry) { return entry.second.until <= now; });
    sweep_size_ = std::max(sweep_size_min, 2 * leases_.size());
}

}  // namespace savegames
