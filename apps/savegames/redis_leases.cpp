#include "savegames/redis_leases.hpp"

#include <fairlead/redis/script.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace savegames {
namespace {

namespace fl = fairlead;
namespace redis = fairlead::redis;

constexpr int lease_attempts_max = 3;

// Takes the key, or extends it, or tells the rest of the other owner's lease: in one step.
const redis::script& takes_or_extends() {
    static const redis::script only{
        "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return {1, 0} end "
        "if redis.call('GET', KEYS[1]) == ARGV[1] then "
        "redis.call('PEXPIRE', KEYS[1], ARGV[2]) return {1, 0} end "
        "return {0, redis.call('PTTL', KEYS[1])}"};
    return only;
}

std::string name_of(const profile_key& key) {
    return fmt::format("savegames:lease:{}/{}", key.game.text(), key.player.text());
}

std::string text_of(owner_token owner) { return std::to_string(std::to_underlying(owner)); }

bool is_lost(const redis::error& failure) {
    return failure.code() == redis::errc::connection_lost || failure.code() == redis::errc::stalled;
}

std::unexpected<server_failure> failed(const redis::error& failure) {
    const bool is_full = failure.code() == redis::errc::queue_full;
    return std::unexpected{server_failure{is_full ? error::overloaded : error::store_failed,
                                          "Redis: " + failure.message()}};
}

}  // namespace

fl::task<server_result<lock_result>> redis_leases::acquire(profile_key key, owner_token owner,
                                                           std::chrono::milliseconds lease,
                                                           time_point deadline) {
    const std::string name = name_of(key);
    for (int attempt = 1;; ++attempt) {
        std::vector<std::string> keys{name};
        std::vector<std::string> arguments{text_of(owner), std::to_string(lease.count())};
        const auto reply = co_await server_.eval(takes_or_extends(), std::move(keys),
                                                 std::move(arguments), deadline);
        if (!reply && is_lost(reply.error()) && attempt < lease_attempts_max) continue;
        if (!reply) co_return failed(reply.error());
        const auto& both = reply->items();
        if (both.size() != 2) co_return failed(redis::errc::wrong_type_of_reply);
        const std::chrono::milliseconds left{both[1].integer()};
        const bool granted = both[0].integer() == 1;
        co_return lock_result{granted, granted ? lease : left};
    }
}

fl::task<server_result<bool>> redis_leases::release(profile_key key, owner_token owner,
                                                    time_point deadline) {
    const std::string name = name_of(key);
    bool was_lost = false;
    for (int attempt = 1;; ++attempt) {
        const auto done = co_await server_.compare_and_delete(name, text_of(owner), deadline);
        // What is gone after a lost attempt was given back by it, or has expired.
        if (done) co_return *done || was_lost;
        if (!is_lost(done.error()) || attempt == lease_attempts_max) co_return failed(done.error());
        was_lost = true;
    }
}

fl::task<server_result<void>> redis_leases::probe(time_point deadline) {
    const redis::set_options soon_gone{.expires = std::chrono::seconds{1}};
    const auto done = co_await server_.set("savegames:probe", "", soon_gone, deadline);
    if (!done) co_return failed(done.error());
    co_return server_result<void>{};
}

}  // namespace savegames
