// The way of a name: literals, hosts, the cache, joined queries, limits. In virtual time, with
// queries that the test answers.
#include "support/folder.hpp"
#include "support/watchdog.hpp"

#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/dns/resolver.hpp>
#include <fairlead/test/simulated_scheduler.hpp>
#include <fairlead/wait/event.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::dns::resolver_tests {
namespace {

using namespace std::chrono_literals;

using found = std::expected<std::vector<io::address>, std::error_code>;

io::address at(const char* host, std::uint16_t port = 0) {
    return io::address::parse(host, port).value();
}

answer of(std::vector<io::address> all, duration ttl = 60s) {
    return {.failure = {}, .addresses = std::move(all), .ttl = ttl};
}
answer failing(errc why, std::optional<duration> ttl = {}) {
    return {.failure = why, .addresses = {}, .ttl = ttl};
}

// What the servers know, and what they were asked. Without a row there is no such name.
struct servers {
    struct row {
        answer says;
        duration takes{};
        event* waits_for = nullptr;
    };
    std::map<std::pair<std::string, family>, row> rows;
    std::vector<std::string> asked;
    unsigned under_way = 0;
    unsigned most_under_way = 0;
    unsigned stopped = 0;

    task<answer> ask(std::string name, family of) {
        asked.push_back(name + (of == family::v4 ? " A" : " AAAA"));
        most_under_way = std::max(most_under_way, ++under_way);
        const auto at = rows.find({name, of});
        const row says = at == rows.end() ? row{failing(errc::not_found)} : at->second;
        if (says.takes > 0s) co_await sleep_for(says.takes);
        if (says.waits_for != nullptr) {
            const auto told = co_await says.waits_for->wait();
            if (!told) {
                ++stopped;
                --under_way;
                co_return answer{.failure = std::make_error_code(std::errc::operation_canceled),
                                 .addresses = {}};
            }
        }
        --under_way;
        co_return says.says;
    }
    void put(const std::string& name, std::vector<io::address> v4, std::vector<io::address> v6 = {},
             duration ttl = 60s) {
        rows[{name, family::v4}] = {v4.empty() ? failing(errc::no_data, ttl) : of_rows(v4, ttl)};
        rows[{name, family::v6}] = {v6.empty() ? failing(errc::no_data, ttl) : of_rows(v6, ttl)};
    }
    static answer of_rows(std::vector<io::address> all, duration ttl) {
        return {.failure = {}, .addresses = std::move(all), .ttl = ttl};
    }
};

class resolving : public testing::Test {
protected:
    void make(resolver_options options = {}) {
        options.by = [this](std::string name, family of) { return known.ask(std::move(name), of); };
        // As they come, so that the interfaces of this machine do not matter.
        if (!options.order) options.order = [](std::vector<io::address>&) {};
        if (options.hosts_file == "/etc/hosts") options.hosts_file = {};
        made.emplace(resolver::make(simulated, std::move(options)).value());
    }
    found resolve(std::string host, std::uint16_t port = 80, time_point deadline = never) {
        if (!made) make();
        return simulated.run(made->resolve(std::move(host), port, deadline));
    }
    std::error_code failure_of(std::string host, time_point deadline = never) {
        const found there = resolve(std::move(host), 80, deadline);
        return there ? std::error_code{} : there.error();
    }
    static std::string text_of(const found& there) {
        if (!there) return there.error().message();
        std::string all;
        for (const io::address& each : *there) {
            if (!all.empty()) all += ' ';
            all += each.to_string();
        }
        return all;
    }
    time_point now() { return simulated.clock().now(); }

    const test::watchdog guard;
    test::simulated_scheduler simulated;
    servers known;
    std::optional<resolver> made;
    const time_point begin = now();
};

template <class T>
task<T> joined(join_handle<T>& handle) {
    co_return co_await handle;
}

// --- without a query -----------------------------------------------------------------------------

TEST_F(resolving, literals_are_themselves) {
    EXPECT_EQ(text_of(resolve("192.0.2.7", 443)), "192.0.2.7:443");
    EXPECT_EQ(text_of(resolve("2001:db8::7", 443)), "[2001:db8::7]:443");
    EXPECT_TRUE(known.asked.empty());
}

TEST_F(resolving, localhost_is_the_loopback) {
    for (const char* const name : {"localhost", "LocalHost.", "db.localhost"}) {
        EXPECT_EQ(text_of(resolve(name, 5)), "[::1]:5 127.0.0.1:5") << name;
    }
    EXPECT_TRUE(known.asked.empty());
}

TEST_F(resolving, what_is_no_name_is_refused_without_a_query) {
    for (const std::string& name :
         {std::string{}, std::string{"."}, std::string{"a..b"}, std::string{".a"},
          std::string{"a b"}, std::string{"a\0b", 3}, std::string{"caf\xc3\xa9"},
          std::string{"[::1]"}, std::string{"127.1"}, std::string{"1.2.3.4.5"}, std::string{"a/b"},
          std::string(64, 'a'), std::string(32, 'a') + std::string(222, '.'),
          std::string{"host:80"}}) {
        EXPECT_EQ(failure_of(name), errc::bad_name) << name;
    }
    std::string longest;
    for (int i = 0; i != 126; ++i) longest += "a.";
    EXPECT_EQ(failure_of(longest + "a"), errc::not_found);  // 253 characters
    EXPECT_EQ(failure_of(longest + "aa"), errc::bad_name);
    EXPECT_EQ(known.asked.size(), 2U);
}

TEST_F(resolving, the_file_of_hosts_goes_first) {
    const test::folder folder;
    folder.put("hosts",
               "# a comment\n192.0.2.1  One one.test # more\n\n2001:db8::1\tone\r\n"
               "junk two\n192.0.2.2\n192.0.2.1 one");
    make({.hosts_file = folder.path_of("hosts")});
    EXPECT_EQ(text_of(resolve("ONE")), "192.0.2.1:80 [2001:db8::1]:80");
    EXPECT_EQ(text_of(resolve("one.test.")), "192.0.2.1:80");
    EXPECT_TRUE(known.asked.empty());
    EXPECT_EQ(failure_of("two"), errc::not_found);
}

TEST_F(resolving, a_file_of_hosts_that_has_changed_is_read_again) {
    const test::folder folder;
    make({.hosts_file = folder.path_of("hosts"), .hosts_interval = 5s, .negative_ttl_max = 1s});
    EXPECT_EQ(failure_of("one"), errc::not_found);  // no such file
    folder.put("hosts", "192.0.2.1 one");
    simulated.run_for(4s);
    EXPECT_EQ(failure_of("one"), errc::not_found);
    simulated.run_for(1s);
    EXPECT_EQ(text_of(resolve("one")), "192.0.2.1:80");
    std::filesystem::remove(folder.path_of("hosts"));
    simulated.run_for(5s);
    EXPECT_EQ(failure_of("one"), errc::not_found);
}

// --- answers -------------------------------------------------------------------------------------

TEST_F(resolving, both_families_are_asked_for) {
    known.put("a.test", {at("192.0.2.1"), at("192.0.2.2")}, {at("2001:db8::1")});
    EXPECT_EQ(text_of(resolve("A.Test", 9)), "[2001:db8::1]:9 192.0.2.1:9 192.0.2.2:9");
    EXPECT_EQ(known.asked, (std::vector<std::string>{"a.test AAAA", "a.test A"}));
}

TEST_F(resolving, one_family_can_be_left_out) {
    known.put("a.test", {at("192.0.2.1")}, {at("2001:db8::1")});
    make({.use_v6 = false});
    EXPECT_EQ(text_of(resolve("a.test")), "192.0.2.1:80");
    EXPECT_EQ(text_of(resolve("localhost")), "127.0.0.1:80");
    make({.use_v4 = false});
    EXPECT_EQ(text_of(resolve("a.test")), "[2001:db8::1]:80");
    make({.use_v4 = false, .use_v6 = false});
    EXPECT_EQ(failure_of("a.test"), errc::no_data);
    EXPECT_EQ(failure_of("localhost"), errc::no_data);
}

TEST_F(resolving, the_failure_that_says_more_is_told) {
    EXPECT_EQ(failure_of("none.test"), errc::not_found);
    known.put("empty.test", {});
    EXPECT_EQ(failure_of("empty.test"), errc::no_data);
    known.rows[{"broken.test", family::v4}] = {failing(errc::server_failed)};
    known.rows[{"broken.test", family::v6}] = {failing(errc::no_data)};
    EXPECT_EQ(failure_of("broken.test"), errc::server_failed);
    known.rows[{"silent.test", family::v4}] = {failing(errc::no_data)};
    known.rows[{"silent.test", family::v6}] = {failing(errc::no_answer)};
    EXPECT_EQ(failure_of("silent.test"), errc::no_answer);
}

TEST_F(resolving, one_family_is_enough) {
    known.put("a.test", {at("192.0.2.1")});
    known.rows[{"a.test", family::v6}] = {failing(errc::no_answer), 14s};
    EXPECT_EQ(text_of(resolve("a.test")), "192.0.2.1:80");
    EXPECT_EQ(now() - begin, 14s);
}

TEST_F(resolving, at_the_deadline_what_has_come_is_given) {
    known.put("a.test", {at("192.0.2.1")});
    known.rows[{"a.test", family::v6}].takes = 14s;
    EXPECT_EQ(text_of(resolve("a.test", 80, begin + 2s)), "192.0.2.1:80");
    EXPECT_EQ(now() - begin, 2s);
}

TEST_F(resolving, the_order_can_be_chosen) {
    known.put("a.test", {at("192.0.2.1")}, {at("2001:db8::1")});
    make({.order = [](std::vector<io::address>& all) { std::ranges::reverse(all); }});
    EXPECT_EQ(text_of(resolve("a.test")), "192.0.2.1:80 [2001:db8::1]:80");
}

TEST_F(resolving, further_addresses_are_dropped) {
    known.put("a.test", {at("192.0.2.1"), at("192.0.2.2"), at("192.0.2.3")});
    make({.addresses_max = 2});
    EXPECT_EQ(text_of(resolve("a.test")), "192.0.2.1:80 192.0.2.2:80");
}

TEST_F(resolving, a_query_that_throws_is_a_failure) {
    resolver_options options;
    options.hosts_file = {};
    options.by = [](std::string name, family) -> task<answer> {
        if (name == "memory.test") throw std::bad_alloc{};
        throw std::runtime_error{"of the program"};
    };
    made.emplace(resolver::make(simulated, std::move(options)).value());
    EXPECT_EQ(failure_of("memory.test"), std::errc::not_enough_memory);
    EXPECT_EQ(failure_of("other.test"), errc::bad_answer);
}

// --- complete names ------------------------------------------------------------------------------

TEST_F(resolving, names_are_completed) {
    known.put("db.two.test", {at("192.0.2.1")});
    make({.search = {{"One.test.", "two.test"}}});
    EXPECT_EQ(text_of(resolve("db")), "192.0.2.1:80");
    EXPECT_EQ(known.asked, (std::vector<std::string>{"db.one.test AAAA", "db.one.test A",
                                                     "db.two.test AAAA", "db.two.test A"}));
}

TEST_F(resolving, a_name_with_enough_dots_is_tried_as_it_is_first) {
    make({.search = {{"one.test"}}, .ndots = 2});
    EXPECT_EQ(failure_of("a.b"), errc::not_found);
    EXPECT_EQ(failure_of("a.b.c"), errc::not_found);
    EXPECT_EQ(known.asked, (std::vector<std::string>{"a.b.one.test AAAA", "a.b.one.test A",
                                                     "a.b AAAA", "a.b A", "a.b.c AAAA", "a.b.c A",
                                                     "a.b.c.one.test AAAA", "a.b.c.one.test A"}));
}

TEST_F(resolving, a_name_with_a_dot_at_the_end_is_complete) {
    make({.search = {{"one.test"}}});
    EXPECT_EQ(failure_of("db."), errc::not_found);
    EXPECT_EQ(known.asked, (std::vector<std::string>{"db AAAA", "db A"}));
}

// Addresses of two hosts must not be mixed.
TEST_F(resolving, both_families_are_of_the_same_complete_name) {
    known.put("db.one.test", {at("192.0.2.1")});
    known.put("db.two.test", {}, {at("2001:db8::2")});
    make({.search = {{"one.test", "two.test"}}});
    EXPECT_EQ(text_of(resolve("db")), "192.0.2.1:80");
}

TEST_F(resolving, a_server_that_fails_for_one_domain_does_not_hide_the_next) {
    known.rows[{"db.one.test", family::v4}] = {failing(errc::server_failed)};
    known.rows[{"db.one.test", family::v6}] = {failing(errc::server_failed)};
    known.put("db.two.test", {at("192.0.2.1")});
    make({.search = {{"one.test", "two.test"}}});
    EXPECT_EQ(text_of(resolve("db")), "192.0.2.1:80");
    EXPECT_EQ(failure_of("other"), errc::not_found);
}

TEST_F(resolving, silent_servers_end_the_search) {
    known.rows[{"db.one.test", family::v4}] = {failing(errc::no_answer), 14s};
    known.rows[{"db.one.test", family::v6}] = {failing(errc::no_answer), 14s};
    known.put("db.two.test", {at("192.0.2.1")});  // another host, perhaps
    make({.search = {{"one.test", "two.test"}}});
    EXPECT_EQ(failure_of("db"), errc::no_answer);
    EXPECT_EQ(now() - begin, 14s);
}

TEST_F(resolving, a_domain_that_is_no_name_is_refused) {
    resolver_options options;
    options.search = {{"no name"}};
    EXPECT_EQ(resolver::make(simulated, std::move(options)).error(), errc::bad_name);
}

// --- the cache -----------------------------------------------------------------------------------

TEST_F(resolving, answers_are_kept_for_their_time) {
    known.put("a.test", {at("192.0.2.1")}, {}, 60s);
    EXPECT_TRUE(resolve("a.test"));
    simulated.run_for(59s);
    EXPECT_TRUE(resolve("A.test."));
    EXPECT_EQ(known.asked.size(), 2U);
    EXPECT_EQ(made->stats().hits, 2U);
    simulated.run_for(1s);
    known.put("a.test", {at("192.0.2.9")});
    EXPECT_EQ(text_of(resolve("a.test")), "192.0.2.9:80");
    EXPECT_EQ(known.asked.size(), 4U);
    EXPECT_EQ(made->stats().kept, 2U);
}

// For how long an answer with this TTL is kept, to the second.
TEST_F(resolving, times_are_bounded) {
    make({.ttl_min = 10s,
          .ttl_max = 100s,
          .negative_ttl_min = 2s,
          .negative_ttl_max = 20s,
          .failure_ttl = 3s,
          .use_v6 = false});
    struct row {
        answer says;
        duration kept;
    };
    const std::vector<row> rows{
        {of({at("192.0.2.1")}, 0s), 10s},  {of({at("192.0.2.1")}, 50s), 50s},
        {of({at("192.0.2.1")}, 1h), 100s}, {{.failure = {}, .addresses = {at("::1")}}, 10s},
        {failing(errc::not_found), 2s},    {failing(errc::not_found, 7s), 7s},
        {failing(errc::no_data, 1h), 20s}, {failing(errc::server_failed), 3s},
        {failing(errc::refused, 1h), 3s},  {failing(errc::no_answer), 3s},
        {failing(errc::bad_answer), 3s},
    };
    for (std::size_t i = 0; i != rows.size(); ++i) {
        const std::string name = "row" + std::to_string(i) + ".test";
        known.rows[{name, family::v4}] = {rows[i].says};
        known.asked.clear();
        static_cast<void>(resolve(name));
        simulated.run_for(rows[i].kept - 1ns);
        static_cast<void>(resolve(name));
        EXPECT_EQ(known.asked.size(), 1U) << name;
        simulated.run_for(1ns);
        static_cast<void>(resolve(name));
        EXPECT_EQ(known.asked.size(), 2U) << name;
    }
}

TEST_F(resolving, nothing_is_kept_when_the_times_are_zero) {
    known.put("a.test", {at("192.0.2.1")}, {}, 0s);
    make({.ttl_min = 0s, .negative_ttl_min = 0s});
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_EQ(known.asked.size(), 4U);
    EXPECT_EQ(made->stats().kept, 0U);
}

TEST_F(resolving, a_failure_of_memory_is_not_kept) {
    known.rows[{"a.test", family::v4}] = {
        {.failure = std::make_error_code(std::errc::not_enough_memory), .addresses = {}}};
    make({.use_v6 = false});
    EXPECT_EQ(failure_of("a.test"), std::errc::not_enough_memory);
    EXPECT_EQ(failure_of("a.test"), std::errc::not_enough_memory);
    EXPECT_EQ(known.asked.size(), 2U);
}

TEST_F(resolving, the_oldest_in_use_goes_when_the_cache_is_full) {
    make({.cache_max = 2, .use_v6 = false});
    for (const char* const name : {"a.test", "b.test", "c.test"})
        known.put(name, {at("192.0.2.1")});
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_TRUE(resolve("b.test"));
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_TRUE(resolve("c.test"));  // b goes
    EXPECT_EQ(made->stats().kept, 2U);
    known.asked.clear();
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_TRUE(resolve("c.test"));
    EXPECT_TRUE(known.asked.empty());
    EXPECT_TRUE(resolve("b.test"));
    EXPECT_EQ(known.asked.size(), 1U);
}

TEST_F(resolving, no_cache_is_a_cache_of_zero) {
    make({.cache_max = 0, .use_v6 = false});
    known.put("a.test", {at("192.0.2.1")});
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_EQ(known.asked.size(), 2U);
}

TEST_F(resolving, clear_forgets_what_is_known) {
    known.put("a.test", {at("192.0.2.1")});
    EXPECT_TRUE(resolve("a.test"));
    made->clear();
    EXPECT_EQ(made->stats().kept, 0U);
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_EQ(known.asked.size(), 4U);
}

// --- waits ---------------------------------------------------------------------------------------

TEST_F(resolving, tasks_that_ask_for_one_name_share_its_queries) {
    known.put("a.test", {at("192.0.2.1")});
    known.rows[{"a.test", family::v4}].takes = 1s;
    make();
    std::vector<join_handle<found>> asking;
    for (int i = 0; i != 1000; ++i) {
        asking.push_back(spawn(simulated, made->resolve("a.test", 80)));
    }
    for (auto& each : asking) EXPECT_EQ(text_of(simulated.run(joined(each))), "192.0.2.1:80");
    EXPECT_EQ(known.asked.size(), 2U);
    EXPECT_EQ(made->stats().queries, 2U);
    EXPECT_EQ(made->stats().joined, 1998U);
}

TEST_F(resolving, a_wait_ends_at_its_deadline_and_the_query_fills_the_cache) {
    known.put("a.test", {at("192.0.2.1")});
    known.rows[{"a.test", family::v4}].takes = 3s;
    known.rows[{"a.test", family::v6}].takes = 3s;
    EXPECT_EQ(failure_of("a.test", begin + 1s), std::errc::timed_out);
    EXPECT_EQ(now() - begin, 1s);
    simulated.run_for(2s);
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_EQ(now() - begin, 3s);
    EXPECT_EQ(known.asked.size(), 2U);
}

TEST_F(resolving, a_task_that_leaves_does_not_end_the_wait_of_another) {
    event answered;
    known.put("a.test", {at("192.0.2.1")});
    known.rows[{"a.test", family::v4}].waits_for = &answered;
    make({.use_v6 = false});
    auto leaves = spawn(simulated, made->resolve("a.test", 80));  // it begins the query
    auto stays = spawn(simulated, made->resolve("a.test", 80));
    simulated.run_for(1s);
    leaves.request_stop();
    EXPECT_EQ(simulated.run(joined(leaves)).error(), std::errc::operation_canceled);
    answered.set();
    EXPECT_EQ(text_of(simulated.run(joined(stays))), "192.0.2.1:80");
    EXPECT_EQ(known.asked.size(), 1U);
    EXPECT_EQ(known.stopped, 0U);
}

TEST_F(resolving, a_stop_that_came_before_begins_no_query) {
    make({.hosts_file = "/nonexistent/hosts"});
    auto asking = spawn(simulated, made->resolve("a.test", 80));
    asking.request_stop();
    EXPECT_EQ(simulated.run(joined(asking)).error(), std::errc::operation_canceled);
    EXPECT_TRUE(known.asked.empty());
}

TEST_F(resolving, a_deadline_of_the_context_ends_the_wait_and_not_the_query) {
    known.put("a.test", {at("192.0.2.1")});
    known.rows[{"a.test", family::v4}].takes = 3s;
    make({.use_v6 = false});
    const auto ended = simulated.run(with_deadline(1s, made->resolve("a.test", 80)));
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->error(), std::errc::stream_timeout);
    EXPECT_EQ(now() - begin, 1s);
    EXPECT_TRUE(resolve("a.test"));
    EXPECT_EQ(now() - begin, 3s);
    EXPECT_EQ(known.asked.size(), 1U);
}

TEST_F(resolving, queries_beyond_the_limit_wait_for_their_turn) {
    make({.queries_max = 3, .use_v6 = false});
    std::vector<join_handle<found>> asking;
    for (int i = 0; i != 9; ++i) {
        const std::string name = "n" + std::to_string(i) + ".test";
        known.put(name, {at("192.0.2.1")});
        known.rows[{name, family::v4}].takes = 1s;
        asking.push_back(spawn(simulated, made->resolve(name, 80)));
    }
    for (auto& each : asking) EXPECT_TRUE(simulated.run(joined(each)));
    EXPECT_EQ(known.most_under_way, 3U);
    EXPECT_EQ(now() - begin, 3s);
}

TEST_F(resolving, beyond_the_line_a_query_is_refused_at_once) {
    event answered;
    make({.queries_max = 1, .waiting_max = 1, .use_v6 = false});
    std::vector<join_handle<found>> asking;
    for (const char* const name : {"a.test", "b.test", "c.test"}) {
        known.put(name, {at("192.0.2.1")});
        known.rows[{name, family::v4}].waits_for = &answered;
        asking.push_back(spawn(simulated, made->resolve(name, 80)));
    }
    EXPECT_EQ(simulated.run(joined(asking[2])).error(), errc::too_many);
    // To join a query, or to find an answer, takes no place.
    auto joins = spawn(simulated, made->resolve("b.test", 80));
    simulated.run_for(1s);
    answered.set();
    EXPECT_TRUE(simulated.run(joined(joins)));
    EXPECT_TRUE(simulated.run(joined(asking[0])));
    EXPECT_TRUE(resolve("c.test"));
    EXPECT_EQ(made->stats().under_way, 0U);
}

TEST_F(resolving, the_end_of_the_resolver_ends_its_calls) {
    event never_set;
    known.put("a.test", {at("192.0.2.1")});
    known.rows[{"a.test", family::v4}].waits_for = &never_set;
    known.put("b.test", {at("192.0.2.1")});
    make({.queries_max = 1, .use_v6 = false});
    auto first = spawn(simulated, made->resolve("a.test", 80));
    auto second = spawn(simulated, made->resolve("b.test", 80));
    simulated.run_for(1s);
    made.reset();
    EXPECT_EQ(simulated.run(joined(first)).error(), errc::closed);
    EXPECT_EQ(simulated.run(joined(second)).error(), errc::closed);
    EXPECT_EQ(known.stopped, 1U);
    EXPECT_EQ(known.asked.size(), 1U);
}

TEST_F(resolving, a_scheduler_that_ends_takes_its_queries_along) {
    event never_set;
    known.put("a.test", {at("192.0.2.1")});
    known.rows[{"a.test", family::v4}].waits_for = &never_set;
    std::optional<test::simulated_scheduler> other{std::in_place};
    resolver_options options;
    options.hosts_file = {};
    options.by = [this](std::string name, family which) {
        return known.ask(std::move(name), which);
    };
    made.emplace(resolver::make(*other, std::move(options)).value());
    auto asking = spawn(*other, made->resolve("a.test", 80));
    other->run_for(1s);
    made.reset();
    other.reset();
}

TEST(dns_errors, have_texts_of_their_own) {
    std::vector<std::string> texts;
    for (int code = 1; code <= static_cast<int>(errc::closed); ++code) {
        texts.push_back(make_error_code(static_cast<errc>(code)).message());
    }
    std::ranges::sort(texts);
    EXPECT_EQ(std::ranges::adjacent_find(texts), texts.end());
    EXPECT_STREQ(category().name(), "dns");
    EXPECT_EQ(category().message(99), "unknown error of names");
}

}  // namespace
}  // namespace fairlead::dns::resolver_tests
