// The leases that the requests of this process hold, each with its fence: the version that the
// profile had when the lease was granted, or that the holder has written since.
//
// A write of a holder replaces exactly the version of its fence, or is refused. So the fence, which
// the database of the saves checks, protects the saves, whatever clocks and the keeper of the
// leases do. `until` only spares the database writes that come too late.
//
// Thread-safe by one mutex, held for a table lookup. Reads no clock. A sweep drops expired entries
// when the table has doubled since the sweep before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "savegames/model.hpp"

namespace savegames {

class held_leases {
public:
    // After a grant until `until`. An owner that extends its lease in time keeps its fence: what
    // another has written meanwhile must not pass for its own.
    void grant(const profile_key& key, owner_token owner, std::uint64_t fence, time_point until,
               time_point now) {
        const std::lock_guard lock{mutex_};
        sweep(now);
        const auto [entry, is_new] = leases_.try_emplace({owner, key}, fence, until);
        if (is_new) return;
        if (entry->second.until <= now) entry->second.fence = fence;
        entry->second.until = until;
    }

    // The fence of a lease that is good at `now`. Nothing: `owner` has none.
    [[nodiscard]] std::optional<std::uint64_t> fence(const profile_key& key, owner_token owner,
                                                     time_point now) const {
        const std::lock_guard lock{mutex_};
        const auto found = leases_.find({owner, key});
        if (found == leases_.end() || found->second.until <= now) return std::nullopt;
        return found->second.fence;
    }

    // The holder has written `version`.
    void advance(const profile_key& key, owner_token owner, std::uint64_t version) {
        const std::lock_guard lock{mutex_};
        const auto found = leases_.find({owner, key});
        if (found != leases_.end()) found->second.fence = version;
    }

    // Ends the lease. When it would have ended by itself; nothing: there was none.
    std::optional<time_point> end(const profile_key& key, owner_token owner) {
        const std::lock_guard lock{mutex_};
        const auto found = leases_.find({owner, key});
        if (found == leases_.end()) return std::nullopt;
        const time_point until = found->second.until;
        leases_.erase(found);
        return until;
    }

private:
    static constexpr std::size_t sweep_size_min = 256;

    struct holder {
        owner_token owner;
        profile_key key;

        friend bool operator==(const holder&, const holder&) = default;
    };
    struct holder_hash {
        std::size_t operator()(const holder& of) const noexcept {
            return profile_key_hash{}(of.key) ^ std::hash<owner_token>{}(of.owner);
        }
    };
    struct held {
        std::uint64_t fence;
        time_point until;
    };

    void sweep(time_point now) {
        if (leases_.size() < sweep_size_) return;
        std::erase_if(leases_, [now](const auto& entry) { return entry.second.until <= now; });
        sweep_size_ = std::max(sweep_size_min, 2 * leases_.size());
    }

    mutable std::mutex mutex_;
    std::unordered_map<holder, held, holder_hash> leases_;
    std::size_t sweep_size_ = sweep_size_min;
};

}  // namespace savegames
