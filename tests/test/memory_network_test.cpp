// Faults and virtual time of the network in memory. What it has in common with the kernel's is
// tested in tests/io/network_test.cpp.
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/test/memory_network.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::test::memory_network_tests {
namespace {

using namespace std::chrono_literals;

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

// --- programs that know nothing of the network that carries them ---------------------------------

// [server]
// Sends back what each connection says, until it is asked to stop.
task<> echo(io::tcp_stream given) {
    io::tcp_stream peer{std::move(given)};
    std::array<std::byte, 512> buffer;
    for (;;) {
        const auto size = co_await peer.read_some(buffer, clock::now() + 1min);
        if (!size || *size == 0) co_return;
        if (!co_await peer.write_all(std::span{buffer}.first(*size))) co_return;
    }
}
task<> serves(io::tcp_listener given) {
    io::tcp_listener listener{std::move(given)};
    const executor here = co_await current_executor();
    for (;;) {
        auto peer = co_await listener.accept();
        if (!peer) co_return;
        spawn(here, echo(std::move(*peer))).detach();
    }
}
// [/server]

// What came back, or why not.
task<std::expected<std::string, std::error_code>> asks(io::address where, std::string text) {
    auto stream = co_await io::tcp_stream::connect(where, clock::now() + 30s);
    if (!stream) co_return std::unexpected{stream.error()};
    const auto sent = co_await stream->write_all(bytes_of(text));
    if (!sent) co_return std::unexpected{sent.error()};
    std::string answer(text.size(), '\0');
    const auto came = co_await stream->read_exactly(std::as_writable_bytes(std::span{answer}),
                                                    clock::now() + 30s);
    if (came) co_return answer;
    const std::error_code end = std::make_error_code(std::errc::no_message);
    co_return std::unexpected{came.error().error ? came.error().error : end};
}

class memory_network_test : public testing::Test {
protected:
    explicit memory_network_test(memory_network_options options = {})
        : simulated{[options](manual_clock& clock) {
              return std::make_unique<memory_network>(clock, options);
          }} {}
    ~memory_network_test() override { simulated.scheduler().stop(1h); }

    [[nodiscard]] memory_network& network() { return memory_network::of(simulated.scheduler()); }
    [[nodiscard]] time_point now() { return simulated.clock().now(); }
    // Starts an echo server.
    io::address serve() {
        auto listener =
            io::tcp_listener::bind(simulated.scheduler(), io::address::loopback(0)).value();
        const io::address where = listener.local_address().value();
        spawn(simulated.scheduler(), serves(std::move(listener))).detach();
        return where;
    }

    const watchdog guard;
    simulated_scheduler simulated;
};

TEST_F(memory_network_test, a_program_runs_as_it_is) {
    EXPECT_EQ(simulated.run(asks(serve(), "hello")), "hello");
}

// A message takes its latency there, and the answer back, as does the connect.
TEST_F(memory_network_test, latency_is_exact) {
    // [latency]
    network().set_options({.latency_min = 10ms, .latency_max = 10ms});
    const io::address where = serve();
    const time_point begin = now();
    EXPECT_EQ(simulated.run(asks(where, "hello")), "hello");
    EXPECT_EQ(now() - begin, 40ms);
    // [/latency]
}

TEST_F(memory_network_test, an_unreachable_peer_costs_the_deadline) {
    const io::address where = serve();
    network().set_unreachable(true);
    const time_point begin = now();
    EXPECT_EQ(simulated.run(asks(where, "hello")).error(), std::errc::timed_out);
    EXPECT_EQ(now() - begin, 30s);
}

// Tries at 0, 1, 3 and 7 s; the network is back after 5 s.
TEST_F(memory_network_test, a_connect_is_tried_again) {
    const io::address where = serve();
    network().set_unreachable(true);
    auto handle = spawn(simulated.scheduler(), asks(where, "hello"));
    const time_point begin = now();
    simulated.run_for(5s);
    EXPECT_FALSE(handle.ended());
    network().set_unreachable(false);
    static constexpr auto joins =
        [](join_handle<std::expected<std::string, std::error_code>>& of) -> task<std::string> {
        co_return (co_await of).value();
    };
    EXPECT_EQ(simulated.run(joins(handle)), "hello");
    EXPECT_EQ(now() - begin, 7s);
}

TEST_F(memory_network_test, an_accept_without_descriptors_tries_again) {
    static constexpr auto accepts = [](io::tcp_listener& from) -> task<bool> {
        co_return (co_await from.accept(clock::now() + 1s)).has_value();
    };
    static constexpr auto connects = [](io::address where) -> task<io::tcp_stream> {
        co_return (co_await io::tcp_stream::connect(where)).value();
    };
    auto listener = io::tcp_listener::bind(simulated.scheduler(), io::address::loopback(0)).value();
    const io::tcp_stream client = simulated.run(connects(*listener.local_address()));
    network().starve_accepts(3);
    const time_point begin = now();
    EXPECT_TRUE(simulated.run(accepts(listener)));
    EXPECT_EQ(now() - begin, 3 * io::tcp_listener::starved_retry);
    EXPECT_EQ(listener.starved(), 3U);
}

// The connection is reset at each byte in turn; what comes before it arrives, and the program
// learns of the reset.
TEST_F(memory_network_test, a_reset_at_each_byte) {
    static constexpr std::string_view text = "a message of several bytes";
    const io::address where = serve();
    // [reset]
    for (std::uint64_t n = 1; n <= text.size(); ++n) {
        network().set_options({.reset_after = n});
        const auto seen = simulated.run(asks(where, std::string{text}));
        ASSERT_FALSE(seen) << n;
        EXPECT_TRUE(seen.error() == std::errc::connection_reset ||
                    seen.error() == std::errc::broken_pipe || seen.error() == std::errc::no_message)
            << n << ": " << seen.error().message();
    }
    // [/reset]
    network().set_options({.reset_after = text.size() + 1});
    EXPECT_EQ(simulated.run(asks(where, std::string{text})), text);
}

// 1. Five bytes are sent, and no more may come. 2. The peer reads them. 3. It learns of the reset.
TEST_F(memory_network_test, what_came_before_a_reset_is_read) {
    static constexpr auto both = [](scheduler& home) -> task<> {
        auto listener = io::tcp_listener::bind(home, io::address::loopback(0)).value();
        auto near = (co_await io::tcp_stream::connect(*listener.local_address())).value();
        auto far = (co_await listener.accept()).value();
        static_cast<void>(co_await near.write_all(bytes_of("hello, world")));
        std::string seen(12, '\0');
        const auto came = co_await far.read_exactly(std::as_writable_bytes(std::span{seen}));
        EXPECT_FALSE(came);
        EXPECT_EQ(came.error().size, 5U);
        EXPECT_EQ(came.error().error, std::errc::connection_reset);
        EXPECT_EQ(seen.substr(0, 5), "hello");
        EXPECT_EQ((co_await far.write_all(bytes_of("x"))).error(), std::errc::broken_pipe);
    };
    network().set_options({.reset_after = 5});
    simulated.run(both(simulated.scheduler()));
}

TEST_F(memory_network_test, all_connections_are_reset) {
    static constexpr auto waits = [](io::address where) -> task<std::error_code> {
        auto stream = (co_await io::tcp_stream::connect(where)).value();
        std::array<std::byte, 10> buffer;
        const auto size = co_await stream.read_some(buffer);
        co_return size ? std::error_code{} : size.error();
    };
    auto handle = spawn(simulated.scheduler(), waits(serve()));
    simulated.run_for(1s);
    EXPECT_FALSE(handle.ended());
    network().reset_all();
    simulated.run_for(1s);
    ASSERT_TRUE(handle.ended());
    EXPECT_EQ(handle.get(), std::errc::connection_reset);
}

// The server gives up a silent peer after a minute: an hour of that passes at once.
TEST_F(memory_network_test, an_idle_hour_passes_at_once) {
    static constexpr auto is_silent = [](io::address where) -> task<duration> {
        const time_point begin = clock::now();
        for (int i = 0; i != 60; ++i) {
            auto stream = (co_await io::tcp_stream::connect(where)).value();
            std::array<std::byte, 10> buffer;
            EXPECT_EQ(co_await stream.read_some(buffer), 0U);
        }
        co_return clock::now() - begin;
    };
    // [hour]
    EXPECT_EQ(simulated.run(is_silent(serve())), 1h);
    // [/hour]
}

// --- seeds ---------------------------------------------------------------------------------------

// The times and sizes of all reads of a conversation.
std::vector<std::pair<std::int64_t, std::size_t>> conversation(std::uint64_t seed) {
    static constexpr auto talks =
        [](io::address where, std::vector<std::pair<std::int64_t, std::size_t>>& seen) -> task<> {
        auto stream = (co_await io::tcp_stream::connect(where)).value();
        const std::string text(2000, 'x');
        EXPECT_TRUE(co_await stream.write_all(bytes_of(text)));
        EXPECT_TRUE(stream.shutdown_send());
        std::array<std::byte, 300> buffer;
        for (;;) {
            const auto size = co_await stream.read_some(buffer);
            if (!size || *size == 0) break;
            seen.emplace_back(clock::now().time_since_epoch().count(), *size);
        }
    };
    // [seed]
    simulated_scheduler simulated{[seed](manual_clock& clock) {
        return std::make_unique<memory_network>(clock, memory_network_options{.seed = seed,
                                                                              .short_moves = true,
                                                                              .latency_min = 1ms,
                                                                              .latency_max = 9ms,
                                                                              .buffer = 3000});
    }};
    // [/seed]
    auto listener = io::tcp_listener::bind(simulated.scheduler(), io::address::loopback(0)).value();
    const io::address where = listener.local_address().value();
    spawn(simulated.scheduler(), serves(std::move(listener))).detach();
    std::vector<std::pair<std::int64_t, std::size_t>> seen;
    simulated.run(talks(where, seen));
    simulated.scheduler().stop(1h);
    return seen;
}

TEST(memory_network_seed_test, a_seed_is_a_run) {
    std::size_t different = 0;
    for (std::uint64_t seed = 0; seed != 20; ++seed) {
        const auto first = conversation(seed);
        EXPECT_EQ(first, conversation(seed)) << seed;
        std::size_t bytes = 0;
        for (const auto& [when, size] : first) bytes += size;
        EXPECT_EQ(bytes, 2000U) << seed;
        if (first != conversation(seed + 1)) ++different;
    }
    EXPECT_EQ(different, 20U);
}

}  // namespace
}  // namespace fairlead::test::memory_network_tests
