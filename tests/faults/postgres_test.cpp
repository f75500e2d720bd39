// A pool of connections to a real PostgreSQL while memory, the system or libpq fails.
//
// The functions of the system fail for libpq, too: the linker lets a shared library call those of
// the program.
#include "faults/faults.hpp"
#include "faults/sweep.hpp"
#include "postgres/server.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/postgres/pool.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace fairlead::test::postgres_tests {
namespace {

using namespace std::chrono_literals;
using postgres::test::server;

// What was told of each request.
struct report {
    std::array<std::error_code, 16> all{};
    std::size_t count = 0;

    void add(std::error_code one) { all.at(count++) = one; }
    template <class T>
    void add(const postgres::result<T>& one) {
        add(one ? std::error_code{} : one.error().code());
    }
    [[nodiscard]] bool is_whole() const {
        return count != 0 && std::ranges::none_of(all, [](auto each) { return bool{each}; });
    }
};

task<> asks_one(postgres::pool& db, report& told) {
    auto asking = db.query({"select $1::bigint + 1", 41}, clock::now() + 60s);
    const auto got = co_await std::move(asking);
    told.add(got);
    if (got) {
        EXPECT_EQ(got->one<std::int64_t>().value_or(-1), 42);
    } else {  // what was not sent waits for the next connection
        EXPECT_TRUE(got.error().code() != postgres::errc::connection_lost ||
                    got.error().was_sent());
    }
}

task<> transacts(postgres::pool& db, report& told) {
    auto begun = co_await db.begin({}, clock::now() + 60s);
    told.add(begun);
    if (!begun) co_return;
    auto asking = begun->query({"select 1"}, clock::now() + 60s);
    const auto got = co_await std::move(asking);
    told.add(got);
    if (!got) co_return;
    const auto done = co_await begun->commit(clock::now() + 60s);
    told.add(done);
}

task<> streams(postgres::pool& db, report& told) {
    auto beginning = db.stream({"select generate_series(1, 3)"}, clock::now() + 60s);
    auto found = co_await std::move(beginning);
    std::size_t count = 0;
    while (found) {
        const auto some = co_await found->next(clock::now() + 60s);
        if (!some) {
            told.add(some);
            co_return;
        }
        if (some->empty()) break;
        count += some->size();
    }
    told.add(found);
    EXPECT_EQ(count, found ? 3U : 0U);
}

// Requests of each kind, and so many of one statement that their places need memory, too.
task<> asks(postgres::pool& db, report& told) {
    using request = task<>(postgres::pool&, report&);
    std::array<request*, 12> all{};
    all.fill(asks_one);
    all[10] = transacts;
    all[11] = streams;
    for (request* const each : all) {
        try {
            co_await each(db, told);
        } catch (const std::bad_alloc&) {
            told.add(std::make_error_code(std::errc::not_enough_memory));
        }
    }
}

const postgres::pool_options impatient{.min = 1,
                                       .max = 2,
                                       .reconnect_min = 1ms,
                                       .reconnect_max = 4ms,
                                       .offline_max = duration::zero(),
                                       .seed = 1};

class postgres_failures : public testing::Test {
protected:
    // The tests of processes look at all children of the program.
    static void TearDownTestSuite() { server::shared().end_with(SIGINT); }

    const watchdog guard{240s};
    // Each request ends, with its result or with an error that says what has failed; afterwards all
    // of them succeed on the same pool. Whether the fault was met.
    bool is_met(const fault& what, call_range when) {
        const int descriptors = open_descriptors();
        bool is_hit = false;
        {
            scheduler home{with_epoll_on_caller()};
            postgres::pool db{home, conninfo, impatient};
            report told;
            std::optional<join_handle<void>> asking;
            {
                const armed plan{what, when};
                try {
                    asking.emplace(spawn(home, asks(db, told)));
                } catch (const std::bad_alloc&) {
                }
                while (asking && !asking->ended()) home.run_until(never, 1);
                is_hit = plan.hit();
            }
            if (asking) asking->get();
            for (const std::error_code each : told.all) expect_told(each, what, is_hit);
            home.run_until_idle();
            while (db.stats().open == 0) home.run_until(never, 1);
            report after;
            block_on(home, asks(db, after));
            EXPECT_TRUE(after.is_whole());
            EXPECT_TRUE(block_on(home, db.close(clock::now() + 60s)));
        }
        EXPECT_EQ(open_descriptors(), descriptors);
        return is_hit;
    }
    static void expect_told(std::error_code seen, const fault& what, bool is_hit) {
        using postgres::errc;
        if (!seen) return;
        EXPECT_TRUE(is_hit) << seen.message();
        const std::error_code injected{what.error, std::system_category()};
        const bool is_right =
            seen.default_error_condition() == injected.default_error_condition() ||
            seen == errc::connection_lost || seen == errc::cannot_connect ||
            seen == errc::outcome_unknown || seen == errc::transaction_over;
        EXPECT_TRUE(is_right) << seen.message();
    }
    void sweep_requests(const fault& what) {
        for (call_range (*const range)(std::int64_t) : {call_range::only, call_range::from}) {
            for (std::int64_t n = 1; n <= calls_max; ++n) {
                SCOPED_TRACE(testing::Message{} << what.call << ", error " << what.error
                                                << ", call " << n);
                const bool is_hit = is_met(what, range(n));
                EXPECT_TRUE(is_hit || n != 1) << "there is no such call";
                if (!is_hit || HasFailure()) break;
            }
        }
    }

    const std::string conninfo = server::shared().by_unix();
};

TEST_F(postgres_failures, without_memory_each_request_is_told_and_the_pool_recovers) {
    sweep_requests({});
}

// The socket of libpq is not watched, or its wait cannot begin.
TEST_F(postgres_failures, a_socket_that_cannot_be_watched_is_a_loss) {
    for (const int error : {ENOMEM, ENOSPC}) sweep_requests({"epoll_ctl request", error});
    sweep_requests({"fcntl", EMFILE});
    sweep_requests({"poll", ENOMEM});
}

// Not of send: after such a failure the library waits for what the server still says, which here
// would wait, too.
TEST_F(postgres_failures, a_failure_in_libpq_is_a_loss) {
    sweep_requests({"socket", EMFILE});
    sweep_requests({"connect", ECONNREFUSED});
    sweep_requests({"recv", ECONNRESET});
}

// A subscription listens again by itself, and tells of what it may have lost.
TEST_F(postgres_failures, a_subscription_without_memory_listens_again) {
    using postgres::errc;
    const std::unique_ptr<PGconn, decltype(&PQfinish)> other{PQconnectdb(conninfo.c_str()),
                                                             &PQfinish};
    const auto notify = [&](const char* sql) { PQclear(PQexec(other.get(), sql)); };
    const auto receives = [](postgres::subscription& from, std::error_code& told) -> task<> {
        const auto came = co_await from.receive(clock::now() + 60s);
        told = came ? std::error_code{} : came.error().code();
    };
    for (call_range (*const range)(std::int64_t) : {call_range::only, call_range::from}) {
        bool is_hit = true;
        for (std::int64_t n = 1; is_hit; ++n) {
            SCOPED_TRACE(n);
            scheduler home{with_epoll_on_caller()};
            postgres::pool db{home, conninfo, impatient};
            auto news = block_on(home, db.listen("news", clock::now() + 60s));
            ASSERT_TRUE(news.has_value());
            std::error_code told;
            auto receiving = spawn(home, receives(*news, told));
            home.run_until_idle();
            {
                const armed plan{fault{}, range(n)};
                notify(
                    "notify news, 'the first one, which does not fit into the buffer of a string'");
                while (!receiving.ended()) home.run_until(never, 1);
                home.run_until(clock::now() + 10ms);  // further attempts fail
                is_hit = plan.hit();
            }
            const bool has_lost = told == errc::messages_lost;
            EXPECT_TRUE(!told || (is_hit && has_lost)) << told.message();
            EXPECT_TRUE(is_hit || n != 1) << "nothing is allocated";
            // After each failed attempt it is told why; what comes now is received.
            auto again = spawn(home, [](postgres::subscription& from) -> task<> {
                for (;;) {
                    const auto came = co_await from.receive(clock::now() + 60s);
                    if (came && came->payload == "second") co_return;
                    EXPECT_NE(came ? std::error_code{} : came.error().code(), errc::closed);
                }
            }(*news));
            while (!again.ended()) {
                notify("notify news, 'second'");
                home.run_until(clock::now() + 5ms);
            }
            ASSERT_FALSE(HasFailure());
        }
    }
}

// Nothing is there to make an attempt again: no memory is an attempt that has failed, like each
// other one.
TEST_F(postgres_failures, a_keeper_without_memory_makes_a_pause_and_goes_on) {
    const postgres::pool_options patient{.min = 1,
                                         .max = 1,
                                         .reconnect_min = 1h,
                                         .reconnect_max = 1h,
                                         .offline_max = duration::zero()};
    // Memory for the place of a connection alone is not enough for its owner.
    for (const char* const call : {"operator new", "operator new of 600 bytes"}) {
        int paused = 0;
        for (std::int64_t n = 1;; ++n) {
            SCOPED_TRACE(testing::Message{} << call << ", call " << n);
            scheduler home{with_epoll(2)};
            std::optional<postgres::pool> db;
            {
                const armed plan{{call}, call_range::from(n)};
                try {
                    db.emplace(home, conninfo, patient);
                } catch (const std::bad_alloc&) {
                    continue;
                }
                const auto has_tried = [&] {
                    const postgres::pool_stats now = db->stats();
                    return now.connects + now.connect_failures != 0;
                };
                while (!has_tried()) std::this_thread::yield();
            }
            if (db->stats().connects != 0) break;
            ++paused;
            for (int i = 0; i != 100; ++i) {
                const auto refused = block_on(home, db->query({"select 1"}));
                ASSERT_FALSE(refused.has_value());
                EXPECT_EQ(refused.error().code(), std::errc::not_enough_memory);
            }
            EXPECT_EQ(db->stats().connect_failures, 1U);
            ASSERT_FALSE(HasFailure());
        }
        EXPECT_GE(paused, 1);
    }
}

}  // namespace
}  // namespace fairlead::test::postgres_tests
