#include "savegames/postgres_saves.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace savegames {
namespace {

namespace fl = fairlead;
namespace pg = fairlead::postgres;

constexpr int attempts_max = 3;

// Migration i brings the schema from version i to i + 1. Only append: databases in use have run
// these. Saves are compressed already, so PostgreSQL need not try.
constexpr std::array<std::string_view, 1> migrations{
    "create table saves (game text, player text, version bigint not null, "
    "checksum bigint not null, size bigint not null, data bytea, primary key (game, player))"};
constexpr std::string_view stored_as_is =
    "alter table saves alter column data set storage external";

// Any number: the name of the lock under which the schema changes.
constexpr std::string_view lock_schema = "select pg_advisory_xact_lock(7020521310)";

// $1 game, $2 player, $3 checksum, $4 size, $5 data or null, $6 fence or null, $7 expected or null.
//
// `stored` waits for another writer of the row, and sees what that has committed. Without a row two
// writers may both pass `state`. Then the insert of the second one finds a row, and leaves it: the
// second writer has checked another version.
constexpr std::string_view checked_write =
    "with stored as (select version, data is not null as live from saves "
    "where game = $1 and player = $2 for update), "
    "state as (select coalesce(max(version), 0) as version, coalesce(bool_or(live), false) as live "
    "from stored), "
    "written as (insert into saves as s (game, player, version, checksum, size, data) "
    "select $1, $2, version + 1, $3::bigint, $4::bigint, $5::bytea from state "
    "where ($6::bigint is null or version = $6) "
    "and ($7::bigint is null or case when live then version else 0 end = $7) "
    "and ($5 is not null or live) "
    "on conflict (game, player) do update set version = excluded.version, "
    "checksum = excluded.checksum, size = excluded.size, data = excluded.data "
    "where s.version = excluded.version - 1 returning version) "
    "select state.version, state.live, written.version from state left join written on true";

bool is_lost(const pg::error& failure) { return failure.code() == pg::errc::connection_lost; }

server_failure failed(error code, const pg::error& failure) {
    return {code, "PostgreSQL: " + failure.message()};
}

// Of what has no effect, or had none.
server_failure without_effect(const pg::error& failure, time_point deadline) {
    if (failure.code() == pg::errc::queue_full) return failed(error::overloaded, failure);
    const bool ended =
        failure.code() == std::errc::timed_out || failure.code() == pg::errc::query_canceled;
    const bool is_late = ended && clock::now() >= deadline;
    return failed(is_late ? error::deadline : error::store_failed, failure);
}

// Of a write: what may have happened is store_failed. An error of the server undoes all of it.
server_failure of_write(const pg::error& failure, time_point deadline) {
    if (failure.was_sent() && !failure.is_of_server()) return failed(error::store_failed, failure);
    return without_effect(failure, deadline);
}

template <class T>
std::optional<std::int64_t> as_signed(const std::optional<T>& number) {
    if (!number) return std::nullopt;
    return static_cast<std::int64_t>(*number);
}

pg::statement statement_of(const saves_write& what) {
    const bool erases = !what.value;
    pg::statement made{checked_write, what.key.game.text(), what.key.player.text(),
                       erases ? 0 : static_cast<std::int64_t>(what.value->checksum),
                       erases ? 0 : static_cast<std::int64_t>(what.value->size)};
    if (erases) {
        made.add(nullptr);
    } else {
        made.add(std::as_bytes(std::span{what.value->data}));
    }
    made.add(as_signed(what.fence)).add(as_signed(what.expected_version));
    return made;
}

// Why nothing was written. Nothing: another writer has made the row meanwhile, so once again.
std::optional<error> refusal(const saves_write& what, std::uint64_t version, bool live) {
    if (!what.value && !live) return error::not_found;
    const std::uint64_t seen = live ? version : 0;
    if (what.expected_version && *what.expected_version != seen) return error::conflict;
    if (what.fence && *what.fence != version) return error::lease_lost;
    return std::nullopt;
}

std::string sentence(const pg::error& failure) {
    std::string text = failure.message();
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

// The version of the schema; 0: there is none.
fl::task<pg::result<std::int64_t>> schema_version(pg::pool& pool, time_point deadline) {
    pg::statement exists{"select to_regclass('saves_schema') is not null"};
    const auto found = co_await pool.query(std::move(exists), deadline);
    if (!found) co_return std::unexpected{found.error()};
    if (!found->one<bool>().value_or(false)) co_return 0;
    pg::statement read{"select coalesce(max(version), 0) from saves_schema"};
    const auto version = co_await pool.query(std::move(read), deadline);
    if (!version) co_return std::unexpected{version.error()};
    co_return version->one<std::int64_t>();
}

// Runs the migrations that are missing, as one transaction, one process at a time.
fl::task<pg::result<void>> migrate(pg::pool& pool, time_point deadline) {
    pg::transaction_options how{.level = pg::isolation::read_committed};
    auto change = co_await pool.begin(how, deadline);
    if (!change) co_return std::unexpected{change.error()};
    std::vector<pg::statement> first;
    first.emplace_back(lock_schema);
    first.emplace_back(
        "create table if not exists saves_schema "
        "(version bigint primary key, applied_at timestamptz not null, "
        "probed_at timestamptz)");
    first.emplace_back("select coalesce(max(version), 0) from saves_schema");
    const auto begun = co_await change->query_all(std::move(first), deadline);
    if (!begun) co_return std::unexpected{begun.error()};
    const auto version = begun->back().one<std::int64_t>();
    if (!version) co_return std::unexpected{version.error()};
    std::vector<pg::statement> rest;
    for (auto from = static_cast<std::size_t>(*version); from < migrations.size(); ++from) {
        rest.emplace_back(migrations[from]);
        if (from == 0) rest.emplace_back(stored_as_is);
        rest.emplace_back("insert into saves_schema values ($1, now(), null)", from + 1);
    }
    if (!rest.empty()) {
        const auto done = co_await change->query_all(std::move(rest), deadline);
        if (!done) co_return std::unexpected{done.error()};
    }
    co_return co_await change->commit(deadline);
}

}  // namespace

fl::task<std::expected<void, std::string>> postgres_saves::prepare(time_point deadline) {
    pg::statement ask{"select current_setting('synchronous_commit')"};
    const auto setting = co_await pool_.query(std::move(ask), deadline);
    if (!setting) co_return std::unexpected{sentence(setting.error())};
    if (setting->one<std::string>().value_or("off") == "off") {
        co_return std::unexpected{
            "synchronous_commit is off, so a crash of the server would lose saves that were "
            "acknowledged: set it on for this user or database"};
    }
    auto version = co_await schema_version(pool_, deadline);
    if (version && static_cast<std::size_t>(*version) < migrations.size()) {
        const auto done = co_await migrate(pool_, deadline);
        if (!done) co_return std::unexpected{"cannot migrate: " + sentence(done.error())};
        version = co_await schema_version(pool_, deadline);
    }
    if (!version) co_return std::unexpected{sentence(version.error())};
    if (static_cast<std::size_t>(*version) > migrations.size()) {
        co_return std::unexpected{fmt::format(
            "a newer version of this program made the tables: their schema is {}, this program "
            "knows up to {}; run the newer program",
            *version, migrations.size())};
    }
    co_return std::expected<void, std::string>{};
}

fl::task<server_result<std::uint64_t>> postgres_saves::version(profile_key key,
                                                               time_point deadline) {
    for (int attempt = 1;; ++attempt) {
        pg::statement ask{
            "select coalesce(max(version), 0) from saves "
            "where game = $1 and player = $2",
            key.game.text(), key.player.text()};
        const auto found = co_await pool_.query(std::move(ask), deadline);
        if (!found && is_lost(found.error()) && attempt < attempts_max) continue;
        if (!found) co_return std::unexpected{without_effect(found.error(), deadline)};
        const auto number = found->one<std::int64_t>();
        if (!number) co_return std::unexpected{without_effect(number.error(), deadline)};
        co_return static_cast<std::uint64_t>(*number);
    }
}

fl::task<server_result<save>> postgres_saves::get(profile_key key, time_point deadline) {
    for (int attempt = 1;; ++attempt) {
        pg::statement ask{
            "select version, checksum, size, data from saves "
            "where game = $1 and player = $2 and data is not null",
            key.game.text(), key.player.text()};
        const auto found = co_await pool_.query(std::move(ask), deadline);
        if (!found && is_lost(found.error()) && attempt < attempts_max) continue;
        if (!found) co_return std::unexpected{without_effect(found.error(), deadline)};
        if (found->size() == 0) co_return std::unexpected{server_failure{error::not_found}};
        const auto row =
            found->one<std::int64_t, std::int64_t, std::int64_t, std::vector<std::byte>>();
        if (!row) co_return std::unexpected{without_effect(row.error(), deadline)};
        const auto& [version, checksum, size, data] = *row;
        co_return save{.version = static_cast<std::uint64_t>(version),
                       .checksum = static_cast<std::uint64_t>(checksum),
                       .size = static_cast<std::uint64_t>(size),
                       .data = {reinterpret_cast<const char*>(data.data()), data.size()}};
    }
}

fl::task<server_result<std::uint64_t>> postgres_saves::write(saves_write what) {
    for (int attempt = 1;; ++attempt) {
        pg::statement change = statement_of(what);
        const auto done = co_await pool_.query(std::move(change), what.deadline);
        const bool has_more = attempt < attempts_max;
        if (!done && done.error().is_retryable() && has_more) continue;
        if (!done) co_return std::unexpected{of_write(done.error(), what.deadline)};
        const auto row = done->one<std::int64_t, bool, std::optional<std::int64_t>>();
        if (!row) co_return std::unexpected{of_write(row.error(), what.deadline)};
        const auto& [version, live, written] = *row;
        if (written) co_return static_cast<std::uint64_t>(*written);
        const auto why = refusal(what, static_cast<std::uint64_t>(version), live);
        if (why) co_return std::unexpected{server_failure{*why}};
        if (!has_more) co_return std::unexpected{server_failure{error::conflict}};
    }
}

fl::task<server_result<void>> postgres_saves::probe(bool by_a_write, time_point deadline) {
    pg::statement ask{by_a_write ? "update saves_schema set probed_at = now() where version = 1"
                                 : "select 1 where not pg_is_in_recovery()"};
    const auto done = co_await pool_.query(std::move(ask), deadline);
    if (!done) co_return std::unexpected{without_effect(done.error(), deadline)};
    if (done->affected() != 1) {
        co_return std::unexpected{
            server_failure{error::store_failed, "PostgreSQL: the server is a standby"}};
    }
    co_return server_result<void>{};
}

}  // namespace savegames
