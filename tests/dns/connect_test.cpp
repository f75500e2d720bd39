// Connects by name, with the queries beside the attempts, in virtual time; and the clients that
// take a function that connects by name.
#include "support/sockets.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/dns/connect.hpp>
#include <fairlead/http/client.hpp>
#include <fairlead/http/server.hpp>
#include <fairlead/redis/connector.hpp>
#include <fairlead/test/memory_network.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::dns::connect_tests {
namespace {

using namespace std::chrono_literals;
using io::connect_result;

// A way takes 5 ms, so a connection takes 10.
class connecting_by_name : public testing::Test {
protected:
    struct row {
        answer says;
        duration takes;
    };

    connecting_by_name() {
        network().set_options({.latency_min = 5ms, .latency_max = 5ms});
        resolver_options options;
        options.hosts_file = {};
        options.order = [](std::vector<io::address>&) {};
        options.by = [this](std::string name, family of) { return ask(std::move(name), of); };
        made.emplace(resolver::make(simulated, std::move(options)).value());
    }

    task<answer> ask(std::string name, family of) {
        const auto at = rows.find({name, of});
        const row says =
            at == rows.end() ? row{{.failure = errc::not_found, .addresses = {}}, 0s} : at->second;
        if (says.takes > 0s) co_await sleep_for(says.takes);
        co_return says.says;
    }
    void put(family of, duration takes, std::vector<io::address> all) {
        answer says{.failure = {}, .addresses = std::move(all), .ttl = 60s};
        if (says.addresses.empty()) says.failure = errc::no_data;
        rows[{"a.test", of}] = {std::move(says), takes};
    }

    test::memory_network& network() { return test::memory_network::of(simulated.scheduler()); }
    void listen_at(const io::address& where) {
        listeners.push_back(io::tcp_listener::bind(simulated.scheduler(), where).value());
    }
    io::address dead(const io::address& where) {
        network().set_unreachable(where, true);
        return where;
    }
    connect_result run(time_point deadline = never) {
        return simulated.run(connect(*made, "a.test", 80, deadline));
    }
    static bool is_v6(const connect_result& there) {
        return there && there->peer_address().value().is_v6();
    }
    duration passed() { return simulated.clock().now() - begin; }

    const io::address v4 = io::address::parse("192.0.2.1", 80).value();
    const io::address v6 = io::address::parse("2001:db8::1", 80).value();

    const test::watchdog guard;
    test::simulated_scheduler simulated{
        [](test::manual_clock& clock) { return std::make_unique<test::memory_network>(clock); }};
    std::map<std::pair<std::string, family>, row> rows;
    std::optional<resolver> made;
    std::deque<io::tcp_listener> listeners;
    const time_point begin = simulated.clock().now();
};

TEST_F(connecting_by_name, ipv6_begins_when_both_come_together) {
    put(family::v4, 20ms, {v4});
    put(family::v6, 20ms, {v6});
    listen_at(v4);
    listen_at(v6);
    EXPECT_TRUE(is_v6(run()));
    EXPECT_EQ(passed(), 30ms);
}

TEST_F(connecting_by_name, a_slow_query_for_ipv6_costs_the_resolution_delay) {
    put(family::v4, 20ms, {v4});
    put(family::v6, 10s, {v6});
    listen_at(v4);
    const connect_result there = run();
    ASSERT_TRUE(there);
    EXPECT_FALSE(is_v6(there));
    EXPECT_EQ(passed(), 80ms);
    // The query that was left goes on, and is known later.
    simulated.run_for(10s);
    EXPECT_EQ(made->stats().under_way, 0U);
    EXPECT_EQ(made->stats().kept, 2U);
}

TEST_F(connecting_by_name, a_slow_query_for_ipv4_costs_nothing) {
    put(family::v4, 10s, {v4});
    put(family::v6, 20ms, {v6});
    listen_at(v6);
    EXPECT_TRUE(is_v6(run()));
    EXPECT_EQ(passed(), 30ms);
}

TEST_F(connecting_by_name, without_ipv6_ipv4_begins_at_once) {
    put(family::v4, 20ms, {v4});
    put(family::v6, 30ms, {});
    listen_at(v4);
    EXPECT_TRUE(run());
    EXPECT_EQ(passed(), 40ms);
}

TEST_F(connecting_by_name, behind_a_dead_ipv6_address_ipv4_wins) {
    put(family::v4, 0ms, {v4});
    put(family::v6, 0ms, {dead(v6)});
    listen_at(v4);
    const connect_result there = run();
    ASSERT_TRUE(there);
    EXPECT_FALSE(is_v6(there));
    EXPECT_EQ(passed(), 260ms);
}

TEST_F(connecting_by_name, no_address_is_the_error_of_the_query) {
    const connect_result there = run();
    ASSERT_FALSE(there);
    EXPECT_EQ(there.error().code(), errc::not_found);
    put(family::v4, 0ms, {});
    put(family::v6, 0ms, {});
    made->clear();
    EXPECT_EQ(run().error().code(), errc::no_data);
    EXPECT_EQ(simulated.run(connect(*made, "no name", 80)).error().code(), errc::bad_name);
}

TEST_F(connecting_by_name, failed_attempts_are_told) {
    put(family::v4, 0ms, {v4});
    put(family::v6, 0ms, {v6});
    const connect_result there = run();
    ASSERT_FALSE(there);
    EXPECT_EQ(there.error().code(), std::errc::connection_refused);
    EXPECT_EQ(there.error().attempts().size(), 2U);
}

TEST_F(connecting_by_name, the_deadline_is_that_of_the_whole) {
    put(family::v4, 1h, {v4});
    put(family::v6, 1h, {v6});
    EXPECT_EQ(run(begin + 2s).error().code(), std::errc::timed_out);
    EXPECT_EQ(passed(), 2s);
    put(family::v4, 1s, {dead(v4)});
    rows[{"b.test", family::v4}] = rows[{"a.test", family::v4}];
    const connect_result there = simulated.run(connect(*made, "b.test", 80, begin + 5s));
    EXPECT_EQ(there.error().code(), std::errc::timed_out);
    EXPECT_EQ(there.error().attempts().size(), 1U);
    EXPECT_EQ(passed(), 5s);
}

TEST_F(connecting_by_name, a_stop_ends_the_query_and_the_attempts) {
    put(family::v4, 1h, {v4});
    put(family::v6, 1s, {dead(v6)});
    for (const duration at : {500ms, 1500ms}) {
        made->clear();
        auto connecting = spawn(simulated, connect(*made, "a.test", 80));
        simulated.run_for(at);
        connecting.request_stop();
        const auto joins = [](join_handle<connect_result>& of) -> task<connect_result> {
            co_return co_await of;
        };
        const connect_result there = simulated.run(joins(connecting));
        ASSERT_FALSE(there);
        EXPECT_EQ(there.error().code(), std::errc::operation_canceled);
    }
    EXPECT_EQ(passed(), 2s);
}

TEST_F(connecting_by_name, a_literal_needs_no_query) {
    listen_at(v4);
    EXPECT_TRUE(simulated.run(connect(*made, "192.0.2.1", 80)));
    EXPECT_EQ(made->stats().queries, 0U);
}

task<> serve(io::tcp_listener from) {
    const auto answer = [](http::request& asked) {
        return http::response::text(200, std::string{asked.path()});
    };
    auto serving = http::serve(std::move(from), answer);
    static_cast<void>(co_await std::move(serving));
}

// --- clients -------------------------------------------------------------------------------------

TEST_F(connecting_by_name, an_http_client_takes_it) {
    put(family::v4, 20ms, {v4});
    put(family::v6, 0ms, {});
    auto listener = io::tcp_listener::bind(simulated.scheduler(), v4).value();
    auto server = spawn(simulated, serve(std::move(listener)));
    {
        http::client client{http::tcp_connector(by_name(*made))};
        const auto get = [&client](std::string url) -> task<std::string> {
            http::client_request asked{.url = std::move(url)};
            auto answered = co_await client.send(std::move(asked), clock::now() + 1min);
            if (!answered) co_return answered.error().message();
            auto body = co_await answered->read_all();
            co_return body ? std::string{*body} : body.error().message();
        };
        EXPECT_EQ(simulated.run(get("http://a.test/page")), "/page");
        EXPECT_EQ(simulated.run(get("http://none.test/page")), "the name does not exist");
        EXPECT_EQ(simulated.run(get("https://a.test/page")),
                  std::make_error_code(std::errc::protocol_not_supported).message());
    }
    server.request_stop();
    const auto joins = [](join_handle<void>& of) -> task<> { co_await of; };
    simulated.run(joins(server));
}

#if defined(FAIRLEAD_WITH_REDIS)
TEST_F(connecting_by_name, a_redis_client_takes_it) {
    put(family::v4, 20ms, {v4});
    put(family::v6, 0ms, {});
    listen_at(v4);
    const redis::connector connects = redis::connect_tcp(by_name(*made), "a.test", 80);
    const redis::connected there = simulated.run(connects(never));
    EXPECT_TRUE(there);
    const redis::connector fails = redis::connect_tcp(by_name(*made), "none.test", 80);
    EXPECT_EQ(simulated.run(fails(never)).error(), errc::not_found);
}
#endif

}  // namespace
}  // namespace fairlead::dns::connect_tests
