#include "savegames/lease_table.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "savegames/tests/support.hpp"

namespace savegames::lease_table_tests {
namespace {

using namespace std::chrono_literals;

constexpr owner_token alice{1};
constexpr owner_token bob{2};
const time_point start{1000h};

TEST(lease_table, one_owner_at_a_time) {
    lease_table leases;
    const profile_key key = key_of("p");
    EXPECT_TRUE(leases.acquire(key, alice, 10s, start).granted);
    const lock_result refused = leases.acquire(key, bob, 10s, start + 4s);
    EXPECT_FALSE(refused.granted);
    EXPECT_EQ(refused.left, 6s);
    EXPECT_TRUE(leases.acquire(key_of("q"), bob, 10s, start).granted);
    EXPECT_TRUE(leases.acquire(key_of("p", "go"), bob, 10s, start).granted);
    EXPECT_TRUE(leases.release(key, alice, start + 5s));
    EXPECT_TRUE(leases.acquire(key, bob, 10s, start + 5s).granted);
}

TEST(lease_table, expired_lease_is_taken_over) {
    lease_table leases;
    const profile_key key = key_of("p");
    EXPECT_TRUE(leases.acquire(key, alice, 10s, start).granted);
    EXPECT_FALSE(leases.acquire(key, bob, 10s, start + 10s - 1ns).granted);
    EXPECT_FALSE(leases.holds(key, alice, start + 10s));
    EXPECT_TRUE(leases.acquire(key, bob, 10s, start + 10s).granted);
    // The late unlock of the first owner does not free the lock of the second.
    EXPECT_FALSE(leases.release(key, alice, start + 11s));
    EXPECT_TRUE(leases.holds(key, bob, start + 11s));
}

TEST(lease_table, a_retry_after_what_is_left_succeeds) {
    lease_table leases;
    const profile_key key = key_of("p");
    EXPECT_TRUE(leases.acquire(key, alice, 10ms, start).granted);
    const time_point now = start + 1us;
    const lock_result refused = leases.acquire(key, bob, 10ms, now);
    EXPECT_TRUE(leases.acquire(key, bob, 10ms, now + refused.left).granted);
}

TEST(lease_table, owner_extends_its_lease) {
    lease_table leases;
    const profile_key key = key_of("p");
    EXPECT_TRUE(leases.acquire(key, alice, 10s, start).granted);
    EXPECT_TRUE(leases.acquire(key, alice, 10s, start + 8s).granted);
    EXPECT_TRUE(leases.holds(key, alice, start + 17s));
}

TEST(lease_table, release_of_an_expired_lease_says_so) {
    lease_table leases;
    const profile_key key = key_of("p");
    EXPECT_FALSE(leases.release(key, alice, start));
    EXPECT_TRUE(leases.acquire(key, alice, 10s, start).granted);
    EXPECT_FALSE(leases.release(key, alice, start + 10s));
    EXPECT_EQ(leases.size(), 0U);
}

TEST(lease_table, leases_of_the_dead_are_swept_out) {
    lease_table leases;
    for (int i = 0; i < 10'000; ++i) {
        const time_point now = start + i * 10ms;
        EXPECT_TRUE(leases.acquire(key_of(std::to_string(i)), alice, 1s, now).granted);
        EXPECT_LT(leases.size(), 1000U);
    }
}

}  // namespace
}  // namespace savegames::lease_table_tests
