// The store of several services on real servers: fencing, losses, restarts. What every store
// promises is in store_conformance_test.cpp.
#include "savegames/cluster_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "postgres/fixture.hpp"
#include "savegames/redis_url.hpp"
#include "savegames/tests/cluster_servers.hpp"
#include "savegames/tests/support.hpp"

#include <fairlead/redis/client.hpp>

namespace savegames::cluster_store_tests {
namespace {

namespace fl = fairlead;
namespace pg = fairlead::postgres;
using namespace std::chrono_literals;

class cluster_store_test : public pg::test::with_server {
protected:
    // A new database, so that the tables are made anew.
    std::string fresh_database() {
        static int made = 0;
        const std::string name = "fresh" + std::to_string(made++);
        execute(admin, {"create database " + name});
        std::string url = postgres.by_unix();
        return url.replace(url.find("dbname=postgres"), 15, "dbname=" + name);
    }

    std::string error_of(const cluster_options& wrong) {
        auto made = open_cluster_store(wrong);
        return made ? "" : made.error();
    }

    static write_condition as(owner_token owner) {
        write_condition made;
        made.owner = owner;
        return made;
    }

    // Redis loses all keys, as in a restart without a file.
    void forget_leases() {
        fl::redis::client client{home, fl::redis::connect_unix(redis.path())};
        fl::redis::command flush{"FLUSHALL"};
        EXPECT_TRUE(run(client.send(flush)).has_value());
        run(client.close());
    }

    // Another connection has the row of `of`, until the transaction ends.
    std::optional<pg::transaction> lock_row(const profile_key& of) {
        auto change = run(admin.begin());
        pg::statement lock{"select from saves where game = $1 and player = $2 for update",
                           of.game.text(), of.player.text()};
        const auto rows = run(change->query(lock));
        EXPECT_EQ(rows->size(), 1U);
        return std::move(*change);
    }

    // How many backends wait for a lock.
    std::int64_t waiting_for_locks() {
        return number(admin, "select count(*) from pg_locks where not granted");
    }

    // A key that no other test has: PostgreSQL keeps saves from test to test.
    const std::string game = testing::UnitTest::GetInstance()->current_test_info()->name();
    const profile_key key = key_of("p", game);
    const owner_token alice{1};
    const owner_token bob{2};
    fl::redis::test::server redis;
    cluster_options options = on_servers(redis, postgres);
    pg::pool admin{home, postgres.by_unix(), {.max = 2}};
};

TEST_F(cluster_store_test, services_exclude_each_other_and_see_each_others_saves) {
    const auto first = opened(options);
    const auto second = opened(options);
    EXPECT_TRUE(acquire(*first, key, alice).value().granted);
    EXPECT_FALSE(acquire(*second, key, bob).value().granted);
    EXPECT_EQ(put(*first, key, packed("1"), as(alice)), 1U);
    EXPECT_EQ(get(*second, key).value().version, 1U);
    EXPECT_TRUE(release(*first, key, alice).has_value());
    EXPECT_TRUE(acquire(*second, key, bob).value().granted);
    EXPECT_EQ(put(*second, key, packed("2"), as(bob)), 2U);
    EXPECT_EQ(unpack(get(*first, key).value(), 10).value(), "2");
}

// By its own clock the first holder still has the lease.
TEST_F(cluster_store_test, a_holder_whose_lease_was_forgotten_overwrites_nothing_newer) {
    const auto first = opened(options);
    const auto second = opened(options);
    for (const bool stored : {false, true}) {
        const profile_key at = key_of(stored ? "stored" : "new", game);
        if (stored) {
            ASSERT_EQ(put(*first, at, packed("0")), 1U);
        }
        ASSERT_TRUE(acquire(*first, at, alice).value().granted);
        forget_leases();
        ASSERT_TRUE(acquire(*second, at, bob).value().granted);
        const std::uint64_t newer = put(*second, at, packed("2"), as(bob)).value();
        EXPECT_EQ(put(*first, at, packed("1"), as(alice)).error(), error::lease_lost);
        EXPECT_EQ(erase(*first, at, as(alice)).error(), error::lease_lost);
        forget_leases();
        // An extension is no new lease: else the save of the other owner would pass for known.
        EXPECT_TRUE(acquire(*first, at, alice).value().granted);
        EXPECT_EQ(put(*first, at, packed("1"), as(alice)).error(), error::lease_lost);
        EXPECT_EQ(get(*first, at).value().version, newer);
        EXPECT_EQ(unpack(get(*first, at).value(), 10).value(), "2");
        EXPECT_TRUE(release(*first, at, alice).has_value());
        EXPECT_TRUE(acquire(*first, at, alice).value().granted);
        EXPECT_EQ(put(*first, at, packed("3"), as(alice)), newer + 1);
    }
}

// Both believe that they have the lease: the first one to write wins.
TEST_F(cluster_store_test, of_two_holders_one_writes) {
    const auto first = opened(options);
    const auto second = opened(options);
    for (int round = 0; round != 20; ++round) {
        const profile_key at = key_of("p" + std::to_string(round), game);
        ASSERT_TRUE(acquire(*first, at, alice).value().granted);
        forget_leases();
        ASSERT_TRUE(acquire(*second, at, bob).value().granted);
        answer<std::uint64_t> of_first;
        answer<std::uint64_t> of_second;
        first->put(at, as(alice), packed("1"), of_first.done());
        second->put(at, as(bob), packed("2"), of_second.done());
        const auto one = of_first.get();
        const auto two = of_second.get();
        EXPECT_NE(one.has_value(), two.has_value());
        EXPECT_EQ(one ? two.error() : one.error(), error::lease_lost);
        EXPECT_EQ(unpack(get(*first, at).value(), 10).value(), one ? "1" : "2");
        EXPECT_EQ(get(*first, at).value().version, 1U);
    }
}

TEST_F(cluster_store_test, services_that_start_together_make_the_tables_once) {
    for (int round = 0; round != 3; ++round) {
        options.blobs = fresh_database();
        std::vector<std::unique_ptr<save_store>> stores(3);
        {
            std::vector<std::jthread> threads;
            for (auto& each : stores) {
                threads.emplace_back([&] { each = opened(options); });
            }
        }
        for (std::size_t i = 0; i != stores.size(); ++i) {
            EXPECT_EQ(put(*stores[i], key, packed("1")), i + 1);
        }
        stores.clear();
        EXPECT_EQ(put(*opened(options), key, packed("1")), 4U);  // and once more
        pg::pool pool{home, options.blobs, {.max = 1}};
        EXPECT_EQ(number(pool, "select count(*) from saves_schema"), 1);
        run(pool.close());
    }
}

TEST_F(cluster_store_test, a_start_that_cannot_succeed_says_why) {
    options.start_max = 300ms;
    cluster_options wrong = options;
    wrong.profiles = "http://localhost";
    EXPECT_TRUE(error_of(wrong).starts_with("--profiles: write redis://")) << error_of(wrong);
    wrong.profiles = "unix:///nowhere/redis.sock";
    EXPECT_TRUE(error_of(wrong).starts_with("--profiles: Redis: ")) << error_of(wrong);
    wrong = options;
    wrong.blobs = postgres.by_unix("dbname=nothing");
    EXPECT_TRUE(error_of(wrong).starts_with("--blobs: ")) << error_of(wrong);
    EXPECT_NE(error_of(wrong).find("nothing"), std::string::npos) << error_of(wrong);
    wrong.blobs = postgres.by_unix("options='-c synchronous_commit=off'");
    EXPECT_NE(error_of(wrong).find("synchronous_commit is off"), std::string::npos);
    options.start_max = 60s;
    options.blobs = fresh_database();
    opened(options);
    pg::pool pool{home, options.blobs, {.max = 1}};
    execute(pool, {"insert into saves_schema values (99, now(), null)"});
    EXPECT_NE(error_of(options).find("a newer version of this program"), std::string::npos);
    run(pool.close());
}

TEST_F(cluster_store_test, without_redis_writes_wait_and_fail_and_then_go_on) {
    options.offline_max = 1s;
    const auto store = opened(options);
    ASSERT_TRUE(acquire(*store, key, alice).value().granted);
    redis.kill();
    EXPECT_EQ(acquire(*store, key, bob).error(), error::store_failed);
    EXPECT_EQ(put(*store, key, packed("1"), as(alice)), 1U);  // the saves need no Redis
    EXPECT_EQ(get(*store, key).value().version, 1U);
    while (store->ready().has_value()) {
    }
    EXPECT_EQ(store->ready().error(), "Redis does not answer");
    redis.start();
    while (!acquire(*store, key, bob)) {
    }
    EXPECT_EQ(put(*store, key, packed("2"), as(bob)), 2U);
    EXPECT_EQ(put(*store, key, packed("3"), as(alice)).error(), error::lease_lost);
    while (!store->ready()) {
    }
    EXPECT_GE(store->counters().failures, 1U);
    EXPECT_TRUE(store->counters().last_failure.starts_with("Redis: "));
}

TEST_F(cluster_store_test, a_crash_of_postgres_loses_nothing_and_is_overcome) {
    options.offline_max = 1s;
    const auto store = opened(options);
    ASSERT_TRUE(acquire(*store, key, alice).value().granted);
    ASSERT_EQ(put(*store, key, packed("1"), as(alice)), 1U);
    postgres.end_with(SIGQUIT);
    EXPECT_EQ(get(*store, key).error(), error::store_failed);
    EXPECT_EQ(put(*store, key, packed("2"), as(alice)).error(), error::store_failed);
    while (store->ready().has_value()) {
    }
    postgres.start();
    std::uint64_t version = 0;
    while (version == 0) version = put(*store, key, packed("3"), as(alice)).value_or(0);
    EXPECT_EQ(version, 2U);
    EXPECT_EQ(get(*store, key).value().version, 2U);
    while (!store->ready()) {
    }
}

TEST_F(cluster_store_test, a_read_is_repeated_when_its_connection_was_cut) {
    options.connections = 1;
    const auto store = opened(options);
    ASSERT_EQ(put(*store, key, packed("1")), 1U);
    for (int round = 0; round != 10; ++round) {
        answer<save> read;
        store->get(key, time_point::max(), read.done());
        number(admin,
               "select count(pg_terminate_backend(pid)) from pg_stat_activity "
               "where pid <> pg_backend_pid() and backend_type = 'client backend'");
        EXPECT_EQ(read.get().value().version, 1U);
    }
}

TEST_F(cluster_store_test, a_write_waits_for_a_lock_until_its_deadline) {
    const auto store = opened(options);
    ASSERT_EQ(put(*store, key, packed("1")), 1U);
    std::optional<pg::transaction> other = lock_row(key);
    // Twice as long until the write is sent in time.
    auto ended = error::deadline;
    for (auto limit = 50ms; ended == error::deadline; limit *= 2) {
        write_condition soon;
        soon.deadline = clock::now() + limit;
        ended = put(*store, key, packed("2"), soon).error();
    }
    EXPECT_EQ(ended, error::store_failed);
    EXPECT_EQ(get(*store, key).value().version, 1U);  // on another connection
    EXPECT_TRUE(run(other->commit()).has_value());
    EXPECT_GE(put(*store, key, packed("3")).value(), 2U);
}

TEST_F(cluster_store_test, room_is_shared_by_games_and_always_left_for_releases) {
    options.count_max = 90;
    const auto store = opened(options);
    ASSERT_EQ(put(*store, key, packed("1")), 1U);
    const profile_key quiet = key_of("quiet", game + "2");
    ASSERT_TRUE(acquire(*store, quiet, bob).value().granted);
    std::optional<pg::transaction> other = lock_row(key);
    std::deque<answer<std::uint64_t>> noisy;
    std::optional<error> refusal;
    while (!refusal) {
        auto done = noisy.emplace_back().done();
        store->put(key, {}, packed("2"), [&, done = std::move(done)](auto result) mutable {
            if (!result) refusal = result.error();  // then it is on this thread
            done(std::move(result));
        });
    }
    EXPECT_EQ(*refusal, error::over_share);
    EXPECT_LT(noisy.size(), 90U);
    answer<std::uint64_t> of_another;
    store->put(key_of("p", game + "3"), {}, packed("1"), of_another.done());
    while (waiting_for_locks() == 0) {
    }
    EXPECT_TRUE(release(*store, quiet, bob).has_value());
    EXPECT_TRUE(run(other->commit()).has_value());
    EXPECT_EQ(noisy.back().get().error(), error::over_share);
    noisy.pop_back();
    for (auto& each : noisy) EXPECT_TRUE(each.get().has_value());
    EXPECT_EQ(of_another.get(), 1U);
    EXPECT_EQ(store->counters().refused, 1U);
    EXPECT_EQ(store->counters().queued_writes, 0U);
}

TEST_F(cluster_store_test, bytes_on_their_way_are_bounded) {
    options.bytes_max = 1000;
    const auto store = opened(options);
    save large = packed("1");
    large.data.resize(1001);
    EXPECT_EQ(put(*store, key, large).error(), error::overloaded);
    large.data.resize(500);
    EXPECT_EQ(put(*store, key, large), 1U);
}

TEST_F(cluster_store_test, the_end_waits_for_what_is_under_way) {
    auto store = opened(options);
    ASSERT_EQ(put(*store, key, packed("1")), 1U);
    std::optional<pg::transaction> other = lock_row(key);
    answer<std::uint64_t> written;
    store->put(key, {}, packed("2"), written.done());
    while (waiting_for_locks() == 0) {
    }
    std::jthread ender{[&] { store.reset(); }};
    EXPECT_TRUE(run(other->commit()).has_value());
    EXPECT_EQ(written.get(), 2U);
}

TEST(redis_url, is_parsed) {
    const redis_place plain = parse_redis_url("redis://cache.internal").value();
    EXPECT_EQ(plain.host, "cache.internal");
    EXPECT_EQ(plain.port, 6379);
    EXPECT_EQ(plain.database, 0U);
    const redis_place whole = parse_redis_url("redis://me:a%40b:c@[::1]:7000/3").value();
    EXPECT_EQ(whole.host, "::1");
    EXPECT_EQ(whole.port, 7000);
    EXPECT_EQ(whole.user, "me");
    EXPECT_EQ(whole.password, "a@b:c");
    EXPECT_EQ(whole.database, 3U);
    EXPECT_EQ(parse_redis_url("redis://:secret@10.0.0.1/").value().password, "secret");
    const redis_place local = parse_redis_url("unix://:secret@/run/redis.sock").value();
    EXPECT_EQ(local.path, "/run/redis.sock");
    EXPECT_TRUE(local.host.empty());
    EXPECT_EQ(local.password, "secret");
    for (const char* wrong :
         {"", "redis://", "rediss://host", "host:6379", "redis://host:0", "redis://host:70000",
          "redis://host:x", "redis://[::1", "redis://host/x", "redis://me@host", "redis://:%4@host",
          "redis://:%zz@host", "unix://", "unix://redis.sock"}) {
        EXPECT_FALSE(parse_redis_url(wrong).has_value()) << wrong;
    }
}

}  // namespace
}  // namespace savegames::cluster_store_tests
