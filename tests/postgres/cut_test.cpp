// Connections that end at each byte of what the server sends.
#include "postgres/fixture.hpp"
#include "postgres/proxy.hpp"

#include <string>

namespace fairlead::postgres::cut_tests {
namespace {

using namespace test;

class PostgresCut : public with_server {
protected:
    [[nodiscard]] std::string through(const cutting_proxy& by) const {
        return "host=127.0.0.1 port=" + std::to_string(by.port()) +
               " user=test dbname=postgres sslmode=disable gssencmode=disable";
    }
    const pool_options quick{.max = 1, .reconnect_min = 1ms, .reconnect_max = 1ms};
};

TEST_F(PostgresCut, AnAnswerThatIsCutAtEachByteIsALoss) {
    // The bytes are counted by the outcomes: first the attempt fails, then the answer is lost, and
    // in the end nothing is.
    std::size_t failed = 0;
    std::size_t lost = 0;
    for (std::size_t k = 0;; ++k) {
        const cutting_proxy by{home, postgres.port(), k};
        pool db{home, through(by), quick};
        const auto got = run(db.query({"select $1::bigint", 7}, in(20s)));
        const pool_stats stats = db.stats();
        if (stats.connect_failures != 0) {
            EXPECT_TRUE(got.has_value()) << k;
            EXPECT_EQ(stats.connects, 1U) << k;
            EXPECT_EQ(failed, k);
            ++failed;
        } else if (!got) {
            EXPECT_EQ(got.error().code(), errc::connection_lost) << k;
            EXPECT_TRUE(got.error().was_sent()) << k;
            ++lost;
        } else {
            break;
        }
        if (got) {
            EXPECT_EQ(got->one<int>().value_or(0), 7) << k;
        }
        EXPECT_TRUE(run(is_whole(db, 1))) << k;
        EXPECT_EQ(db.stats().connects, stats.connect_failures != 0 ? 1U : 2U) << k;
        ASSERT_LT(k, 2000U);
    }
    // Authentication, parameters of the server, its key: hundreds. Parse, bind, row, end: dozens.
    EXPECT_GT(failed, 200U);
    EXPECT_GT(lost, 50U);
}

TEST_F(PostgresCut, ACommitThatIsCutIsUnknownOrDone) {
    pool other{home, postgres.by_unix(), {.max = 1}};
    execute(other, {"drop table if exists marks", "create table marks (k int)"});
    std::size_t unknown = 0;
    for (int k = 300; unknown == 0 || k < 620; ++k) {
        const cutting_proxy by{home, postgres.port(), static_cast<std::size_t>(k)};
        pool db{home, through(by), quick};
        auto change = run(db.begin(in(20s)));
        ASSERT_TRUE(change.has_value());
        const auto put = run(change->query({"insert into marks values ($1)", k}, in(20s)));
        if (!put) {
            EXPECT_EQ(put.error().code(), errc::connection_lost);
            continue;
        }
        const auto done = run(change->commit(in(20s)));
        const auto there = run(other.query({"select 1 from marks where k = $1", k}));
        if (done) {
            EXPECT_EQ(there->size(), 1U) << k;
        } else if (done.error().code() == errc::outcome_unknown) {
            ++unknown;
        } else {
            EXPECT_EQ(done.error().code(), errc::connection_lost) << k;
            EXPECT_FALSE(done.error().was_sent()) << k;
            EXPECT_EQ(there->size(), 0U) << k;
        }
        ASSERT_LT(k, 2000);
    }
}

}  // namespace
}  // namespace fairlead::postgres::cut_tests
