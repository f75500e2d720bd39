// Connections of their own: transactions, commands that wait, and scripts.
#include "redis/fixture.hpp"
#include "redis/server.hpp"

#include <fairlead/redis/pool.hpp>
#include <fairlead/redis/script.hpp>

namespace fairlead::redis::pool_tests {
namespace {

using namespace test;

class RedisPool : public with_scheduler {
protected:
    server redis;
    const connector connect = connect_unix(redis.path());
    client other{home, connect};
};

task<> change_under_watch(pool& of, client& other) {
    auto first = co_await of.begin();
    EXPECT_TRUE((co_await first->watch("stock")).has_value());
    EXPECT_TRUE((co_await other.set("stock", "5")).value_or(false));
    std::vector<command> change{{"DECR", "stock"}};
    const auto aborted = co_await first->exec(change);
    EXPECT_EQ(aborted.error().code(), errc::aborted);
    EXPECT_EQ((co_await other.get("stock")).value_or(std::nullopt), "5");
    // The same transaction once again, undisturbed.
    EXPECT_TRUE((co_await first->watch("stock")).has_value());
    EXPECT_EQ((co_await first->get("stock")).value_or(std::nullopt), "5");
    change.push_back({"LPUSH", "stock", "x"});
    change.push_back({"INCR", "sold"});
    const auto done = co_await first->exec(change);
    EXPECT_TRUE(done.has_value());
    EXPECT_EQ(done->size(), 3U);
    EXPECT_EQ((*done)[0].integer(), 4);
    EXPECT_TRUE((*done)[1].is_error());
    EXPECT_EQ((*done)[2].integer(), 1);
}

TEST_F(RedisPool, ATransactionIsAbortedByAChangeOfAWatchedKey) {
    pool under{home, connect, {}, 2};
    run(change_under_watch(under, other));
    EXPECT_EQ(under.connections(), 1U);  // it came back clean
}

TEST_F(RedisPool, ACommandThatIsRefusedAbortsTheTransaction) {
    pool under{home, connect, {}, 1};
    auto own = run(under.begin());
    std::vector<command> wrong{{"SET", "a", "1"}, {"GET"}};
    EXPECT_EQ(run(own->exec(wrong)).error().code(), errc::exec_abort);
    EXPECT_EQ(run(other.get("a")).value_or("x"), std::nullopt);
    std::vector<command> nested{{"MULTI"}};
    EXPECT_EQ(run(own->exec(nested)).error().code(), errc::not_shared);
    std::vector<command> right{{"SET", "a", "1"}};
    EXPECT_TRUE(run(own->exec(right)).has_value());
}

TEST_F(RedisPool, AConnectionThatWasChangedIsNotLentAgain) {
    pool under{home, connect, {}, 1};
    for (const bool changes : {false, true}) {
        std::int64_t first = 0;
        {
            auto own = run(under.acquire());
            first = run(own->send({"CLIENT", "ID"}))->integer();
            EXPECT_TRUE(!changes || run(own->send({"SELECT", 3})).has_value());
        }
        EXPECT_EQ(under.connections(), changes ? 0U : 1U);
        auto own = run(under.acquire());
        EXPECT_EQ(run(own->send({"CLIENT", "ID"}))->integer() == first, !changes);
    }
}

// EXEC ends what WATCH has begun, and nothing else.
TEST_F(RedisPool, AConnectionThatATransactionHasChangedIsNotLentAgain) {
    pool under{home, connect, {}, 1};
    {
        auto own = run(under.begin());
        EXPECT_TRUE(run(own->send({"SELECT", 3})).has_value());
        std::vector<command> all{{"SET", "a", "1"}};
        EXPECT_TRUE(run(own->exec(std::move(all))).has_value());
    }
    EXPECT_EQ(under.connections(), 0U);
}

TEST_F(RedisPool, AConnectionThatWatchesStillIsNotLentAgain) {
    command user{"ACL", "SETUSER", "alone", "on", ">x", "~*", "+@all", "-multi"};
    ASSERT_TRUE(run(other.send(std::move(user))).has_value());
    {
        pool under{home, connect, {.user = "alone", .password = "x"}, 1};
        {
            auto own = run(under.begin());
            EXPECT_TRUE(run(own->watch("a")).has_value());
            std::vector<command> all{{"GET", "a"}};
            EXPECT_EQ(run(own->exec(std::move(all))).error().code(), errc::server);
        }
        EXPECT_EQ(under.connections(), 0U);
    }
    EXPECT_TRUE(run(other.send({"ACL", "DELUSER", "alone"})).has_value());
}

task<> wait_for_job(pool& of, client& other) {
    const executor where = co_await current_executor();
    auto own = co_await of.acquire();
    command take{"BLPOP", "jobs", 0};
    auto taking = spawn(where, own->send_waiting(std::move(take), 1h));
    for (;;) {
        const auto clients = co_await other.send({"CLIENT", "LIST"});
        if (clients && clients->text().find("cmd=blpop") != std::string_view::npos) break;
    }
    EXPECT_TRUE((co_await other.send({"RPUSH", "jobs", "one"})).has_value());
    const auto job = co_await taking;
    EXPECT_TRUE(job && job->items().size() == 2 && job->items()[1].text() == "one");
}

TEST_F(RedisPool, ACommandMayWaitForLongerThanAStall) {
    pool under{home, connect, {.stall = 1s}, 1};
    run(wait_for_job(under, other));
    EXPECT_EQ(under.connections(), 1U);
}

TEST_F(RedisPool, AWaitThatWasGivenUpClosesItsConnection) {
    pool under{home, connect, {}, 1};
    {
        auto own = run(under.acquire());
        EXPECT_TRUE(run(own->send({"PING"})).has_value());
        const auto late = run(own->send_waiting({"BLPOP", "jobs", 0}, 1h, in(5ms)));
        EXPECT_EQ(late.error().code(), std::errc::timed_out);
    }
    EXPECT_EQ(under.connections(), 0U);
    auto own = run(under.acquire());
    EXPECT_TRUE(run(own->send({"PING"})).has_value());
}

TEST_F(RedisPool, WhatWasBegunOnALostConnectionDoesNotGoOnOnTheNext) {
    pool under{home, connect, {.reconnect_min = 1ms, .reconnect_max = 1ms}, 1};
    auto own = run(under.begin());
    EXPECT_TRUE(run(own->watch("k")).has_value());
    EXPECT_TRUE(run(other.send({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"})).has_value());
    std::vector<command> change{{"SET", "k", "x"}};
    const auto lost = run(own->exec(change));
    EXPECT_EQ(lost.error().code(), errc::connection_lost);
    EXPECT_EQ(run(own->exec(change)).error().code(), errc::connection_lost);
    EXPECT_EQ(run(other.get("k")).value_or("y"), std::nullopt);
}

task<> take_note(pool& of, std::vector<int>& order, int number) {
    auto own = co_await of.acquire();
    EXPECT_TRUE(own.has_value());
    order.push_back(number);
}

task<> wait_in_line(pool& of, std::vector<int>& order) {
    const executor where = co_await current_executor();
    auto held = co_await of.acquire();
    scope all{where};
    for (int i = 0; i != 5; ++i) {
        all.spawn(take_note(of, order, i));
        while (of.waiting() != static_cast<std::size_t>(i) + 1) co_await yield();
    }
    const auto late = co_await of.acquire(in(1ms));
    EXPECT_EQ(late.error().code(), std::errc::timed_out);
    { const pooled gone = std::move(*held); }
    co_await all.join();
}

TEST_F(RedisPool, WaitersAreServedInOrder) {
    pool under{home, connect, {}, 1};
    std::vector<int> order;
    run(wait_in_line(under, order));
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
    under.close();
    EXPECT_EQ(run(under.acquire()).error().code(), errc::closed);
    EXPECT_EQ(under.connections(), 0U);
}

TEST_F(RedisPool, ScriptsAreTaughtOnce) {
    EXPECT_EQ(script{""}.sha(), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_EQ(script{"abc"}.sha(), "a9993e364706816aba3e25717850c26c9cd0d89d");
    for (const std::size_t size : {54, 55, 56, 63, 64, 65, 119, 120, 1000}) {
        const script sum{"return " + std::string(size - 10, ' ') + "KEYS[1]..ARGV[1]"};
        EXPECT_EQ(run(other.send({"SCRIPT", "LOAD", sum.text()}))->text(), sum.sha());
    }
    EXPECT_TRUE(run(other.send({"SCRIPT", "FLUSH"})).has_value());
    const script joins{"return KEYS[1]..ARGV[1]"};
    const std::uint64_t before = other.stats().sent;
    EXPECT_EQ(run(other.eval(joins, {"a"}, {"b"}))->text(), "ab");
    EXPECT_EQ(run(other.eval(joins, {"c"}, {"d"}))->text(), "cd");
    EXPECT_EQ(other.stats().sent - before, 3U);
}

}  // namespace
}  // namespace fairlead::redis::pool_tests
