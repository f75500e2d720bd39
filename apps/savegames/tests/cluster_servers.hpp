// Real servers for the tests of the store of several services: see the tests of fairlead::redis and
// fairlead::postgres.
#pragma once

#include "postgres/server.hpp"
#include "redis/server.hpp"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "savegames/cluster_store.hpp"

namespace savegames {

inline cluster_options on_servers(const fairlead::redis::test::server& redis,
                                  const fairlead::postgres::test::server& postgres) {
    return {.profiles = "unix://" + redis.path(), .blobs = postgres.by_unix(), .connections = 2};
}

inline std::unique_ptr<save_store> opened(const cluster_options& options) {
    auto made = open_cluster_store(options);
    EXPECT_TRUE(made.has_value()) << made.error();
    return std::move(made.value());
}

}  // namespace savegames
