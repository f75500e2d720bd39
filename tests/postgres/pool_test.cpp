// Many tasks on few connections: order, limits, deadlines, stops.
#include "postgres/fixture.hpp"

#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/when_all.hpp>

#include <filesystem>
#include <iterator>
#include <optional>
#include <random>

namespace fairlead::postgres::pool_tests {
namespace {

using namespace test;

class PostgresPool : public with_server {
protected:
    std::int64_t running(pool& on, const char* sql) {
        const auto got =
            run(on.query({"select count(*) from pg_stat_activity where state = "
                          "'active' and query = $1",
                          sql}));
        return got ? got->one<std::int64_t>().value_or(-1) : -1;
    }
};

// --- pipelines -----------------------------------------------------------------------------------

// Asks for its own numbers, with errors of several kinds in between.
task<> ask_at_random(pool& db, unsigned seed, int count) {
    std::mt19937 draw{seed};
    for (int i = 0; i != count; ++i) {
        const std::int64_t number = std::int64_t{seed} * 1'000'000 + i;
        switch (draw() % 6) {
            case 0: {
                const auto failed = co_await db.query({"select $1::bigint / 0", number});
                EXPECT_EQ(failed.error().sqlstate(), "22012");
                break;
            }
            case 1: {
                const auto failed = co_await db.query({"selekt"});
                EXPECT_EQ(failed.error().code(), errc::syntax_error);
                break;
            }
            case 2: {
                std::vector<statement> all;
                all.push_back({"select $1::bigint", number});
                all.push_back({"select $1::bigint + 1", number});
                const bool fails = draw() % 2 == 0;
                if (fails) all.push_back({"select 1/0"});
                const auto done = co_await db.query_all(std::move(all));
                EXPECT_EQ(done.has_value(), !fails);
                if (done) {
                    EXPECT_EQ((*done)[1].one<std::int64_t>().value_or(0), number + 1);
                }
                break;
            }
            case 3: {
                auto change = co_await db.begin();
                EXPECT_TRUE(change.has_value());
                const auto got = co_await change->query({"select $1::bigint", number});
                EXPECT_EQ(got->one<std::int64_t>().value_or(0), number);
                if (draw() % 2 == 0) {
                    const auto done = co_await change->commit();
                    EXPECT_TRUE(done.has_value());
                }
                break;
            }
            default: {
                const bool is_right = co_await is_whole(db, number);
                EXPECT_TRUE(is_right);
            }
        }
    }
}

task<> ask_in_many_tasks(pool& db, unsigned tasks, int count) {
    const executor where = co_await current_executor();
    scope all{where};
    for (unsigned i = 1; i <= tasks; ++i) all.spawn(ask_at_random(db, i, count));
    co_await all.join();
}

TEST_F(PostgresPool, EachOfManyTasksGetsItsOwnRows) {
    for (const std::uint32_t connections : {1U, 3U}) {
        pool db{home, postgres.by_unix(), {.max = connections, .statements_max = 2}};
        run(ask_in_many_tasks(db, 40, 50));
        const pool_stats stats = db.stats();
        EXPECT_EQ(stats.lost, 0U);
        EXPECT_LE(stats.connects, connections);
        EXPECT_EQ(stats.queued, 0U);
        until([&] { return db.stats().in_flight == 0; });  // rollbacks
        EXPECT_TRUE(run(db.close()));
    }
}

// --- deadlines and stops -------------------------------------------------------------------------

task<int> race_deadlines(pool& db, int first, int count) {
    std::mt19937 draw{static_cast<unsigned>(first)};
    int late = 0;
    for (std::int64_t i = first; i != first + count; ++i) {
        const auto limit = std::chrono::microseconds{draw() % 300};
        const auto got = co_await db.query({"select $1::bigint", i}, in(limit));
        if (got) {
            EXPECT_EQ(got->one<std::int64_t>().value_or(-1), i);
        } else {
            EXPECT_EQ(got.error().code(), std::errc::timed_out);
            ++late;
        }
    }
    co_return late;
}

task<int> race_in_many_tasks(pool& db) {
    auto [a, b, c, d] =
        co_await when_all(race_deadlines(db, 0, 3000), race_deadlines(db, 10'000, 3000),
                          race_deadlines(db, 20'000, 3000), race_deadlines(db, 30'000, 3000));
    co_return a + b + c + d;
}

TEST_F(PostgresPool, DeadlinesThatRaceWithAnswersLeaveTheConnectionWhole) {
    pool db{home, postgres.by_unix(), {.max = 1}};
    EXPECT_TRUE(run(is_whole(db, 1)));
    const int late = run(race_in_many_tasks(db));
    EXPECT_TRUE(run(is_whole(db, 2)));
    const pool_stats stats = db.stats();
    EXPECT_EQ(stats.connects, 1U);
    EXPECT_EQ(stats.given_up, static_cast<std::uint64_t>(late));
    EXPECT_GT(late, 0);
    EXPECT_EQ(stats.in_flight, 0U);
    EXPECT_TRUE(run(db.close()));
}

task<> ask_until_stopped(pool& db, std::int64_t number) {
    for (;;) {
        const auto got = co_await db.query({"select $1::bigint", number});
        if (!got) {
            EXPECT_EQ(got.error().code(), std::errc::operation_canceled);
            co_return;
        }
        EXPECT_EQ(got->one<std::int64_t>().value_or(-1), number);
    }
}

task<> transact_until_stopped(pool& db, std::int64_t number) {
    for (;;) {
        auto change = co_await db.begin();
        if (!change) co_return;
        const auto got = co_await change->query({"select $1::bigint", number});
        if (!got) co_return;
        EXPECT_EQ(got->one<std::int64_t>().value_or(-1), number);
        const auto done = co_await change->commit();
        if (!done) co_return;
    }
}

task<> stop_often(pool& db) {
    const executor where = co_await current_executor();
    std::mt19937 draw{5};
    for (int i = 0; i != 1000; ++i) {
        auto asking = i % 2 == 0 ? spawn(where, ask_until_stopped(db, i))
                                 : spawn(where, transact_until_stopped(db, i));
        for (unsigned turns = draw() % 4; turns != 0; --turns) {
            const bool is_right = co_await is_whole(db, i);
            EXPECT_TRUE(is_right);
        }
        asking.request_stop();
        co_await asking;
    }
}

TEST_F(PostgresPool, StopsThatRaceWithAnswersLeaveTheConnectionsWhole) {
    for (const std::uint32_t connections : {1U, 2U}) {
        pool db{home, postgres.by_unix(), {.max = connections}};
        run(stop_often(db));
        EXPECT_TRUE(run(is_whole(db, 1)));
        EXPECT_LE(db.stats().connects, connections);
        EXPECT_EQ(db.stats().lost, 0U);
        EXPECT_TRUE(run(db.close()));
    }
}

TEST_F(PostgresPool, TheServerEndsALateStatementAndNoOther) {
    // Nothing is cancelled from here.
    pool db{home, postgres.by_unix(), {.max = 1, .cancel_after = 1h}};
    EXPECT_TRUE(run(is_whole(db, 1)));
    for (int i = 0; i != 5; ++i) {
        const auto late = run(db.query({"select pg_sleep(600)"}, in(10ms)));
        EXPECT_EQ(late.error().code(), std::errc::timed_out);
        EXPECT_TRUE(late.error().was_sent());
        EXPECT_TRUE(run(is_whole(db, i)));
    }
    // Without a deadline there is none at the server either.
    EXPECT_EQ(run(db.query({"show statement_timeout"}))->one<std::string>().value_or(""), "0");
    const auto shown = run(db.query({"show statement_timeout"}, in(900ms)));
    EXPECT_EQ(shown->one<std::string>().value_or(""), "1024ms");
    auto change = run(db.begin(in(900ms)));
    EXPECT_EQ(run(change->query({"show statement_timeout"}))->one<std::string>().value_or(""), "0");
    EXPECT_TRUE(run(change->commit()).has_value());
    EXPECT_EQ(db.stats().connects, 1U);
    EXPECT_EQ(db.stats().cancels, 0U);
}

TEST_F(PostgresPool, ALimitOfTheServerIsAnError) {
    pool db{home, postgres.by_unix("options='-c statement_timeout=30'"), {.max = 1}};
    EXPECT_EQ(run(db.query({"select pg_sleep(600)"})).error().code(), errc::query_canceled);
    EXPECT_TRUE(run(is_whole(db, 1)));
    EXPECT_EQ(run(db.query({"select pg_sleep(600)"})).error().code(), errc::query_canceled);
}

TEST_F(PostgresPool, AStatementThatWasGivenUpIsCancelled) {
    pool other{home, postgres.by_unix(), {.max = 1}};
    pool db{home, postgres.by_unix(), {.max = 1, .cancel_after = 1ms, .server_deadlines = false}};
    EXPECT_TRUE(run(is_whole(db, 1)));
    const auto late = run(db.query({"select pg_sleep(600)"}, in(10ms)));
    EXPECT_EQ(late.error().code(), std::errc::timed_out);
    EXPECT_TRUE(run(is_whole(db, 2)));
    EXPECT_EQ(running(other, "select pg_sleep(600)"), 0);
    EXPECT_GE(db.stats().cancels, 1U);
    EXPECT_EQ(db.stats().connects, 1U);
}

task<> hold_and_follow(pool& db) {
    // The second is behind the first, which is given up: it is neither cancelled nor lost.
    const executor where = co_await current_executor();
    auto first = spawn(where, db.query({"select pg_sleep(0.3)"}));
    while (db.stats().in_flight == 0) co_await yield();
    auto second = spawn(where, db.query({"select 7"}));
    while (db.stats().in_flight != 2) co_await yield();
    first.request_stop();
    const auto stopped = co_await first;
    EXPECT_EQ(stopped.error().code(), std::errc::operation_canceled);
    const auto got = co_await second;
    EXPECT_TRUE(got && got->one<int>().value_or(0) == 7);
}

TEST_F(PostgresPool, ACancelHitsNoOtherRequest) {
    pool db{home, postgres.by_unix(), {.max = 1, .cancel_after = duration::zero()}};
    EXPECT_TRUE(run(is_whole(db, 1)));
    run(hold_and_follow(db));
    EXPECT_EQ(db.stats().cancels, 0U);
    EXPECT_EQ(db.stats().connects, 1U);
}

TEST_F(PostgresPool, CancelsThatRaceWithAnswersHitNothingElse) {
    pool db{home,
            postgres.by_unix(),
            {.max = 1, .cancel_after = duration::zero(), .server_deadlines = false}};
    EXPECT_TRUE(run(is_whole(db, 0)));
    std::mt19937 draw{7};
    for (int i = 1; i != 40; ++i) {
        const auto limit = std::chrono::microseconds{draw() % 1500};
        const auto got = run(db.query({"select pg_sleep(0.001)"}, in(limit)));
        EXPECT_TRUE(got || got.error().code() == std::errc::timed_out);
        EXPECT_TRUE(run(is_whole(db, i)));
    }
    EXPECT_EQ(db.stats().connects, 1U);
}

TEST_F(PostgresPool, HalfOfThePoolIsCancelledInASecond) {
    pool db{home,
            postgres.by_unix(),
            {.max = 4, .pipeline_max = 1, .cancel_after = duration::zero(), .abandon_after = 1h}};
    std::vector<join_handle<result<rows>>> sleeping;
    for (int i = 0; i != 4; ++i)
        sleeping.push_back(spawn(home, db.query({"select pg_sleep(600)"})));
    until([&] { return db.stats().in_flight == 4; });
    const time_point before = clock::now();
    for (auto& each : sleeping) each.request_stop();
    for (auto& each : sleeping) {
        EXPECT_EQ(each.get().error().code(), std::errc::operation_canceled);
    }
    until([&] { return db.stats().in_flight == 0; });
    EXPECT_GE(clock::now() - before, 1s);
    EXPECT_GE(db.stats().cancels, 4U);
    EXPECT_EQ(db.stats().connects, 4U);
    EXPECT_EQ(db.stats().lost, 0U);
}

task<> be_stopped_in_line(pool& db) {
    const executor where = co_await current_executor();
    auto held = co_await db.begin();
    auto first = spawn(where, db.begin());
    auto second = spawn(where, db.query({"select 2"}));
    auto third = spawn(where, is_whole(db, 3));
    auto late = spawn(where, db.query({"select 4"}, in(200ms)));
    while (db.stats().queued < 4) co_await yield();  // what has not begun is not given up
    first.request_stop();
    second.request_stop();
    const auto no_change = co_await first;
    EXPECT_EQ(no_change.error().code(), std::errc::operation_canceled);
    EXPECT_FALSE(no_change.error().was_sent());
    const auto no_rows = co_await second;
    EXPECT_EQ(no_rows.error().code(), std::errc::operation_canceled);
    EXPECT_FALSE(no_rows.error().was_sent());
    const auto too_late = co_await late;
    EXPECT_EQ(too_late.error().code(), std::errc::timed_out);
    EXPECT_FALSE(too_late.error().was_sent());
    const auto done = co_await held->commit();
    EXPECT_TRUE(done.has_value());
    const bool is_right = co_await third;
    EXPECT_TRUE(is_right);
}

TEST_F(PostgresPool, RequestsInLineMayEndAndAreNotSent) {
    pool db{home, postgres.by_unix(), {.max = 1}};
    run(be_stopped_in_line(db));
    EXPECT_EQ(db.stats().sent, 3U);  // begin, commit, and the third
    EXPECT_EQ(db.stats().given_up, 3U);
}

task<result<rows>> sleep_within(pool& db, duration limit) {
    auto inside = co_await with_deadline(limit, db.query({"select pg_sleep(600)"}));
    EXPECT_TRUE(inside.has_value());
    co_return std::move(*inside);
}

TEST_F(PostgresPool, TheDeadlineOfTheContextEndsACall) {
    pool db{home, postgres.by_unix(), {.max = 1}};
    EXPECT_TRUE(run(is_whole(db, 1)));
    const auto late = run(sleep_within(db, 20ms));
    EXPECT_EQ(late.error().code(), std::errc::stream_timeout);
    EXPECT_TRUE(late.error().was_sent());
    EXPECT_TRUE(run(is_whole(db, 2)));
    EXPECT_EQ(db.stats().connects, 1U);
}

// --- the line ------------------------------------------------------------------------------------

task<> take_note(pool& db, std::vector<int>& order, int number, bool for_itself) {
    if (for_itself) {
        auto change = co_await db.begin();
        EXPECT_TRUE(change.has_value());
        order.push_back(number);
    } else {
        const bool is_right = co_await is_whole(db, number);
        EXPECT_TRUE(is_right);
        order.push_back(number);
    }
}

task<> wait_in_line(pool& db, std::vector<int>& order) {
    const executor where = co_await current_executor();
    auto held = co_await db.begin();
    scope all{where};
    for (int i = 0; i != 6; ++i) {
        all.spawn(take_note(db, order, i, i % 3 != 2));
        while (db.stats().queued != static_cast<std::size_t>(i) + 1) co_await yield();
    }
    const auto late = co_await db.begin(in(1ms));
    EXPECT_EQ(late.error().code(), std::errc::timed_out);
    EXPECT_FALSE(late.error().was_sent());
    const auto back = co_await held->rollback();
    EXPECT_TRUE(back.has_value());
    co_await all.join();
}

TEST_F(PostgresPool, RequestsAreServedInOrder) {
    pool db{home, postgres.by_unix(), {.max = 1}};
    std::vector<int> order;
    run(wait_in_line(db, order));
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(db.stats().connects, 1U);
}

TEST_F(PostgresPool, TheLineIsBounded) {
    pool db{home, postgres.by_unix(), {.max = 1, .queue_max = 3}};
    auto held = run(db.begin());
    std::vector<join_handle<bool>> waiting;
    for (int i = 0; i != 3; ++i) waiting.push_back(spawn(home, is_whole(db, i)));
    until([&] { return db.stats().queued == 3; });
    const auto beyond = run(db.query({"select 1"}));
    EXPECT_EQ(beyond.error().code(), errc::queue_full);
    EXPECT_FALSE(beyond.error().was_sent());
    EXPECT_TRUE(run(held->commit()).has_value());
    for (auto& each : waiting) EXPECT_TRUE(each.get());
}

TEST_F(PostgresPool, APipelineIsBounded) {
    pool db{home, postgres.by_unix(), {.max = 1, .pipeline_max = 2}};
    std::vector<join_handle<result<rows>>> asking;
    for (int i = 0; i != 5; ++i) asking.push_back(spawn(home, db.query({"select pg_sleep(0.02)"})));
    until([&] {
        const pool_stats now = db.stats();
        EXPECT_LE(now.in_flight, 2U);
        return now.sent == 5;
    });
    for (auto& each : asking) EXPECT_TRUE(each.get().has_value());
}

TEST_F(PostgresPool, ConnectionsAreMadeWhenTheyAreNeededAndEndWhenTheyAreNot) {
    pool db{home, postgres.by_unix(), {.min = 1, .max = 4, .idle = 30ms}};
    until([&] { return db.stats().open == 1; });
    {
        std::vector<transaction> held;
        for (int i = 0; i != 4; ++i) held.push_back(std::move(*run(db.begin())));
        EXPECT_EQ(db.stats().open, 4U);
        EXPECT_EQ(run(db.begin(in(5ms))).error().code(), std::errc::timed_out);
        EXPECT_EQ(db.stats().open + db.stats().connecting, 4U);
    }
    until([&] { return db.stats().open == 1 && db.stats().lent == 0; });
    EXPECT_EQ(db.stats().connects, 4U);
    EXPECT_EQ(db.stats().closed, 3U);
    EXPECT_EQ(db.stats().lost, 0U);
    EXPECT_TRUE(run(is_whole(db, 1)));
    EXPECT_EQ(db.stats().connects, 4U);
}

TEST_F(PostgresPool, AnOldConnectionIsMadeAnew) {
    pool db{home, postgres.by_unix(), {.min = 1, .max = 1, .age_max = 20ms}};
    until([&] { return db.stats().connects >= 3; });
    EXPECT_TRUE(run(is_whole(db, 1)));
    EXPECT_EQ(db.stats().lost, 0U);
}

task<> begin_and_ask(pool& db, std::int64_t number) {
    auto change = co_await db.begin(in(60s));
    EXPECT_TRUE(change.has_value());
    if (!change) co_return;
    const auto got = co_await change->query({"select $1::bigint", number});
    EXPECT_TRUE(got.has_value());
    const auto done = co_await change->commit();
    EXPECT_TRUE(done.has_value());
}

task<> begin_in_many_tasks(pool& db, int tasks) {
    const executor where = co_await current_executor();
    scope all{where};
    for (int i = 0; i != tasks; ++i) all.spawn(begin_and_ask(db, i));
    co_await all.join();
}

TEST_F(PostgresPool, AServerThatHasNoMoreConnectionsIsNoFailure) {
    // The server has 20.
    pool db{home,
            postgres.by_unix(),
            {.max = 60, .connecting_max = 30, .reconnect_min = 1ms, .reconnect_max = 5ms}};
    run(begin_in_many_tasks(db, 200));
    EXPECT_LE(db.stats().open, 20U);
}

// --- the end -------------------------------------------------------------------------------------

TEST_F(PostgresPool, CloseWaitsForWhatWasAsked) {
    pool db{home, postgres.by_unix(), {.max = 2}};
    auto change = run(db.begin());
    EXPECT_TRUE(run(change->query({"select pg_advisory_xact_lock(446)"})).has_value());
    auto slow = spawn(home, db.query({"select pg_advisory_lock(446)"}));  // until the commit
    until([&] { return db.stats().in_flight == 1; });
    auto closing = spawn(home, db.close());
    until([&] {
        const auto refused = run(db.query({"select 1"}, in(20s)));
        return !refused && refused.error().code() == errc::closed;
    });
    EXPECT_TRUE(run(change->query({"select 1"})).has_value());
    EXPECT_TRUE(run(change->commit()).has_value());
    EXPECT_TRUE(closing.get());
    EXPECT_TRUE(slow.get().has_value());
    EXPECT_EQ(db.stats().open, 0U);
}

TEST_F(PostgresPool, CloseFailsWhatIsLate) {
    pool other{home, postgres.by_unix(), {.max = 1}};
    pool db{home, postgres.by_unix(), {.max = 2}};
    auto change = run(db.begin());
    auto slow = spawn(home, db.query({"select pg_sleep(602)"}));
    until([&] { return db.stats().in_flight == 1; });
    EXPECT_FALSE(run(db.close(in(5ms))));
    const auto lost = slow.get();
    EXPECT_EQ(lost.error().code(), errc::closed);
    EXPECT_TRUE(lost.error().was_sent());
    EXPECT_EQ(run(change->query({"select 1"})).error().code(), errc::closed);
    EXPECT_EQ(run(change->commit()).error().code(), errc::closed);
    EXPECT_TRUE(run(change->rollback()).has_value());
    until([&] { return running(other, "select pg_sleep(602)") == 0; });
}

// A task is granted a connection, and is destroyed with its scheduler before it hears of that.
TEST_F(PostgresPool, AConnectionThatNoTaskHearsOfComesBack) {
    pool db{home, postgres.by_unix(), {.max = 1}};
    EXPECT_TRUE(run(is_whole(db, 1)));
    auto first = run(db.begin());
    ASSERT_TRUE(first.has_value());
    std::optional<join_handle<result<transaction>>> begins;
    {
        scheduler other{{.stop_limit = duration::zero(), .run_on_caller = true}};
        begins.emplace(spawn(other, db.begin()));
        other.run_until_idle();
        EXPECT_EQ(db.stats().queued, 1U);
        EXPECT_TRUE(run(first->rollback()).has_value());
        first = std::unexpected{error{errc::transaction_over}};
        until([&] { return db.stats().queued == 0; });
    }
    begins.reset();
    EXPECT_TRUE(run(is_whole(db, 2)));
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all{"/proc/self/fd"};
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(PostgresPool, APoolThatGoesEndsItsTasks) {
    const std::size_t before = open_descriptors();
    { const pool never_used{home, postgres.by_unix()}; }
    { const pool connecting{home, postgres.by_unix(), {.min = 3, .max = 3}}; }
    {
        pool db{home, postgres.by_unix(), {.max = 1}};
        EXPECT_TRUE(run(is_whole(db, 1)));
    }
    home.drain();
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace fairlead::postgres::pool_tests
