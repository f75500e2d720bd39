// A relay between two TLS connections: by reads and writes, each end by close_notify.
#include "tls/ends.hpp"

#include <fairlead/io/relay.hpp>

#include <gtest/gtest.h>

#include <expected>
#include <optional>
#include <string>
#include <utility>

namespace fairlead::test::relay_tests {
namespace {

using result = std::expected<io::relayed, io::unfinished_relay>;

task<result> relays(stream& first, stream& second) {
    const auto ended = co_await io::relay(first, second);
    co_return ended;
}

task<done> write_and_end(stream& to, std::string text) {
    const auto sent = co_await to.write_all(as_bytes_of(text));
    if (!sent) co_return std::unexpected{sent.error()};
    const auto ended = co_await to.send_end();
    co_return ended;
}

// `client` speaks to `server`, that is the proxy, which speaks as `onward` to `behind`.
class tls_relay_test : public connected_ends {
protected:
    tls_relay_test() {
        connect();
        memory_connection second;
        auto made = shake_hands(home, std::move(second), harbour.client(), harbour.server());
        EXPECT_TRUE(made.both_made());
        onward.emplace(std::move(*made.client));
        behind.emplace(std::move(*made.server));
    }

    std::optional<stream> onward;
    std::optional<stream> behind;
};

TEST_F(tls_relay_test, passes_bytes_and_ends_on) {
    const std::string question(200'000, 'q');
    const std::string answer(300'000, 'a');
    auto relaying = start(relays(*server, *onward));
    auto asking = start(write_and_end(*client, question));
    EXPECT_EQ(run(read_text(*behind)), question);  // up to the close_notify
    settle();
    EXPECT_FALSE(relaying.ended());
    auto answering = start(write_and_end(*behind, answer));
    EXPECT_EQ(run(read_text(*client)), answer);
    settle();
    EXPECT_TRUE(asking.get());
    EXPECT_TRUE(answering.get());
    const result ended = relaying.get();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->from_first, question.size());
    EXPECT_EQ(ended->from_second, answer.size());
}

TEST_F(tls_relay_test, an_end_without_close_notify_ends_both_directions) {
    auto relaying = start(relays(*server, *onward));
    EXPECT_TRUE(run(write_text(*client, "hello")));
    EXPECT_EQ(run(read_text(*behind, 5)), "hello");
    client->close();
    settle();
    ASSERT_TRUE(relaying.ended());
    const result ended = relaying.get();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().error, io::tls_errc::truncated);
    EXPECT_EQ(ended.error().moved.from_first, 5U);
    EXPECT_EQ(ended.error().moved.from_second, 0U);
}

TEST_F(tls_relay_test, ends_at_a_stop) {
    auto relaying = start(relays(*server, *onward));
    settle();
    relaying.request_stop();
    settle();
    ASSERT_TRUE(relaying.ended());
    const result ended = relaying.get();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().error, std::errc::operation_canceled);
}

}  // namespace
}  // namespace fairlead::test::relay_tests
