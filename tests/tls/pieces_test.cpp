// A connection whose bytes come in any pieces, and that ends, fails or is stopped at any byte.
#include "support/seeds.hpp"
#include "tls/ends.hpp"

#include <fairlead/coro/when_all.hpp>

#include <array>
#include <string>
#include <vector>

namespace fairlead::io::pieces_tests {
namespace {

using test::below;
using test::connected;
using test::done;
using test::read_text;
using test::simulated_scheduler;
using test::stream;
using test::text_or_error;

/// What one end has come to.
struct outcome {
    std::error_code error;
    std::string text;
};

std::string message(char of) {
    std::string text(20001, of);
    text.back() = '.';
    return text;
}

task<std::error_code> tells(stream& to, std::string text) {
    const done written = co_await to.write_all(test::as_bytes_of(text));
    if (!written) co_return written.error();
    const done ended = co_await to.send_end();
    co_return ended ? std::error_code{} : ended.error();
}

// Sends a message and an end, and reads those of the other end meanwhile.
task<outcome> converses(connected made, char own) {
    if (!made) co_return outcome{made.error(), {}};
    const auto [told, got] = co_await when_all(tells(*made, message(own)), read_text(*made));
    if (!got) co_return outcome{got.error(), {}};
    co_return outcome{told, *got};
}

task<outcome> accepts(test::memory_stream below, tls_context context) {
    auto made = co_await stream::accept(std::move(below), context);
    co_return co_await converses(std::move(made), 's');
}

task<outcome> connects(test::memory_stream below, tls_context context) {
    auto made = co_await stream::connect(std::move(below), context, "localhost");
    co_return co_await converses(std::move(made), 'c');
}

class Pieces : public testing::TestWithParam<tls_version> {
protected:
    struct ends {
        join_handle<outcome> server;
        join_handle<outcome> client;
    };
    ends start(test::memory_connection connection) {
        auto server = spawn(home, accepts(std::move(connection.server), of_server));
        auto client = spawn(home, connects(std::move(connection.client), of_client));
        return {std::move(server), std::move(client)};
    }
    void settle(const ends& both) {
        home.scheduler().run_until_idle();
        ASSERT_TRUE(both.server.ended()) << "the server hangs";
        ASSERT_TRUE(both.client.ended()) << "the client hangs";
    }
    void expect_success(ends& both) {
        settle(both);
        const outcome server = both.server.get();
        const outcome client = both.client.get();
        EXPECT_FALSE(server.error) << server.error.message();
        EXPECT_FALSE(client.error) << client.error.message();
        EXPECT_EQ(server.text, message('c'));
        EXPECT_EQ(client.text, message('s'));
    }

    const test::watchdog guard;
    simulated_scheduler home;
    const test::harbour harbour;
    const tls_context of_server = harbour.server();
    // Full handshakes, all alike.
    const tls_context of_client = harbour.client({.version_max = GetParam(), .sessions_max = 0});
};

TEST_P(Pieces, OfOneByte) {
    test::memory_connection connection;
    connection.to_client->piece = connection.to_server->piece = [](std::size_t) { return 1U; };
    ends both = start(std::move(connection));
    expect_success(both);
}

TEST_P(Pieces, OfAnySize) {
    test::for_each_seed(20, [this](std::mt19937_64& random) {
        test::memory_connection connection{1 + below(random, std::size_t{3})};
        connection.to_client->piece = connection.to_server->piece = [&random](std::size_t size) {
            return 1 + below(random, below(random, 2) == 0 ? size : std::min(size, std::size_t{9}));
        };
        ends both = start(std::move(connection));
        expect_success(both);
    });
}

enum class cut { end, reset, late, stop };

// Cuts one direction at byte `at`. Either end must report a documented error, and wait for nothing.
class Cuts : public Pieces {
protected:
    void cut_at(std::size_t at, cut how, bool of_server_input) {
        SCOPED_TRACE(at);
        test::memory_connection connection;
        test::memory_pipe& pipe = of_server_input ? *connection.to_server : *connection.to_client;
        join_handle<outcome>* hit = nullptr;
        pipe.cut_after = at;
        pipe.then = [how, &hit]() -> std::expected<std::size_t, std::error_code> {
            switch (how) {
                case cut::end:
                    return 0U;
                case cut::reset:
                    return std::unexpected{std::make_error_code(std::errc::connection_reset)};
                case cut::late:
                    return std::unexpected{std::make_error_code(std::errc::timed_out)};
                case cut::stop:
                    hit->request_stop();
                    break;
            }
            return std::unexpected{std::error_code{}};
        };
        ends both = start(std::move(connection));
        hit = of_server_input ? &both.server : &both.client;
        settle(both);
        const outcome server = both.server.get();
        const outcome client = both.client.get();
        const outcome& cut_off = of_server_input ? server : client;
        const outcome& other = of_server_input ? client : server;
        expect_error(how, cut_off.error);
        // The other end may have had all, sees the end of the connection, or cannot write any more.
        EXPECT_TRUE(!other.error || other.error == tls_errc::truncated ||
                    other.error == std::errc::broken_pipe)
            << other.error.message();
        if (!cut_off.error) {
            EXPECT_EQ(cut_off.text, message(of_server_input ? 'c' : 's'));
        }
        if (!other.error) {
            EXPECT_EQ(other.text, message(of_server_input ? 's' : 'c'));
        }
    }

private:
    static void expect_error(cut how, const std::error_code& error) {
        switch (how) {
            case cut::end:
                EXPECT_EQ(error, tls_errc::truncated) << error.message();
                return;
            case cut::reset:
                EXPECT_EQ(error, std::errc::connection_reset) << error.message();
                return;
            case cut::late:
                EXPECT_EQ(error, std::errc::timed_out) << error.message();
                return;
            case cut::stop:
                // A read that finds all there may end before the stop is noticed.
                EXPECT_TRUE(!error || error == std::errc::operation_canceled) << error.message();
        }
    }
};

TEST_P(Cuts, AtEachByteOfTheHandshake) {
    // How many bytes each end reads for a whole handshake.
    test::memory_connection whole;
    const auto to_client = whole.to_client;
    const auto to_server = whole.to_server;
    const auto made = shake_hands(home, std::move(whole), of_client, of_server);
    ASSERT_TRUE(made.both_made());
    for (const bool of_server_input : {false, true}) {
        const std::size_t size = of_server_input ? to_server->delivered : to_client->delivered;
        ASSERT_GT(size, 100U);
        for (const cut how : {cut::end, cut::reset, cut::late, cut::stop}) {
            for (std::size_t at = 0; at < size && !HasFailure(); at += test::sanitized ? 7 : 1) {
                cut_at(at, how, of_server_input);
            }
        }
    }
}

TEST_P(Cuts, WithinTheMessages) {
    test::for_each_seed(60, [this](std::mt19937_64& random) {
        cut_at(2500 + below(random, std::size_t{17000}),
               std::array{cut::end, cut::reset, cut::late, cut::stop}[below(random, 4U)],
               below(random, 2) == 0);
    });
}

constexpr auto versions = std::array{tls_version::v1_2, tls_version::v1_3};
INSTANTIATE_TEST_SUITE_P(Versions, Pieces, testing::ValuesIn(versions));
INSTANTIATE_TEST_SUITE_P(Versions, Cuts, testing::ValuesIn(versions));

}  // namespace
}  // namespace fairlead::io::pieces_tests
