#include "http/expect_found.hpp"

namespace fairlead::http::response_parser_tests {
namespace {

using kind = framing::kind;

TEST(ResponseParser, GivesWhatTheHeadSays) {
    const seen message =
        one_response("HTTP/1.1 404 Not \xc3\xa4 Found\r\nContent-Length: 2\r\nX: y\r\n\r\nhi");
    EXPECT_EQ(message.first, "404 Not \xc3\xa4 Found");
    EXPECT_EQ(message.lines, "Content-Length: 2\r\nX: y\r\n");
    EXPECT_EQ(message.body, "hi");
    EXPECT_TRUE(message.keep_alive);
    EXPECT_EQ(one_response("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n").first, "200 ");
}

TEST(ResponseParser, RefusesOtherFirstLines) {
    struct row {
        std::string_view line;
        errc error;
    };
    for (const row& each : {
             row{"", errc::bad_start_line},
             row{"HTTP/1.1", errc::bad_start_line},
             row{"http/1.1 200 OK", errc::bad_start_line},
             row{"HTTP/1.1  200 OK", errc::bad_status},
             row{"HTTP/2.0 200 OK", errc::bad_version},
             row{"HTTP/1.2 200 OK", errc::bad_version},
             row{"HTTP/1.1 200", errc::bad_status},
             row{"HTTP/1.1 20 OK", errc::bad_status},
             row{"HTTP/1.1 2000 OK", errc::bad_status},
             row{"HTTP/1.1 2x0 OK", errc::bad_status},
             row{"HTTP/1.1 099 OK", errc::bad_status},
             row{"HTTP/1.1 200 O\x01", errc::bad_start_line},
             row{" HTTP/1.1 200 OK", errc::bad_start_line},
             row{"GET / HTTP/1.1", errc::bad_start_line},
         }) {
        const std::string text = std::string{each.line} + "\r\nContent-Length: 0\r\n\r\n";
        EXPECT_EQ(responses(text).error, each.error) << text;
    }
    EXPECT_EQ(responses("HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n").error, errc::bad_line_end);
}

TEST(ResponseParser, FindsTheEndOfTheBody) {
    struct row {
        std::string_view head;
        framing how;
        bool keep_alive;
    };
    for (const row& each : {
             row{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", {kind::length, 0}, true},
             row{"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n", {kind::chunked, 0}, true},
             row{"HTTP/1.1 200 OK\r\n", {kind::until_close, 0}, false},
             row{"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n", {kind::length, 0}, false},
             row{"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n",
                 {kind::length, 0},
                 true},
             row{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n",
                 {kind::length, 0},
                 false},
             row{"HTTP/1.1 204 No Content\r\n", {}, true},
             row{"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n", {}, true},
             row{"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n", {}, false},
             row{"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n", {}, false},
             row{"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n", {}, true},
             row{"HTTP/1.1 100 Continue\r\n", {}, true},
         }) {
        const std::string text = std::string{each.head} + "\r\n";
        response_parser parser;
        ASSERT_EQ(parser.parse(text), true) << text;
        EXPECT_EQ(parser.head(text).body, each.how) << text;
        EXPECT_EQ(parser.head(text).keep_alive, each.keep_alive) << text;
    }
    const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    response_parser to_head;
    ASSERT_EQ(to_head.parse(text, true), true);
    EXPECT_EQ(to_head.head(text).body, framing{});
    EXPECT_TRUE(to_head.head(text).keep_alive);
}

TEST(ResponseParser, RefusesUnclearFraming) {
    struct row {
        std::string_view lines;
        errc error;
    };
    for (const row& each : {
             row{"Content-Length: 1\r\nTransfer-Encoding: chunked", errc::length_and_coding},
             row{"Content-Length: 1\r\nContent-Length: 1", errc::several_lengths},
             row{"Transfer-Encoding: gzip", errc::unknown_coding},
             row{"Transfer-Encoding: gzip, chunked", errc::unknown_coding},
             row{"Transfer-Encoding:", errc::bad_coding},
         }) {
        const std::string text = "HTTP/1.1 200 OK\r\n" + std::string{each.lines} + "\r\n\r\n";
        EXPECT_EQ(responses(text).error, each.error) << text;
    }
    EXPECT_EQ(responses("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").error,
              errc::bad_coding);
}

TEST(ResponseParser, ALongFirstLineIsToldAsThat) {
    const std::string line = "HTTP/1.1 200 " + std::string(100, 'x') + "\r\n";
    const limits small{.line_max = line.size() - 1};
    response_parser parser{small};
    EXPECT_EQ(parser.parse(line).error(), errc::line_too_long);
    const limits enough{.line_max = line.size()};
    response_parser other{enough};
    const std::string whole = line + "\r\n";
    EXPECT_TRUE(other.parse(whole).value());
    EXPECT_EQ(other.head(whole).reason, std::string(100, 'x'));
}

}  // namespace
}  // namespace fairlead::http::response_parser_tests
