// Queries that c-ares sends to a name server on loopback.
#include "dns/message.hpp"
#include "dns/name_server.hpp"
#include "dns/server_channel.hpp"
#include "support/folder.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/when_all.hpp>
#include <fairlead/dns/connect.hpp>
#include <fairlead/dns/resolver.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::dns::servers_tests {
namespace {

using namespace std::chrono_literals;
using test::a_record;
using test::aaaa_record;
using test::alias;
using test::soa_record;

using found = std::expected<std::vector<io::address>, std::error_code>;

class asking_servers : public testing::Test {
protected:
    resolver_options options(resolver_options some = {}) {
        if (some.servers.empty()) some.servers = {server->where()};
        some.resolv_conf = "/nonexistent/resolv.conf";
        some.search.emplace();
        some.hosts_file = {};
        some.order = [](std::vector<io::address>&) {};
        return some;
    }
    resolver& make(resolver_options some = {}) {
        made.emplace(resolver::make(*home, options(std::move(some))).value());
        return *made;
    }
    template <class T>
    T run(task<T> body) {
        auto handle = spawn(*home, std::move(body));
        while (!handle.ended()) home->run_until(never, 1);
        return handle.get();
    }
    found resolve(std::string host, time_point deadline = never) {
        if (!made) make();
        return run(made->resolve(std::move(host), 80, deadline));
    }
    std::error_code failure_of(std::string host) {
        const found there = resolve(std::move(host));
        return there ? std::error_code{} : there.error();
    }
    // One query, with its TTL.
    answer ask(std::string name, family of = family::v4) {
        auto channel = detail::server_channel::make(*home, options()).value();
        return run(detail::server_channel::ask(channel, std::move(name), of));
    }
    void run_until_quiet() {
        while (made->stats().under_way != 0) home->run_until(never, 1);
    }
    static std::vector<std::string> texts(const std::vector<io::address>& all) {
        std::vector<std::string> made_texts;
        for (const io::address& each : all) made_texts.push_back(each.to_string());
        return made_texts;
    }
    // The lowest number that is free: the same again when no descriptor is left.
    int free_descriptor() const {
        const int lowest = ::dup(probe.fd());
        ::close(lowest);
        return lowest;
    }

    const test::watchdog guard;
    const test::raw_socket probe = test::raw_socket::made();
    std::optional<test::name_server> server{std::in_place};
    std::optional<scheduler> home{std::in_place, test::with_epoll_on_caller()};
    std::optional<resolver> made;
};

// --- answers -------------------------------------------------------------------------------------

TEST_F(asking_servers, a_name_has_addresses_of_both_families) {
    server->put("a.test", ns_t_a,
                {.answers = {a_record("a.test", "192.0.2.1"), a_record("a.test", "192.0.2.2")}});
    server->put("a.test", ns_t_aaaa, {.answers = {aaaa_record("a.test", "2001:db8::1")}});
    const found there = resolve("A.test");
    ASSERT_TRUE(there) << there.error().message();
    EXPECT_EQ(texts(*there),
              (std::vector<std::string>{"[2001:db8::1]:80", "192.0.2.1:80", "192.0.2.2:80"}));
    EXPECT_EQ(texts(resolve("a.test").value()).size(), 3U);
    EXPECT_EQ(server->asked().size(), 2U);
}

TEST_F(asking_servers, the_least_ttl_of_addresses_counts) {
    server->put(
        "a.test", ns_t_a,
        {.answers = {a_record("a.test", "192.0.2.1", 50), a_record("a.test", "192.0.2.2", 7),
                     a_record("a.test", "192.0.2.3", 90)}});
    const answer said = ask("a.test");
    EXPECT_EQ(said.failure, std::error_code{});
    EXPECT_EQ(said.addresses.size(), 3U);
    EXPECT_EQ(said.ttl, 7s);
}

TEST_F(asking_servers, aliases_are_followed_and_their_ttl_counts) {
    server->put("a.test", ns_t_a,
                {.answers = {alias("a.test", "b.test", 300), alias("b.test", "c.test", 5),
                             a_record("c.test", "192.0.2.3", 60)}});
    const answer said = ask("a.test");
    EXPECT_EQ(said.failure, std::error_code{});
    EXPECT_EQ(texts(said.addresses), (std::vector<std::string>{"192.0.2.3:0"}));
    EXPECT_EQ(said.ttl, 5s);
}

TEST_F(asking_servers, an_alias_without_an_address_has_none) {
    server->put("a.test", ns_t_aaaa, {.answers = {alias("a.test", "b.test")}});
    EXPECT_EQ(ask("a.test", family::v6).failure, errc::no_data);
}

TEST_F(asking_servers, no_such_name_is_kept_as_the_zone_says) {
    server->put("none.test", ns_t_a,
                {.code = ns_r_nxdomain, .authorities = {soa_record("test", 100, 30)}});
    const answer said = ask("none.test");
    EXPECT_EQ(said.failure, errc::not_found);
    EXPECT_EQ(said.ttl, 30s);
    EXPECT_EQ(ask("unknown.test").ttl, std::nullopt);
}

TEST_F(asking_servers, a_name_without_addresses_is_kept_as_the_zone_says) {
    server->put("empty.test", ns_t_a, {.authorities = {soa_record("test", 20, 3000)}});
    const answer said = ask("empty.test");
    EXPECT_EQ(said.failure, errc::no_data);
    EXPECT_EQ(said.ttl, 20s);
}

TEST_F(asking_servers, what_does_not_fit_is_asked_again_by_tcp) {
    std::vector<test::dns_record> many;
    for (int i = 1; i <= 200; ++i) {
        many.push_back(a_record("many.test", ("192.0.2." + std::to_string(i)).c_str()));
    }
    server->put("many.test", ns_t_a, {.answers = many, .is_truncated = true});
    make({.addresses_max = 150, .use_v6 = false});
    const found there = resolve("many.test");
    ASSERT_TRUE(there) << there.error().message();
    EXPECT_EQ(there->size(), 150U);
    EXPECT_EQ(server->asked(), (std::vector<std::string>{"udp many.test 1", "tcp many.test 1"}));
}

// --- faults --------------------------------------------------------------------------------------

TEST_F(asking_servers, failures_of_servers_have_codes) {
    const std::vector<std::pair<unsigned, errc>> rows{{ns_r_servfail, errc::server_failed},
                                                      {ns_r_notimpl, errc::server_failed},
                                                      {ns_r_formerr, errc::server_failed},
                                                      {ns_r_refused, errc::refused}};
    for (const auto& [code, wanted] : rows) {
        server->put("bad.test", ns_t_a, {.code = code});
        EXPECT_EQ(ask("bad.test").failure, wanted) << code;
    }
}

TEST_F(asking_servers, a_server_that_refuses_is_asked_once) {
    server->put("bad.test", ns_t_a, {.code = ns_r_refused});
    EXPECT_EQ(ask("bad.test").failure, errc::refused);
    EXPECT_EQ(server->asked().size(), 1U);
}

TEST_F(asking_servers, the_next_server_is_asked_when_one_fails) {
    test::name_server second;
    const test::raw_socket closed = test::raw_socket::listening(1);
    server->put("a.test", ns_t_a, {.code = ns_r_servfail});
    server->put("b.test", ns_t_a, {.code = ns_r_servfail});
    second.put("a.test", ns_t_a, {.answers = {a_record("a.test", "192.0.2.1")}});
    second.put("b.test", ns_t_a, {.code = ns_r_refused});
    make({.servers = {server->where(), second.where(), closed.local_address()}, .use_v6 = false});
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_EQ(failure_of("b.test"), errc::server_failed);  // the first refusal is told
    EXPECT_EQ(second.asked().size(), 2U);
    EXPECT_EQ(failure_of("none.test"), errc::not_found);  // the first answer holds
    EXPECT_EQ(second.asked().size(), 2U);
}

TEST_F(asking_servers, a_lost_query_is_asked_again) {
    server->put("a.test", ns_t_a, {.answers = {a_record("a.test", "192.0.2.1")}, .drops = 2});
    // Many tries, as the server may be slow.
    make({.try_timeout = 20ms, .tries = 10, .use_v6 = false});
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_GE(server->asked().size(), 3U);
}

TEST_F(asking_servers, a_silent_server_is_given_up_after_all_tries) {
    server->put("a.test", ns_t_a, {.drops = 1000});
    make({.try_timeout = 10ms, .tries = 2, .use_v6 = false});
    EXPECT_EQ(failure_of("a.test"), errc::no_answer);
    server->await_questions(2);
    EXPECT_EQ(made->stats().queries, 1U);
    EXPECT_EQ(server->asked().size(), 2U);
}

TEST_F(asking_servers, the_next_server_is_asked_when_one_cannot_be_reached) {
    const test::raw_socket closed = test::raw_socket::listening(1);  // nothing hears its datagrams
    server->put("a.test", ns_t_a, {.answers = {a_record("a.test", "192.0.2.1")}});
    make({.servers = {closed.local_address(), server->where()}, .use_v6 = false});
    EXPECT_TRUE(resolve("a.test"));
}

TEST_F(asking_servers, servers_that_cannot_be_reached_are_no_answer) {
    const test::raw_socket closed = test::raw_socket::listening(1);
    make({.servers = {closed.local_address()}, .use_v6 = false});
    EXPECT_EQ(failure_of("a.test"), errc::no_answer);
}

TEST_F(asking_servers, an_answer_of_another_query_counts_for_nothing) {
    server->put("a.test", ns_t_a,
                {.answers = {a_record("a.test", "192.0.2.1")}, .has_wrong_id = true});
    EXPECT_EQ(ask("a.test").failure, std::error_code{});
}

TEST_F(asking_servers, an_answer_that_cannot_be_read_is_a_failure) {
    server->put("a.test", ns_t_a, {.is_garbage = true});
    EXPECT_EQ(ask("a.test").failure, errc::bad_answer);
}

// --- waits, and ends -----------------------------------------------------------------------------

TEST_F(asking_servers, a_query_goes_on_when_a_child_of_fork_ends_its_own) {
    server->put("a.test", ns_t_a, {.answers = {a_record("a.test", "192.0.2.1")}, .waits = true});
    auto channel =
        detail::server_channel::make(*home, options({.try_timeout = 1h, .tries = 1})).value();
    auto asking = spawn(*home, detail::server_channel::ask(channel, "a.test", family::v4));
    home->run_until_idle();
    server->await_questions(1);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        channel->close();
        ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    server->let_go();
    while (!asking.ended()) home->run_until(never, 1);
    EXPECT_EQ(asking.get().failure, std::error_code{});
}

TEST_F(asking_servers, a_query_goes_on_when_its_task_has_left) {
    server->put("a.test", ns_t_a, {.answers = {a_record("a.test", "192.0.2.1")}, .waits = true});
    make({.try_timeout = 1h, .use_v6 = false});
    auto leaves = spawn(*home, made->resolve("a.test", 80));
    while (made->stats().queries == 0) home->run_until(never, 1);
    leaves.request_stop();
    while (!leaves.ended()) home->run_until(never, 1);
    EXPECT_EQ(leaves.get().error(), std::errc::operation_canceled);
    server->let_go();
    run_until_quiet();
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_EQ(server->asked().size(), 1U);
    EXPECT_EQ(made->stats().hits, 1U);
}

TEST_F(asking_servers, a_deadline_ends_the_wait) {
    server->put("a.test", ns_t_a, {.waits = true});
    make({.try_timeout = 1h, .use_v6 = false});
    EXPECT_EQ(resolve("a.test", clock::now() + 1ms).error(), std::errc::timed_out);
}

TEST_F(asking_servers, the_end_of_the_resolver_ends_its_queries_and_leaves_no_descriptor) {
    // The first accept of the server has returned by then: it takes a number while it looks.
    EXPECT_EQ(ask("warm.test").failure, errc::not_found);
    const int before = free_descriptor();
    server->put("a.test", ns_t_a, {.waits = true});
    server->put("b.test", ns_t_a, {.is_truncated = true, .waits = true});
    make({.try_timeout = 1h, .use_v6 = false});
    auto first = spawn(*home, made->resolve("a.test", 80));
    auto second = spawn(*home, made->resolve("b.test", 80));
    while (made->stats().queries != 2) home->run_until(never, 1);
    home->run_until_idle();
    made.reset();
    while (!first.ended() || !second.ended()) home->run_until(never, 1);
    EXPECT_EQ(first.get().error(), errc::closed);
    EXPECT_EQ(second.get().error(), errc::closed);
    home->drain();
    EXPECT_EQ(free_descriptor(), before);
}

TEST_F(asking_servers, nothing_waits_when_no_query_is_under_way) {
    server->put("a.test", ns_t_a, {.answers = {a_record("a.test", "192.0.2.1")}});
    for (int i = 0; i != 20; ++i) {
        EXPECT_TRUE(run(make({.use_v6 = false}).resolve("a.test", 80)));
        made->clear();
        EXPECT_TRUE(resolve("a.test"));
        home->drain();  // does not end while a task is left
    }
}

TEST_F(asking_servers, a_stop_of_the_scheduler_ends_its_queries) {
    server->put("a.test", ns_t_a, {.waits = true});
    make({.try_timeout = 1h, .use_v6 = false});
    auto asking = spawn(*home, made->resolve("a.test", 80));
    while (made->stats().queries == 0) home->run_until(never, 1);
    static_cast<void>(home->stop(1h));
    EXPECT_EQ(made->stats().under_way, 0U);
    made.reset();
}

TEST_F(asking_servers, a_scheduler_may_be_destroyed_with_its_queries) {
    server->put("a.test", ns_t_a, {.waits = true});
    make({.try_timeout = 1h, .use_v6 = false});
    {
        auto asking = spawn(*home, made->resolve("a.test", 80));
        while (made->stats().queries == 0) home->run_until(never, 1);
        home->run_until_idle();
    }
    made.reset();
    home.reset();
}

TEST_F(asking_servers, the_configuration_of_the_system_is_read) {
    const test::folder folder;
    folder.put("resolv.conf", "nameserver 192.0.2.53\nsearch One.test two.test\noptions ndots:3\n");
    resolver_options some;
    some.servers = {server->where()};
    some.resolv_conf = folder.path_of("resolv.conf");
    some.hosts_file = {};
    some.use_v6 = false;
    made.emplace(resolver::make(*home, std::move(some)).value());
    server->put("a.b.two.test", ns_t_a, {.answers = {a_record("a.b.two.test", "192.0.2.1")}});
    EXPECT_TRUE(resolve("a.b"));
    EXPECT_EQ(server->asked(),
              (std::vector<std::string>{"udp a.b.one.test 1", "udp a.b.two.test 1"}));
}

TEST_F(asking_servers, a_server_without_a_port_is_refused) {
    resolver_options some;
    some.servers = {io::address::loopback(0)};
    EXPECT_EQ(resolver::make(*home, std::move(some)).error(), std::errc::invalid_argument);
}

TEST_F(asking_servers, many_names_at_once_are_all_found) {
    constexpr int count = 300;
    make({.queries_max = 32});
    std::vector<task<found>> all;
    for (int i = 0; i != count; ++i) {
        const std::string name = "n" + std::to_string(i) + ".test";
        const std::string host = "192.0.2." + std::to_string(1 + i % 200);
        server->put(name, ns_t_a, {.answers = {a_record(name, host.c_str())}});
        all.push_back(made->resolve(name, 80));
    }
    const std::vector<found> ended = run(when_all(std::move(all)));
    for (int i = 0; i != count; ++i) {
        const found& each = ended[static_cast<std::size_t>(i)];
        ASSERT_TRUE(each) << i << ": " << each.error().message();
        EXPECT_EQ(each->front().to_string(), "192.0.2." + std::to_string(1 + i % 200) + ":80");
    }
}

TEST_F(asking_servers, a_connect_by_name_reaches_a_listener) {
    auto listener = io::tcp_listener::bind(*home, io::address::loopback(0)).value();
    const std::uint16_t port = listener.local_address().value().port();
    server->put("a.test", ns_t_a, {.answers = {a_record("a.test", "127.0.0.1")}});
    make();
    EXPECT_TRUE(run(connect(*made, "a.test", port)));
    const io::connect_result missing = run(connect(*made, "none.test", port));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code(), errc::not_found);
}

// --- threads -------------------------------------------------------------------------------------

// Several workers, names that are asked for again and again, and stops at any moment.
TEST(dns_threads, each_call_ends_once) {
    const test::watchdog guard;
    test::name_server server;
    for (int i = 0; i != 8; ++i) {
        const std::string name = "n" + std::to_string(i) + ".test";
        server.put(name, ns_t_a, {.answers = {a_record(name, "192.0.2.1", 0)}, .drops = i % 2U});
    }
    scheduler home{test::with_epoll(3)};
    resolver_options options;
    options.servers = {server.where()};
    options.search.emplace();
    options.hosts_file = {};
    options.try_timeout = 20ms;
    options.tries = 10;
    options.ttl_min = options.negative_ttl_min = options.failure_ttl = 0s;
    auto made = resolver::make(home, std::move(options)).value();
    std::vector<join_handle<found>> asking;
    for (int i = 0; i != 400; ++i) {
        asking.push_back(spawn(home, made.resolve("n" + std::to_string(i % 8) + ".test", 80)));
        if (i % 3 == 0) asking.back().request_stop();
    }
    for (std::size_t i = 0; i != asking.size(); ++i) {
        const found ended = asking[i].get();
        if (i % 3 != 0) {
            EXPECT_TRUE(ended) << ended.error().message();
        } else if (!ended) {
            EXPECT_EQ(ended.error(), std::errc::operation_canceled);
        }
    }
    home.drain();
    EXPECT_EQ(made.stats().under_way, 0U);
}

// --- messages ------------------------------------------------------------------------------------

std::span<const unsigned char> bytes(const std::string& text) {
    return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

std::string message_with(unsigned answers, unsigned authorities, const std::string& rest) {
    using test::u16;
    return u16(7) + u16(0x8183) + u16(1) + u16(answers) + u16(authorities) + u16(0) +
           test::labels("a.test") + u16(1) + u16(1) + rest;
}

TEST(dns_messages, the_time_of_an_absence_is_in_the_authority_section) {
    using test::u16;
    using test::u32;
    const std::string soa = test::labels("ns.test") + std::string{"\xc0\x0c", 2} + u32(1) + u32(2) +
                            u32(3) + u32(4) + u32(77);
    const std::string record =
        std::string{"\xc0\x0c", 2} + u16(ns_t_soa) + u16(1) + u32(900) + u16(soa.size()) + soa;
    const std::string other =
        test::labels("x.y") + u16(ns_t_ns) + u16(1) + u32(1) + u16(2) + "\xc0\x0c";
    const std::string whole = message_with(1, 2, other + other + record);
    EXPECT_EQ(detail::negative_ttl(bytes(whole)), 77s);
    EXPECT_EQ(detail::negative_ttl(bytes(message_with(0, 1, other))), std::nullopt);
    EXPECT_EQ(detail::negative_ttl({}), std::nullopt);
    // Cut anywhere, and with any byte changed: it ends, and reads nothing beyond.
    for (std::size_t size = 0; size != whole.size(); ++size) {
        const auto cut = std::make_unique<unsigned char[]>(size);
        std::copy_n(whole.begin(), size, cut.get());
        EXPECT_EQ(detail::negative_ttl({cut.get(), size}), std::nullopt) << size;
    }
    for (std::size_t i = 0; i != whole.size(); ++i) {
        for (unsigned value = 0; value != 256; ++value) {
            const auto changed = std::make_unique<unsigned char[]>(whole.size());
            std::copy_n(whole.begin(), whole.size(), changed.get());
            changed[i] = static_cast<unsigned char>(value);
            static_cast<void>(detail::negative_ttl({changed.get(), whole.size()}));
        }
    }
}

}  // namespace
}  // namespace fairlead::dns::servers_tests
