// Streams of rows: bounded in memory, and what ends them early.
#include "postgres/fixture.hpp"

#include <string>
#include <string_view>
#include <tuple>

namespace fairlead::postgres::stream_tests {
namespace {

using namespace test;

class PostgresStream : public with_server {
protected:
    static constexpr std::size_t bytes_max = 32 * 1024;
    // Sends more than all buffers on the way have room for.
    static constexpr const char* many =
        "select i::bigint, repeat('x', 1000) from generate_series(1, 100000) i";
    static constexpr const char* few = "select i::bigint from generate_series(1, 5) i";

    // Waits until the server can send no more to a connection.
    void until_blocked() {
        until([&] {
            return number(other,
                          "select count(*) from pg_stat_activity where application_name = 'flow' "
                          "and wait_event = 'ClientWrite'") == 1;
        });
    }
    // The connection comes back, and is whole.
    void expect_clean() {
        until([&] { return db.stats().lent == 0; });
        EXPECT_TRUE(run(is_whole(db, 77)));
        EXPECT_EQ(db.stats().connects, 1U);
        EXPECT_EQ(db.stats().in_flight + db.stats().queued, 0U);
    }

    pool db{home,
            postgres.by_unix("application_name=flow"),
            {.max = 1, .cancel_after = 1ms, .stream_bytes = bytes_max}};
    pool other{home, postgres.by_unix(), {.max = 1}};
};

// Reads to the end. Gives how many rows there were, in their order; -1: an error.
task<std::int64_t> count_all(row_stream& from) {
    std::int64_t count = 0;
    for (;;) {
        const auto some = co_await from.next(in(60s));
        if (!some) co_return -1;
        if (some->empty()) co_return count;
        for (const row each : *some) {
            const std::int64_t found = each[0].as<std::int64_t>().value_or(-1);
            EXPECT_EQ(found, ++count);
        }
    }
}

TEST_F(PostgresStream, GivesEachRowOnceInItsOrderAndThenTheEnd) {
    auto found = run(db.stream({"select i::bigint, $1::text from generate_series(1, 5) i", "a"}));
    ASSERT_TRUE(found.has_value());
    const auto first = run(found->next());
    ASSERT_TRUE(first.has_value());
    const auto values = (*first)[0].as<std::int64_t, std::string>();
    EXPECT_EQ(values.value(), std::make_tuple(std::int64_t{1}, std::string{"a"}));
    std::size_t rest = 0;
    for (auto some = run(found->next()); some && !some->empty(); some = run(found->next())) {
        rest += some->size();
    }
    EXPECT_EQ(rest, 4U);
    for (int again = 0; again != 2; ++again) {
        const auto end = run(found->next());
        ASSERT_TRUE(end.has_value());
        EXPECT_TRUE(end->empty());
        EXPECT_EQ(end->command(), "SELECT 5");
        EXPECT_EQ(end->affected(), 5U);
    }
    found = run(db.stream({"select 1"}, in(10ms)));  // the first one has the only connection
    EXPECT_EQ(found.error().code(), std::errc::timed_out);
    expect_clean();
}

TEST_F(PostgresStream, KeepsNoMoreThanItsBytesWhileNothingIsRead) {
    auto found = run(db.stream({many}));
    ASSERT_TRUE(found.has_value());
    until([&] { return found->buffered() >= bytes_max; });
    until_blocked();
    // One row more than the bound, with what the library needs for it.
    EXPECT_LT(found->buffered(), bytes_max + 8192);
    EXPECT_EQ(run(count_all(*found)), 100'000);
    EXPECT_EQ(found->buffered(), 0U);
    found = row_stream{std::move(*found)};
    { const row_stream gone{std::move(*found)}; }
    expect_clean();
    EXPECT_EQ(db.stats().cancels, 0U);
}

TEST_F(PostgresStream, AnAbandonedOneLosesNeitherItsConnectionNorOtherRequests) {
    auto waiting = [&] {
        auto found = run(db.stream({many}));
        EXPECT_EQ(run(found->next())->size(), 1U);
        until_blocked();
        auto next = spawn(home, is_whole(db, 5));
        until([&] { return db.stats().queued == 1; });
        return next;
    }();
    EXPECT_TRUE(waiting.get());
    expect_clean();
    EXPECT_GE(db.stats().cancels, 1U);
    EXPECT_EQ(db.stats().closed + db.stats().lost, 0U);
}

TEST_F(PostgresStream, TellsAnErrorInTheMiddleAfterTheRowsBefore) {
    auto found = run(db.stream({"select 10 / (4 - i) from generate_series(1, 9) i"}));
    ASSERT_TRUE(found.has_value());
    for (int i = 1; i != 4; ++i) EXPECT_EQ(run(found->next())->size(), 1U);
    EXPECT_EQ(run(found->next()).error().sqlstate(), "22012");
    EXPECT_EQ(run(found->next()).error().sqlstate(), "22012");
    { const row_stream gone{std::move(*found)}; }
    auto wrong = run(db.stream({"select nothing"}));
    EXPECT_EQ(run(wrong->next()).error().code(), errc::undefined_column);
    { const row_stream gone{std::move(*wrong)}; }
    expect_clean();
    EXPECT_EQ(run(db.stream({"set work_mem to '1MB'"})).error().code(), errc::not_shared);
    EXPECT_EQ(run(db.stream({"copy pg_class to stdout"})).error().code(), errc::not_shared);
}

TEST_F(PostgresStream, ADeadlineOrAStopLosesNoRow) {
    auto found =
        run(db.stream({"select i::bigint, pg_sleep(case when i = 3 then 0.2 else 0 end) "
                       "from generate_series(1, 5) i"}));
    ASSERT_TRUE(found.has_value());
    std::int64_t count = 0;
    while (count != 5) {
        auto reading = spawn(home, found->next(count % 2 == 0 ? in(1ms) : never));
        if (count % 2 != 0) reading.request_stop();
        const auto some = reading.get();
        if (!some) {
            EXPECT_TRUE(some.error().code() == std::errc::timed_out ||
                        some.error().code() == std::errc::operation_canceled);
            continue;
        }
        for (const row each : *some) EXPECT_EQ(each[0].as<std::int64_t>().value_or(-1), ++count);
    }
    EXPECT_EQ(run(found->next())->command(), "SELECT 5");
    { const row_stream gone{std::move(*found)}; }
    expect_clean();
}

TEST_F(PostgresStream, ALossInTheMiddleComesAfterTheRowsThatHaveCome) {
    auto found = run(db.stream({many}));
    ASSERT_TRUE(found.has_value());
    until_blocked();
    execute(other, {"select pg_terminate_backend(pid) from pg_stat_activity where "
                    "application_name = 'flow'"});
    std::int64_t count = 0;
    auto some = run(found->next());
    for (; some; some = run(found->next())) {
        ASSERT_FALSE(some->empty());
        EXPECT_EQ((*some)[0][0].as<std::int64_t>().value_or(-1), ++count);
    }
    EXPECT_EQ(some.error().code(), errc::connection_lost);
    EXPECT_TRUE(some.error().was_sent());
    EXPECT_GT(count, 0);
    EXPECT_LT(count, 100'000);
    EXPECT_TRUE(run(is_whole(db, 1)));
    EXPECT_EQ(db.stats().lost, 1U);
}

TEST_F(PostgresStream, LargeRowsPass) {
    auto found = run(db.stream({"select repeat('y', 3000000) from generate_series(1, 4)"}));
    ASSERT_TRUE(found.has_value());
    for (int i = 0; i != 4; ++i) {
        const auto some = run(found->next());
        ASSERT_TRUE(some.has_value());
        EXPECT_EQ(some->one<std::string_view>().value().size(), 3'000'000U);
        EXPECT_LE(found->buffered(), 3'100'000U);
    }
    EXPECT_TRUE(run(found->next())->empty());
}

TEST_F(PostgresStream, ATransactionGoesOnAfterItsEndAndIsOverAfterAnEarlyOne) {
    auto change = run(db.begin());
    ASSERT_TRUE(change.has_value());
    {
        auto found = change->stream({many});
        ASSERT_TRUE(found.has_value());
        until_blocked();
        // A statement behind it would wait for its reader.
        const auto behind = run(change->query({"select 1"}));
        ASSERT_FALSE(behind.has_value());
        EXPECT_EQ(behind.error().code(), errc::stream_open);
        EXPECT_EQ(change->stream({few}).error().code(), errc::stream_open);
        const auto refused = run(change->commit()).error();
        EXPECT_EQ(refused.code(), errc::stream_open);
        EXPECT_FALSE(refused.was_sent());
        EXPECT_EQ(run(count_all(*found)), 100'000);
    }
    EXPECT_TRUE(run(change->query({"select 1"})).has_value());
    EXPECT_TRUE(run(change->commit()).has_value());
    EXPECT_EQ(change->stream({few}).error().code(), errc::transaction_over);
    expect_clean();

    auto second = run(db.begin());
    {
        auto found = second->stream({many});
        EXPECT_EQ(run(found->next())->size(), 1U);
    }
    const auto late = run(second->query({"select 1"}));
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().code(), errc::transaction_over);
    EXPECT_TRUE(run(second->rollback()).has_value());
    expect_clean();
}

TEST_F(PostgresStream, AClosedPoolEndsIt) {
    auto found = run(db.stream({many}));
    until_blocked();
    EXPECT_FALSE(run(db.close(in(1ms))));
    auto some = run(found->next());
    while (some && !some->empty()) some = run(found->next());
    EXPECT_EQ(some.error().code(), errc::closed);
}

}  // namespace
}  // namespace fairlead::postgres::stream_tests
