// Both ends of a TLS connection in memory, on a scheduler in virtual time.
#pragma once

#include "support/watchdog.hpp"
#include "tls/memory_stream.hpp"
#include "tls/zoo.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/test/simulated_scheduler.hpp>
#include <fairlead/tls/tls_stream.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fairlead::test {

using stream = io::tls_stream<memory_stream>;
using connected = std::expected<stream, std::error_code>;
using text_or_error = std::expected<std::string, std::error_code>;
using done = std::expected<void, std::error_code>;

static_assert(io::byte_stream<stream>);

inline std::span<const std::byte> as_bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

/// Up to the end, or `size` bytes.
inline task<text_or_error> read_text(stream& from, std::size_t size = SIZE_MAX,
                                     time_point deadline = never) {
    std::string text;
    std::string buffer(std::min<std::size_t>(size, 5000), '\0');
    while (text.size() < size) {
        const std::size_t wanted = std::min(buffer.size(), size - text.size());
        const auto count = co_await from.read_some(
            std::as_writable_bytes(std::span{buffer.data(), wanted}), deadline);
        if (!count) co_return std::unexpected{count.error()};
        if (*count == 0) break;
        text.append(buffer, 0, *count);
    }
    co_return text;
}

inline task<done> write_text(stream& to, std::string text, time_point deadline = never) {
    co_return co_await to.write_all(as_bytes_of(text), deadline);
}

/// The two handshakes, side by side.
struct handshakes {
    connected client;
    connected server;

    [[nodiscard]] bool both_made() const { return client.has_value() && server.has_value(); }
};

inline handshakes shake_hands(simulated_scheduler& home, memory_connection connection,
                              const io::tls_context& client, const io::tls_context& server,
                              const std::string& host = "localhost") {
    auto accepted = spawn(home, stream::accept(std::move(connection.server), server));
    auto made = spawn(home, stream::connect(std::move(connection.client), client, host));
    home.scheduler().run_until_idle();
    EXPECT_TRUE(accepted.ended() && made.ended()) << "a handshake hangs";
    return {made.get(), accepted.get()};
}

/// A connection after its handshake.
class connected_ends : public testing::Test {
protected:
    void connect(io::tls_client_options of_client = {}, io::tls_server_options of_server = {},
                 std::size_t capacity = channel<std::string>::unbounded) {
        memory_connection connection{capacity};
        to_client = connection.to_client;
        to_server = connection.to_server;
        auto made = shake_hands(home, std::move(connection), harbour.client(std::move(of_client)),
                                harbour.server(std::move(of_server)));
        ASSERT_TRUE(made.client.has_value()) << made.client.error().message();
        ASSERT_TRUE(made.server.has_value()) << made.server.error().message();
        client.emplace(std::move(*made.client));
        server.emplace(std::move(*made.server));
    }

    template <class T>
    join_handle<T> start(task<T> body) {
        return spawn(home, std::move(body));
    }
    /// Runs until no task can go on without time passing.
    void settle() { home.scheduler().run_until_idle(); }
    template <class T>
    T run(task<T> body) {
        return home.run(std::move(body));
    }

    const watchdog guard;
    simulated_scheduler home;
    const test::harbour harbour;
    std::shared_ptr<memory_pipe> to_client;
    std::shared_ptr<memory_pipe> to_server;
    std::optional<stream> client;
    std::optional<stream> server;
};

}  // namespace fairlead::test
