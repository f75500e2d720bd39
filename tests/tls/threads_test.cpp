// Tasks on several workers read and write streams at the same time, over TCP.
#include "support/sanitizer.hpp"
#include "support/sockets.hpp"
#include "tls/zoo.hpp"

#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/tls/tls_stream.hpp>

#include <openssl/ssl.h>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace fairlead::io::threads_tests {
namespace {

using stream = tls_stream<>;

constexpr std::size_t connections = test::sanitized ? 6 : 24;
constexpr std::size_t size = test::sanitized ? 400'000 : 2'000'000;

std::byte byte_at(std::size_t i) { return static_cast<std::byte>(i * 31 + i / 255); }

// Sends `size` bytes in writes of many sizes.
task<std::error_code> sends(stream& to) {
    std::vector<std::byte> block(40000);
    std::size_t sent = 0;
    for (std::size_t round = 0; sent != size; ++round) {
        const std::size_t wanted = 1 + round * 7919 % block.size();
        const std::size_t count = std::min(wanted, size - sent);
        for (std::size_t i = 0; i != count; ++i) block[i] = byte_at(sent + i);
        const auto written = co_await to.write_all(std::span{block}.first(count));
        if (!written) co_return written.error();
        sent += count;
    }
    const auto ended = co_await to.send_end();
    co_return ended ? std::error_code{} : ended.error();
}

task<std::error_code> receives(stream& from) {
    std::array<std::byte, 30000> buffer;
    std::size_t got = 0;
    for (;;) {
        const auto count = co_await from.read_some(buffer);
        if (!count) co_return count.error();
        if (*count == 0) break;
        for (std::size_t i = 0; i != *count; ++i) {
            if (buffer[i] != byte_at(got + i))
                co_return std::make_error_code(std::errc::bad_message);
        }
        got += *count;
    }
    co_return got == size ? std::error_code{} : std::make_error_code(std::errc::message_size);
}

// Two tasks, so that another worker may run one of them.
task<> converses(stream peer) {
    auto sending = spawn(co_await current_executor(), sends(peer));
    auto receiving = spawn(co_await current_executor(), receives(peer));
    const std::error_code sent = co_await sending;
    const std::error_code received = co_await receiving;
    EXPECT_FALSE(sent) << sent.message();
    EXPECT_FALSE(received) << received.message();
}

task<> accepts(tcp_stream below, tls_context context) {
    auto peer = co_await stream::accept(std::move(below), context);
    if (!peer) {
        ADD_FAILURE() << peer.error().message();
        co_return;
    }
    co_await converses(std::move(*peer));
}

task<> connects(address where, tls_context context) {
    auto below = co_await tcp_stream::connect(where);
    if (!below) {
        ADD_FAILURE() << below.error().message();
        co_return;
    }
    auto peer = co_await stream::connect(std::move(*below), context, "localhost");
    if (!peer) {
        ADD_FAILURE() << peer.error().message();
        co_return;
    }
    co_await converses(std::move(*peer));
}

task<> serves(tcp_listener listener, tls_context context) {
    co_await with_scope([&](scope& sessions) -> task<> {
        for (std::size_t i = 0; i != connections; ++i) {
            auto peer = co_await listener.accept();
            if (!peer) co_return;
            sessions.spawn(accepts(std::move(*peer), context));
        }
    });
}

class Threads : public testing::TestWithParam<tls_version> {};

TEST_P(Threads, ReadAndWriteAtTheSameTime) {
    const test::watchdog guard;
    scheduler home{test::with_epoll(4)};
    const test::harbour harbour;
    auto listener = tcp_listener::bind(home, address::loopback(0));
    ASSERT_TRUE(listener.has_value());
    const address where = listener->local_address().value();
    const auto of_client = harbour.client({.version_max = GetParam()});
    auto server = spawn(home, serves(std::move(*listener), harbour.server()));
    block_on(home, with_scope([&](scope& clients) -> task<> {
                 for (std::size_t i = 0; i != connections; ++i) {
                     clients.spawn(connects(where, of_client));
                 }
                 co_return;
             }));
    server.get();
}

INSTANTIATE_TEST_SUITE_P(Versions, Threads, testing::Values(tls_version::v1_2, tls_version::v1_3));

}  // namespace
}  // namespace fairlead::io::threads_tests
