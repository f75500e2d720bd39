// Leases of profiles in Redis: a key for each, whose content is the token of its owner, and which
// expires with the lease.
//
// Redis decides which request goes first. It protects no save: see held_leases.hpp. So a Redis that
// forgets its keys in a restart or a failover costs requests a conflict, and nothing else.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/redis/commands.hpp>

#include <chrono>
#include <expected>
#include <string>

#include "savegames/store.hpp"

namespace savegames {

// What an operation on a server gives. The text is for a person; empty for a refusal.
struct server_failure {
    error code = error::store_failed;
    std::string text{};
};
template <class T>
using server_result = std::expected<T, server_failure>;

class redis_leases {
public:
    explicit redis_leases(fairlead::redis::commands& server) noexcept : server_{server} {}

    // As `profile_store::acquire`. The lease ends `lease` after the begin of the call or later. A
    // connection that was lost meanwhile costs a second attempt: with the same owner the first one
    // does no harm.
    [[nodiscard]] fairlead::task<server_result<lock_result>> acquire(
        profile_key key, owner_token owner, std::chrono::milliseconds lease, time_point deadline);

    // Gives the lease back: whether the key had this owner.
    [[nodiscard]] fairlead::task<server_result<bool>> release(profile_key key, owner_token owner,
                                                              time_point deadline);

    // Whether the server answers and takes writes.
    [[nodiscard]] fairlead::task<server_result<void>> probe(time_point deadline);

private:
    fairlead::redis::commands& server_;
};

}  // namespace savegames
