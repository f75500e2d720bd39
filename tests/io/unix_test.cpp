// Connections by Unix sockets on each network, and their addresses.
#include "support/networks.hpp"
#include "support/sockets.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/io/byte_stream.hpp>
#include <fairlead/io/unix.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::unix_tests {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;

static_assert(byte_stream<unix_stream>);

// --- addresses -----------------------------------------------------------------------------------

TEST(unix_address, is_a_path_a_name_or_none) {
    const unix_address none;
    EXPECT_FALSE(none.is_path() || none.is_abstract());
    EXPECT_EQ(none.name(), "");
    EXPECT_EQ(none.to_string(), "");
    const unix_address file = unix_address::path("/run/x").value();
    EXPECT_TRUE(file.is_path() && !file.is_abstract());
    EXPECT_EQ(file.name(), "/run/x");
    EXPECT_EQ(file.to_string(), "/run/x");
    const unix_address name = unix_address::abstract("/run/x").value();
    EXPECT_TRUE(name.is_abstract() && !name.is_path());
    EXPECT_EQ(name.name(), "/run/x");
    EXPECT_EQ(name.to_string(), "@/run/x");
    EXPECT_FALSE(name == file || file == none || name == none);
    EXPECT_EQ(unix_address{name.as_address()}, name);
    EXPECT_EQ(unix_address{file.as_address()}, file);
    EXPECT_EQ(unix_address{address::loopback(1)}, none);
}

TEST(unix_address, has_a_longest_name) {
    const std::string longest(unix_address::size_max, 'x');
    EXPECT_EQ(unix_address::path(longest)->name(), longest);
    EXPECT_EQ(unix_address::abstract(longest)->name(), longest);
    EXPECT_EQ(unix_address::path(longest + 'x').error(), std::errc::filename_too_long);
    EXPECT_EQ(unix_address::abstract(longest + 'x').error(), std::errc::filename_too_long);
    EXPECT_EQ(unix_address::path("").error(), std::errc::invalid_argument);
    EXPECT_EQ(unix_address::abstract("").error(), std::errc::invalid_argument);
}

TEST(unix_address, a_null_is_for_abstract_names_alone) {
    const std::string_view odd{"a\0b", 3};
    EXPECT_EQ(unix_address::path(odd).error(), std::errc::invalid_argument);
    EXPECT_EQ(unix_address::abstract(odd)->name(), odd);
    EXPECT_NE(*unix_address::abstract(odd), *unix_address::abstract("a"));
}

TEST(unix_address, is_an_address_of_this_machine_without_a_port) {
    const address file = unix_address::path("/run/x")->as_address();
    EXPECT_TRUE(file.is_unix() && file.is_loopback() && !file.is_v6());
    EXPECT_EQ(file.port(), 0);
    EXPECT_EQ(file.to_string(), "/run/x");
    EXPECT_FALSE(address::loopback(1).is_unix());
}

// --- connections ---------------------------------------------------------------------------------

// A name that no other test has.
unix_address a_name() {
    static std::atomic<int> count{0};
    return *unix_address::abstract("fairlead-test-" + std::to_string(::getpid()) + "-" +
                                   std::to_string(count++));
}

struct both_ends {
    unix_stream near;
    unix_stream far;
};

task<both_ends> connected() {
    const unix_address where = a_name();
    auto listener = unix_listener::bind(co_await current_scheduler(), where).value();
    auto near = (co_await unix_stream::connect(where)).value();
    auto far = (co_await listener.accept()).value();
    co_return both_ends{std::move(near), std::move(far)};
}

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 9) % 26);
    return text;
}

using text_or_error = std::expected<std::string, std::error_code>;

task<text_or_error> reads(unix_stream& from, std::size_t size, time_point deadline = never) {
    std::string text(size, '\0');
    const auto count = co_await from.read_some(std::as_writable_bytes(std::span{text}), deadline);
    if (!count) co_return std::unexpected{count.error()};
    text.resize(*count);
    co_return text;
}

task<std::error_code> writes(unix_stream& to, std::string text, time_point deadline = never) {
    const auto done = co_await to.write_all(bytes_of(text), deadline);
    co_return done ? std::error_code{} : done.error();
}

task<> writes_and_ends(unix_stream& to, std::string text) {
    EXPECT_EQ(co_await writes(to, std::move(text)), std::error_code{});
    EXPECT_TRUE(to.shutdown_send());
}

task<std::error_code> accepts(unix_listener& from, time_point deadline = never) {
    const auto taken = co_await from.accept(deadline);
    co_return taken ? std::error_code{} : taken.error();
}

task<std::error_code> connects(unix_address to, time_point deadline = never) {
    const auto made = co_await unix_stream::connect(to, deadline);
    co_return made ? std::error_code{} : made.error();
}

template <class Home>
class unix_test : public testing::Test {
protected:
    Home on;
};

TYPED_TEST_SUITE(unix_test, test::networks);

#define FAIRLEAD_ON_NETWORK(name)                         \
    task<> name();                                        \
    TYPED_TEST(unix_test, name) { this->on.run(name()); } \
    task<> name()

FAIRLEAD_ON_NETWORK(bytes_arrive_in_order_and_then_the_end) {
    both_ends ends = co_await connected();
    auto writer = spawn(co_await current_executor(), writes_and_ends(ends.near, pattern(300'000)));
    std::string all;
    for (;;) {
        const text_or_error more = co_await reads(ends.far, 3000);
        if (!more || more->empty()) break;
        all += *more;
    }
    co_await writer;
    EXPECT_TRUE(all == pattern(300'000));
    EXPECT_EQ(co_await writes(ends.far, "back"), std::error_code{});
    std::string back(4, '\0');
    EXPECT_TRUE(co_await ends.near.read_exactly(std::as_writable_bytes(std::span{back})));
    EXPECT_EQ(back, "back");
}

FAIRLEAD_ON_NETWORK(deadlines_end_waits_and_lose_nothing) {
    both_ends ends = co_await connected();
    for (int i = 0; i != 3; ++i) {
        EXPECT_EQ((co_await reads(ends.far, 10, clock::now() + 2ms)).error(), std::errc::timed_out);
        EXPECT_EQ(co_await writes(ends.near, "x"), std::error_code{});
        EXPECT_EQ(co_await reads(ends.far, 10), "x");
    }
    EXPECT_EQ(co_await writes(ends.near, pattern(32 << 20), clock::now() + 5ms),
              std::errc::timed_out);
    auto listener = unix_listener::bind(co_await current_scheduler(), a_name()).value();
    EXPECT_EQ(co_await accepts(listener, clock::now() + 2ms), std::errc::timed_out);
}

FAIRLEAD_ON_NETWORK(stops_end_waits) {
    both_ends ends = co_await connected();
    auto listener = unix_listener::bind(co_await current_scheduler(), a_name()).value();
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

FAIRLEAD_ON_NETWORK(a_connect_without_a_listener_is_refused) {
    EXPECT_EQ(co_await connects(a_name()), std::errc::connection_refused);
}

FAIRLEAD_ON_NETWORK(a_name_has_one_listener) {
    scheduler& home = co_await current_scheduler();
    const unix_address where = a_name();
    auto first = unix_listener::bind(home, where).value();
    EXPECT_EQ(first.local_address().value(), where);
    EXPECT_EQ(unix_listener::bind(home, where).error(), std::errc::address_in_use);
    first.close();
    EXPECT_TRUE(unix_listener::bind(home, where));
    auto chosen = unix_listener::bind(home, {}).value();
    EXPECT_TRUE(chosen.local_address()->is_abstract());
    EXPECT_EQ(co_await connects(*chosen.local_address()), std::error_code{});
}

FAIRLEAD_ON_NETWORK(an_end_knows_whom_it_has_connected_to) {
    const unix_address where = a_name();
    auto listener = unix_listener::bind(co_await current_scheduler(), where).value();
    auto near = (co_await unix_stream::connect(where)).value();
    auto far = (co_await listener.accept()).value();
    EXPECT_EQ(near.peer_address().value(), where);
    EXPECT_EQ(far.local_address().value(), where);
    EXPECT_EQ(near.local_address().value(), unix_address{});
    EXPECT_EQ(far.peer_address().value(), unix_address{});
}

// The kernel refuses a connect to a full backlog at once, and tells of no room.
FAIRLEAD_ON_NETWORK(a_full_backlog_makes_connects_wait) {
    const unix_address where = a_name();
    listener_options short_line;
    short_line.backlog = 1;
    auto listener = unix_listener::bind(co_await current_scheduler(), where, short_line).value();
    std::vector<unix_stream> taken;
    std::error_code why;
    while (!why && taken.size() < 10) {
        auto next = co_await unix_stream::connect(where, clock::now() + 30ms);
        if (next) {
            taken.push_back(std::move(*next));
        } else {
            why = next.error();
        }
    }
    EXPECT_EQ(why, std::errc::timed_out);
    EXPECT_GE(taken.size(), 1U);
    auto stopped = spawn(co_await current_executor(), connects(where));
    co_await sleep_for(5ms);
    EXPECT_FALSE(stopped.ended());
    stopped.request_stop();
    EXPECT_EQ(co_await stopped, std::errc::operation_canceled);
    auto waits = spawn(co_await current_executor(), connects(where));
    co_await sleep_for(5ms);
    for (std::size_t i = 0; i != taken.size(); ++i) {
        EXPECT_EQ(co_await accepts(listener), std::error_code{});
    }
    EXPECT_EQ(co_await waits, std::error_code{});
}

FAIRLEAD_ON_NETWORK(a_reset_is_an_end) {
    both_ends ends = co_await connected();
    EXPECT_EQ(co_await writes(ends.near, "x"), std::error_code{});
    ends.near.reset();
    EXPECT_FALSE(ends.near.is_open());
    EXPECT_EQ(co_await reads(ends.far, 10), "x");
    EXPECT_EQ(co_await reads(ends.far, 10), "");
}

FAIRLEAD_ON_NETWORK(a_closed_stream_answers_with_errors) {
    both_ends ends = co_await connected();
    unix_stream moved{std::move(ends.near)};
    EXPECT_FALSE(ends.near.is_open());
    moved.close();
    EXPECT_EQ((co_await reads(moved, 10)).error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(co_await writes(moved, "x"), std::errc::bad_file_descriptor);
    EXPECT_EQ(moved.peer_credentials().error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(moved.peer_address().error(), std::errc::bad_file_descriptor);
    std::array<std::byte, 1> one{};
    std::array<os::unique_fd, 1> into;
    const std::array<int, 1> descriptors{0};
    EXPECT_EQ((co_await moved.read_with_descriptors(one, into)).error().error,
              std::errc::bad_file_descriptor);
    EXPECT_EQ((co_await moved.write_with_descriptors(one, descriptors)).error(),
              std::errc::bad_file_descriptor);
}

TEST(unix_in_memory, has_no_descriptors_and_no_credentials) {
    test::memory_home<false> on;
    static constexpr auto tries = []() -> task<> {
        both_ends ends = co_await connected();
        std::array<std::byte, 1> one{};
        std::array<os::unique_fd, 1> into;
        const std::array<int, 1> descriptors{0};
        EXPECT_EQ((co_await ends.near.read_with_descriptors(one, into)).error().error,
                  std::errc::operation_not_supported);
        EXPECT_EQ((co_await ends.near.write_with_descriptors(one, descriptors)).error(),
                  std::errc::operation_not_supported);
        EXPECT_EQ(ends.near.peer_credentials().error(), std::errc::operation_not_supported);
    };
    on.run(tries());
}

#undef FAIRLEAD_ON_NETWORK

}  // namespace
}  // namespace fairlead::io::unix_tests
