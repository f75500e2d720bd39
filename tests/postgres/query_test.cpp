// Statements: parameters, rows, errors, and what is prepared.
#include "postgres/fixture.hpp"

#include <sys/mman.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

namespace fairlead::postgres::query_tests {
namespace {

using namespace test;

class PostgresQuery : public with_server {
protected:
    pool db{home, postgres.by_unix(), {.max = 1}};
};

template <class T>
task<> expect_same(pool& db, std::string type, T sent) {
    const auto got = co_await db.query({"select $1::" + type, sent}, in(20s));
    EXPECT_TRUE(got.has_value()) << type;
    if (!got) co_return;
    const auto one = got->template one<T>();
    EXPECT_TRUE(one && *one == sent) << type;
}

task<> send_all_types(pool& db) {
    for (const bool each : {true, false}) co_await expect_same(db, "bool", each);
    for (const std::int64_t each : {std::numeric_limits<std::int64_t>::min(), std::int64_t{0},
                                    std::numeric_limits<std::int64_t>::max()}) {
        co_await expect_same(db, "bigint", each);
        co_await expect_same(db, "numeric", each);
    }
    co_await expect_same(db, "int", std::int32_t{-7});
    co_await expect_same(db, "smallint", std::int16_t{32'767});
    co_await expect_same(db, "oid", std::uint32_t{4'294'967'295U});
    for (const double each : {0.1, -1e308, 5e-324, 1.0 / 3, HUGE_VAL, -HUGE_VAL}) {
        co_await expect_same(db, "float8", each);
    }
    co_await expect_same(db, "float4", 0.1F);
    const auto nan = co_await db.query({"select $1::float8", std::nan("")});
    EXPECT_TRUE(nan && std::isnan(nan->one<double>().value_or(0)));
    for (const std::string each : {"", "plain", "gr\xc3\xbc\xc3\x9f, 'quoted' \\ \"x\"\n$1"}) {
        co_await expect_same(db, "text", each);
    }
    std::vector<std::byte> bytes;
    co_await expect_same(db, "bytea", bytes);
    for (int i = 0; i != 256; ++i) bytes.push_back(std::byte(i));
    co_await expect_same(db, "bytea", bytes);
    using std::chrono::microseconds;
    for (const std::int64_t each :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{500'000}, std::int64_t{1'234'567},
          std::int64_t{1'795'621'431'123'456}, std::int64_t{-62'100'000'000'000'001}}) {
        co_await expect_same(db, "timestamptz", timestamp{microseconds{each}});
        co_await expect_same(db, "timestamp", timestamp{microseconds{each}});
    }
    co_await expect_same(db, "text", std::optional<std::string>{});
    co_await expect_same(db, "text", std::optional<std::string>{"x"});
    co_await expect_same(db, "int", std::optional<int>{});
    co_await expect_same(db, "int", std::optional<int>{5});
}

TEST_F(PostgresQuery, ValuesOfAllTypesComeBackAsTheyWere) {
    run(send_all_types(db));
    // In any time zone and style of dates of the server.
    pool other{home,
               postgres.by_tcp("options='-c TimeZone=Asia/Kolkata -c DateStyle=German'"),
               {.max = 1}};
    run(send_all_types(other));
    EXPECT_EQ(other.stats().connects, 1U);
    pool west{home, postgres.by_tcp("options='-c TimeZone=America/St_Johns'"), {.prepare = false}};
    run(send_all_types(west));
    EXPECT_EQ(west.stats().prepared, 0U);
}

TEST_F(PostgresQuery, ValuesThatAreOfAnotherTypeAreErrors) {
    const auto got =
        run(db.query({"select 'x' as a, null::int as b, 300 as c, 'infinity'::timestamptz, "
                      "'0044-03-15 BC'::timestamptz"}));
    ASSERT_TRUE(got.has_value());
    ASSERT_EQ(got->size(), 1U);
    ASSERT_EQ(got->columns(), 5U);
    const row only = (*got)[0];
    EXPECT_EQ(only[0].as<int>().error().code(), errc::wrong_type);
    EXPECT_EQ(only[0].as<bool>().error().code(), errc::wrong_type);
    EXPECT_EQ(only[0].as<std::vector<std::byte>>().error().code(), errc::wrong_type);
    EXPECT_EQ(only[0].as<timestamp>().error().code(), errc::wrong_type);
    EXPECT_EQ(only[0].as<std::string_view>().value_or(""), "x");
    EXPECT_EQ(only[1].as<int>().error().message(), "the value of column \"b\" is null");
    EXPECT_EQ(only[1].as<std::string>().error().code(), errc::wrong_type);
    EXPECT_TRUE(only[1].is_null());
    EXPECT_EQ(only[2].as<std::int8_t>().error().code(), errc::wrong_type);
    EXPECT_EQ(only[3].as<timestamp>().error().code(), errc::wrong_type);
    EXPECT_EQ(only[4].as<timestamp>().error().code(), errc::wrong_type);
    EXPECT_EQ(only.at("c")->text(), "300");
    EXPECT_EQ(only.at("d").error().code(), errc::wrong_type);
    EXPECT_EQ((only.as<std::string, int>().error().code()), errc::wrong_type);
}

TEST_F(PostgresQuery, RowsAreTuplesOrOneOrNone) {
    const auto got = run(db.query({"select i, i::text from generate_series(1, $1::int) i", 3}));
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->affected(), 3U);
    EXPECT_EQ(got->command(), "SELECT 3");
    EXPECT_EQ(got->name_of(0), "i");
    const auto all = got->all<int, std::string>();
    ASSERT_TRUE(all.has_value());
    EXPECT_EQ((*all)[2], (std::tuple{3, std::string{"3"}}));
    EXPECT_EQ((got->one<int, std::string>().error().code()), errc::not_one_row);
    const auto none = run(db.query({"select 1 where false"}));
    ASSERT_TRUE(none.has_value());
    EXPECT_TRUE(none->empty());
    EXPECT_EQ(none->one<int>().error().code(), errc::not_one_row);
    const rows made_of_nothing;
    EXPECT_TRUE(made_of_nothing.empty());
    EXPECT_EQ(made_of_nothing.affected(), 0U);
    EXPECT_EQ(run(db.query({""}))->size(), 0U);
}

TEST_F(PostgresQuery, ErrorsHaveWhatTheServerSays) {
    execute(db, {"drop table if exists users",
                 "create table users (id int primary key, name text not null check (name <> ''))"});
    const auto insert = [&](std::optional<int> id, std::optional<std::string> name) {
        return run(db.query({"insert into users values ($1, $2)", id, name}));
    };
    const auto made = insert(1, "ann");
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->affected(), 1U);
    EXPECT_EQ(made->command(), "INSERT 0 1");
    const error twice = insert(1, "bob").error();
    EXPECT_EQ(twice.code(), errc::unique_violation);
    EXPECT_EQ(twice.sqlstate(), "23505");
    EXPECT_EQ(twice.constraint(), "users_pkey");
    EXPECT_EQ(twice.report().severity, "ERROR");
    EXPECT_EQ(twice.report().table, "users");
    EXPECT_EQ(twice.report().detail, "Key (id)=(1) already exists.");
    EXPECT_TRUE(twice.is_of_server());
    EXPECT_FALSE(twice.is_retryable());
    EXPECT_EQ(insert(2, std::nullopt).error().code(), errc::not_null_violation);
    EXPECT_EQ(insert(2, std::nullopt).error().report().column, "name");
    EXPECT_EQ(insert(2, "").error().code(), errc::check_violation);
    const error syntax = run(db.query({"selec 1"})).error();
    EXPECT_EQ(syntax.code(), errc::syntax_error);
    EXPECT_EQ(syntax.report().position, "1");
    EXPECT_EQ(run(db.query({"select * from nowhere"})).error().code(), errc::undefined_table);
    EXPECT_EQ(run(db.query({"select nothing from users"})).error().code(), errc::undefined_column);
    EXPECT_EQ(run(db.query({"select $1::int", "x"})).error().code(), errc::invalid_text);
    EXPECT_EQ(run(db.query({"select 1/0"})).error().code(), errc::server);
    EXPECT_EQ(run(db.query({"select 1; select 2"})).error().code(), errc::syntax_error);
    EXPECT_EQ(run(db.query({"select $1::int"})).error().code(), errc::server);  // no value
    EXPECT_EQ(number(db, "select count(*) from users"), 1);
    EXPECT_EQ(db.stats().connects, 1U);
}

TEST_F(PostgresQuery, WhatCannotBeSentIsRefused) {
    using namespace std::string_literals;
    const error zero = run(db.query({"select $1::text", "a\0b"s})).error();
    EXPECT_EQ(zero.code(), errc::invalid_parameter);
    EXPECT_FALSE(zero.was_sent());
    EXPECT_EQ(run(db.query({"select 1 \0 x"s})).error().code(), errc::invalid_parameter);
    statement many{"select 1"};
    for (int i = 0; i != 65'536; ++i) many.add(i);
    EXPECT_EQ(run(db.query(many)).error().code(), errc::invalid_parameter);
    for (const char* const each :
         {"begin", "START TRANSACTION", "/* a /* b */ */ commit", "-- x\n rollback", "abort", "end",
          "savepoint a", "set timezone to 'UTC'", "listen x", "reset all", "discard all",
          "prepare x as select 1", "deallocate all", "declare c cursor for select 1",
          "copy users to stdout", "  ;begin", "lock users"}) {
        const auto refused = run(db.query({each}));
        EXPECT_EQ(refused.error().code(), errc::not_shared) << each;
        EXPECT_FALSE(refused.error().was_sent());
    }
    EXPECT_EQ(db.stats().sent, 0U);
}

// Zeros that have no memory of their own.
class untouched {
public:
    explicit untouched(std::size_t size)
        : size_{size},
          bytes_{::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                        0)} {}
    untouched(const untouched&) = delete;
    untouched& operator=(const untouched&) = delete;
    ~untouched() { ::munmap(bytes_, size_); }

    [[nodiscard]] bool is_there() const { return bytes_ != MAP_FAILED; }
    [[nodiscard]] std::span<const std::byte> first(std::size_t count) const {
        return {static_cast<const std::byte*>(bytes_), count};
    }

private:
    const std::size_t size_;
    void* const bytes_;
};

TEST_F(PostgresQuery, MoreThanAMessageHoldsIsRefusedAndNotCopied) {
    constexpr std::size_t most = statement::bytes_max;
    const untouched zeros{std::size_t{5} << 30};
    ASSERT_TRUE(zeros.is_there());
    const auto refuses = [&](const statement& what) {
        EXPECT_LT(what.size(), 1000U);
        const error why = run(db.query(what)).error();
        EXPECT_EQ(why.code(), errc::invalid_parameter);
        EXPECT_FALSE(why.was_sent());
        auto alone = run(db.stream(what));
        EXPECT_EQ(alone.error().code(), errc::invalid_parameter);
    };
    for (const std::size_t size : {most + 1, std::size_t{1} << 31, (std::size_t{1} << 32) + 1}) {
        SCOPED_TRACE(size);
        refuses({"select length($1::bytea)", zeros.first(size)});
        refuses({std::string_view{reinterpret_cast<const char*>(zeros.first(1).data()), size}});
    }
    // All parameters together, and a parameter behind the parameter without room.
    refuses({"select $1::text, length($2::bytea)", "abc", zeros.first(most - 2)});
    refuses({"select length($1::bytea), $2::text", zeros.first(most + 1), "abc"});
    EXPECT_EQ(db.stats().sent, 0U);
    EXPECT_TRUE(run(is_whole(db, 1)));
}

TEST_F(PostgresQuery, LargeValuesPassInBothDirections) {
    std::vector<std::byte> large(5UL << 20, std::byte{0xa5});
    for (std::size_t i = 0; i < large.size(); i += 1000) large[i] = std::byte(i / 1000);
    const auto got = run(db.query({"select $1::bytea", large}));
    ASSERT_TRUE(got.has_value());
    EXPECT_TRUE(got->one<std::vector<std::byte>>().value() == large);
    const auto many =
        run(db.query({"select i, repeat('x', 100) from generate_series(1, 50000) i"}));
    ASSERT_TRUE(many.has_value());
    EXPECT_EQ(many->size(), 50'000U);
    EXPECT_EQ((*many)[49'999][0].as<int>().value_or(0), 50'000);
}

TEST_F(PostgresQuery, ABatchIsDoneAsAWholeOrNotAtAll) {
    execute(db, {"drop table if exists steps", "create table steps (i int primary key)"});
    std::vector<statement> good;
    for (int i = 0; i != 3; ++i) good.push_back({"insert into steps values ($1)", i});
    good.push_back({"select count(*) from steps"});
    const auto done = run(db.query_all(good));
    ASSERT_TRUE(done.has_value());
    ASSERT_EQ(done->size(), 4U);
    EXPECT_EQ((*done)[3].one<int>().value_or(0), 3);
    std::vector<statement> bad;
    for (int i : {7, 8, 2, 9}) bad.push_back({"insert into steps values ($1)", i});
    EXPECT_EQ(run(db.query_all(bad)).error().code(), errc::unique_violation);
    std::vector<statement> fresh{{"insert into steps values (1)"}, {"select 'not prepared'"}};
    EXPECT_EQ(run(db.query_all(fresh)).error().code(), errc::unique_violation);
    EXPECT_TRUE(run(db.query({"select 'not prepared'"})).has_value());
    EXPECT_EQ(number(db, "select count(*) from steps"), 3);
    EXPECT_TRUE(run(db.query_all({}))->empty());
}

TEST_F(PostgresQuery, ARefusalAtTheEndOfABatchIsTold) {
    execute(db, {"drop table if exists late",
                 "create table late (i int unique deferrable initially deferred)"});
    EXPECT_TRUE(run(db.query({"insert into late values (1)"})).has_value());
    const auto refused = run(db.query({"insert into late values (1)"}));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), errc::unique_violation);
    EXPECT_EQ(number(db, "select count(*) from late"), 1);
    EXPECT_EQ(db.stats().connects, 1U);
}

TEST_F(PostgresQuery, AStatementIsPreparedOnceForEachConnection) {
    for (std::int64_t i = 0; i != 10; ++i) EXPECT_TRUE(run(is_whole(db, i)));
    EXPECT_EQ(db.stats().prepared, 1U);
    EXPECT_EQ(number(db, "select count(*) from pg_prepared_statements"), 1);
    // A statement that cannot be prepared is not kept.
    for (int i = 0; i != 3; ++i) {
        EXPECT_EQ(run(db.query({"select * from not_yet"})).error().code(), errc::undefined_table);
    }
    execute(db, {"drop table if exists not_yet", "create table not_yet (i int)"});
    EXPECT_TRUE(run(db.query({"select * from not_yet"})).has_value());
    execute(db, {"drop table not_yet"});
}

TEST_F(PostgresQuery, OnlyTheStatementsThatWereUsedLastAreKept) {
    pool few{home, postgres.by_unix(), {.max = 1, .statements_max = 3}};
    for (int round = 0; round != 2; ++round) {
        for (int i = 0; i != 10; ++i) {
            const std::string text = "select " + std::to_string(i);
            EXPECT_EQ(run(few.query({text}))->one<int>().value_or(-1), i);
            EXPECT_EQ(run(few.query({"select 'often'"}))->one<std::string>().value_or(""), "often");
        }
    }
    EXPECT_EQ(number(few, "select count(*) from pg_prepared_statements"), 3);
    EXPECT_EQ(number(few,
                     "select count(*) from pg_prepared_statements "
                     "where statement = 'select ''often'''"),
              1);
    EXPECT_EQ(few.stats().prepared, 21U);  // "often" once
}

TEST_F(PostgresQuery, AStatementThatDoesNotFitAnyMoreIsPreparedAgain) {
    execute(db, {"drop table if exists wide", "create table wide (a int)",
                 "insert into wide values (1)"});
    const auto columns = [&] { return run(db.query({"select * from wide"}))->columns(); };
    EXPECT_EQ(columns(), 1U);
    execute(db, {"alter table wide add column b int"});
    EXPECT_EQ(columns(), 2U);
    // Something else has taken them away.
    execute(db, {"do $$ begin execute 'deallocate all'; end $$"});
    EXPECT_EQ(columns(), 2U);
    EXPECT_EQ(columns(), 2U);
    // Inside a transaction it cannot be done again: the transaction has failed.
    auto change = run(db.begin());
    ASSERT_TRUE(change.has_value());
    EXPECT_EQ(run(change->query({"select * from wide"}))->columns(), 2U);
    EXPECT_TRUE(run(change->query({"alter table wide add column c int"})).has_value());
    const auto stale = run(change->query({"select * from wide"}));
    EXPECT_EQ(stale.error().sqlstate(), "0A000");
    EXPECT_TRUE(run(change->rollback()).has_value());
    EXPECT_EQ(columns(), 2U);
}

task<> send_again_behind_a_limit(pool& of, bool& is_right) {
    const executor where = co_await current_executor();
    auto first = spawn(where, of.query({"select pg_sleep(0.1)"}));
    auto stale = spawn(where, of.query({"select *, pg_sleep($1::float8) from wide", 0.6}));
    // It sets a limit of at most 256 ms for itself.
    auto limited = spawn(where, of.query({"select 1"}, in(150ms)));
    const auto slept = co_await first;
    static_cast<void>(co_await limited);
    const auto all = co_await stale;
    is_right = slept && all && all->columns() == 3;
}

// The limit of time of a request behind it is none of its own.
TEST_F(PostgresQuery, AStatementThatIsSentAgainHasItsOwnDeadline) {
    pool one{home, postgres.by_unix(), {.max = 1}};
    execute(one, {"drop table if exists wide", "create table wide (a int)",
                  "insert into wide values (1)"});
    EXPECT_TRUE(run(one.query({"select *, pg_sleep($1::float8) from wide", 0.0})).has_value());
    execute(one, {"alter table wide add column b int"});
    bool is_right = false;
    run(send_again_behind_a_limit(one, is_right));
    EXPECT_TRUE(is_right);
}

}  // namespace
}  // namespace fairlead::postgres::query_tests
