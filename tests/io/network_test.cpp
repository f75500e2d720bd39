// What tcp.hpp promises, on each network: the kernel's, one in memory, and one in memory that moves
// bytes in pieces and late. Both ends are tasks of one scheduler.
#include "support/networks.hpp"
#include "support/sockets.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/io/tcp.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::network_tests {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;

struct both_ends {
    tcp_stream near;
    tcp_stream far;
};

// The listener is closed afterwards.
task<both_ends> connected() {
    auto listener = tcp_listener::bind(co_await current_scheduler(), address::loopback(0)).value();
    auto near = (co_await tcp_stream::connect(listener.local_address().value())).value();
    auto far = (co_await listener.accept()).value();
    co_return both_ends{std::move(near), std::move(far)};
}

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 9) % 26);
    return text;
}

using text_or_error = std::expected<std::string, std::error_code>;

task<text_or_error> reads(tcp_stream& from, std::size_t size, time_point deadline = never) {
    std::string text(size, '\0');
    const auto count = co_await from.read_some(std::as_writable_bytes(std::span{text}), deadline);
    if (!count) co_return std::unexpected{count.error()};
    text.resize(*count);
    co_return text;
}

task<text_or_error> reads_to_the_end(tcp_stream& from) {
    std::string all;
    for (;;) {
        const text_or_error more = co_await reads(from, 3000);
        if (!more) co_return std::unexpected{more.error()};
        if (more->empty()) co_return all;
        all += *more;
    }
}

task<std::expected<void, unfinished_read>> reads_exactly(tcp_stream& from, std::string& into,
                                                         time_point deadline = never) {
    co_return co_await from.read_exactly(std::as_writable_bytes(std::span{into}), deadline);
}

task<std::error_code> writes(tcp_stream& to, std::string text, time_point deadline = never) {
    const auto done = co_await to.write_all(bytes_of(text), deadline);
    co_return done ? std::error_code{} : done.error();
}

task<> writes_and_ends(tcp_stream& to, std::string text) {
    EXPECT_TRUE(co_await to.write_all(bytes_of(text)));
    EXPECT_TRUE(to.shutdown_send());
}

template <class Home>
class network_test : public testing::Test {
protected:
    Home on;
};

TYPED_TEST_SUITE(network_test, test::networks);

#define FAIRLEAD_ON_NETWORK(name)                            \
    task<> name();                                           \
    TYPED_TEST(network_test, name) { this->on.run(name()); } \
    task<> name()

// --- ends ----------------------------------------------------------------------------------------

FAIRLEAD_ON_NETWORK(a_reset_is_no_end) {
    both_ends ends = co_await connected();
    EXPECT_EQ(co_await writes(ends.near, "a part"), std::error_code{});
    std::string all;
    while (all.size() != 6) all += (co_await reads(ends.far, 10)).value();
    auto waiting = spawn(co_await current_executor(), reads(ends.far, 10));
    co_await yield();
    ends.near.reset();
    EXPECT_FALSE(ends.near.is_open());
    const text_or_error seen = co_await waiting;
    EXPECT_TRUE(!seen && seen.error() == std::errc::connection_reset);
    EXPECT_EQ(co_await writes(ends.far, "x"), std::errc::broken_pipe);
    EXPECT_EQ((co_await reads(ends.near, 10)).error(), std::errc::bad_file_descriptor);
    ends.near.reset();  // again: nothing
}

FAIRLEAD_ON_NETWORK(a_reset_follows_an_end_of_sending) {
    both_ends ends = co_await connected();
    EXPECT_TRUE(ends.near.shutdown_send());
    EXPECT_EQ(co_await reads(ends.far, 10), "");
    ends.near.reset();
    co_await sleep_for(10ms);
    EXPECT_EQ(co_await writes(ends.far, "x"), std::errc::broken_pipe);
}

// --- reading and writing -------------------------------------------------------------------------

FAIRLEAD_ON_NETWORK(bytes_arrive_in_order_and_then_the_end) {
    both_ends ends = co_await connected();
    auto writer = spawn(co_await current_executor(), writes_and_ends(ends.near, pattern(300'000)));
    const text_or_error seen = co_await reads_to_the_end(ends.far);
    co_await writer;
    EXPECT_TRUE(seen && *seen == pattern(300'000));
    EXPECT_EQ(co_await reads(ends.far, 10), "");  // again and again
    EXPECT_EQ(co_await reads(ends.far, 10), "");
}

FAIRLEAD_ON_NETWORK(both_directions_at_once) {
    both_ends ends = co_await connected();
    const executor here = co_await current_executor();
    auto there = spawn(here, writes_and_ends(ends.near, pattern(200'000)));
    auto back = spawn(here, writes_and_ends(ends.far, pattern(100'000)));
    auto far = spawn(here, reads_to_the_end(ends.far));
    const text_or_error near = co_await reads_to_the_end(ends.near);
    EXPECT_TRUE(near && *near == pattern(100'000));
    EXPECT_TRUE((co_await far).value() == pattern(200'000));
    co_await there;
    co_await back;
}

FAIRLEAD_ON_NETWORK(a_read_waits_for_data_and_gives_at_most_what_fits) {
    both_ends ends = co_await connected();
    auto handle = spawn(co_await current_executor(), reads(ends.far, 2));
    co_await sleep_for(10ms);
    EXPECT_FALSE(handle.ended());
    EXPECT_EQ(co_await writes(ends.near, "hello"), std::error_code{});
    std::string all = (co_await handle).value();
    EXPECT_LE(all.size(), 2U);
    while (all.size() != 5) all += (co_await reads(ends.far, 100)).value();
    EXPECT_EQ(all, "hello");
    EXPECT_EQ(co_await reads(ends.far, 0), "");
    EXPECT_EQ(co_await writes(ends.near, ""), std::error_code{});
}

FAIRLEAD_ON_NETWORK(one_end_ends_and_goes_on_reading) {
    both_ends ends = co_await connected();
    EXPECT_TRUE(ends.near.shutdown_send());
    EXPECT_EQ(co_await reads(ends.far, 10), "");
    EXPECT_EQ(co_await writes(ends.near, "x"), std::errc::broken_pipe);
    auto writer = spawn(co_await current_executor(), writes_and_ends(ends.far, "still here"));
    EXPECT_EQ(co_await reads_to_the_end(ends.near), "still here");
    co_await writer;
}

FAIRLEAD_ON_NETWORK(several_buffers_leave_and_arrive_in_order) {
    both_ends ends = co_await connected();
    std::vector<std::string> texts;
    std::vector<std::span<const std::byte>> parts;
    std::string all;
    for (std::size_t i = 0; i != 40; ++i) texts.push_back(pattern(i % 5 == 0 ? 0 : i * 97));
    for (const std::string& each : texts) {
        parts.push_back(bytes_of(each));
        all += each;
    }
    static constexpr auto gathers = [](tcp_stream& to,
                                       std::span<const std::span<const std::byte>> from) -> task<> {
        EXPECT_TRUE(co_await to.write_all(from));
        EXPECT_TRUE(to.shutdown_send());
    };
    auto writer = spawn(co_await current_executor(), gathers(ends.near, parts));
    std::string seen;
    for (;;) {
        std::array<std::byte, 7> head;
        std::array<std::byte, 100> body;
        const std::array<std::span<std::byte>, 3> into{head, std::span<std::byte>{}, body};
        const auto count = co_await ends.far.read_some(into);
        if (!count || *count == 0) break;
        std::string both;
        for (const std::byte each : head) both += static_cast<char>(each);
        for (const std::byte each : body) both += static_cast<char>(each);
        seen += both.substr(0, *count);
    }
    co_await writer;
    EXPECT_TRUE(seen == all);
    const std::span<const std::span<const std::byte>> nothing;
    EXPECT_TRUE(co_await ends.far.write_all(nothing));
    const std::span<const std::span<std::byte>> nowhere;
    EXPECT_EQ(co_await ends.far.read_some(nowhere), 0U);
}

FAIRLEAD_ON_NETWORK(write_some_sends_what_there_is_room_for) {
    both_ends ends = co_await connected();
    const std::string text = pattern(16 << 20);
    std::size_t sent = 0;
    std::error_code why;
    while (!why && sent < text.size()) {
        const auto count =
            co_await ends.near.write_some(bytes_of(text).subspan(sent), clock::now() + 5ms);
        if (count) {
            EXPECT_GE(*count, 1U);
            sent += *count;
        } else {
            why = count.error();
        }
    }
    EXPECT_EQ(why, std::errc::timed_out);
    EXPECT_EQ(co_await ends.near.write_some({}), 0U);
    std::string seen(sent, '\0');
    EXPECT_TRUE(co_await reads_exactly(ends.far, seen));
    EXPECT_TRUE(seen == text.substr(0, sent));
}

// --- read_exactly --------------------------------------------------------------------------------

FAIRLEAD_ON_NETWORK(read_exactly_waits_until_its_buffer_is_full) {
    both_ends ends = co_await connected();
    static constexpr auto in_pieces = [](tcp_stream& to) -> task<> {
        for (const std::string_view each : {"one", "two", "three"}) {
            EXPECT_TRUE(co_await to.write_all(bytes_of(each)));
            co_await sleep_for(1ms);
        }
    };
    auto writer = spawn(co_await current_executor(), in_pieces(ends.near));
    std::string seen(9, '\0');
    EXPECT_TRUE(co_await reads_exactly(ends.far, seen));
    EXPECT_EQ(seen, "onetwothr");
    seen.resize(2);
    EXPECT_TRUE(co_await reads_exactly(ends.far, seen));
    EXPECT_EQ(seen, "ee");
    seen.clear();
    EXPECT_TRUE(co_await reads_exactly(ends.far, seen));
    co_await writer;
}

FAIRLEAD_ON_NETWORK(read_exactly_tells_how_many_bytes_came_before_the_end) {
    both_ends ends = co_await connected();
    auto writer = spawn(co_await current_executor(), writes_and_ends(ends.near, "seven b"));
    std::string seen(100, '\0');
    const auto done = co_await reads_exactly(ends.far, seen);
    co_await writer;
    EXPECT_FALSE(done);
    EXPECT_EQ(done.error().size, 7U);
    EXPECT_EQ(done.error().error, std::error_code{});
    EXPECT_EQ(seen.substr(0, 7), "seven b");
}

FAIRLEAD_ON_NETWORK(read_exactly_tells_how_many_bytes_came_before_a_deadline_or_a_stop) {
    both_ends ends = co_await connected();
    std::string seen(10, '\0');
    EXPECT_EQ(co_await writes(ends.near, "four"), std::error_code{});
    const auto late = co_await reads_exactly(ends.far, seen, clock::now() + 30ms);
    EXPECT_FALSE(late);
    EXPECT_EQ(late.error().size, 4U);
    EXPECT_EQ(late.error().error, std::errc::timed_out);
    EXPECT_EQ(co_await writes(ends.near, "sixsix"), std::error_code{});
    auto handle = spawn(co_await current_executor(), reads_exactly(ends.far, seen));
    co_await sleep_for(30ms);
    handle.request_stop();
    const auto stopped = co_await handle;
    EXPECT_FALSE(stopped);
    EXPECT_EQ(stopped.error().size, 6U);
    EXPECT_EQ(stopped.error().error, std::errc::operation_canceled);
    EXPECT_EQ(co_await writes(ends.near, "0123456789"), std::error_code{});
    EXPECT_TRUE(co_await reads_exactly(ends.far, seen));
    EXPECT_EQ(seen, "0123456789");
}

// --- deadlines, stops, selects -------------------------------------------------------------------

FAIRLEAD_ON_NETWORK(deadlines_end_waits_and_lose_nothing) {
    both_ends ends = co_await connected();
    for (int i = 0; i != 3; ++i) {
        const time_point deadline = clock::now() + 2ms;
        EXPECT_EQ((co_await reads(ends.far, 10, deadline)).error(), std::errc::timed_out);
        EXPECT_GE(clock::now(), deadline);
        EXPECT_EQ(co_await writes(ends.near, "x"), std::error_code{});
        EXPECT_EQ(co_await reads(ends.far, 10), "x");
    }
    EXPECT_EQ((co_await reads(ends.far, 10, immediately)).error(), std::errc::timed_out);
    EXPECT_EQ(co_await writes(ends.near, "y"), std::error_code{});
    co_await sleep_for(10ms);
    EXPECT_EQ(co_await reads(ends.far, 10, immediately), "y");
    EXPECT_EQ(co_await writes(ends.near, pattern(32 << 20), clock::now() + 5ms),
              std::errc::timed_out);
    auto listener = tcp_listener::bind(co_await current_scheduler(), address::loopback(0)).value();
    EXPECT_EQ((co_await listener.accept(clock::now() + 2ms)).error(), std::errc::timed_out);
}

FAIRLEAD_ON_NETWORK(stops_end_waits) {
    both_ends ends = co_await connected();
    auto listener = tcp_listener::bind(co_await current_scheduler(), address::loopback(0)).value();
    static constexpr auto accepts = [](tcp_listener& from) -> task<std::error_code> {
        const auto taken = co_await from.accept();
        co_return taken ? std::error_code{} : taken.error();
    };
    const executor here = co_await current_executor();
    auto reading = spawn(here, reads(ends.near, 10));
    auto writing = spawn(here, writes(ends.near, pattern(32 << 20)));
    auto accepting = spawn(here, accepts(listener));
    co_await sleep_for(5ms);
    EXPECT_FALSE(reading.ended() || writing.ended() || accepting.ended());
    reading.request_stop();
    writing.request_stop();
    accepting.request_stop();
    EXPECT_EQ((co_await reading).error(), std::errc::operation_canceled);
    EXPECT_EQ(co_await writing, std::errc::operation_canceled);
    EXPECT_EQ(co_await accepting, std::errc::operation_canceled);
}

FAIRLEAD_ON_NETWORK(a_branch_that_loses_leaves_the_data) {
    both_ends ends = co_await connected();
    channel<int> in{1};
    std::array<std::byte, 10> buffer{};
    for (int i = 0; i != 3; ++i) {
        EXPECT_TRUE(in.try_send(7));
        const auto first =
            co_await select(on(in.receive(), [](waited<int>) { return 1; }),
                            on(ends.far.read_some(buffer),
                               [](std::expected<std::size_t, std::error_code>) { return 2; }));
        EXPECT_EQ(first, 1);
        EXPECT_EQ(co_await writes(ends.near, "x"), std::error_code{});
        const auto second = co_await select(
            on(in.receive(), [](waited<int>) { return 1; }),
            on(ends.far.read_some(buffer), [](std::expected<std::size_t, std::error_code> size) {
                return size == 1U ? 2 : 3;
            }));
        EXPECT_EQ(second, 2);
    }
}

// --- ends and resets -----------------------------------------------------------------------------

FAIRLEAD_ON_NETWORK(shutdown_receive_ends_a_read) {
    both_ends ends = co_await connected();
    auto handle = spawn(co_await current_executor(), reads(ends.far, 10));
    co_await sleep_for(5ms);
    EXPECT_FALSE(handle.ended());
    EXPECT_TRUE(ends.far.shutdown_receive());
    EXPECT_EQ(co_await handle, "");
    EXPECT_EQ(co_await reads(ends.far, 10), "");
}

// The peer closes with data that it has not read.
FAIRLEAD_ON_NETWORK(lost_data_are_told_by_a_reset) {
    both_ends ends = co_await connected();
    EXPECT_EQ(co_await writes(ends.near, "never read"), std::error_code{});
    co_await sleep_for(10ms);
    ends.far.close();
    EXPECT_EQ((co_await reads(ends.near, 10)).error(), std::errc::connection_reset);
    EXPECT_EQ(co_await writes(ends.near, "x"), std::errc::broken_pipe);
    EXPECT_EQ(co_await reads(ends.near, 10), "");
}

FAIRLEAD_ON_NETWORK(writes_to_a_peer_that_is_gone_fail) {
    both_ends ends = co_await connected();
    ends.far.close();
    EXPECT_EQ(co_await reads(ends.near, 10), "");
    EXPECT_EQ(co_await writes(ends.near, "into the void"), std::error_code{});
    co_await sleep_for(10ms);
    const std::error_code second = co_await writes(ends.near, "again");
    EXPECT_TRUE(second == std::errc::broken_pipe || second == std::errc::connection_reset);
    EXPECT_EQ(co_await writes(ends.near, "again"), std::errc::broken_pipe);
}

FAIRLEAD_ON_NETWORK(a_closed_stream_answers_with_errors) {
    both_ends ends = co_await connected();
    EXPECT_TRUE(ends.near.is_open());
    tcp_stream moved{std::move(ends.near)};
    EXPECT_FALSE(ends.near.is_open());
    EXPECT_EQ((co_await reads(ends.near, 10)).error(), std::errc::bad_file_descriptor);
    moved.close();
    moved.close();
    EXPECT_EQ((co_await reads(moved, 10)).error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(co_await writes(moved, "x"), std::errc::bad_file_descriptor);
    EXPECT_EQ(moved.shutdown_send().error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(moved.peer_address().error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(moved.native_handle(), -1);
    EXPECT_EQ(co_await reads(ends.far, 10), "");
}

// --- connecting ----------------------------------------------------------------------------------

FAIRLEAD_ON_NETWORK(a_connect_without_a_listener_is_refused) {
    address where;
    {
        auto gone = tcp_listener::bind(co_await current_scheduler(), address::loopback(0)).value();
        where = gone.local_address().value();
    }
    EXPECT_EQ((co_await tcp_stream::connect(where)).error(), std::errc::connection_refused);
}

FAIRLEAD_ON_NETWORK(a_port_has_one_listener) {
    scheduler& home = co_await current_scheduler();
    auto first = tcp_listener::bind(home, address::loopback(0)).value();
    const address where = first.local_address().value();
    EXPECT_NE(where.port(), 0);
    EXPECT_EQ(tcp_listener::bind(home, where).error(), std::errc::address_in_use);
    first.close();
    EXPECT_TRUE(tcp_listener::bind(home, where));
}

FAIRLEAD_ON_NETWORK(both_ends_know_their_addresses) {
    auto listener = tcp_listener::bind(co_await current_scheduler(), address::loopback(0)).value();
    auto near = (co_await tcp_stream::connect(listener.local_address().value())).value();
    auto far = (co_await listener.accept()).value();
    const auto text = [](const std::expected<address, std::error_code>& each) {
        return each.value().to_string();
    };
    EXPECT_EQ(text(near.local_address()), text(far.peer_address()));
    EXPECT_EQ(text(near.peer_address()), text(far.local_address()));
    EXPECT_EQ(text(near.peer_address()), text(listener.local_address()));
    EXPECT_TRUE(near.local_address()->is_loopback());
}

FAIRLEAD_ON_NETWORK(connections_are_accepted_in_order) {
    auto listener = tcp_listener::bind(co_await current_scheduler(), address::loopback(0)).value();
    std::vector<tcp_stream> clients;
    for (int i = 0; i != 5; ++i) {
        clients.push_back((co_await tcp_stream::connect(*listener.local_address())).value());
    }
    for (tcp_stream& each : clients) {
        auto taken = (co_await listener.accept()).value();
        EXPECT_EQ(taken.peer_address()->to_string(), each.local_address()->to_string());
    }
}

// A connect to a full backlog is not answered, until there is room.
FAIRLEAD_ON_NETWORK(a_full_backlog_makes_connects_wait) {
    listener_options short_line;
    short_line.backlog = 1;
    auto listener =
        tcp_listener::bind(co_await current_scheduler(), address::loopback(0), short_line).value();
    const address where = listener.local_address().value();
    std::vector<tcp_stream> taken;
    std::error_code why;
    while (!why && taken.size() < 10) {
        auto next = co_await tcp_stream::connect(where, clock::now() + 20ms);
        if (next) {
            taken.push_back(std::move(*next));
        } else {
            why = next.error();
        }
    }
    EXPECT_EQ(why, std::errc::timed_out);
    EXPECT_GE(taken.size(), 1U);
    for (std::size_t i = 0; i != taken.size(); ++i) EXPECT_TRUE(co_await listener.accept());
    EXPECT_TRUE(co_await tcp_stream::connect(where, clock::now() + 10s));
}

#undef FAIRLEAD_ON_NETWORK

}  // namespace
}  // namespace fairlead::io::network_tests
