// Names of hosts that the pool resolves itself: libpq gets addresses.
#include "postgres/fixture.hpp"

#include <fairlead/wait/event.hpp>

#ifdef FAIRLEAD_WITH_TLS
#include "tls/zoo.hpp"
#endif

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>
#include <system_error>

namespace fairlead::postgres::hosts_tests {
namespace {

using namespace test;

using found_addresses = std::expected<std::vector<io::address>, std::error_code>;

// "two.test" and "alias.test" have an address without a server before that of the server;
// "hung.test" never has an answer; other names do not exist. None of them is known to the system.
task<found_addresses> look_up(std::atomic<int>& asked, std::string host, std::uint16_t port,
                              time_point deadline) {
    ++asked;
    if (host == "hung.test") {
        event answer;
        const auto came = co_await answer.wait(deadline);
        const auto why = came.error() == wait_error::expired ? std::errc::timed_out
                                                             : std::errc::operation_canceled;
        co_return std::unexpected{std::make_error_code(why)};
    }
    if (host != "two.test" && host != "alias.test") {
        co_return std::unexpected{std::make_error_code(std::errc::host_unreachable)};
    }
    std::vector<io::address> all;
    all.push_back(*io::address::parse("127.0.0.2", port));
    all.push_back(io::address::loopback(port));
    co_return all;
}

class PostgresHosts : public with_server {
protected:
    [[nodiscard]] pool_options resolving(duration limit = 10s) {
        pool_options made{.max = 1, .connect_limit = limit, .offline_max = duration::zero()};
        made.resolve = [this](std::string host, std::uint16_t port, time_point deadline) {
            return look_up(asked, std::move(host), port, deadline);
        };
        return made;
    }
    [[nodiscard]] std::string at(const std::string& hosts) const {
        return "host=" + hosts + " port=" + std::to_string(postgres.port()) +
               " user=test dbname=postgres";
    }
    std::atomic<int> asked = 0;
};

TEST_F(PostgresHosts, AllAddressesOfANameAreTried) {
    for (const std::string& by :
         {at("two.test"),
          "postgresql://test@two.test:" + std::to_string(postgres.port()) + "/postgres"}) {
        asked = 0;
        pool db{home, by, resolving()};
        EXPECT_TRUE(run(is_whole(db, 1)));
        EXPECT_EQ(asked, 1);
        auto news = run(db.listen("here", in(20s)));
        EXPECT_TRUE(news.has_value());
        EXPECT_EQ(asked, 2);
    }
}

TEST_F(PostgresHosts, ANameThatHangsLeavesTimeForTheNext) {
    for (const char* const hosts : {"hung.test,127.0.0.1", "hung.test,two.test"}) {
        pool db{home, at(hosts), resolving(4s)};
        EXPECT_TRUE(run(is_whole(db, 1))) << hosts;
        EXPECT_EQ(db.stats().connect_failures, 0U);
    }
}

TEST_F(PostgresHosts, WithoutAnAddressTheErrorNamesTheHost) {
    pool db{home, at("nothing.test"), resolving()};
    const error why = run(db.query({"select 1"})).error();
    EXPECT_EQ(why.code(), errc::cannot_connect);
    EXPECT_FALSE(why.was_sent());
    EXPECT_NE(why.message().find("nothing.test"), std::string::npos);
    pool hung{home, at("hung.test"), resolving(20ms)};
    EXPECT_EQ(run(hung.query({"select 1"})).error().code(), errc::cannot_connect);
}

TEST_F(PostgresHosts, AStopEndsANameThatHangs) {
    std::optional<pool> db;
    db.emplace(home, at("hung.test"), resolving(1h));
    auto waiting = spawn(home, db->query({"select 1"}));
    until([&] { return asked == 1; });
    EXPECT_FALSE(run(db->close(in(1ms))));  // waits for the attempt
    EXPECT_EQ(waiting.get().error().code(), errc::closed);
}

// So there is a pause before the next one.
TEST_F(PostgresHosts, AResolverThatThrowsOrGivesUpIsAFailedAttempt) {
    pool_options how = resolving();
    how.reconnect_min = how.reconnect_max = 1h;
    how.resolve = [this](std::string, std::uint16_t, time_point) -> task<found_addresses> {
        ++asked;
        throw std::bad_alloc{};
    };
    pool throws{home, at("two.test"), how};
    EXPECT_EQ(run(throws.query({"select 1"})).error().code(), std::errc::not_enough_memory);
    how.resolve = [this](std::string, std::uint16_t, time_point) -> task<found_addresses> {
        ++asked;
        co_return std::unexpected{std::make_error_code(std::errc::operation_canceled)};
    };
    pool gives_up{home, at("two.test"), how};
    EXPECT_EQ(run(gives_up.query({"select 1"})).error().code(), std::errc::operation_canceled);
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(throws.stats().connect_failures + gives_up.stats().connect_failures, 2U);
}

TEST_F(PostgresHosts, NothingIsAskedWhereThereIsNoName) {
    for (const std::string& by :
         {postgres.by_unix(), postgres.by_tcp(), at("two.test") + " hostaddr=127.0.0.1"}) {
        pool db{home, by, resolving()};
        EXPECT_TRUE(run(is_whole(db, 1))) << by;
    }
    EXPECT_EQ(asked, 0);
}

// A variable of the environment, while no other thread looks at it.
class variable {
public:
    variable(const char* name, const std::string& value) : name_{name} {
        EXPECT_EQ(::setenv(name, value.c_str(), 1), 0);
    }
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;
    ~variable() { ::unsetenv(name_); }

private:
    const char* const name_;
};

TEST_F(PostgresHosts, TheEnvironmentNamesWhatTheStringLeavesOut) {
    const std::string port = std::to_string(postgres.port());
    const auto asks = [&](const std::string& by) {
        asked = 0;
        pool db{home, by + " user=test dbname=postgres", resolving()};
        EXPECT_TRUE(run(is_whole(db, 1))) << by;
        run(db.close(in(20s)));
        return asked.load();
    };
    const variable host{"PGHOST", "two.test"};
    EXPECT_EQ(asks("port=" + port), 1);
    EXPECT_EQ(asks("host=127.0.0.1 port=" + port), 0);
    {
        const variable address{"PGHOSTADDR", "127.0.0.1"};
        EXPECT_EQ(asks("port=" + port), 0);
    }
    const variable by_environment{"PGPORT", port};
    EXPECT_EQ(asks(""), 1);
    const variable several{"PGHOST", "nothing.test,two.test"};
    EXPECT_EQ(asks(""), 2);
}

#ifdef FAIRLEAD_WITH_TLS

// The certificate of the server is for "two.test", and for no address.
class PostgresTls : public PostgresHosts {
protected:
    void SetUp() override {
        files.put("root.pem", root.pem());
        postgres.use_tls(own.pem(), own.key_pem());
    }
    void TearDown() override { postgres.use_no_tls(); }

    [[nodiscard]] std::string verified(const std::string& hosts) const {
        return at(hosts) + " sslmode=verify-full sslrootcert=" + files.path_of("root.pem");
    }
    // Whether a pool connects, which then has TLS.
    bool connects(const std::string& by, pool_options how) {
        pool db{home, by, std::move(how)};
        const auto found =
            run(db.query({"select ssl from pg_stat_ssl where pid = "
                          "pg_backend_pid()"}));
        if (found) {
            EXPECT_TRUE(found->one<bool>().value_or(false));
            return true;
        }
        EXPECT_EQ(found.error().code(), errc::cannot_connect);
        EXPECT_NE(found.error().message().find("two.test"), std::string::npos)
            << found.error().message();
        return false;
    }
    [[nodiscard]] static pool_options plain() {
        return {.max = 1, .offline_max = duration::zero()};
    }

    const fairlead::test::folder files;
    const fairlead::test::issued root = fairlead::test::authority("Harbour Root");
    const fairlead::test::issued own =
        fairlead::test::issue({.common_name = "two.test", .alternatives = "DNS:two.test"}, &root);
};

TEST_F(PostgresTls, BesideHostaddrTheCertificateIsForTheName) {
    EXPECT_TRUE(connects(verified("two.test") + " hostaddr=127.0.0.1", plain()));
    EXPECT_FALSE(connects(verified("alias.test") + " hostaddr=127.0.0.1", plain()));
    EXPECT_FALSE(connects(verified("127.0.0.1"), plain()));
    EXPECT_TRUE(connects(verified("two.test") + " hostaddr=127.0.0.1", resolving()));
    EXPECT_EQ(asked, 0);
}

TEST_F(PostgresTls, TheCertificateIsForTheNameThatThePoolHasResolved) {
    EXPECT_TRUE(connects(verified("two.test"), resolving()));
    EXPECT_EQ(asked, 1);
    EXPECT_FALSE(connects(verified("alias.test"), resolving()));
    EXPECT_FALSE(connects(verified("127.0.0.1"), resolving()));
}

#endif

}  // namespace
}  // namespace fairlead::postgres::hosts_tests
