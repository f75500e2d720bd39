// A connection that ends, or stalls, at each byte of an exchange: each wait ends, with the whole
// response or an error, and no part is taken for the whole.
#include "http/memory_stream.hpp"

#include <fairlead/http/client.hpp>
#include <fairlead/http/server.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <tuple>

namespace fairlead::http::cut_tests {
namespace {

using namespace std::chrono_literals;

// Passes bytes on, and ends one direction, or goes silent, after a number of bytes.
class cut_stream {
public:
    struct plan {
        std::size_t reads = std::numeric_limits<std::size_t>::max();   // bytes until the end
        std::size_t writes = std::numeric_limits<std::size_t>::max();  // bytes until a reset
        bool silent = false;  // instead of the end of the reads: nothing more comes
    };

    cut_stream(memory_stream real, plan how) : real_{std::move(real)}, left_{how} {}

    task<std::expected<std::size_t, std::error_code>> read_some(std::span<std::byte> buffer,
                                                                time_point deadline = never) {
        const std::span<std::byte> part = buffer.first(std::min(buffer.size(), left_.reads));
        if (part.empty()) {
            if (!left_.silent) co_return 0U;
            const wake_reason why = co_await wait_until_woken(deadline);
            co_return std::unexpected{why == wake_reason::stopped
                                          ? std::make_error_code(std::errc::operation_canceled)
                                          : std::make_error_code(std::errc::timed_out)};
        }
        const auto size = co_await real_.read_some(part, deadline);
        if (size) left_.reads -= *size;
        co_return size;
    }

    task<std::expected<void, std::error_code>> write_all(std::span<const std::byte> data,
                                                         time_point deadline = never) {
        const std::span<const std::byte> part = data.first(std::min(data.size(), left_.writes));
        left_.writes -= part.size();
        const auto sent = co_await real_.write_all(part, deadline);
        if (!sent) co_return sent;
        if (part.size() == data.size()) co_return std::expected<void, std::error_code>{};
        real_.close();
        co_return std::unexpected{std::make_error_code(std::errc::connection_reset)};
    }

    task<std::expected<void, std::error_code>> write_all(
        std::span<const std::span<const std::byte>> parts, time_point deadline = never) {
        const std::string all = test::joined(parts);
        co_return co_await write_all(std::as_bytes(std::span{all}), deadline);
    }

    std::expected<void, std::error_code> shutdown_send() { return real_.shutdown_send(); }
    void close() noexcept { real_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return real_.is_open(); }

private:
    memory_stream real_;
    plan left_;
};

// What came of two requests on connections that are cut as `how` says.
struct result {
    std::vector<std::string> bodies;
    std::vector<std::error_code> errors;
    std::size_t connections = 0;
    bool ended = false;
};

const std::string text(300, 'x');

task<response> answer(request& asked) {
    auto body = co_await asked.read_all();
    if (!body) co_return response::refusing(body.error());
    if (asked.path() != "/stream") co_return response::text(200, std::move(*body));
    response streamed;
    streamed.stream = [kept = std::move(*body)](body_writer& to) -> task<> {
        for (std::size_t at = 0; at < kept.size(); at += 100) {
            const auto sent = co_await to.write(std::string_view{kept}.substr(at, 100));
            if (!sent) co_return;
        }
    };
    co_return streamed;
}

task<> ask_twice(client& by, std::string path, result& out) {
    for (int i = 0; i != 2; ++i) {
        client_request asked{.method = "PUT", .url = "http://host" + path, .body = text};
        auto got = co_await by.send(std::move(asked), clock::now() + 100s);
        if (!got) {
            out.errors.push_back(got.error());
            continue;
        }
        auto body = co_await got->read_all();
        if (!body) {
            out.errors.push_back(body.error());
        } else if (got->status() == 200) {
            out.bodies.push_back(*body);
        }
    }
    out.ended = true;
}

result exchange(const std::string& path, cut_stream::plan of_server, cut_stream::plan of_client) {
    test::simulated_scheduler simulated;
    result out;
    const connector connects =
        [&](const origin&,
            time_point) -> task<std::expected<std::unique_ptr<transport>, std::error_code>> {
        auto [theirs, ours] = make_pipe();
        const bool cut = out.connections++ == 0;  // the first one alone
        cut_stream server{std::move(theirs), cut ? of_server : cut_stream::plan{}};
        cut_stream client{std::move(ours), cut ? of_client : cut_stream::plan{}};
        std::ignore = spawn(simulated, serve_connection(std::move(server), handler{answer}));
        co_return make_transport(std::move(client));
    };
    {
        client by{connects};
        std::ignore = spawn(simulated, ask_twice(by, path, out));
        simulated.run_for(300s);
        EXPECT_TRUE(out.ended);
    }
    simulated.run_for(1h);
    simulated.scheduler().run_until_idle();
    return out;
}

bool is_documented(const std::error_code& error) {
    return error == errc::closed || error == errc::incomplete || error == std::errc::timed_out ||
           error == std::errc::connection_reset;
}

void expect_whole_or_error(const result& out, std::size_t at) {
    for (const std::string& each : out.bodies) EXPECT_EQ(each, text) << at;
    for (const std::error_code& each : out.errors) {
        EXPECT_TRUE(is_documented(each)) << at << ": " << each.message();
    }
    // The second request is never the victim of the first one's connection.
    EXPECT_GE(out.bodies.size(), 1U) << at;
}

class Cut : public testing::TestWithParam<std::string> {};

TEST_P(Cut, WithoutACutBothAreAnswered) {
    const result out = exchange(GetParam(), {}, {});
    EXPECT_EQ(out.bodies, (std::vector<std::string>{text, text}));
    EXPECT_EQ(out.connections, 1U);
}

TEST_P(Cut, TheServerEndsAtEachByteOfItsAnswers) {
    for (std::size_t at = 0; at != 1200; ++at) {
        expect_whole_or_error(exchange(GetParam(), {.writes = at}, {}), at);
    }
}

TEST_P(Cut, TheClientEndsAtEachByteOfItsRequests) {
    for (std::size_t at = 0; at != 1000; ++at) {
        expect_whole_or_error(exchange(GetParam(), {}, {.writes = at}), at);
    }
}

TEST_P(Cut, TheClientSeesTheEndAtEachByte) {
    for (std::size_t at = 0; at != 1200; ++at) {
        expect_whole_or_error(exchange(GetParam(), {}, {.reads = at}), at);
    }
}

TEST_P(Cut, TheServerSeesTheEndAtEachByte) {
    for (std::size_t at = 0; at != 1000; ++at) {
        expect_whole_or_error(exchange(GetParam(), {.reads = at}, {}), at);
    }
}

TEST_P(Cut, TheServerGoesSilentAtEachByte) {
    for (std::size_t at = 0; at < 1200; at += 7) {
        expect_whole_or_error(exchange(GetParam(), {}, {.reads = at, .silent = true}), at);
    }
}

INSTANTIATE_TEST_SUITE_P(Paths, Cut, testing::Values("/", "/stream"));

}  // namespace
}  // namespace fairlead::http::cut_tests
