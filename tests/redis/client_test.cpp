// A client against a real server, which is killed, stopped, and started again.
#include "redis/fixture.hpp"
#include "redis/server.hpp"

#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/wait/event.hpp>

#include <random>

namespace fairlead::redis::client_tests {
namespace {

using namespace test;

class RedisClient : public with_scheduler {
protected:
    server redis;
};

task<bool> is_whole(client& of, int number) {
    command echo{"ECHO", number};
    const auto reply = co_await of.send(std::move(echo), in(20s));
    const bool is_right = reply && reply->text() == std::to_string(number);
    co_return is_right;
}

task<> use_typed_commands(client& under) {
    const auto missing = co_await under.get("k");
    EXPECT_TRUE(missing && !*missing);
    EXPECT_TRUE((co_await under.set("k", "one")).value_or(false));
    EXPECT_EQ((co_await under.get("k")).value_or(std::nullopt), "one");
    const set_options absent{.when = set_when::absent};
    EXPECT_FALSE((co_await under.set("k", "two", absent)).value_or(true));
    const set_options present{.when = set_when::present, .expires = 60s};
    EXPECT_TRUE((co_await under.set("k", "three", present)).value_or(false));
    auto left = co_await under.send({"PTTL", "k"});
    EXPECT_TRUE(left && left->integer() > 50'000 && left->integer() <= 60'000);
    const set_options kept{.keep_expiry = true};
    EXPECT_TRUE((co_await under.set("k", "four", kept)).value_or(false));
    left = co_await under.send({"PTTL", "k"});
    EXPECT_TRUE(left && left->integer() > 50'000);
    EXPECT_FALSE((co_await under.compare_and_delete("k", "other")).value_or(true));
    EXPECT_TRUE((co_await under.compare_and_expire("k", "four", 90s)).value_or(false));
    left = co_await under.send({"PTTL", "k"});
    EXPECT_TRUE(left && left->integer() > 80'000);
    EXPECT_FALSE((co_await under.compare_and_expire("k", "other", 1s)).value_or(true));
    EXPECT_TRUE((co_await under.compare_and_delete("k", "four")).value_or(false));
    EXPECT_FALSE((co_await under.del("k")).value_or(true));
    EXPECT_EQ((co_await under.incr("n")).value_or(0), 1);
    EXPECT_EQ((co_await under.incr("n", -5)).value_or(0), -4);
    EXPECT_TRUE((co_await under.expire("n", 1h)).value_or(false));
    EXPECT_FALSE((co_await under.expire("none", 1h)).value_or(true));
    EXPECT_TRUE((co_await under.del("n")).value_or(false));
}

TEST_F(RedisClient, TypedCommandsByTcpAndUnixSocketAndInBothProtocols) {
    for (const bool resp3 : {true, false}) {
        for (const bool by_tcp : {true, false}) {
            client under{home,
                         by_tcp ? connect_tcp(redis.address()) : connect_unix(redis.path()),
                         {.resp3 = resp3}};
            run(use_typed_commands(under));
            EXPECT_TRUE(run(under.close()));
            EXPECT_EQ(under.stats().connects, 1U);
        }
    }
}

TEST_F(RedisClient, Resp3TypesComeAsTheyAre) {
    client under{home, connect_unix(redis.path())};
    const auto ask = [&](const char* type) { return run(under.send({"DEBUG", "PROTOCOL", type})); };
    EXPECT_EQ(ask("map")->type(), kind::map);
    EXPECT_EQ(ask("set")->type(), kind::set);
    EXPECT_EQ(ask("double")->real(), 3.141);
    EXPECT_EQ(ask("bignum")->type(), kind::big_number);
    EXPECT_EQ(ask("verbatim")->format(), "txt");
    EXPECT_EQ(ask("true")->type(), kind::boolean);
    EXPECT_TRUE(ask("null")->is_null());
    EXPECT_EQ(ask("attrib")->attributes().size(), 2U);
    static_cast<void>(ask("push"));  // a message that nothing has asked for, and a reply
    EXPECT_TRUE(run(is_whole(under, 7)));
    EXPECT_EQ(under.stats().pushes_dropped, 1U);
    run(under.close());
}

TEST_F(RedisClient, ErrorsOfTheServerAreCodes) {
    client under{home, connect_unix(redis.path())};
    EXPECT_EQ(run(under.send({"NOSUCH"})).error().code(), errc::server);
    EXPECT_TRUE(run(under.set("text", "x")).has_value());
    EXPECT_EQ(run(under.send({"LPUSH", "text", "y"})).error().code(), errc::wrong_type);
    EXPECT_EQ(run(under.send({"EVALSHA", std::string(40, '0'), 0})).error().code(),
              errc::no_script);
    EXPECT_TRUE(run(under.send({"REPLICAOF", "127.0.0.1", 1})).has_value());
    const auto refused = run(under.set("text", "y"));
    EXPECT_EQ(refused.error().code(), errc::read_only);
    EXPECT_TRUE(refused.error().message().starts_with("READONLY "));
    EXPECT_TRUE(run(under.send({"REPLICAOF", "NO", "ONE"})).has_value());
    run(under.close());
}

TEST_F(RedisClient, CommandsForAConnectionOfTheirOwnAreRefused) {
    client under{home, connect_unix(redis.path())};
    const auto refused = run(under.send({"SUBSCRIBE", "x"}));
    EXPECT_EQ(refused.error().code(), errc::not_shared);
    EXPECT_FALSE(refused.error().was_sent());
    std::vector<command> all{{"GET", "x"}, {"MULTI"}};
    EXPECT_EQ(run(under.send_all(std::move(all))).error().code(), errc::not_shared);
    EXPECT_EQ(under.stats().sent, 0U);
    run(under.close());
}

TEST_F(RedisClient, CommandsOfOneCallStayTogether) {
    client under{home, connect_unix(redis.path())};
    std::vector<command> all{{"SET", "a", "1"}, {"LPUSH", "a", "x"}, {"INCR", "a"}};
    const auto replies = run(under.send_all(std::move(all)));
    ASSERT_TRUE(replies.has_value());
    ASSERT_EQ(replies->size(), 3U);
    EXPECT_EQ((*replies)[0].text(), "OK");
    EXPECT_TRUE((*replies)[1].is_error());
    EXPECT_EQ((*replies)[2].integer(), 2);
    EXPECT_TRUE(run(under.send_all({})).has_value());
    run(under.close());
}

task<> echo_often(client& of, int first, int count) {
    for (int i = first; i != first + count; ++i) EXPECT_TRUE(co_await is_whole(of, i));
}

task<> echo_in_many_tasks(client& of, int tasks) {
    const executor where = co_await current_executor();
    scope all{where};
    for (int i = 0; i != tasks; ++i) all.spawn(echo_often(of, i * 1000, 200));
    co_await all.join();
}

TEST_F(RedisClient, EachOfManyTasksGetsItsOwnReplies) {
    client under{home, connect_unix(redis.path())};
    run(echo_in_many_tasks(under, 64));
    const client_stats stats = under.stats();
    EXPECT_EQ(stats.sent, 64U * 200U);
    EXPECT_EQ(stats.in_flight, 0U);
    EXPECT_EQ(stats.connects, 1U);
    run(under.close());
}

TEST_F(RedisClient, LargeStringsAndManyItemsPass) {
    client under{home, connect_unix(redis.path()), {.limits = {.bulk_max = 3UL << 20}}};
    const std::string large(3UL << 20, 'x');
    EXPECT_TRUE(run(under.set("large", large)).value_or(false));
    EXPECT_EQ(run(under.get("large")).value_or(std::nullopt), large);
    // One byte more is too large, and the connection cannot go on.
    EXPECT_TRUE(run(under.send({"APPEND", "large", "x"})).has_value());
    const auto beyond = run(under.get("large"));
    EXPECT_EQ(beyond.error().code(), errc::connection_lost);
    EXPECT_TRUE(beyond.error().was_sent());
    EXPECT_EQ(under.stats().last_failure, errc::too_large);
    EXPECT_TRUE(run(is_whole(under, 1)));
    run(under.close());
}

// --- deadlines and stops -------------------------------------------------------------------------

task<int> race_deadlines(client& of, int first, int count) {
    std::mt19937 draw{static_cast<unsigned>(first)};
    int late = 0;
    for (int i = first; i != first + count; ++i) {
        command echo{"ECHO", i};
        const auto limit = std::chrono::microseconds{draw() % 150};
        const auto reply = co_await of.send(std::move(echo), in(limit));
        if (reply) {
            EXPECT_EQ(reply->text(), std::to_string(i));
        } else {
            EXPECT_EQ(reply.error().code(), std::errc::timed_out);
            ++late;
        }
    }
    co_return late;
}

task<int> race_in_many_tasks(client& of) {
    auto [a, b, c, d] =
        co_await when_all(race_deadlines(of, 0, 5000), race_deadlines(of, 10'000, 5000),
                          race_deadlines(of, 20'000, 5000), race_deadlines(of, 30'000, 5000));
    co_return a + b + c + d;
}

TEST_F(RedisClient, DeadlinesThatRaceWithRepliesLeaveTheConnectionWhole) {
    client under{home, connect_unix(redis.path())};
    EXPECT_TRUE(run(is_whole(under, 1)));
    const int late = run(race_in_many_tasks(under));
    EXPECT_TRUE(run(is_whole(under, 2)));
    const client_stats stats = under.stats();
    EXPECT_EQ(stats.connects, 1U);
    EXPECT_EQ(stats.given_up, static_cast<std::uint64_t>(late));
    EXPECT_GT(late, 0);
    EXPECT_EQ(stats.in_flight, 0U);
    run(under.close());
}

task<> ask_until_stopped(client& of, int number) {
    for (;;) {
        command echo{"ECHO", number};
        const auto reply = co_await of.send(std::move(echo));
        if (!reply) {
            EXPECT_EQ(reply.error().code(), std::errc::operation_canceled);
            co_return;
        }
        EXPECT_EQ(reply->text(), std::to_string(number));
    }
}

task<> stop_often(client& of) {
    const executor where = co_await current_executor();
    std::mt19937 draw{5};
    for (int i = 0; i != 3000; ++i) {
        auto asking = spawn(where, ask_until_stopped(of, i));
        for (unsigned turns = draw() % 4; turns != 0; --turns) {
            EXPECT_TRUE(co_await is_whole(of, i));
        }
        asking.request_stop();
        co_await asking;
    }
}

TEST_F(RedisClient, StopsThatRaceWithRepliesLeaveTheConnectionWhole) {
    client under{home, connect_unix(redis.path())};
    run(stop_often(under));
    EXPECT_TRUE(run(is_whole(under, 1)));
    EXPECT_EQ(under.stats().connects, 1U);
    run(under.close());
}

task<result<value>> send_within(client& of, duration limit) {
    auto inside = co_await with_deadline(limit, of.send({"ECHO", "x"}));
    EXPECT_TRUE(inside.has_value());
    co_return std::move(*inside);
}

TEST_F(RedisClient, TheDeadlineOfTheContextEndsACall) {
    client under{home, connect_unix(redis.path())};
    EXPECT_TRUE(run(is_whole(under, 1)));
    redis.pause();
    const auto late = run(send_within(under, 10ms));
    EXPECT_EQ(late.error().code(), std::errc::stream_timeout);
    EXPECT_TRUE(late.error().was_sent());
    redis.resume();
    EXPECT_TRUE(run(is_whole(under, 2)));
    EXPECT_EQ(under.stats().connects, 1U);
    run(under.close());
}

// --- losses --------------------------------------------------------------------------------------

task<> lose_in_flight(client& of, server& redis) {
    const executor where = co_await current_executor();
    auto asking = spawn(where, of.send({"INCR", "n"}));
    while (of.stats().in_flight == 0) co_await yield();
    redis.kill();
    const auto lost = co_await asking;
    EXPECT_FALSE(lost.has_value());
    EXPECT_EQ(lost.error().code(), errc::connection_lost);
    EXPECT_TRUE(lost.error().was_sent());
}

TEST_F(RedisClient, ServerThatIsKilledLosesWhatWasSentAndComesBack) {
    client under{home, connect_tcp(redis.address()), {.reconnect_min = 1ms, .reconnect_max = 5ms}};
    EXPECT_TRUE(run(is_whole(under, 1)));
    redis.pause();
    run(lose_in_flight(under, redis));
    // Without a connection a command waits, and is not sent.
    const auto late = run(under.send({"ECHO", "x"}, in(5ms)));
    EXPECT_EQ(late.error().code(), std::errc::timed_out);
    EXPECT_FALSE(late.error().was_sent());
    redis.start();
    EXPECT_TRUE(run(is_whole(under, 2)));
    EXPECT_EQ(under.stats().connects, 2U);
    run(under.close());
}

TEST_F(RedisClient, ServerThatStallsLosesTheConnection) {
    client under{home, connect_unix(redis.path()), {.stall = 100ms}};
    EXPECT_TRUE(run(is_whole(under, 1)));
    redis.pause();
    const auto lost = run(under.send({"ECHO", "x"}));
    EXPECT_EQ(lost.error().code(), errc::connection_lost);
    EXPECT_TRUE(lost.error().was_sent());
    EXPECT_EQ(under.stats().last_failure, errc::stalled);
    redis.resume();
    EXPECT_TRUE(run(is_whole(under, 2)));
    EXPECT_EQ(under.stats().connects, 2U);
    run(under.close());
}

TEST_F(RedisClient, AnIdleConnectionIsTriedByAPing) {
    client under{home,
                 connect_unix(redis.path()),
                 {.connect_limit = 50ms, .stall = 50ms, .ping_after = 20ms}};
    EXPECT_TRUE(run(is_whole(under, 1)));
    redis.pause();
    // Nothing is sent by a user: only a ping can notice.
    while (under.stats().last_failure != errc::stalled) run([]() -> task<> { co_await yield(); }());
    redis.resume();
    EXPECT_TRUE(run(is_whole(under, 2)));
    run(under.close());
}

TEST_F(RedisClient, WithoutAServerCommandsFailAfterAWhileUnsent) {
    redis.kill();
    client under{home,
                 connect_tcp(redis.address()),
                 {.reconnect_min = 1ms, .reconnect_max = 5ms, .offline_max = 50ms}};
    const auto refused = run(under.send({"PING"}));
    EXPECT_EQ(refused.error().code(), std::errc::connection_refused);
    EXPECT_FALSE(refused.error().was_sent());
    EXPECT_EQ(run(under.send({"PING"})).error().code(), std::errc::connection_refused);
    redis.start();
    while (under.stats().connects == 0) run([]() -> task<> { co_await yield(); }());
    EXPECT_TRUE(run(is_whole(under, 1)));
    run(under.close());
}

task<connected> connect_cut(const connector& by, std::size_t bytes, time_point deadline) {
    auto made = co_await by(deadline);
    if (!made) co_return std::unexpected{made.error()};
    co_return any_stream{cut_stream{std::move(*made), bytes}};
}

TEST_F(RedisClient, ReplyThatIsCutAtEachByteIsALoss) {
    constexpr std::string_view reply = "$10\r\n0123456789\r\n";
    client direct{home, connect_unix(redis.path())};
    EXPECT_TRUE(run(direct.set("k", "0123456789")).value_or(false));
    for (std::size_t k = 0; k <= reply.size(); ++k) {
        // Without RESP3 the first command is PING, with an answer of 7 bytes.
        std::atomic<int> connects{0};
        const connector plain = connect_unix(redis.path());
        const connector cut = [&, k](time_point deadline) {
            return connect_cut(plain, connects++ == 0 ? 7 + k : SIZE_MAX, deadline);
        };
        client through{home, cut, {.resp3 = false, .reconnect_min = 1ms}};
        const auto first = run(through.get("k"));
        if (k == reply.size()) {
            EXPECT_EQ(first.value_or(std::nullopt), "0123456789");
        } else {
            ASSERT_FALSE(first.has_value()) << k;
            EXPECT_EQ(first.error().code(), errc::connection_lost) << k;
        }
        auto second = run(through.get("k"));
        if (k == reply.size()) {
            ASSERT_FALSE(second.has_value());
            EXPECT_EQ(second.error().code(), errc::connection_lost);
            second = run(through.get("k"));
        }
        EXPECT_EQ(second.value_or(std::nullopt), "0123456789") << k;
        EXPECT_EQ(through.stats().connects, 2U) << k;
        run(through.close());
    }
    run(direct.close());
}

// --- limits and ends -----------------------------------------------------------------------------

task<> fill_queue(client& of, server& redis) {
    const executor where = co_await current_executor();
    std::vector<join_handle<result<value>>> asking;
    for (int i = 0; i != 10; ++i) asking.push_back(spawn(where, of.send({"ECHO", i})));
    while (of.stats().in_flight != 10) co_await yield();  // what was sent counts, too
    const auto beyond = co_await of.send({"ECHO", "x"});
    EXPECT_EQ(beyond.error().code(), errc::queue_full);
    EXPECT_FALSE(beyond.error().was_sent());
    redis.resume();
    for (int i = 0; i != 10; ++i) {
        const auto reply = co_await asking[static_cast<std::size_t>(i)];
        EXPECT_EQ(reply.has_value() ? reply->text() : "", std::to_string(i));
    }
}

TEST_F(RedisClient, TheQueueIsBounded) {
    client under{home, connect_unix(redis.path()), {.queue_max = 10}};
    EXPECT_TRUE(run(is_whole(under, 1)));
    redis.pause();
    run(fill_queue(under, redis));
    run(under.close());
}

task<> close_while_asked(client& of, server& redis, bool in_time) {
    const executor where = co_await current_executor();
    auto asking = spawn(where, of.send({"ECHO", "x"}));
    while (of.stats().in_flight == 0) co_await yield();
    auto closing = spawn(where, of.close(in_time ? never : in(5ms)));
    if (in_time) {
        for (;;) {
            const auto refused = co_await of.send({"ECHO", "y"}, immediately);
            if (refused.error().code() == errc::closed) break;
            co_await yield();
        }
        redis.resume();
    }
    const auto reply = co_await asking;
    EXPECT_EQ(reply.has_value(), in_time);
    if (!in_time) {
        EXPECT_EQ(reply.error().code(), errc::closed);
        EXPECT_TRUE(reply.error().was_sent());
    }
    EXPECT_EQ(co_await closing, in_time);
}

TEST_F(RedisClient, CloseWaitsForWhatWasAsked) {
    client under{home, connect_unix(redis.path())};
    EXPECT_TRUE(run(is_whole(under, 1)));
    redis.pause();
    run(close_while_asked(under, redis, true));
}

TEST_F(RedisClient, CloseFailsWhatIsLate) {
    client under{home, connect_unix(redis.path())};
    EXPECT_TRUE(run(is_whole(under, 1)));
    redis.pause();
    run(close_while_asked(under, redis, false));
    redis.resume();
}

// --- authentication ------------------------------------------------------------------------------

TEST_F(with_scheduler, PasswordsUsersDatabasesAndNames) {
    server redis{{"--requirepass", "right"}};
    for (const bool resp3 : {true, false}) {
        client wrong{home, connect_unix(redis.path()), {.password = "wrong", .resp3 = resp3}};
        const auto refused = run(wrong.send({"PING"}));
        EXPECT_EQ(refused.error().code(), errc::wrong_pass);
        EXPECT_FALSE(refused.error().was_sent());
        EXPECT_EQ(run(wrong.send({"PING"})).error().code(), errc::wrong_pass);
        run(wrong.close());

        client none{home, connect_unix(redis.path()), {.resp3 = resp3}};
        EXPECT_EQ(run(none.send({"PING"})).error().code(), errc::no_auth);
        run(none.close());

        client right{home,
                     connect_unix(redis.path()),
                     {.password = "right", .name = "tester", .database = 3, .resp3 = resp3}};
        const auto info = run(right.send({"CLIENT", "INFO"}));
        ASSERT_TRUE(info.has_value());
        EXPECT_NE(info->text().find("name=tester"), std::string_view::npos);
        EXPECT_NE(info->text().find("db=3"), std::string_view::npos);
        EXPECT_NE(info->text().find(resp3 ? "resp=3" : "resp=2"), std::string_view::npos);
        EXPECT_TRUE(run(right.send({"ACL", "SETUSER", "bob", "on", ">pw", "+@all", "~*"})));
        run(right.close());

        client bob{
            home, connect_unix(redis.path()), {.user = "bob", .password = "pw", .resp3 = resp3}};
        EXPECT_EQ(run(bob.send({"ACL", "WHOAMI"}))->text(), "bob");
        run(bob.close());
    }
    client lost{home, connect_unix(redis.path()), {.password = "right", .database = 99}};
    EXPECT_EQ(run(lost.send({"PING"})).error().code(), errc::server);
    run(lost.close());
}

// --- servers that say what they like -------------------------------------------------------------

TEST_F(with_scheduler, ServerWithoutHelloGetsResp2) {
    std::atomic<int> hellos{0};
    scripted_server old{home, [&](const std::vector<std::string>& words) -> std::string {
                            if (words[0] == "HELLO") ++hellos;
                            if (words[0] == "HELLO") return "-ERR unknown command `HELLO`\r\n";
                            if (words[0] == "PING") return "+PONG\r\n";
                            if (words[0] == "GET") return "$-1\r\n";
                            return "+OK\r\n";
                        }};
    client under{home, connect_tcp(old.address()), {.password = "p", .name = "n", .database = 1}};
    const auto got = run(under.get("k"));
    EXPECT_TRUE(got && !*got);
    EXPECT_EQ(hellos, 1);
    run(under.close());
}

TEST_F(with_scheduler, RefusalsOfANodeAreTold) {
    scripted_server node{home, [](const std::vector<std::string>& words) -> std::string {
                             if (words[0] == "GET") return "-MOVED 3999 127.0.0.1:6381\r\n";
                             if (words[0] == "SET")
                                 return "-LOADING Redis is loading the dataset in memory\r\n";
                             if (words[0] == "DEL") return "-ASK 3999 127.0.0.1:6381\r\n";
                             if (words[0] == "HELLO") return "%1\r\n+proto\r\n:3\r\n";
                             return "+OK\r\n";
                         }};
    client under{home, connect_tcp(node.address())};
    const auto moved = run(under.get("k"));
    EXPECT_EQ(moved.error().code(), errc::moved);
    EXPECT_EQ(moved.error().message(), "MOVED 3999 127.0.0.1:6381");
    EXPECT_EQ(run(under.set("k", "v")).error().code(), errc::loading);
    EXPECT_EQ(run(under.del("k")).error().code(), errc::ask);
    EXPECT_EQ(run(under.incr("k")).error().code(), errc::wrong_type_of_reply);
    EXPECT_EQ(under.stats().connects, 1U);
    run(under.close());
}

TEST_F(with_scheduler, BytesThatAreNoReplyLoseTheConnection) {
    for (const std::string answer : {"?\r\n", ":1\r\n:2\r\n"}) {
        scripted_server mad{home, [&](const std::vector<std::string>& words) -> std::string {
                                return words[0] == "GET" ? answer : "+OK\r\n";
                            }};
        client under{home, connect_tcp(mad.address()), {.reconnect_min = 1ms}};
        static_cast<void>(run(under.get("k")));
        while (under.stats().connects < 2) run([]() -> task<> { co_await yield(); }());
        EXPECT_EQ(under.stats().last_failure, errc::protocol);
        run(under.close());
    }
}

// It greets each client, and closes the connection at the next command.
TEST_F(with_scheduler, AServerThatDropsItsClientsIsAskedAfterAPause) {
    scripted_server mad{home, [](const std::vector<std::string>& words) -> std::string {
                            return words[0] == "GET" ? "" : "+OK\r\n";
                        }};
    client under{home,
                 connect_tcp(mad.address()),
                 {.resp3 = false, .reconnect_min = 1h, .reconnect_max = 1h}};
    EXPECT_EQ(run(under.get("k")).error().code(), errc::connection_lost);
    const auto late = run(under.get("k", in(20ms)));
    EXPECT_EQ(late.error().code(), std::errc::timed_out);
    EXPECT_FALSE(late.error().was_sent());
    EXPECT_EQ(under.stats().connects, 1U);
    run(under.close());
}

TEST_F(with_scheduler, ConnectorThatThrowsIsAFailedAttempt) {
    client under{home,
                 [](time_point) -> task<connected> { throw 5; },
                 {.reconnect_min = 1ms, .reconnect_max = 1ms, .offline_max = 5ms}};
    EXPECT_EQ(run(under.send({"PING"})).error().code(), errc::connection_lost);
    run(under.close());
}

task<connected> says_stopped(std::atomic<int>& attempts) {
    ++attempts;
    co_return std::unexpected{std::make_error_code(std::errc::operation_canceled)};
}

// The owner was not stopped: so it pauses, as after each failure.
TEST_F(with_scheduler, ConnectorThatSaysItWasStoppedIsAFailedAttempt) {
    std::atomic<int> attempts = 0;
    client under{home,
                 [&attempts](time_point) { return says_stopped(attempts); },
                 {.reconnect_min = 1h, .reconnect_max = 1h, .offline_max = 0ms}};
    EXPECT_EQ(run(under.send({"PING"})).error().code(), std::errc::operation_canceled);
    EXPECT_EQ(attempts, 1);
    run(under.close());
}

TEST_F(with_scheduler, AClientThatGoesEndsItsOwner) {
    { const client gone{home, connect_tcp(io::address::loopback(1))}; }
    home.drain();
}

}  // namespace
}  // namespace fairlead::redis::client_tests
