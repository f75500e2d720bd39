#include "savegames/load/response_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace savegames::load::response_reader_tests {
namespace {

using state = response_reader::state;

// Feeds `text` in pieces of at most `piece` bytes, until the response is complete or malformed.
state feed(response_reader& reader, std::string_view text, std::size_t piece) {
    state now = state::incomplete;
    while (!text.empty() && now == state::incomplete) {
        const auto room = reader.room();
        const std::size_t size = std::min({piece, text.size(), room.size()});
        std::memcpy(room.data(), text.data(), size);
        text.remove_prefix(size);
        now = reader.take(size);
    }
    return now;
}

const std::string save =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSave-Version: 12\r\n"
    "Save-Checksum: 6330da2dd48bc7bc\r\nContent-Length: 9\r\n\r\n{\"a\": 12}";

TEST(response_reader, any_pieces) {
    response_reader reader;
    for (const std::size_t piece : {1U, 2U, 7U, 100U, 1000U}) {
        reader.start();
        EXPECT_FALSE(reader.has_begun());
        ASSERT_EQ(feed(reader, save, piece), state::complete) << piece;
        EXPECT_TRUE(reader.has_begun());
        const http_response& got = reader.response();
        EXPECT_EQ(got.status, 200);
        EXPECT_EQ(got.version, 12U);
        EXPECT_EQ(got.checksum, "6330da2dd48bc7bc");
        EXPECT_EQ(got.body, "{\"a\": 12}");
        EXPECT_TRUE(got.keep_alive);
    }
}

TEST(response_reader, bodies_larger_than_its_buffer) {
    const std::string body(3'000'000, 'x');
    response_reader reader;
    reader.start();
    ASSERT_EQ(feed(reader, "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + body, 50'000),
              state::complete);
    EXPECT_EQ(reader.response().body, body);
}

TEST(response_reader, no_body_and_close) {
    response_reader reader;
    reader.start();
    ASSERT_EQ(feed(reader, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", 100),
              state::complete);
    EXPECT_EQ(reader.response().status, 204);
    EXPECT_EQ(reader.response().version, 0U);
    EXPECT_FALSE(reader.response().keep_alive);
}

TEST(response_reader, a_body_that_ends_with_the_connection) {
    response_reader reader;
    reader.start();
    ASSERT_EQ(feed(reader, "HTTP/1.1 200 OK\r\n\r\nabc", 100), state::incomplete);
    ASSERT_EQ(reader.take(0), state::complete);
    EXPECT_EQ(reader.response().body, "abc");
}

TEST(response_reader, broken_ones) {
    response_reader reader;
    reader.start();
    EXPECT_EQ(reader.take(0), state::malformed);  // closed before the first byte
    reader.start();
    EXPECT_EQ(feed(reader, "SSH-2.0-OpenSSH_9.2\r\n\r\n", 100), state::malformed);
    reader.start();
    ASSERT_EQ(feed(reader, save.substr(0, save.size() - 1), 100), state::incomplete);
    EXPECT_EQ(reader.take(0), state::malformed);
    reader.start();
    EXPECT_EQ(feed(reader, "HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'y'), 1000),
              state::malformed);
    // The reader works again after these failures.
    reader.start();
    EXPECT_EQ(feed(reader, save, 100), state::complete);
}

}  // namespace
}  // namespace savegames::load::response_reader_tests
