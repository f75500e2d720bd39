// Servers that die, come back, hang, refuse, or are not there.
#include "postgres/fixture.hpp"

#include <atomic>
#include <csignal>
#include <expected>
#include <optional>
#include <system_error>
#include <vector>

namespace fairlead::postgres::loss_tests {
namespace {

using namespace test;

class PostgresLoss : public with_server {
protected:
    const pool_options quick{.max = 1, .reconnect_min = 1ms, .reconnect_max = 5ms};
    // The process of the server that serves a connection.
    pid_t process_of(pool& db) { return static_cast<pid_t>(number(db, "select pg_backend_pid()")); }
};

TEST_F(PostgresLoss, AServerThatIsKilledLosesWhatWasSentAndComesBack) {
    for (const int signal : {SIGKILL, SIGQUIT, SIGINT}) {
        for (const bool by_tcp : {false, true}) {
            pool db{home, by_tcp ? postgres.by_tcp() : postgres.by_unix(), quick};
            auto sleeping = spawn(home, db.query({"select pg_sleep(600)"}));
            until([&] { return db.stats().in_flight == 1; });
            postgres.end_with(signal);
            const auto lost = sleeping.get();
            EXPECT_EQ(lost.error().code(), errc::connection_lost);
            EXPECT_TRUE(lost.error().was_sent());
            // Without a server a request waits, and is not sent.
            const auto late = run(db.query({"select 1"}, in(10ms)));
            EXPECT_EQ(late.error().code(), std::errc::timed_out);
            EXPECT_FALSE(late.error().was_sent());
            auto waiting = spawn(home, is_whole(db, 3));
            postgres.start();
            EXPECT_TRUE(waiting.get());
            EXPECT_EQ(db.stats().connects, 2U);
            EXPECT_EQ(db.stats().lost, 1U);
        }
    }
}

TEST_F(PostgresLoss, AServerThatDropsItsClientsIsAskedAfterAPause) {
    pool other{home, postgres.by_unix(), {.max = 1}};
    pool db{home, postgres.by_unix(), {.max = 1, .reconnect_min = 1h, .reconnect_max = 1h}};
    execute(other, {"select pg_terminate_backend(" + std::to_string(process_of(db)) + ')'});
    until([&] { return db.stats().lost == 1; });
    const auto late = run(db.query({"select 1"}, in(200ms)));
    EXPECT_EQ(late.error().code(), std::errc::timed_out);
    EXPECT_FALSE(late.error().was_sent());
    EXPECT_EQ(db.stats().connects, 1U);
    EXPECT_EQ(db.stats().connecting, 0U);
}

TEST_F(PostgresLoss, AConnectionThatIsTerminatedIsReplaced) {
    pool other{home, postgres.by_unix(), {.max = 1}};
    pool db{home, postgres.by_unix(), quick};
    const auto terminate = [&](pid_t process) {
        execute(other, {"select pg_terminate_backend(" + std::to_string(process) + ')'});
    };
    // Idle: the next request does not notice.
    terminate(process_of(db));
    until([&] { return db.stats().lost == 1; });
    EXPECT_TRUE(run(is_whole(db, 1)));
    // In a statement: what the server has said is told.
    const pid_t second = process_of(db);
    auto sleeping = spawn(home, db.query({"select pg_sleep(600)"}));
    until([&] { return db.stats().in_flight == 1; });
    terminate(second);
    const error lost = sleeping.get().error();
    EXPECT_EQ(lost.code(), errc::connection_lost);
    EXPECT_TRUE(lost.was_sent());
    EXPECT_EQ(lost.sqlstate(), "57P01");
    EXPECT_EQ(lost.report().severity, "FATAL");
    // In a transaction: it does not go on on another connection.
    auto change = run(db.begin());
    const pid_t third =
        static_cast<pid_t>(run(change->query({"select pg_backend_pid()"}))->one<int>().value_or(0));
    terminate(third);
    until([&] { return db.stats().lost == 3; });
    const error gone = run(change->query({"select 1"})).error();
    EXPECT_EQ(gone.code(), errc::connection_lost);
    EXPECT_FALSE(gone.was_sent());
    const error never_sent = run(change->commit()).error();
    EXPECT_EQ(never_sent.code(), errc::connection_lost);
    EXPECT_FALSE(never_sent.was_sent());
    EXPECT_TRUE(run(change->rollback()).has_value());
    EXPECT_TRUE(run(is_whole(db, 2)));
}

TEST_F(PostgresLoss, ACommitThatHasNoAnswerHasAnUnknownOutcome) {
    pool db{home, postgres.by_unix(), quick};
    auto change = run(db.begin());
    const pid_t process =
        static_cast<pid_t>(run(change->query({"select pg_backend_pid()"}))->one<int>().value_or(0));
    ASSERT_EQ(::kill(process, SIGSTOP), 0);
    auto committing = spawn(home, change->commit());
    until([&] { return db.stats().in_flight == 1; });
    postgres.end_with(SIGKILL);
    ::kill(process, SIGKILL);
    const error unknown = committing.get().error();
    EXPECT_EQ(unknown.code(), errc::outcome_unknown);
    EXPECT_TRUE(unknown.was_sent());
    EXPECT_EQ(run(change->commit()).error().code(), errc::transaction_over);
    postgres.start();
    EXPECT_TRUE(run(is_whole(db, 1)));
}

TEST_F(PostgresLoss, AConnectionThatHangsIsGivenUp) {
    pool db{home, postgres.by_unix(), {.max = 1, .cancel_after = 1ms, .abandon_after = 20ms}};
    const pid_t process = process_of(db);
    ASSERT_EQ(::kill(process, SIGSTOP), 0);
    const auto late = run(db.query({"select 1"}, in(5ms)));
    EXPECT_EQ(late.error().code(), std::errc::timed_out);
    EXPECT_TRUE(late.error().was_sent());
    EXPECT_TRUE(run(is_whole(db, 1)));
    EXPECT_EQ(db.stats().connects, 2U);
    EXPECT_GE(db.stats().cancels, 1U);
    // In a transaction, too: its rollback gets no answer.
    {
        auto change = run(db.begin());
        const pid_t second = static_cast<pid_t>(
            run(change->query({"select pg_backend_pid()"}))->one<int>().value_or(0));
        ASSERT_EQ(::kill(second, SIGSTOP), 0);
        ::kill(process, SIGCONT);
        { const transaction gone = std::move(*change); }
        EXPECT_TRUE(run(is_whole(db, 2)));
        ::kill(second, SIGCONT);
    }
    EXPECT_EQ(db.stats().connects, 3U);
    EXPECT_EQ(db.stats().lost, 2U);
}

task<> ask_until_killed(pool& db, std::int64_t number, int& lost, int& right) {
    for (int i = 0; i != 200; ++i) {
        const auto got = co_await db.query({"select $1::bigint", number}, in(60s));
        if (got) {
            EXPECT_EQ(got->one<std::int64_t>().value_or(-1), number);
            ++right;
        } else {
            EXPECT_EQ(got.error().code(), errc::connection_lost);
            EXPECT_TRUE(got.error().was_sent());
            ++lost;
        }
    }
}

task<> kill_often(pool& db, pool& by) {
    for (int i = 0; i != 20; ++i) {
        const auto done = co_await by.query({"select pg_terminate_backend(pid) from "
                                             "pg_stat_activity where application_name = 'prey'"},
                                            in(60s));
        EXPECT_TRUE(done.has_value());
        const std::uint64_t before = db.stats().sent;
        while (db.stats().sent < before + 20 && db.stats().sent < 30 * 200) co_await yield();
    }
}

task<> ask_while_killed(pool& db, pool& by) {
    const executor where = co_await current_executor();
    std::vector<std::pair<int, int>> counts(30);
    scope all{where};
    for (std::size_t i = 0; i != counts.size(); ++i) {
        all.spawn(
            ask_until_killed(db, static_cast<std::int64_t>(i), counts[i].first, counts[i].second));
    }
    all.spawn(kill_often(db, by));
    co_await all.join();
    int right = 0;
    for (const auto& [lost, got] : counts) {
        EXPECT_EQ(lost + got, 200);
        right += got;
    }
    EXPECT_GT(right, 0);
}

TEST_F(PostgresLoss, LossesAtRandomEndEachRequestOnce) {
    pool by{home, postgres.by_unix(), {.max = 1}};
    pool db{home,
            postgres.by_unix("application_name=prey"),
            {.max = 2, .reconnect_min = 1ms, .reconnect_max = 2ms}};
    run(ask_while_killed(db, by));
    EXPECT_GT(db.stats().lost, 0U);
    EXPECT_EQ(db.stats().in_flight + db.stats().queued, 0U);
    EXPECT_TRUE(run(db.close()));
}

// --- no connection -------------------------------------------------------------------------------

TEST_F(PostgresLoss, WithoutAServerRequestsFailAfterAWhileUnsent) {
    postgres.end_with(SIGINT);
    pool db{home,
            postgres.by_unix(),
            {.max = 1, .reconnect_min = 1ms, .reconnect_max = 5ms, .offline_max = 50ms}};
    const error refused = run(db.query({"select 1"})).error();
    EXPECT_EQ(refused.code(), errc::cannot_connect);
    EXPECT_FALSE(refused.was_sent());
    EXPECT_NE(refused.message().find("No such file"), std::string::npos) << refused.message();
    EXPECT_EQ(run(db.begin()).error().code(), errc::cannot_connect);
    postgres.start();
    until([&] { return db.stats().open == 1; });
    EXPECT_TRUE(run(is_whole(db, 1)));
}

// A pool that was not used for long has not looked for a server meanwhile.
TEST_F(PostgresLoss, RequestsWaitAlsoWhenNothingWasAskedForBefore) {
    postgres.end_with(SIGINT);
    pool db{home,
            postgres.by_unix(),
            {.max = 1, .reconnect_min = 1ms, .reconnect_max = 5ms, .offline_max = 1s}};
    for (const bool has_failed_before : {false, true}) {
        run([]() -> task<> { co_await sleep_for(1100ms); }());
        const std::uint64_t failures = db.stats().connect_failures;
        const auto late = run(db.query({"select 1"}, in(20ms)));
        EXPECT_EQ(late.error().code(), std::errc::timed_out) << has_failed_before;
        until([&] { return db.stats().connect_failures > failures && db.stats().connecting == 0; });
    }
    postgres.start();
    EXPECT_TRUE(run(is_whole(db, 1)));
}

TEST_F(PostgresLoss, AfterAFailureOneAttemptIsMadeAtATime) {
    using found = std::expected<std::vector<io::address>, std::error_code>;
    constexpr int at_once = 8;
    std::atomic<int> begun = 0;
    std::atomic<int> running = 0;
    std::atomic<bool> is_up = false;
    pool_options how{.max = at_once,
                     .connecting_max = at_once,
                     .reconnect_min = 1ms,
                     .reconnect_max = 1ms,
                     .offline_max = 1h};
    how.resolve = [&](std::string, std::uint16_t port, time_point) -> task<found> {
        const int beside = running++;
        if (++begun > at_once && !is_up) {
            EXPECT_EQ(beside, 0);
        }
        for (int i = 0; i != 10; ++i) co_await yield();  // further attempts would be seen
        --running;
        if (is_up) co_return std::vector{io::address::loopback(port)};
        co_return std::unexpected{std::make_error_code(std::errc::host_unreachable)};
    };
    pool db{
        home,
        "host=nowhere.test port=" + std::to_string(postgres.port()) + " user=test dbname=postgres",
        how};
    std::vector<join_handle<bool>> waiting;
    for (int i = 0; i != at_once; ++i) waiting.push_back(spawn(home, is_whole(db, i)));
    until([&] { return db.stats().connect_failures >= 30; });
    is_up = true;
    for (auto& each : waiting) EXPECT_TRUE(each.get());
    run(db.close(in(20s)));
}

TEST_F(PostgresLoss, RefusalsAreToldAtOnce) {
    pool db{home, postgres.by_unix(), {.max = 1}};
    execute(db, {"drop role if exists secret", "create role secret login password 'right'"});
    const auto ask = [&](const std::string& more) {
        pool under{home, postgres.by_unix(more), {.max = 1, .offline_max = 1h}};
        return run(under.query({"select current_user"}, in(20s)));
    };
    const auto right = ask("user=secret password=right");
    ASSERT_TRUE(right.has_value());
    EXPECT_EQ(right->one<std::string>().value_or(""), "secret");
    const error wrong = ask("user=secret password=wrong").error();
    EXPECT_EQ(wrong.code(), errc::authentication);
    EXPECT_EQ(wrong.sqlstate(), "28P01");
    EXPECT_FALSE(wrong.was_sent());
    EXPECT_EQ(wrong.message(), "password authentication failed for user \"secret\"");
    EXPECT_EQ(ask("user=nobody_here").error().code(), errc::authentication);
    EXPECT_EQ(ask("dbname=nothing").error().code(), errc::unknown_database);
    pool odd{home, "no conninfo", {.offline_max = duration::zero()}};
    EXPECT_EQ(run(odd.query({"select 1"})).error().code(), errc::cannot_connect);
}

TEST_F(PostgresLoss, AServerThatDoesNotAnswerIsGivenUp) {
    const auto silent = fairlead::test::raw_socket::listening(8);
    const std::string conninfo =
        "host=127.0.0.1 port=" + std::to_string(silent.local_address().port()) + " user=test";
    pool db{home, conninfo, {.max = 1, .connect_limit = 5ms, .offline_max = 500ms}};
    EXPECT_EQ(run(db.query({"select 1"})).error().code(), std::errc::timed_out);
    EXPECT_GE(db.stats().connect_failures, 2U);
    // Hosts are tried in their order.
    pool second{home,
                "host=127.0.0.1,127.0.0.1 port=1," + std::to_string(silent.local_address().port()) +
                    " user=test",
                {.max = 1, .connect_limit = 50ms, .offline_max = duration::zero()}};
    EXPECT_EQ(run(second.query({"select 1"})).error().code(), std::errc::timed_out);
}

}  // namespace
}  // namespace fairlead::postgres::loss_tests
