// Many connections on worker threads, with concurrent events: no byte is lost, no task hangs, and
// no event reaches the wrong connection.
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/sched/group.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::io::race_tests {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;
using test::watchdog;

task<> echoes(tcp_stream peer) {
    std::array<std::byte, 512> buffer;
    for (;;) {
        const auto count = co_await peer.read_some(buffer);
        if (!count || *count == 0) co_return;
        if (!co_await peer.write_all(std::span{buffer}.first(*count))) co_return;
    }
}

// Serves until its task is asked to stop.
task<> serves(tcp_listener& listener) {
    co_await with_scope([&listener](scope& sessions) -> task<> {
        for (;;) {
            auto peer = co_await listener.accept();
            if (!peer) break;
            sessions.spawn(echoes(std::move(*peer)), {.name = "session"});
        }
        sessions.request_stop();
    });
}

// Reads until `text` is full. Returns false if the connection ended before.
task<bool> reads_all(tcp_stream& from, std::span<std::byte> text) {
    while (!text.empty()) {
        const auto count = co_await from.read_some(text);
        if (!count || *count == 0) co_return false;
        text = text.subspan(*count);
    }
    co_return true;
}

task<int> talks(address to, int number, int rounds) {
    auto stream = co_await tcp_stream::connect(to);
    if (!stream) co_return 0;
    int good = 0;
    for (int i = 0; i != rounds; ++i) {
        const std::string sent =
            "connection " + std::to_string(number) + " message " + std::to_string(i);
        std::string received(sent.size(), '\0');
        if (!co_await stream->write_all(bytes_of(sent))) break;
        if (!co_await reads_all(*stream, std::as_writable_bytes(std::span{received}))) break;
        good += sent == received;
    }
    co_return good;
}

class io_on_threads : public testing::TestWithParam<unsigned> {
protected:
    const watchdog guard;
    scheduler home{test::with_epoll(GetParam())};
    tcp_listener listener = *tcp_listener::bind(home, address::loopback(0));
    const address where = *listener.local_address();
};

INSTANTIATE_TEST_SUITE_P(workers, io_on_threads, testing::Values(1U, 2U, 4U));

TEST_P(io_on_threads, many_connections_echo) {
    constexpr int connections = 60;
    constexpr int rounds = 30;
    auto server = spawn(home, serves(listener));
    std::vector<task<int>> clients;
    for (int i = 0; i != connections; ++i) clients.push_back(talks(where, i, rounds));
    const std::vector<int> good = block_on(home, when_all(std::move(clients)));
    for (const int each : good) EXPECT_EQ(each, rounds);
    server.request_stop();
    server.get();
}

// Connections come and go, so that the numbers of descriptors are used again at once, while events
// for the old ones may be under way. A stale event must not disturb the new connection.
TEST_P(io_on_threads, descriptors_are_used_again_at_once) {
    static constexpr auto comes_and_goes = [](address to, int number) -> task<int> {
        int good = 0;
        for (int i = 0; i != 60; ++i) good += co_await talks(to, number, 1 + i % 2) == 1 + i % 2;
        co_return good;
    };
    auto server = spawn(home, serves(listener));
    std::vector<task<int>> clients;
    for (int i = 0; i != 12; ++i) clients.push_back(comes_and_goes(where, i));
    for (const int good : block_on(home, when_all(std::move(clients)))) EXPECT_EQ(good, 60);
    server.request_stop();
    server.get();
}

// The clients of a group that is bound to a worker run on one thread, whichever thread notices
// their events.
TEST_P(io_on_threads, connections_of_bound_groups_stay_on_their_threads) {
    static constexpr auto talks_there = [](address to, int number,
                                           std::thread::id there) -> task<bool> {
        bool stayed = true;
        for (int i = 0; i != 20; ++i) {
            stayed = stayed && co_await talks(to, number, 3) == 3;
            stayed = stayed && std::this_thread::get_id() == there;
        }
        co_return stayed;
    };
    static constexpr auto all_stay = [](address to) -> task<bool> {
        const std::thread::id there = std::this_thread::get_id();
        std::vector<task<bool>> clients;
        for (int i = 0; i != 8; ++i) clients.push_back(talks_there(to, i, there));
        bool all = true;
        for (const bool stayed : co_await when_all(std::move(clients))) all = all && stayed;
        co_return all;
    };
    auto server = spawn(home, serves(listener));
    std::deque<group> groups;
    std::deque<join_handle<bool>> ends;
    for (unsigned i = 0; i != GetParam(); ++i) {
        groups.emplace_back(home).bind(i);
        ends.push_back(spawn(groups.back(), all_stay(where)));
    }
    for (join_handle<bool>& each : ends) EXPECT_TRUE(std::move(each).get());
    server.request_stop();
    server.get();
}

// --- deadlines, stops and data at the same time --------------------------------------------------

// Sends the numbers 0, 1, 2, ... as four bytes each, in pieces that do not fit them.
task<> sends_numbers(tcp_stream& to, std::uint32_t count) {
    std::vector<std::uint32_t> numbers(count);
    for (std::uint32_t i = 0; i != count; ++i) numbers[i] = i;
    auto rest = std::as_bytes(std::span{numbers});
    std::size_t size = 1;
    while (!rest.empty()) {
        const auto piece = rest.first(std::min(rest.size(), size));
        if (!co_await to.write_all(piece)) co_return;
        rest = rest.subspan(piece.size());
        size = size * 5 % 97 + 1;
        co_await yield();
    }
    static_cast<void>(to.shutdown_send());
}

// Receives the numbers with deadlines that pass at about the time when the data comes.
task<std::uint32_t> receives_numbers(tcp_stream& from) {
    std::string all;
    for (unsigned i = 0;; ++i) {
        std::array<std::byte, 61> buffer;
        const time_point deadline = clock::now() + i % 7 * 5us;
        const auto count = co_await from.read_some(buffer, i % 11 == 0 ? immediately : deadline);
        if (!count && count.error() == std::errc::timed_out) continue;
        if (!count || *count == 0) break;
        all.append(reinterpret_cast<const char*>(buffer.data()), *count);
    }
    std::uint32_t good = 0;
    for (std::size_t at = 0; at + 4 <= all.size(); at += 4) {
        std::uint32_t number = 0;
        std::memcpy(&number, all.data() + at, 4);
        good += number == at / 4;
    }
    co_return good;
}

task<std::pair<tcp_stream, tcp_stream>> connected(tcp_listener& listener, address where) {
    auto [there, here] = co_await when_all(tcp_stream::connect(where), listener.accept());
    co_return std::pair{std::move(*there), std::move(*here)};
}

TEST_P(io_on_threads, deadlines_race_with_data) {
    static constexpr auto both = [](tcp_listener& from, address to) -> task<std::uint32_t> {
        auto [there, here] = co_await connected(from, to);
        const auto [sent, received] =
            co_await when_all(sends_numbers(there, 5000), receives_numbers(here));
        static_cast<void>(sent);
        co_return received;
    };
    for (int i = 0; i != 3; ++i) EXPECT_EQ(block_on(home, both(listener, where)), 5000U);
}

// A stop and data come at the same time. The read returns the data, or ends and leaves the data.
TEST_P(io_on_threads, stops_race_with_data) {
    static constexpr auto reads_once = [](tcp_stream& from) -> task<std::size_t> {
        std::array<std::byte, 16> buffer;
        const auto count = co_await from.read_some(buffer);
        co_return count ? *count : 0;
    };
    static constexpr auto whole = [](tcp_listener& from, address to) -> task<int> {
        auto [there, here] = co_await connected(from, to);
        int good = 0;
        for (int i = 0; i != 300; ++i) {
            auto reader = spawn(co_await current_scheduler(), reads_once(here));
            if (i % 3 == 0) co_await yield();
            static_cast<void>(co_await there.write_all(bytes_of("12345678")));
            reader.request_stop();
            std::size_t got = co_await reader;
            while (got < 8) {
                std::array<std::byte, 16> buffer;
                const auto more = co_await here.read_some(buffer);
                if (!more || *more == 0) co_return good;
                got += *more;
            }
            good += got == 8;
        }
        co_return good;
    };
    EXPECT_EQ(block_on(home, whole(listener, where)), 300);
}

// Tasks that wait for IO are stopped and their streams closed at once, while the peers send.
TEST_P(io_on_threads, closing_after_a_stop_races_with_events) {
    static constexpr auto reads_on = [](tcp_stream from) -> task<> {
        std::array<std::byte, 64> buffer;
        for (;;) {
            const auto count = co_await from.read_some(buffer);
            if (!count || *count == 0) co_return;
        }
    };
    static constexpr auto sends_on = [](tcp_stream to) -> task<> {
        while (co_await to.write_all(bytes_of("something"))) co_await yield();
    };
    static constexpr auto one = [](tcp_listener& from, address to) -> task<> {
        for (int i = 0; i != 100; ++i) {
            auto [there, here] = co_await connected(from, to);
            auto reader = spawn(co_await current_scheduler(), reads_on(std::move(here)));
            auto sender = spawn(co_await current_scheduler(), sends_on(std::move(there)));
            for (int turn = 0; turn != i % 5; ++turn) co_await yield();
            reader.request_stop();
            co_await reader;
            co_await sender;
        }
    };
    block_on(home, one(listener, where));
}

// Several tasks on several workers use one listener each, and the scheduler is destroyed under
// load.
TEST_P(io_on_threads, a_scheduler_stops_under_load) {
    for (int i = 0; i != 10; ++i) {
        scheduler other{test::with_epoll(GetParam())};
        tcp_listener its = *tcp_listener::bind(other, address::loopback(0));
        auto server = spawn(other, serves(its));
        std::vector<join_handle<int>> clients;
        for (int client = 0; client != 10; ++client) {
            clients.push_back(spawn(other, talks(*its.local_address(), client, 1 << 30)));
        }
        block_on(other, talks(*its.local_address(), 99, 20));
        EXPECT_TRUE(other.stop(std::chrono::seconds{60}).clean());
        for (auto& each : clients) static_cast<void>(each.get());
        server.get();
        its.close();
    }
}

}  // namespace
}  // namespace fairlead::io::race_tests
