// The store of several servers of one set of saves: leases in Redis, saves in PostgreSQL.
//
//   acquire ──> Redis: take the lease ──> PostgreSQL: read the version, which is the fence
//   get ──────> PostgreSQL
//   put ──────> PostgreSQL: replace the version of the fence, or refuse
//   release ──> Redis
//
// Invariants:
// 1. A write of an owner replaces exactly the version that was stored when its lease was granted.
//    PostgreSQL checks that in the statement of the write. So a request that was paused beyond its
//    lease, or whose lease Redis has forgotten, never overwrites a newer version.
// 2. A write is reported as done only after its commit, with synchronous_commit on.
// 3. An operation is a task on a scheduler of the store. No thread waits for a server.
// 4. Every operation completes: at its deadline, or when the servers were away for `offline_max`.
//    An acquire has the time of its lease. Connections come back by themselves.
// 5. Operations under way are bounded in number and bytes, and games share them: see under_way.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "savegames/store.hpp"

namespace savegames {

struct cluster_options {
    std::string profiles{};              // as parse_redis_url takes it
    std::string blobs{};                 // as libpq takes it: "postgresql://me@host/saves"
    std::uint32_t connections = 8;       // to PostgreSQL, at most
    std::size_t count_max = 4096;        // operations under way
    std::size_t bytes_max = 256U << 20;  // compressed bytes on their way
    std::chrono::milliseconds offline_max{2'000};  // so long an operation waits for a connection
    std::chrono::milliseconds start_max{20'000};   // so long `open_cluster_store` tries
};

// Connects to both, makes the tables or brings them up to date, and starts threads. Blocks. The
// error is a sentence for a person. Throws what scheduler and threads throw.
[[nodiscard]] std::expected<std::unique_ptr<save_store>, std::string> open_cluster_store(
    const cluster_options& options);

}  // namespace savegames
