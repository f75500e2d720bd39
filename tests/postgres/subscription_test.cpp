// Notifications, over losses of the connection.
#include "postgres/fixture.hpp"

#include <csignal>

namespace fairlead::postgres::subscription_tests {
namespace {

using namespace test;

class PostgresSubscription : public with_server {
protected:
    void notify(const std::string& channel, const std::string& text) {
        EXPECT_TRUE(run(db.query({"select pg_notify($1, $2)", channel, text})).has_value());
    }

    pool db{home, postgres.by_unix(), {.max = 1, .reconnect_min = 1ms, .reconnect_max = 5ms}};
};

TEST_F(PostgresSubscription, NotificationsComeInOrder) {
    auto news = run(db.listen_all({"news", "More \"odd\" one"}));
    ASSERT_TRUE(news.has_value());
    notify("news", "one");
    notify("More \"odd\" one", "two");
    notify("other", "none");
    notify("news", "");
    for (const auto& [channel, text] :
         {std::pair{"news", "one"}, {"More \"odd\" one", "two"}, {"news", ""}}) {
        const auto got = run(news->receive(in(20s)));
        ASSERT_TRUE(got.has_value());
        EXPECT_EQ(got->channel, channel);
        EXPECT_EQ(got->payload, text);
        EXPECT_EQ(got->sender, number(db, "select pg_backend_pid()"));
    }
    EXPECT_EQ(run(news->receive(in(1ms))).error().code(), std::errc::timed_out);
    // Those of a transaction come when it is committed.
    auto change = run(db.begin());
    EXPECT_TRUE(run(change->query({"notify news, 'inside'"})).has_value());
    EXPECT_EQ(run(news->receive(in(1ms))).error().code(), std::errc::timed_out);
    EXPECT_TRUE(run(change->commit()).has_value());
    EXPECT_EQ(run(news->receive(in(20s)))->payload, "inside");
    const auto too_long = run(db.query({"select pg_notify('news', repeat('x', 8000))"}));
    EXPECT_EQ(too_long.error().sqlstate(), "22023");
}

TEST_F(PostgresSubscription, AfterALossItListensAgainAndTellsOfTheGap) {
    auto news = run(db.listen("news"));
    ASSERT_TRUE(news.has_value());
    notify("news", "before");
    // It has come before the connection ends.
    until([&] {
        return number(db,
                      "select count(*) from pg_stat_activity where query like 'listen %' "
                      "and state = 'idle'") == 1;
    });
    const auto before = run(news->receive(in(20s)));
    ASSERT_TRUE(before.has_value());
    EXPECT_EQ(before->payload, "before");
    postgres.restart_after(SIGQUIT);
    EXPECT_EQ(run(news->receive(in(20s))).error().code(), errc::messages_lost);
    until([&] {
        const auto count =
            run(db.query({"select count(*) from pg_stat_activity where query like "
                          "'listen %' and state = 'idle'"}));
        return count && count->one<int>().value_or(0) == 1;
    });
    notify("news", "after");
    EXPECT_EQ(run(news->receive(in(20s)))->payload, "after");
}

TEST_F(PostgresSubscription, AReceiverThatIsSlowIsToldOfTheGap) {
    pool few{home, postgres.by_unix(), {.max = 1, .messages_max = 2}};
    auto news = run(few.listen("news"));
    auto other = run(db.listen("news"));
    EXPECT_TRUE(run(db.query({"select pg_notify('news', i::text) from generate_series(1, 4) i"})));
    for (int i = 1; i <= 4; ++i) EXPECT_TRUE(run(other->receive(in(20s))).has_value());
    EXPECT_EQ(run(news->receive(in(20s)))->payload, "1");
    EXPECT_EQ(run(news->receive(in(20s)))->payload, "2");
    EXPECT_EQ(run(news->receive(in(20s))).error().code(), errc::messages_lost);
    notify("news", "5");
    EXPECT_EQ(run(news->receive(in(20s)))->payload, "5");
}

TEST_F(PostgresSubscription, WithoutAServerItEndsByItsDeadlineOrItsPatience) {
    postgres.end_with(SIGINT);
    pool gone{home, postgres.by_unix(), {.reconnect_min = 1ms, .offline_max = 20ms}};
    EXPECT_EQ(run(gone.listen("x", in(1ms))).error().code(), std::errc::timed_out);
    EXPECT_EQ(run(gone.listen("x")).error().code(), errc::cannot_connect);
    postgres.start();
    pool refused{home, postgres.by_unix("dbname=nothing"), {.offline_max = 1h}};
    EXPECT_EQ(run(refused.listen("x")).error().code(), errc::unknown_database);
}

}  // namespace
}  // namespace fairlead::postgres::subscription_tests
