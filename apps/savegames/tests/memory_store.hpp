// A store for tests: a map and a lease table. It answers before the call returns.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "savegames/lease_table.hpp"
#include "savegames/store.hpp"

namespace savegames {

class memory_store : public profile_store, public blob_store {
public:
    void acquire(const profile_key& key, owner_token owner, std::chrono::milliseconds lease,
                 completion<lock_result> done) override {
        done(leases.acquire(key, owner, lease, clock::now()));
    }

    void release(const profile_key& key, owner_token owner, completion<void> done) override {
        if (leases.release(key, owner, clock::now())) {
            done({});
        } else {
            done(std::unexpected(error::lease_lost));
        }
    }

    void get(const profile_key& key, time_point, completion<save> done) override {
        done(stored(key));
    }

    void put(const profile_key& key, const write_condition& condition, save value,
             completion<std::uint64_t> done) override {
        done(write(key, condition, std::move(value)));
    }

    void erase(const profile_key& key, const write_condition& condition,
               completion<void> done) override {
        const auto written = write(key, condition, std::nullopt);
        if (written) {
            done({});
        } else {
            done(std::unexpected(written.error()));
        }
    }

    std::expected<save, error> stored(const profile_key& key) const {
        const std::lock_guard lock{mutex_};
        const auto found = saves_.find(key);
        if (found == saves_.end() || !found->second.value) return std::unexpected(error::not_found);
        return *found->second.value;
    }

    // Replaces a stored save without a new version, as a fault of the disk would.
    void tamper(const profile_key& key, save value) {
        const std::lock_guard lock{mutex_};
        saves_[key] = {value.version, std::move(value)};
    }

    lease_table leases;

private:
    struct row {
        std::uint64_t version = 0;
        std::optional<save> value;
    };

    std::expected<std::uint64_t, error> write(const profile_key& key,
                                              const write_condition& condition,
                                              std::optional<save> value) {
        if (condition.owner && !leases.holds(key, *condition.owner, clock::now())) {
            return std::unexpected(error::lease_lost);
        }
        const std::lock_guard lock{mutex_};
        row& found = saves_[key];
        if (!value && !found.value) return std::unexpected(error::not_found);
        const std::uint64_t version = found.value ? found.version : 0;
        if (condition.expected_version.value_or(version) != version) {
            return std::unexpected(error::conflict);
        }
        ++found.version;
        if (value) value->version = found.version;
        found.value = std::move(value);
        return found.version;
    }

    mutable std::mutex mutex_;
    std::map<profile_key, row> saves_;
};

}  // namespace savegames
