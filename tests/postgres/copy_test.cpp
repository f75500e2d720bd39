// COPY: to this end and from it, in text and in binary, and what ends a copy early.
#include "postgres/fixture.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace fairlead::postgres::copy_tests {
namespace {

using namespace test;

class PostgresCopy : public with_server {
protected:
    static constexpr std::size_t bytes_max = 32 * 1024;
    static constexpr const char* many =
        "copy (select i, repeat('x', 1000) from generate_series(1, 100000) i) to stdout";
    static constexpr const char* in_values = "copy copied from stdin";

    void SetUp() override {
        execute(other, {"drop table if exists copied",
                        "create table copied (id bigint check (id <> 13), what text, raw bytea)"});
    }
    std::int64_t count() { return number(other, "select count(*) from copied"); }
    void until_server(const char* event) {
        until([&] {
            return number(other,
                          "select count(*) from pg_stat_activity where application_name = 'flow' "
                          "and state = 'active' and wait_event = '" +
                              std::string{event} + "'") == 1;
        });
    }
    void expect_clean() {
        until([&] { return db.stats().lent == 0; });
        EXPECT_TRUE(run(is_whole(db, 77)));
        EXPECT_EQ(db.stats().connects, 1U);
        EXPECT_EQ(db.stats().in_flight + db.stats().queued, 0U);
    }
    // Writes until the writer must wait. Gives how many writes were taken.
    int fill(copy_writer& into, const std::string& line) {
        for (int i = 0;; ++i) {
            const auto put = run(into.write(line, in(50ms)));
            if (put) continue;
            EXPECT_EQ(put.error().code(), std::errc::timed_out);
            return i;
        }
    }

    pool db{home,
            postgres.by_unix("application_name=flow"),
            {.max = 1, .cancel_after = 1ms, .stream_bytes = bytes_max}};
    pool other{home, postgres.by_unix(), {.max = 1}};
};

task<result<std::string>> read_all(copy_reader& from) {
    std::string all;
    for (;;) {
        auto some = co_await from.read(in(60s));
        if (!some) co_return std::unexpected{some.error()};
        if (some->empty()) co_return all;
        all += *some;
    }
}

TEST_F(PostgresCopy, RowsComeBackAsTheyWere) {
    const std::string odd = "a\tb\\c\nd\re\\.";
    const std::vector<std::byte> raw{std::byte{0}, std::byte{0xff}, std::byte{'\\'}};
    auto into = run(db.copy_in(in_values));
    ASSERT_TRUE(into.has_value());
    const std::string lines = copy_row(1, odd, raw) + copy_row(2, std::nullopt, nullptr) +
                              copy_row(std::optional<int>{3}, "\\.", raw);
    for (const char each : lines) {  // divided anywhere
        EXPECT_TRUE(run(into->write({&each, 1})).has_value());
    }
    EXPECT_EQ(run(into->finish()).value(), 3U);
    EXPECT_EQ(run(into->finish()).value(), 3U);
    EXPECT_EQ(run(into->write("x")).error().code(), errc::transaction_over);
    { const copy_writer gone{std::move(*into)}; }
    const auto found = run(db.query({"select what, raw from copied where id = 1"}));
    EXPECT_EQ(found->one<std::string>().error().code(), errc::wrong_type);
    const auto values = found->one<std::string, std::vector<std::byte>>();
    EXPECT_EQ(values.value(), std::make_tuple(odd, raw));
    EXPECT_EQ(number(db, "select count(*) from copied where what is null and raw is null"), 1);
    EXPECT_EQ(number(db, "select count(*) from copied where what = '\\.'"), 1);

    auto out = run(db.copy_out("copy (select * from copied order by id) to stdout"));
    ASSERT_TRUE(out.has_value());
    EXPECT_EQ(run(read_all(*out)).value(), lines);
    EXPECT_EQ(out->affected(), 3U);
    { const copy_reader gone{std::move(*out)}; }
    expect_clean();
    EXPECT_EQ(db.stats().cancels + db.stats().closed, 0U);
}

TEST_F(PostgresCopy, BinaryPassesBothWays) {
    execute(other, {"insert into copied select i, repeat('z', i), '\\x00ff' "
                    "from generate_series(100, 300) i"});
    auto out = run(db.copy_out("copy copied to stdout with (format binary)"));
    const std::string all = run(read_all(*out)).value();
    { const copy_reader gone{std::move(*out)}; }
    execute(other, {"create table if not exists again (like copied)", "truncate again"});
    auto into = run(db.copy_in("copy again from stdin with (format binary)"));
    for (std::size_t at = 0; at < all.size(); at += 1000) {
        EXPECT_TRUE(run(into->write(std::string_view{all}.substr(at, 1000))).has_value());
    }
    EXPECT_EQ(run(into->finish()).value(), 201U);
    { const copy_writer gone{std::move(*into)}; }
    EXPECT_EQ(
        number(db, "select count(*) from (select * from copied except select * from again) d"), 0);
    expect_clean();
}

TEST_F(PostgresCopy, AReaderThatWaitsHoldsUpTheServer) {
    auto out = run(db.copy_out(many));
    ASSERT_TRUE(out.has_value());
    until([&] { return out->buffered() >= bytes_max; });
    until_server("ClientWrite");
    EXPECT_LT(out->buffered(), bytes_max + 2048);
    const auto all = run(read_all(*out));
    ASSERT_TRUE(all.has_value());
    EXPECT_EQ(std::ranges::count(*all, '\n'), 100'000);
    EXPECT_EQ(out->affected(), 100'000U);
    { const copy_reader gone{std::move(*out)}; }
    expect_clean();
}

TEST_F(PostgresCopy, AServerThatWaitsHoldsUpTheWriterAndNothingIsLostOrTwice) {
    auto locked = run(other.begin());
    ASSERT_TRUE(run(locked->query({"lock table copied in access exclusive mode"})).has_value());
    auto into = run(db.copy_in(in_values));
    ASSERT_TRUE(into.has_value());
    const std::string line = copy_row(1, std::string(1000, 'w'), nullptr);
    const int taken = fill(*into, line);
    EXPECT_LT(into->buffered(), bytes_max + line.size());
    auto stopped = spawn(home, into->write(line));
    stopped.request_stop();
    EXPECT_EQ(stopped.get().error().code(), std::errc::operation_canceled);
    EXPECT_EQ(run(into->finish(in(1ms))).error().code(), std::errc::timed_out);
    EXPECT_EQ(run(into->write(line)).error().code(), errc::transaction_over);
    EXPECT_TRUE(run(locked->rollback()).has_value());
    EXPECT_EQ(run(into->finish()).value(), static_cast<std::uint64_t>(taken));
    { const copy_writer gone{std::move(*into)}; }
    expect_clean();
}

TEST_F(PostgresCopy, ErrorsOfTheServerAreToldAndTheConnectionIsWhole) {
    auto wrong = run(db.copy_in("copy nothing from stdin"));
    EXPECT_EQ(run(wrong->finish()).error().code(), errc::undefined_table);
    EXPECT_EQ(run(wrong->write("x")).error().code(), errc::undefined_table);
    { const copy_writer gone{std::move(*wrong)}; }
    for (const int behind : {0, 100'000}) {
        auto into = run(db.copy_in(in_values));
        EXPECT_TRUE(run(into->write(copy_row(13, "bad", nullptr))).has_value());
        const std::string line = copy_row(1, std::string(100, 'w'), nullptr);
        for (int i = 0; i < behind; i += 10) EXPECT_TRUE(run(into->write(line)).has_value());
        EXPECT_EQ(run(into->finish()).error().code(), errc::check_violation);
        { const copy_writer gone{std::move(*into)}; }
        expect_clean();
    }
    auto out =
        run(db.copy_out("copy (select 10 / (500 - i) from generate_series(1, 900) i) "
                        "to stdout"));
    EXPECT_EQ(run(read_all(*out)).error().sqlstate(), "22012");
    { const copy_reader gone{std::move(*out)}; }
    expect_clean();
    EXPECT_EQ(count(), 0);
}

TEST_F(PostgresCopy, AnErrorBeforeTheFirstByteDoesNotMoveTheAnswers) {
    execute(other, {"create or replace function refuse() returns trigger language plpgsql as "
                    "'begin raise exception ''no''; end'",
                    "create trigger early before insert on copied for each statement "
                    "execute function refuse()"});
    for (int i = 0; i != 20; ++i) {
        auto into = run(db.copy_in(in_values));
        EXPECT_TRUE(run(into->write(copy_row(1, "a", nullptr))).has_value());
        EXPECT_EQ(run(into->finish()).error().sqlstate(), "P0001");
        { const copy_writer gone{std::move(*into)}; }
        expect_clean();
    }
}

TEST_F(PostgresCopy, AnAbandonedOneKeepsNothingAndLeavesTheConnection) {
    {
        auto into = run(db.copy_in(in_values));
        EXPECT_TRUE(run(into->write(copy_row(1, "a", nullptr))).has_value());
        until_server("ClientRead");
    }
    expect_clean();
    EXPECT_EQ(count(), 0);
    {
        auto out = run(db.copy_out(many));
        EXPECT_FALSE(run(out->read())->empty());
        until_server("ClientWrite");
    }
    expect_clean();
    EXPECT_EQ(db.stats().closed + db.stats().lost, 0U);
}

TEST_F(PostgresCopy, ALossEndsAWriteARead) {
    const std::string kill =
        "select pg_terminate_backend(pid) from pg_stat_activity where "
        "application_name = 'flow'";
    auto into = run(db.copy_in(in_values));
    EXPECT_TRUE(run(into->write(copy_row(1, "a", nullptr))).has_value());
    until_server("ClientRead");
    execute(other, {kill});
    until([&] { return db.stats().lost == 1; });
    EXPECT_EQ(run(into->write("x")).error().code(), errc::connection_lost);
    const error lost = run(into->finish()).error();
    EXPECT_EQ(lost.code(), errc::connection_lost);
    EXPECT_TRUE(lost.was_sent());
    { const copy_writer gone{std::move(*into)}; }
    auto out = run(db.copy_out(many));
    until_server("ClientWrite");
    execute(other, {kill});
    EXPECT_EQ(run(read_all(*out)).error().code(), errc::connection_lost);
    { const copy_reader gone{std::move(*out)}; }
    EXPECT_TRUE(run(is_whole(db, 1)));
    EXPECT_EQ(count(), 0);
}

TEST_F(PostgresCopy, InATransactionItIsCommittedWithIt) {
    for (const bool commits : {true, false}) {
        auto change = run(db.begin());
        EXPECT_TRUE(run(change->query({"insert into copied values (7)"})).has_value());
        {
            auto into = change->copy_in(in_values);
            ASSERT_TRUE(into.has_value());
            EXPECT_EQ(run(change->query({"select 1"})).error().code(), errc::stream_open);
            EXPECT_TRUE(run(into->write(copy_row(8, "a", nullptr))).has_value());
            EXPECT_EQ(run(into->finish()).value(), 1U);
        }
        {
            auto out = change->copy_out("copy copied (id) to stdout");
            EXPECT_EQ(run(read_all(*out)).value(), commits ? "7\n8\n" : "7\n8\n7\n8\n");
        }
        if (commits) {
            EXPECT_TRUE(run(change->commit()).has_value());
        } else {
            EXPECT_TRUE(run(change->rollback()).has_value());
        }
        EXPECT_EQ(count(), 2);
    }
    expect_clean();
}

TEST_F(PostgresCopy, MisuseIsToldAndHarmsNoOtherTask) {
    EXPECT_EQ(run(db.copy_in("insert into copied values (1)")).error().code(), errc::not_shared);
    EXPECT_EQ(run(db.copy_out("select 1")).error().code(), errc::not_shared);
    auto out = run(db.copy_out(in_values));
    EXPECT_EQ(run(out->read()).error().code(), errc::invalid_parameter);
    { const copy_reader gone{std::move(*out)}; }
    auto into = run(db.copy_in("copy (select 1) to stdout"));
    EXPECT_EQ(run(into->finish()).error().code(), errc::invalid_parameter);
    { const copy_writer gone{std::move(*into)}; }
    expect_clean();
    // A second statement may change the connection: it is not used again.
    auto both = run(db.copy_out("copy (select 1) to stdout; set work_mem to '1MB'"));
    EXPECT_EQ(run(read_all(*both)).value(), "1\n");
    { const copy_reader gone{std::move(*both)}; }
    until([&] { return db.stats().closed == 1; });
    EXPECT_EQ(run(db.query({"show work_mem"}))->one<std::string>().value_or(""), "4MB");
}

}  // namespace
}  // namespace fairlead::postgres::copy_tests
