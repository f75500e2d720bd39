// Races of connects: when attempts begin, which one wins, what is told, and what is left. In
// virtual time but for the last part, so each moment is exact. That no socket is left is asserted
// by the network in memory at its end.
#include "support/seeds.hpp"
#include "support/sockets.hpp"

#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/io/connect.hpp>
#include <fairlead/test/memory_network.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::connect_tests {
namespace {

using namespace std::chrono_literals;

address v4(std::uint16_t port) { return address::parse("192.0.2.1", port).value(); }
address v6(std::uint16_t port) { return address::parse("2001:db8::1", port).value(); }

std::uint16_t port_of(const connect_result& made) {
    return made ? made->peer_address().value().port() : std::uint16_t{0};
}

// A way takes 5 ms, so an answer comes after 10.
class racing_connects : public testing::Test {
protected:
    racing_connects() { network().set_options({.latency_min = 5ms, .latency_max = 5ms}); }

    test::memory_network& network() { return test::memory_network::of(simulated.scheduler()); }
    time_point now() { return simulated.clock().now(); }
    duration passed() { return now() - begin; }

    // At this port connects are taken.
    tcp_listener& listen_at(const address& where, int backlog = 16) {
        listeners.push_back(
            tcp_listener::bind(simulated.scheduler(), where, {.backlog = backlog}).value());
        return listeners.back();
    }
    address dead(const address& where) {
        network().set_unreachable(where, true);
        return where;
    }
    connect_result run(std::vector<address> to, time_point deadline = never,
                       connect_options options = {}) {
        return simulated.run(connect_any(std::move(to), deadline, options));
    }
    static std::vector<std::string> tried(const connect_error& failure) {
        std::vector<std::string> all;
        for (const failed_attempt& each : failure.attempts()) all.push_back(each.to.to_string());
        return all;
    }

    const test::watchdog guard;
    test::simulated_scheduler simulated{
        [](test::manual_clock& clock) { return std::make_unique<test::memory_network>(clock); }};
    std::deque<tcp_listener> listeners;
    const time_point begin = simulated.clock().now();
};

// --- attempts ------------------------------------------------------------------------------------

TEST_F(racing_connects, the_first_address_is_alone_when_it_answers) {
    tcp_listener& first = listen_at(v6(1));
    tcp_listener& second = listen_at(v4(2));
    EXPECT_EQ(port_of(run({v6(1), v4(2)})), 1);
    EXPECT_EQ(passed(), 10ms);
    EXPECT_TRUE(simulated.run(first.accept(now())));
    EXPECT_FALSE(simulated.run(second.accept(now())));
}

TEST_F(racing_connects, behind_a_dead_address_the_next_begins_after_the_delay) {
    listen_at(v4(2));
    const connect_result made = run({dead(v6(1)), v4(2)});
    EXPECT_EQ(port_of(made), 2);
    EXPECT_EQ(passed(), 260ms);
}

TEST_F(racing_connects, the_delay_can_be_chosen) {
    listen_at(v4(3));
    EXPECT_EQ(port_of(run({dead(v6(1)), dead(v4(2)), v4(3)}, never, {.attempt_delay = 30ms})), 3);
    EXPECT_EQ(passed(), 70ms);
}

TEST_F(racing_connects, behind_a_refusal_the_next_begins_at_once) {
    listen_at(v4(3));
    EXPECT_EQ(port_of(run({v6(1), v4(2), v4(3)})), 3);
    EXPECT_EQ(passed(), 30ms);
}

TEST_F(racing_connects, an_attempt_that_fails_late_lets_the_next_begin_at_once) {
    network().set_options({.latency_min = 130ms, .latency_max = 130ms});
    // Attempts at 0 and 250; the first is refused at 260, when the third begins.
    EXPECT_EQ(run({v6(1), dead(v4(2)), v4(3)}, begin + 1min).error().code(), std::errc::timed_out);
    EXPECT_EQ(passed(), 1min);
    const time_point again = now();
    listen_at(v4(3));
    EXPECT_EQ(port_of(run({v6(1), dead(v4(2)), v4(3)})), 3);
    EXPECT_EQ(now() - again, 520ms);
}

TEST_F(racing_connects, an_earlier_attempt_may_still_win) {
    network().set_options({.latency_min = 200ms, .latency_max = 200ms});
    listen_at(v6(1));
    tcp_listener& second = listen_at(v4(2));
    const connect_result made = run({v6(1), v4(2)}, never, {.attempt_delay = 100ms});
    EXPECT_EQ(port_of(made), 1);
    EXPECT_EQ(passed(), 400ms);
    // The loser was under way, and was closed: its peer sees the end.
    auto lost = simulated.run(second.accept());
    ASSERT_TRUE(lost);
    std::array<std::byte, 1> buffer{};
    const auto read = simulated.run(
        [](tcp_stream& from,
           std::span<std::byte> into) -> task<std::expected<std::size_t, std::error_code>> {
            co_return co_await from.read_some(into);
        }(*lost, buffer));
    EXPECT_TRUE(!read || *read == 0);
}

TEST_F(racing_connects, of_two_that_answer_together_one_is_given_and_one_closed) {
    tcp_listener& first = listen_at(v6(1));
    tcp_listener& second = listen_at(v4(2));
    {
        const connect_result made = run({v6(1), v4(2)}, never, {.attempt_delay = 0ms});
        ASSERT_TRUE(made);
        EXPECT_EQ(passed(), 10ms);
        EXPECT_TRUE(simulated.run(first.accept(now())));
        EXPECT_TRUE(simulated.run(second.accept(now())));
    }
}

TEST_F(racing_connects, the_families_take_turns) {
    const connect_result made = run({v6(1), v6(2), v6(3), v4(4), v4(5)});
    ASSERT_FALSE(made);
    EXPECT_EQ(tried(made.error()),
              (std::vector<std::string>{"[2001:db8::1]:1", "192.0.2.1:4", "[2001:db8::1]:2",
                                        "192.0.2.1:5", "[2001:db8::1]:3"}));
}

TEST_F(racing_connects, the_family_of_the_first_address_begins) {
    const connect_result made = run({v4(4), v6(1), v4(5)});
    ASSERT_FALSE(made);
    EXPECT_EQ(tried(made.error()),
              (std::vector<std::string>{"192.0.2.1:4", "[2001:db8::1]:1", "192.0.2.1:5"}));
}

TEST_F(racing_connects, an_address_is_tried_once) {
    const connect_result made = run({v4(4), v4(4), v6(1), v4(4)});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().attempts().size(), 2U);
}

// --- failures ------------------------------------------------------------------------------------

TEST_F(racing_connects, all_failures_are_told_and_the_first_is_the_code) {
    const connect_result made = run({v6(1), v4(2)});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), std::errc::connection_refused);
    ASSERT_EQ(made.error().attempts().size(), 2U);
    for (const failed_attempt& each : made.error().attempts()) {
        EXPECT_EQ(each.why, std::errc::connection_refused);
    }
    EXPECT_EQ(made.error().to_string(),
              "Connection refused ([2001:db8::1]:1: Connection refused; 192.0.2.1:2: Connection "
              "refused)");
}

TEST_F(racing_connects, no_address_is_an_error) {
    const connect_result made = run({});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), std::errc::address_not_available);
    EXPECT_TRUE(made.error().attempts().empty());
}

TEST_F(racing_connects, the_deadline_is_that_of_the_whole) {
    const connect_result made = run({v6(1), dead(v4(2)), dead(v4(3))}, begin + 400ms);
    ASSERT_FALSE(made);
    EXPECT_EQ(passed(), 400ms);
    EXPECT_EQ(made.error().code(), std::errc::timed_out);
    ASSERT_EQ(made.error().attempts().size(), 3U);
    EXPECT_EQ(made.error().attempts()[0].why, std::errc::connection_refused);
    EXPECT_EQ(made.error().attempts()[1].why, std::errc::timed_out);
    EXPECT_EQ(made.error().attempts()[2].why, std::errc::timed_out);
}

TEST_F(racing_connects, a_deadline_that_has_passed_lets_nothing_begin) {
    listen_at(v4(1));
    const connect_result made = run({v4(1)}, now());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), std::errc::timed_out);
    EXPECT_TRUE(made.error().attempts().empty());
}

TEST_F(racing_connects, a_deadline_of_the_context_is_told_as_such) {
    const auto body = [](std::vector<address> to) -> task<connect_result> {
        co_return co_await connect_any(std::move(to));
    };
    const auto whole = [&](std::vector<address> to) -> task<connect_result> {
        auto ended = co_await with_deadline(clock::now() + 300ms, body(std::move(to)));
        co_return std::move(ended).value();
    };
    const connect_result made = simulated.run(whole({dead(v4(1)), dead(v4(2))}));
    ASSERT_FALSE(made);
    EXPECT_EQ(passed(), 300ms);
    EXPECT_EQ(made.error().code(), std::errc::stream_timeout);
    for (const failed_attempt& each : made.error().attempts()) {
        EXPECT_EQ(each.why, std::errc::stream_timeout);
    }
}

TEST_F(racing_connects, a_stop_ends_all_attempts) {
    auto racing = spawn(simulated, connect_any({dead(v6(1)), dead(v4(2))}));
    simulated.run_for(300ms);
    racing.request_stop();
    const auto joined = [](join_handle<connect_result>& of) -> task<connect_result> {
        co_return co_await of;
    };
    const connect_result made = simulated.run(joined(racing));
    ASSERT_FALSE(made);
    EXPECT_EQ(passed(), 300ms);
    EXPECT_EQ(made.error().code(), std::errc::operation_canceled);
    ASSERT_EQ(made.error().attempts().size(), 2U);
    EXPECT_EQ(made.error().attempts()[1].why, std::errc::operation_canceled);
}

TEST_F(racing_connects, a_stop_that_came_before_lets_nothing_begin) {
    listen_at(v4(1));
    auto racing = spawn(simulated, connect_any({v4(1)}));
    racing.request_stop();
    const auto joined = [](join_handle<connect_result>& of) -> task<connect_result> {
        co_return co_await of;
    };
    const connect_result made = simulated.run(joined(racing));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), std::errc::operation_canceled);
    EXPECT_TRUE(made.error().attempts().empty());
}

// --- addresses that come meanwhile ---------------------------------------------------------------

class fed_connects : public racing_connects {
protected:
    // Tells the feed so at this time.
    struct news {
        duration at;
        std::vector<address> all;
        bool complete;
    };
    connect_result run_fed(std::vector<news> told, time_point deadline = never) {
        address_feed feed;
        const auto feeds = [](address_feed& into, std::vector<news> all) -> task<> {
            const time_point start = clock::now();
            for (news& each : all) {
                co_await sleep_until(start + each.at);
                into.set(std::move(each.all), each.complete);
            }
        };
        const auto both = [&](std::vector<news> all) -> task<connect_result> {
            auto feeding = spawn(co_await current_executor(), feeds(feed, std::move(all)));
            auto made = co_await connect_any(feed, deadline);
            co_await feeding;
            co_return made;
        };
        const auto timed = [&](std::vector<news> all) -> task<connect_result> {
            auto made = co_await both(std::move(all));
            co_return made;
        };
        return simulated.run(timed(std::move(told)));
    }
};

TEST_F(fed_connects, ipv4_waits_for_ipv6_for_the_resolution_delay) {
    listen_at(v4(4));
    EXPECT_EQ(port_of(run_fed({{0ms, {v4(4)}, false}})), 4);
    EXPECT_EQ(passed(), 60ms);
}

TEST_F(fed_connects, ipv6_that_comes_in_time_goes_first) {
    listen_at(v4(4));
    listen_at(v6(6));
    EXPECT_EQ(port_of(run_fed({{0ms, {v4(4)}, false}, {49ms, {v6(6), v4(4)}, true}})), 6);
    EXPECT_EQ(passed(), 59ms);
}

TEST_F(fed_connects, ipv6_that_comes_late_waits_for_its_turn) {
    listen_at(v6(6));
    // The attempt by IPv4 begins at 50.
    EXPECT_EQ(port_of(run_fed({{0ms, {dead(v4(4))}, false}, {51ms, {v6(6), v4(4)}, true}})), 6);
    EXPECT_EQ(passed(), 310ms);
}

TEST_F(fed_connects, without_ipv6_to_come_ipv4_goes_at_once) {
    listen_at(v4(4));
    EXPECT_EQ(port_of(run_fed({{0ms, {v4(4)}, false}, {20ms, {v4(4)}, true}})), 4);
    EXPECT_EQ(passed(), 30ms);
}

TEST_F(fed_connects, ipv6_does_not_wait_for_ipv4) {
    listen_at(v6(6));
    EXPECT_EQ(port_of(run_fed({{5ms, {v6(6)}, false}})), 6);
    EXPECT_EQ(passed(), 15ms);
}

TEST_F(fed_connects, addresses_that_come_after_all_have_failed_are_tried) {
    listen_at(v4(4));
    EXPECT_EQ(port_of(run_fed({{0ms, {v6(1)}, false}, {3s, {v6(1), v4(4)}, true}})), 4);
    EXPECT_EQ(passed(), 3010ms);
}

TEST_F(fed_connects, the_end_of_the_addresses_ends_a_race_that_has_failed) {
    const connect_result made = run_fed({{0ms, {v6(1)}, false}, {3s, {v6(1)}, true}});
    ASSERT_FALSE(made);
    EXPECT_EQ(passed(), 3s);
    EXPECT_EQ(made.error().code(), std::errc::connection_refused);
    EXPECT_EQ(made.error().attempts().size(), 1U);
}

TEST_F(fed_connects, a_feed_that_ends_without_addresses_is_an_error) {
    address_feed feed;
    const auto body = [](address_feed& from) -> task<connect_result> {
        auto ends = [](address_feed& of) -> task<> {
            co_await sleep_for(40ms);
            of.end();
        };
        auto ending = spawn(co_await current_executor(), ends(from));
        auto made = co_await connect_any(from);
        co_await ending;
        co_return made;
    };
    const connect_result made = simulated.run(body(feed));
    ASSERT_FALSE(made);
    EXPECT_EQ(passed(), 40ms);
    EXPECT_EQ(made.error().code(), std::errc::address_not_available);
}

TEST_F(fed_connects, the_deadline_ends_the_wait_for_addresses) {
    const connect_result made = run_fed({}, begin + 5s);
    ASSERT_FALSE(made);
    EXPECT_EQ(passed(), 5s);
    EXPECT_EQ(made.error().code(), std::errc::timed_out);
}

// --- any fates -----------------------------------------------------------------------------------

enum class fate { answers, refuses, is_dead };

// Which one wins, or that none does, and when.
using race_end = std::pair<std::optional<std::size_t>, duration>;

// What RFC 8305 says of addresses of one family. Attempts that fail or succeed take 14.2 ms, the
// next one begins after 10 ms. So the delay may be over when an attempt fails: the rules do not say
// whether one more attempt begins then, or two. Of two that answer together either may win.
class rules {
public:
    explicit rules(const std::vector<fate>& fates) : fates_{fates} { follow({}); }

    [[nodiscard]] bool allow(const race_end& seen) const { return ends_.contains(seen); }

private:
    static constexpr duration answer = 14'200us;
    static constexpr duration delay = 10ms;

    struct course {
        std::size_t next = 0;
        duration starts{};              // when the next attempt begins
        std::deque<duration> failures;  // after which no attempt has begun
        duration last_failure{};
        std::vector<std::size_t> won;
        duration won_at{};
    };

    void follow(course now) {
        if (now.next == fates_.size() || (!now.won.empty() && now.won_at < now.starts)) {
            for (const std::size_t each : now.won) ends_.emplace(each, now.won_at);
            if (now.won.empty()) ends_.emplace(std::nullopt, now.last_failure);
            return;
        }
        const duration ends = now.starts + answer;
        if (fates_[now.next] == fate::answers && (now.won.empty() || now.won_at == ends)) {
            now.won.push_back(now.next);
            now.won_at = ends;
        }
        if (fates_[now.next] == fate::refuses) {
            now.failures.push_back(ends);
            now.last_failure = ends;
        }
        ++now.next;
        const duration after_delay = now.starts + delay;
        if (now.failures.empty() || now.failures.front() >= after_delay) {
            course by_delay = now;
            by_delay.starts = after_delay;
            follow(std::move(by_delay));
        }
        if (now.failures.empty() || now.failures.front() > after_delay) return;
        now.starts = now.failures.front();
        now.failures.pop_front();
        follow(std::move(now));
    }

    const std::vector<fate>& fates_;
    std::set<race_end> ends_;
};

TEST_F(racing_connects, any_fates_end_as_the_rules_say) {
    test::for_each_seed(300, [this](std::mt19937_64& random) {
        network().set_options({.latency_min = 7'100us, .latency_max = 7'100us});
        std::vector<fate> fates(1 + random() % 8);
        std::vector<address> to;
        listeners.clear();
        for (std::size_t i = 0; i != fates.size(); ++i) {
            fates[i] = static_cast<fate>(random() % 3);
            const address where = v4(static_cast<std::uint16_t>(100 + i));
            if (fates[i] == fate::answers) listen_at(where);
            network().set_unreachable(where, fates[i] == fate::is_dead);
            to.push_back(where);
        }
        const time_point from = now();
        // Without an answer and with a dead address only the deadline ends it.
        const bool ends = std::ranges::find(fates, fate::answers) != fates.end() ||
                          std::ranges::find(fates, fate::is_dead) == fates.end();
        const connect_result made = run(to, from + 1h, {.attempt_delay = 10ms});
        if (!ends) {
            EXPECT_EQ(made.error().code(), std::errc::timed_out);
            EXPECT_EQ(now() - from, 1h);
            EXPECT_EQ(made.error().attempts().size(), fates.size());
            return;
        }
        const std::optional<std::size_t> winner =
            made ? std::optional<std::size_t>{port_of(made) - 100U} : std::nullopt;
        EXPECT_TRUE(rules{fates}.allow({winner, now() - from}));
        if (!made) {
            EXPECT_EQ(made.error().attempts().size(), fates.size());
        }
    });
}

// --- on the kernel's network ---------------------------------------------------------------------

class kernel_connects : public testing::Test {
protected:
    const test::watchdog guard;
    scheduler home{test::with_epoll_on_caller()};

    connect_result run(std::vector<address> to, time_point deadline = never,
                       connect_options options = {}) {
        auto handle = spawn(home, connect_any(std::move(to), deadline, options));
        while (!handle.ended()) home.run_until(never, 1);
        return handle.get();
    }
    // Nothing listens there.
    address refusing() {
        auto listener = tcp_listener::bind(home, address::loopback(0)).value();
        return listener.local_address().value();
    }
};

TEST_F(kernel_connects, a_refused_address_lets_the_next_begin) {
    auto listener = tcp_listener::bind(home, address::loopback(0)).value();
    const address there = listener.local_address().value();
    EXPECT_EQ(port_of(run({refusing(), there})), there.port());
}

TEST_F(kernel_connects, all_refused_are_told) {
    const connect_result made = run({refusing(), refusing()});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), std::errc::connection_refused);
}

TEST_F(kernel_connects, behind_a_full_backlog_the_next_wins_and_no_descriptor_is_left) {
    const test::raw_socket full = test::raw_socket::listening(0);
    const test::raw_socket fills = test::raw_socket::connected(full.local_address());
    const test::raw_socket listener = test::raw_socket::listening(4);
    const int before = ::dup(fills.fd());
    ::close(before);
    {
        const connect_result made = run({full.local_address(), listener.local_address()},
                                        clock::now() + 1min, {.attempt_delay = 1ms});
        EXPECT_EQ(port_of(made), listener.local_address().port());
    }
    const int after_it = ::dup(fills.fd());
    ::close(after_it);
    EXPECT_EQ(before, after_it);
}

}  // namespace
}  // namespace fairlead::io::connect_tests
