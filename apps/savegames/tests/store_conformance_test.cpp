// What every store promises (store.hpp), with each store: in memory, in SQLite, on servers.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "savegames/sqlite_store.hpp"
#include "savegames/tests/memory_store.hpp"
#include "savegames/tests/support.hpp"
#ifdef SAVEGAMES_WITH_CLUSTER
#include "savegames/tests/cluster_servers.hpp"
#endif
#include "support/seeds.hpp"
#include "support/watchdog.hpp"

namespace savegames::store_conformance_tests {
namespace {

using namespace std::chrono_literals;

// A store of one kind, which lives as long as the object.
class any_store {
public:
    virtual ~any_store() = default;
    virtual profile_store& profiles() = 0;
    virtual blob_store& blobs() = 0;
};

// The store in memory knows no deadlines: tests of jobs have a time of their own.
class timely_memory_store final : public memory_store {
public:
    void get(const profile_key& key, time_point deadline, completion<save> done) override {
        if (clock::now() >= deadline) return done(std::unexpected(error::deadline));
        memory_store::get(key, deadline, std::move(done));
    }
    void put(const profile_key& key, const write_condition& condition, save value,
             completion<std::uint64_t> done) override {
        if (clock::now() >= condition.deadline) return done(std::unexpected(error::deadline));
        memory_store::put(key, condition, std::move(value), std::move(done));
    }
    void erase(const profile_key& key, const write_condition& condition,
               completion<void> done) override {
        if (clock::now() >= condition.deadline) return done(std::unexpected(error::deadline));
        memory_store::erase(key, condition, std::move(done));
    }
};

class in_memory final : public any_store {
public:
    profile_store& profiles() override { return store_; }
    blob_store& blobs() override { return store_; }

private:
    timely_memory_store store_;
};

class in_sqlite final : public any_store {
public:
    profile_store& profiles() override { return *store_; }
    blob_store& blobs() override { return *store_; }

private:
    temporary_folder folder_;
    std::unique_ptr<sqlite_store> store_ =
        sqlite_store::open({.path = folder_ / "saves.db"}).value();
};

#ifdef SAVEGAMES_WITH_CLUSTER
class on_cluster final : public any_store {
public:
    profile_store& profiles() override { return *store_; }
    blob_store& blobs() override { return *store_; }

private:
    fairlead::redis::test::server redis_;
    std::unique_ptr<save_store> store_ =
        opened(on_servers(redis_, fairlead::postgres::test::server::shared()));
};
#endif

struct kind_of_store {
    const char* name;
    std::unique_ptr<any_store> (*make)();
};

template <class Store>
kind_of_store kind(const char* name) {
    return {name, [] -> std::unique_ptr<any_store> { return std::make_unique<Store>(); }};
}

class store_conformance : public testing::TestWithParam<kind_of_store> {
protected:
    // A key that no other test has: the servers keep saves from test to test.
    profile_key key(std::string_view player = "p") const {
        return key_of(player, "game" + std::to_string(number_));
    }

    static write_condition as(owner_token owner) {
        write_condition condition;
        condition.owner = owner;
        return condition;
    }
    static write_condition if_version(std::uint64_t version) {
        write_condition condition;
        condition.expected_version = version;
        return condition;
    }
    static write_condition until(time_point deadline) {
        write_condition condition;
        condition.deadline = deadline;
        return condition;
    }

    static inline int made = 0;
    const int number_ = made++;
    const fairlead::test::watchdog guard;
    const std::unique_ptr<any_store> store_ = GetParam().make();
    profile_store& profiles = store_->profiles();
    blob_store& blobs = store_->blobs();
    const owner_token alice{1};
    const owner_token bob{0xffff'ffff'ffff'ffff};
};

TEST_P(store_conformance, what_was_put_is_read_until_it_is_erased) {
    EXPECT_EQ(get(blobs, key()).error(), error::not_found);
    EXPECT_EQ(put(blobs, key(), packed("{\"a\":1}")), 1U);
    EXPECT_EQ(put(blobs, key(), packed("{\"a\":2}")), 2U);
    save read = get(blobs, key()).value();
    EXPECT_EQ(read.version, 2U);
    read.version = 0;
    EXPECT_EQ(read, packed("{\"a\":2}"));
    EXPECT_EQ(get(blobs, key("q")).error(), error::not_found);
    EXPECT_EQ(get(blobs, key_of("p", "other")).error(), error::not_found);
    EXPECT_TRUE(erase(blobs, key()).has_value());
    EXPECT_EQ(erase(blobs, key()).error(), error::not_found);
    EXPECT_EQ(get(blobs, key()).error(), error::not_found);
}

TEST_P(store_conformance, versions_are_never_used_twice) {
    EXPECT_EQ(put(blobs, key(), packed("1")), 1U);
    EXPECT_TRUE(erase(blobs, key()).has_value());
    EXPECT_EQ(put(blobs, key(), packed("2")), 3U);
    EXPECT_EQ(put(blobs, key(), packed("3"), if_version(1)).error(), error::conflict);
}

TEST_P(store_conformance, a_write_checks_the_version) {
    EXPECT_EQ(put(blobs, key(), packed("1"), if_version(1)).error(), error::conflict);
    EXPECT_EQ(put(blobs, key(), packed("1"), if_version(0)), 1U);
    EXPECT_EQ(put(blobs, key(), packed("2"), if_version(0)).error(), error::conflict);
    EXPECT_EQ(put(blobs, key(), packed("2"), if_version(1)), 2U);
    EXPECT_EQ(erase(blobs, key(), if_version(1)).error(), error::conflict);
    EXPECT_TRUE(erase(blobs, key(), if_version(2)).has_value());
    EXPECT_EQ(erase(blobs, key(), if_version(2)).error(), error::not_found);
    EXPECT_EQ(put(blobs, key(), packed("4"), if_version(3)).error(), error::conflict);
    EXPECT_EQ(put(blobs, key(), packed("4"), if_version(0)), 4U);
}

TEST_P(store_conformance, a_write_checks_the_lease) {
    EXPECT_EQ(put(blobs, key(), packed("1"), as(alice)).error(), error::lease_lost);
    EXPECT_TRUE(acquire(profiles, key(), alice).value().granted);
    EXPECT_EQ(put(blobs, key(), packed("1"), as(bob)).error(), error::lease_lost);
    EXPECT_EQ(put(blobs, key("q"), packed("1"), as(alice)).error(), error::lease_lost);
    EXPECT_EQ(put(blobs, key(), packed("1"), as(alice)), 1U);
    EXPECT_TRUE(release(profiles, key(), alice).has_value());
    EXPECT_EQ(put(blobs, key(), packed("2"), as(alice)).error(), error::lease_lost);
    EXPECT_TRUE(acquire(profiles, key(), bob).value().granted);
    EXPECT_EQ(erase(blobs, key(), as(alice)).error(), error::lease_lost);
    EXPECT_EQ(get(blobs, key()).value().version, 1U);
}

TEST_P(store_conformance, a_holder_writes_as_often_as_it_likes) {
    EXPECT_TRUE(acquire(profiles, key(), alice).value().granted);
    EXPECT_EQ(put(blobs, key(), packed("1"), as(alice)), 1U);
    EXPECT_EQ(put(blobs, key(), packed("2"), as(alice)), 2U);
    EXPECT_TRUE(erase(blobs, key(), as(alice)).has_value());
    EXPECT_EQ(erase(blobs, key(), as(alice)).error(), error::not_found);
    EXPECT_EQ(put(blobs, key(), packed("4"), as(alice)), 4U);
    EXPECT_TRUE(acquire(profiles, key(), alice).value().granted);
    EXPECT_EQ(put(blobs, key(), packed("5"), as(alice)), 5U);
}

TEST_P(store_conformance, a_lease_has_one_owner) {
    const lock_result first = acquire(profiles, key(), alice, 50s).value();
    EXPECT_TRUE(first.granted);
    EXPECT_GT(first.left, 0ms);
    EXPECT_LE(first.left, 50s);
    const lock_result refused = acquire(profiles, key(), bob, 1h).value();
    EXPECT_FALSE(refused.granted);
    EXPECT_GT(refused.left, 0ms);
    EXPECT_LE(refused.left, 50s);
    EXPECT_TRUE(acquire(profiles, key("q"), bob).value().granted);
    EXPECT_EQ(release(profiles, key(), bob).error(), error::lease_lost);
    EXPECT_FALSE(acquire(profiles, key(), bob).value().granted);  // alice has it still
    EXPECT_TRUE(acquire(profiles, key(), alice, 2h).value().granted);
    EXPECT_GT(acquire(profiles, key(), bob).value().left, 1h);  // it was extended
    EXPECT_TRUE(release(profiles, key(), alice).has_value());
    EXPECT_EQ(release(profiles, key(), alice).error(), error::lease_lost);
    EXPECT_TRUE(acquire(profiles, key(), bob).value().granted);
}

TEST_P(store_conformance, a_lease_ends_by_itself) {
    // Long enough to be had on a slow machine: it begins before the store is asked.
    EXPECT_TRUE(acquire(profiles, key(), alice, 500ms).value().granted);
    while (!acquire(profiles, key(), bob, 1h).value().granted) {
    }
    EXPECT_EQ(put(blobs, key(), packed("1"), as(alice)).error(), error::lease_lost);
    EXPECT_EQ(release(profiles, key(), alice).error(), error::lease_lost);
    EXPECT_FALSE(acquire(profiles, key(), alice).value().granted);
    EXPECT_EQ(put(blobs, key(), packed("1"), as(bob)), 1U);
}

TEST_P(store_conformance, what_is_overdue_does_not_begin) {
    EXPECT_EQ(put(blobs, key(), packed("1"), until(clock::now())).error(), error::deadline);
    EXPECT_EQ(put(blobs, key(), packed("1"), until(clock::now() + 1h)), 1U);
    EXPECT_EQ(erase(blobs, key(), until(clock::now())).error(), error::deadline);
    answer<save> late;
    blobs.get(key(), clock::now(), late.done());
    EXPECT_EQ(late.get().error(), error::deadline);
    EXPECT_EQ(get(blobs, key()).value().version, 1U);
}

TEST_P(store_conformance, a_save_is_any_bytes_of_megabytes_under_any_id) {
    const profile_key longest = key(std::string(64, '_'));
    save large = packed("1");
    large.data.resize(3'000'000);
    for (std::size_t i = 0; i < large.data.size(); ++i) {
        large.data[i] = static_cast<char>(i * i >> 8);
    }
    large.checksum = ~std::uint64_t{0};  // its top bit is set
    EXPECT_EQ(put(blobs, longest, large), 1U);
    large.version = 1;
    EXPECT_EQ(get(blobs, longest).value(), large);
    save empty;
    EXPECT_EQ(put(blobs, key("-._"), empty), 1U);
    empty.version = 1;
    EXPECT_EQ(get(blobs, key("-._")).value(), empty);
}

TEST_P(store_conformance, writers_without_owners_never_fail_each_other) {
    constexpr int writers = 8;
    for (int round = 0; round != 5; ++round) {
        const profile_key fresh = key("p" + std::to_string(round));
        std::vector<std::uint64_t> versions(writers);
        {
            std::vector<std::jthread> threads;
            for (std::uint64_t& version : versions) {
                threads.emplace_back([&] { version = put(blobs, fresh, packed("1")).value_or(0); });
            }
        }
        std::ranges::sort(versions);
        for (std::size_t i = 0; i != writers; ++i) EXPECT_EQ(versions[i], i + 1);
    }
}

// Each holder adds one to a number that it reads.
TEST_P(store_conformance, no_update_under_a_lease_is_lost) {
    constexpr int each = 10;
    ASSERT_EQ(put(blobs, key(), save{}), 1U);
    const auto add = [&](owner_token owner) {
        for (int done = 0; done != each;) {
            if (!acquire(profiles, key(), owner).value().granted) continue;
            save next = get(blobs, key()).value();
            ++next.size;
            write_condition condition = as(owner);
            condition.expected_version = next.version;
            EXPECT_TRUE(put(blobs, key(), next, condition).has_value());
            EXPECT_TRUE(release(profiles, key(), owner).has_value());
            ++done;
        }
    };
    {
        std::jthread first{add, alice};
        std::jthread second{add, bob};
    }
    EXPECT_EQ(get(blobs, key()).value().size, 2U * each);
}

// A store answers as the one in memory does, whatever it is asked.
TEST_P(store_conformance, drawn_operations_are_answered_as_in_memory) {
    int seed_number = 0;
    fairlead::test::for_each_seed(20, [&](std::mt19937_64& random) {
        memory_store reference;
        const std::string prefix = std::to_string(seed_number++) + "-";
        std::map<std::string, std::optional<owner_token>> holders;
        for (int step = 0; step != 25; ++step) {
            const std::string player = prefix + std::to_string(random() % 2);
            const profile_key at = key(player);
            const owner_token owner = random() % 2 == 0 ? alice : bob;
            write_condition condition;
            // A write without an owner may cost the holder its lock.
            if (holders[player] || random() % 2 == 0) condition.owner = owner;
            if (random() % 2 == 0) condition.expected_version = random() % 4;
            const save value = packed(std::to_string(random() % 100));
            switch (random() % 6) {
                case 0: {
                    const auto mine = acquire(profiles, at, owner);
                    const auto same = acquire(reference, at, owner);
                    ASSERT_EQ(mine.value().granted, same.value().granted);
                    if (mine->granted) holders[player] = owner;
                    break;
                }
                case 1: {
                    const auto mine = release(profiles, at, owner);
                    ASSERT_EQ(mine, release(reference, at, owner));
                    if (mine) holders[player].reset();
                    break;
                }
                case 2:
                    ASSERT_EQ(get(blobs, at), get(reference, at));
                    break;
                case 3:
                    ASSERT_EQ(erase(blobs, at, condition), erase(reference, at, condition));
                    break;
                default:
                    ASSERT_EQ(put(blobs, at, value, condition),
                              put(reference, at, value, condition));
            }
        }
        for (const auto& [player, owner] : holders) {
            const bool is_free = !owner || release(profiles, key(player), *owner).has_value();
            EXPECT_TRUE(is_free);
        }
    });
}

std::vector<kind_of_store> all_stores() {
    std::vector<kind_of_store> all{kind<in_memory>("memory"), kind<in_sqlite>("sqlite")};
#ifdef SAVEGAMES_WITH_CLUSTER
    all.push_back(kind<on_cluster>("cluster"));
#endif
    return all;
}

INSTANTIATE_TEST_SUITE_P(stores, store_conformance, testing::ValuesIn(all_stores()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace savegames::store_conformance_tests
