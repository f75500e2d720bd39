// PostgreSQL: many requests on few connections, a transaction that is done again after a conflict,
// and a queue of jobs in a table. The argument says how to connect, as for psql.
#include <fairlead/fairlead.hpp>
#include <fairlead/postgres/pool.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fl = fairlead;
namespace postgres = fairlead::postgres;
using namespace std::chrono_literals;

namespace {

// [query]
// The names of the players with at least so many points.
fl::task<postgres::result<std::vector<std::string>>> players_with(postgres::pool& db, int points,
                                                                  fl::time_point deadline) {
    const auto found = co_await db.query(
        {"select name from players where points >= $1 order by name", points}, deadline);
    if (!found) co_return std::unexpected{found.error()};
    co_return found->all<std::string>();
}
// [/query]

// [errors]
// False: the name is taken.
fl::task<postgres::result<bool>> add_player(postgres::pool& db, std::string name, int points,
                                            fl::time_point deadline) {
    const auto added =
        co_await db.query({"insert into players values ($1, $2)", name, points}, deadline);
    if (added) co_return true;
    if (added.error().code() == postgres::errc::unique_violation) co_return false;
    co_return std::unexpected{added.error()};
}
// [/errors]

// [transfer]
// Moves points between players, and gives what the first one has left. If one of the statements
// fails, nothing is moved.
fl::task<postgres::result<int>> move_points(postgres::transaction& change, std::string from,
                                            std::string to, int points, fl::time_point deadline) {
    const auto taken = co_await change.query(
        {"update players set points = points - $2 where name = $1 returning points", from, points},
        deadline);
    if (!taken) co_return std::unexpected{taken.error()};
    const auto given = co_await change.query(
        {"update players set points = points + $2 where name = $1", to, points}, deadline);
    if (!given) co_return std::unexpected{given.error()};
    co_return taken->one<int>();
}

fl::task<postgres::result<int>> transfer(postgres::pool& db, std::string from, std::string to,
                                         int points) {
    const fl::time_point deadline = fl::clock::now() + 5s;
    const postgres::transaction_options how{.level = postgres::isolation::serializable};
    // Called again after a conflict with another transaction.
    const auto body = [&](postgres::transaction& change) {
        return move_points(change, from, to, points, deadline);
    };
    co_return co_await db.transact(how, body, deadline);
}
// [/transfer]

// [queue]
// Takes a job out of the table and does it, in one transaction: if the worker dies, another one
// gets the job. False: there is none.
fl::task<postgres::result<bool>> do_one_job(postgres::pool& db, int& done) {
    const fl::time_point deadline = fl::clock::now() + 5s;
    auto work = co_await db.begin(deadline);
    if (!work) co_return std::unexpected{work.error()};
    const auto job = co_await work->query(
        {"delete from jobs where id = (select id from jobs order by id limit 1 for update skip "
         "locked) returning what"},
        deadline);
    if (!job) co_return std::unexpected{job.error()};
    if (job->empty()) co_return false;  // the transaction is rolled back
    ++done;
    const auto kept = co_await work->commit(deadline);
    if (!kept) co_return std::unexpected{kept.error()};
    co_return true;
}

// Works until `count` jobs are done. Looks at the table first, and whenever it is told to.
fl::task<bool> work_on(postgres::pool& db, int& done, int count) {
    auto news = co_await db.listen("jobs", fl::clock::now() + 5s);
    if (!news) co_return false;
    for (;;) {
        const auto did = co_await do_one_job(db, done);
        if (!did) std::printf("later: %s\n", did.error().message().c_str());
        if (done == count) co_return true;
        if (did && *did) continue;
        // Also after `messages_lost` the table has the truth.
        const auto more = co_await news->receive(fl::clock::now() + 10s);
        if (!more && more.error().code() != postgres::errc::messages_lost) co_return false;
    }
}
// [/queue]

// [copy]
// Gives how many rows the server has taken: all of them, or an error and none.
fl::task<postgres::result<std::uint64_t>> import_players(postgres::pool& db, int count,
                                                         fl::time_point deadline) {
    auto into = co_await db.copy_in("copy players (name, points) from stdin", deadline);
    if (!into) co_return std::unexpected{into.error()};
    for (int i = 0; i != count; ++i) {
        const std::string line = postgres::copy_row("import " + std::to_string(i), i);
        const auto put = co_await into->write(line, deadline);
        if (!put) co_return std::unexpected{put.error()};
    }
    co_return co_await into->finish(deadline);
}
// [/copy]

// [stream]
// The points of all players, of which a few rows at a time are in memory.
fl::task<postgres::result<std::int64_t>> sum_of_points(postgres::pool& db,
                                                       fl::time_point deadline) {
    auto found = co_await db.stream({"select points from players"}, deadline);
    if (!found) co_return std::unexpected{found.error()};
    std::int64_t sum = 0;
    for (;;) {
        const auto some = co_await found->next(deadline);
        if (!some) co_return std::unexpected{some.error()};
        if (some->empty()) co_return sum;
        for (const postgres::row each : *some) sum += each.as<std::int64_t>().value_or(0);
    }
}
// [/stream]

fl::task<bool> set_up(postgres::pool& db) {
    for (const char* const each :
         {"create table players (name text primary key, points int not null check (points >= 0))",
          "create table jobs (id bigint generated always as identity, what text)"}) {
        const auto made = co_await db.query({each});
        if (!made) std::printf("%s\n", made.error().message().c_str());
        if (!made) co_return false;
    }
    co_return true;
}

fl::task<bool> show_queries(postgres::pool& db) {
    const fl::time_point deadline = fl::clock::now() + 5s;
    std::vector<fl::task<postgres::result<bool>>> adding;
    for (int i = 0; i != 20; ++i) {
        adding.push_back(add_player(db, "player " + std::to_string(i % 10), 100, deadline));
    }
    int added = 0;
    for (const auto& each : co_await fl::when_all(std::move(adding))) {
        if (!each) co_return false;
        added += *each ? 1 : 0;
    }
    const auto found = co_await players_with(db, 100, deadline);
    std::printf("%d of 20 were added\n", added);
    const bool is_right = added == 10 && found && found->size() == 10;
    co_return is_right;
}

fl::task<bool> show_transfers(postgres::pool& db) {
    const auto left = co_await transfer(db, "player 1", "player 2", 30);
    const auto refused = co_await transfer(db, "player 1", "player 2", 300);
    const bool is_right = left && *left == 70 && !refused &&
                          refused.error().code() == postgres::errc::check_violation;
    if (is_right) std::printf("moved; %s\n", refused.error().message().c_str());
    co_return is_right;
}

fl::task<bool> show_queue(postgres::pool& db) {
    int done = 0;
    const fl::executor where = co_await fl::current_executor();
    auto worker = fl::spawn(where, work_on(db, done, 3));
    for (const char* const each : {"wash", "dry", "iron"}) {
        // Together: a listener is told when the job can be seen.
        std::vector<postgres::statement> both;
        both.push_back({"insert into jobs (what) values ($1)", each});
        both.push_back({"select pg_notify('jobs', '')"});
        const auto sent = co_await db.query_all(std::move(both));
        if (!sent) co_return false;
    }
    const bool is_right = co_await worker;
    std::printf("%d jobs done\n", done);
    co_return is_right;
}

fl::task<bool> show_large(postgres::pool& db) {
    const fl::time_point deadline = fl::clock::now() + 5s;
    const auto before = co_await sum_of_points(db, deadline);
    const auto count = co_await import_players(db, 1000, deadline);
    const auto after = co_await sum_of_points(db, deadline);
    const bool is_right = before && count && *count == 1000 && after && *after == *before + 499'500;
    if (is_right) std::puts("1000 rows copied");
    co_return is_right;
}

fl::task<bool> show_all(postgres::pool& db) {
    const bool made = co_await set_up(db);
    const bool asked = made && co_await show_queries(db);
    const bool moved = asked && co_await show_transfers(db);
    const bool copied = moved && co_await show_large(db);
    const bool worked = copied && co_await show_queue(db);
    // [close]
    const bool whole = co_await db.close(fl::clock::now() + 1s);
    // [/close]
    const bool is_right = worked && whole;
    co_return is_right;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::puts("usage: postgres CONNINFO");
        return 2;
    }
    // [pool]
    fl::scheduler_options options;
    options.driver = std::make_unique<fl::io::epoll_driver>();
    fl::scheduler scheduler{std::move(options)};
    postgres::pool db{scheduler, arguments[1], {.max = 4}};
    // [/pool]
    return fl::block_on(scheduler, show_all(db)) ? 0 : 1;
}
