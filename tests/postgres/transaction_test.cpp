// Transactions: their ends, what ends them early, and what is done again.
#include "postgres/fixture.hpp"

#include <fairlead/wait/event.hpp>

#include <stdexcept>

namespace fairlead::postgres::transaction_tests {
namespace {

using namespace test;

class PostgresTransaction : public with_server {
protected:
    void SetUp() override {
        execute(db, {"drop table if exists accounts",
                     "create table accounts (id int primary key, amount int not null)",
                     "insert into accounts values (1, 100), (2, 100)"});
    }
    std::int64_t amount(int id) {
        return number(other, "select amount from accounts where id = " + std::to_string(id));
    }

    pool db{home, postgres.by_unix(), {.max = 2}};
    pool other{home, postgres.by_unix(), {.max = 1}};
};

TEST_F(PostgresTransaction, ACommitKeepsAndADropRollsBack) {
    {
        auto change = run(db.begin());
        ASSERT_TRUE(change.has_value());
        EXPECT_TRUE(run(change->query({"update accounts set amount = 1 where id = 1"})));
        EXPECT_EQ(amount(1), 100);
        EXPECT_EQ(db.stats().lent, 1U);
        EXPECT_TRUE(run(change->commit()).has_value());
        EXPECT_EQ(amount(1), 1);
        EXPECT_EQ(run(change->query({"select 1"})).error().code(), errc::transaction_over);
        EXPECT_EQ(run(change->commit()).error().code(), errc::transaction_over);
        EXPECT_TRUE(run(change->rollback()).has_value());
    }
    {
        auto change = run(db.begin());
        EXPECT_TRUE(run(change->query({"update accounts set amount = 2 where id = 1"})));
    }
    {
        auto change = run(db.begin());
        EXPECT_TRUE(run(change->query({"update accounts set amount = 3 where id = 1"})));
        EXPECT_TRUE(run(change->rollback()).has_value());
    }
    // The next one has a connection that is clean.
    EXPECT_TRUE(run(db.query({"update accounts set amount = amount + 10 where id = 1"})));
    EXPECT_EQ(amount(1), 11);
    until([&] { return db.stats().lent == 0; });
    EXPECT_EQ(db.stats().closed, 0U);
}

task<> leave_by_exception(pool& db) {
    auto change = co_await db.begin();
    const auto done = co_await change->query({"update accounts set amount = 0"});
    EXPECT_TRUE(done.has_value());
    throw std::runtime_error{"on the way"};
}

task<> sleep_in_transaction(pool& db) {
    auto change = co_await db.begin();
    const auto locked = co_await change->query({"update accounts set amount = 0"});
    EXPECT_TRUE(locked.has_value());
    const auto slept = co_await change->query({"select pg_sleep(601)"});
    EXPECT_EQ(slept.error().code(), std::errc::operation_canceled);
    EXPECT_TRUE(slept.error().was_sent());
    const auto next = co_await change->query({"select 1"}, immediately);
    EXPECT_FALSE(next.has_value());
}

TEST_F(PostgresTransaction, ExceptionsAndStopsRollBack) {
    EXPECT_THROW(run(leave_by_exception(db)), std::runtime_error);
    auto sleeping = spawn(home, sleep_in_transaction(db));
    until([&] {
        return number(other,
                      "select count(*) from pg_stat_activity where query like "
                      "'select pg_sleep(601)%' and state = 'active'") == 1;
    });
    sleeping.request_stop();
    sleeping.get();
    // The statement is cancelled, and its locks are gone: else this would wait.
    EXPECT_TRUE(run(other.query({"update accounts set amount = 7 where id = 1"}, in(20s))));
    EXPECT_EQ(amount(1), 7);
    until([&] { return db.stats().lent == 0; });
    EXPECT_GE(db.stats().cancels, 1U);
    EXPECT_EQ(db.stats().closed + db.stats().lost, 0U);
    EXPECT_TRUE(run(is_whole(db, 5)));
}

TEST_F(PostgresTransaction, AfterAnErrorNothingButARollbackIsLeft) {
    auto change = run(db.begin());
    EXPECT_TRUE(run(change->query({"update accounts set amount = 5 where id = 1"})));
    EXPECT_EQ(run(change->query({"select 1/0"})).error().sqlstate(), "22012");
    EXPECT_EQ(run(change->query({"select 1"})).error().code(), errc::in_failed_transaction);
    const auto refused = run(change->commit());
    EXPECT_EQ(refused.error().code(), errc::rolled_back);
    EXPECT_EQ(amount(1), 100);

    auto second = run(db.begin());
    EXPECT_TRUE(run(second->query({"savepoint here"})).has_value());
    EXPECT_EQ(run(second->query({"select 1/0"})).error().sqlstate(), "22012");
    EXPECT_TRUE(run(second->query({"rollback to here"})).has_value());
    EXPECT_TRUE(run(second->query({"update accounts set amount = 6 where id = 1"})));
    EXPECT_TRUE(run(second->commit()).has_value());
    EXPECT_EQ(amount(1), 6);
}

TEST_F(PostgresTransaction, ACommitThatIsRefusedIsTold) {
    execute(db, {"drop table if exists late",
                 "create table late (i int unique deferrable initially deferred)"});
    auto change = run(db.begin());
    std::vector<statement> both{{"insert into late values (1)"}, {"insert into late values (1)"}};
    EXPECT_EQ(run(change->query_all(both))->size(), 2U);
    EXPECT_EQ(run(change->commit()).error().code(), errc::unique_violation);
    EXPECT_EQ(number(db, "select count(*) from late"), 0);
}

TEST_F(PostgresTransaction, OnlyItsOwnMembersEndIt) {
    auto change = run(db.begin());
    for (const char* const each :
         {"commit", "rollback", "begin", "end", "copy accounts to stdout"}) {
        const auto refused = run(change->query({each}));
        EXPECT_EQ(refused.error().code(), errc::not_shared) << each;
    }
    EXPECT_TRUE(run(change->query({"set local work_mem to '1MB'"})).has_value());
    EXPECT_TRUE(run(change->commit()).has_value());
    until([&] { return db.stats().lent == 0; });
    EXPECT_EQ(db.stats().closed, 0U);
}

TEST_F(PostgresTransaction, AConnectionThatWasChangedIsNotUsedAgain) {
    {
        auto change = run(db.begin());
        EXPECT_TRUE(run(change->query({"set work_mem to '1MB'"})).has_value());
        EXPECT_TRUE(run(change->commit()).has_value());
    }
    until([&] { return db.stats().closed == 1; });
    EXPECT_EQ(run(db.query({"show work_mem"}))->one<std::string>().value_or(""), "4MB");
}

TEST_F(PostgresTransaction, OptionsReachTheServer) {
    const auto shown = [&](const transaction_options& how, const char* what) {
        auto change = run(db.begin(how));
        return run(change->query({std::string{"show transaction_"} + what}))
            ->one<std::string>()
            .value_or("");
    };
    EXPECT_EQ(shown({}, "isolation"), "read committed");
    EXPECT_EQ(shown({.level = isolation::read_committed}, "isolation"), "read committed");
    EXPECT_EQ(shown({.level = isolation::repeatable_read}, "isolation"), "repeatable read");
    EXPECT_EQ(shown({.level = isolation::serializable}, "isolation"), "serializable");
    EXPECT_EQ(shown({.read_only = true}, "read_only"), "on");
    EXPECT_EQ(shown({.level = isolation::serializable, .read_only = true, .deferrable = true},
                    "deferrable"),
              "on");
    auto reads = run(db.begin({.read_only = true}));
    EXPECT_EQ(run(reads->query({"update accounts set amount = 0"})).error().code(),
              errc::read_only_transaction);
}

// Adds to both accounts, the other task in the other order: deadlocks and serialization failures.
task<result<int>> add_to_both(transaction& change, int first) {
    const auto one = co_await change.query(
        {"update accounts set amount = amount + 1 where id = $1", first}, in(20s));
    if (!one) co_return std::unexpected{one.error()};
    co_await yield();
    const auto two = co_await change.query(
        {"update accounts set amount = amount + 1 where id = $1", 3 - first}, in(20s));
    if (!two) co_return std::unexpected{two.error()};
    co_return first;
}

task<> add_often(pool& db, isolation level, int first) {
    for (int i = 0; i != 20; ++i) {
        const auto body = [first](transaction& change) { return add_to_both(change, first); };
        const retry_limits limits{.attempts = 100};
        const transaction_options how{.level = level};
        const auto done = co_await db.transact(how, body, in(60s), limits);
        EXPECT_TRUE(done.has_value());
        if (!done) ADD_FAILURE() << done.error().message();
    }
}

TEST_F(PostgresTransaction, ConflictsAreDoneAgain) {
    for (const isolation level : {isolation::serializable, isolation::read_committed}) {
        EXPECT_TRUE(run(db.query({"update accounts set amount = 0"})).has_value());
        auto forth = spawn(home, add_often(db, level, 1));
        auto back = spawn(home, add_often(db, level, 2));
        forth.get();
        back.get();
        EXPECT_EQ(amount(1), 40);
        EXPECT_EQ(amount(2), 40);
    }
    EXPECT_EQ(db.stats().lost, 0U);
}

TEST_F(PostgresTransaction, ABodyThatFailsIsNotDoneAgain) {
    int calls = 0;
    const auto body = [&](transaction& change) -> task<result<void>> {
        ++calls;
        const auto done = co_await change.query({"select 1/0"});
        co_return std::unexpected{done.error()};
    };
    EXPECT_EQ(run(db.transact({}, body)).error().sqlstate(), "22012");
    EXPECT_EQ(calls, 1);
    const auto again = [&](transaction&) -> task<result<void>> {
        ++calls;
        co_return std::unexpected{error{errc::serialization_failure}};
    };
    EXPECT_EQ(run(db.transact({}, again, never, {.attempts = 3})).error().code(),
              errc::serialization_failure);
    EXPECT_EQ(calls, 4);
    const auto nothing = [](transaction&) -> task<result<void>> { co_return result<void>{}; };
    EXPECT_TRUE(run(db.transact({}, nothing)).has_value());
}

task<std::int64_t> count_in(transaction& in, std::int64_t number) {
    const auto got = co_await in.query({"select $1::bigint", number});
    co_return got ? got->one<std::int64_t>().value_or(-1) : -1;
}

task<> ask_at_once(pool& db) {
    auto change = co_await db.begin();
    const executor where = co_await current_executor();
    std::vector<join_handle<std::int64_t>> asking;
    for (int i = 0; i != 50; ++i) asking.push_back(spawn(where, count_in(*change, i)));
    for (int i = 0; i != 50; ++i) {
        const std::int64_t got = co_await asking[static_cast<std::size_t>(i)];
        EXPECT_EQ(got, i);
    }
    const auto done = co_await change->commit();
    EXPECT_TRUE(done.has_value());
}

TEST_F(PostgresTransaction, SeveralTasksMayUseIt) { run(ask_at_once(db)); }

}  // namespace
}  // namespace fairlead::postgres::transaction_tests
