// Messages of channels, over restarts of the server.
#include "redis/fixture.hpp"
#include "redis/server.hpp"

namespace fairlead::redis::subscription_tests {
namespace {

using namespace test;

class RedisSubscription : public with_scheduler {
protected:
    void publish(const char* channel, const char* text) {
        EXPECT_GT(run(other.send({"PUBLISH", channel, text}))->integer(), 0);
    }

    server redis;
    client other{home, connect_unix(redis.path()), {.reconnect_min = 1ms, .reconnect_max = 2ms}};
};

TEST_F(RedisSubscription, MessagesComeInOrderInBothProtocols) {
    for (const bool resp3 : {true, false}) {
        client under{home, connect_unix(redis.path()), {.resp3 = resp3}};
        auto news = run(under.subscribe_all({"news", "more"}));
        ASSERT_TRUE(news.has_value());
        publish("news", "one");
        publish("more", "two");
        publish("news", "three");
        for (const auto& [channel, text] :
             {std::pair{"news", "one"}, {"more", "two"}, {"news", "three"}}) {
            const auto got = run(news->receive());
            ASSERT_TRUE(got.has_value());
            EXPECT_EQ(got->channel, channel);
            EXPECT_EQ(got->payload, text);
            EXPECT_EQ(got->pattern, "");
        }
        EXPECT_EQ(run(news->receive(in(1ms))).error().code(), std::errc::timed_out);
        EXPECT_TRUE(run(news->add("late")).has_value());
        publish("late", "four");
        EXPECT_EQ(run(news->receive())->payload, "four");
        EXPECT_TRUE(run(news->remove("news")).has_value());
        EXPECT_EQ(run(other.send({"PUBLISH", "news", "x"}))->integer(), 0);

        auto all = run(under.subscribe_to_patterns({"n*", "late"}));
        publish("nothing", "five");
        const auto got = run(all->receive());
        EXPECT_EQ(got->pattern, "n*");
        EXPECT_EQ(got->channel, "nothing");
        EXPECT_EQ(got->payload, "five");
    }
}

TEST_F(RedisSubscription, AfterARestartItSubscribesAgainAndTellsOfTheGap) {
    for (const bool resp3 : {true, false}) {
        client under{home,
                     connect_unix(redis.path()),
                     {.resp3 = resp3, .reconnect_min = 1ms, .reconnect_max = 2ms}};
        auto news = run(under.subscribe("news"));
        EXPECT_TRUE(run(news->add("late")).has_value());
        publish("news", "before");
        // The server sends what is published before it reads this.
        EXPECT_TRUE(run(other.send({"PING"})).has_value());
        redis.kill();
        redis.start();
        const auto before = run(news->receive());
        ASSERT_TRUE(before.has_value());
        EXPECT_EQ(before->payload, "before");
        EXPECT_EQ(run(news->receive()).error().code(), errc::messages_lost);
        const auto subscribed = [&] {
            const auto count = run(other.send({"PUBSUB", "NUMSUB", "news", "late"}));
            return count && count->items()[1].integer() == 1 && count->items()[3].integer() == 1;
        };
        while (!subscribed()) {
        }
        publish("late", "after");
        EXPECT_EQ(run(news->receive())->payload, "after");
    }
}

TEST_F(RedisSubscription, AReceiverThatIsSlowIsToldOfTheGap) {
    client under{home, connect_unix(redis.path()), {.messages_max = 2}};
    auto news = run(under.subscribe("news"));
    for (const char* const text : {"a", "b", "c", "d"}) publish("news", text);
    // All four have come before the confirmation of this one.
    EXPECT_TRUE(run(news->add("last")).has_value());
    EXPECT_EQ(run(news->receive())->payload, "a");
    EXPECT_EQ(run(news->receive())->payload, "b");
    EXPECT_EQ(run(news->receive()).error().code(), errc::messages_lost);
    publish("last", "e");
    EXPECT_EQ(run(news->receive())->payload, "e");
}

TEST_F(RedisSubscription, RefusalsAreTold) {
    EXPECT_TRUE(run(other.send({"ACL", "SETUSER", "bob", "on", ">pw", "+@all", "~*",
                                "resetchannels", "&free"}))
                    .has_value());
    client under{home, connect_unix(redis.path()), {.user = "bob", .password = "pw"}};
    EXPECT_EQ(run(under.subscribe("secret")).error().code(), errc::no_permission);
    auto free = run(under.subscribe("free"));
    ASSERT_TRUE(free.has_value());
    EXPECT_EQ(run(free->add("secret")).error().code(), errc::no_permission);
    publish("free", "x");
    EXPECT_EQ(run(free->receive())->payload, "x");
}

TEST_F(RedisSubscription, WithoutAServerItEndsByItsDeadlineOrItsPatience) {
    redis.kill();
    client under{home, connect_unix(redis.path()), {.reconnect_min = 1ms, .offline_max = 20ms}};
    EXPECT_EQ(run(under.subscribe("x", in(1ms))).error().code(), std::errc::timed_out);
    EXPECT_EQ(run(under.subscribe("x")).error().code(), std::errc::connection_refused);
}

}  // namespace
}  // namespace fairlead::redis::subscription_tests
