#include "http/expect_found.hpp"

namespace fairlead::http::request_parser_tests {
namespace {

using kind = framing::kind;

std::string with_line(std::string_view line) {
    return "GET / HTTP/1.1\r\nHost: a\r\n" + std::string{line} + "\r\n\r\n";
}

TEST(RequestParser, GivesWhatTheHeadSays) {
    const std::string text =
        "POST /games?name=chess HTTP/1.1\r\nHost: example.org:8080\r\nX-Empty:\r\n"
        "X-Spaces: \t a b \t\r\ncontent-LENGTH: 5\r\n\r\nhello";
    const seen message = one_request(text);
    EXPECT_EQ(message.first, "POST /games?name=chess");
    EXPECT_EQ(message.host, "example.org:8080");
    EXPECT_EQ(message.how, (framing{kind::length, 5}));
    EXPECT_EQ(message.body, "hello");
    EXPECT_TRUE(message.keep_alive);
    EXPECT_FALSE(message.expects_continue);

    request_parser parser;
    ASSERT_EQ(parser.parse(text), true);
    const request_head head = parser.head(text);
    EXPECT_EQ(head.path(), "/games");
    EXPECT_EQ(head.query(), "name=chess");
    const std::vector<field> all{head.fields.begin(), head.fields.end()};
    const std::vector<field> expected{{"Host", "example.org:8080"},
                                      {"X-Empty", ""},
                                      {"X-Spaces", "a b"},
                                      {"content-LENGTH", "5"}};
    EXPECT_EQ(all, expected);
    EXPECT_EQ(head.fields.find("x-spaces"), "a b");
    EXPECT_EQ(head.fields.find("x-none"), std::nullopt);
    EXPECT_EQ(text.substr(parser.head_size()), "hello");
}

TEST(RequestParser, TakesEachFormOfATarget) {
    struct row {
        std::string_view line;
        std::string_view host;
        std::string_view path;
        std::string_view query;
    };
    for (const row& each :
         {row{"GET / HTTP/1.1", "a", "/", ""}, row{"GET /?x HTTP/1.1", "a", "/", "x"},
          row{"GET //b/c HTTP/1.1", "a", "//b/c", ""}, row{"OPTIONS * HTTP/1.1", "a", "*", ""},
          row{"GET http://b:80/c?d HTTP/1.1", "b:80", "/c", "d"},
          row{"GET https://b HTTP/1.1", "b", "/", ""},
          row{"GET http://b?d HTTP/1.1", "b", "/", "d"},
          row{"CONNECT b:443 HTTP/1.1", "b:443", "/", ""},
          row{"GET /%00|\"{}^` HTTP/1.1", "a", "/%00|\"{}^`", ""}}) {
        const std::string text = std::string{each.line} + "\r\nHost: a\r\n\r\n";
        EXPECT_EQ(one_request(text).host, each.host) << text;
        request_parser parser;
        ASSERT_EQ(parser.parse(text), true) << text;
        EXPECT_EQ(parser.head(text).path(), each.path) << text;
        EXPECT_EQ(parser.head(text).query(), each.query) << text;
    }
}

TEST(RequestParser, RefusesOtherFirstLines) {
    struct row {
        std::string_view line;
        errc error;
    };
    for (const row& each : {
             row{"GET", errc::bad_start_line},
             row{"GET /", errc::bad_start_line},
             row{"GET  / HTTP/1.1", errc::bad_target},
             row{"GET /  HTTP/1.1", errc::bad_target},
             row{"GET / HTTP/1.1 ", errc::bad_start_line},
             row{" GET / HTTP/1.1", errc::folded_line},
             row{"\tGET / HTTP/1.1", errc::folded_line},
             row{"GET\t/ HTTP/1.1", errc::bad_start_line},
             row{"GET /\tHTTP/1.1", errc::bad_start_line},
             row{"G(T / HTTP/1.1", errc::bad_method},
             row{"G\xc3T / HTTP/1.1", errc::bad_method},
             row{"GET / http/1.1", errc::bad_start_line},
             row{"GET / HTTP/1.1x", errc::bad_start_line},
             row{"GET / HTTP/11", errc::bad_start_line},
             row{"GET / HTTP/1,1", errc::bad_start_line},
             row{"GET / HTTP/1.2", errc::bad_version},
             row{"GET / HTTP/2.0", errc::bad_version},
             row{"GET / HTTP/0.9", errc::bad_version},
             row{"GET x HTTP/1.1", errc::bad_target},
             row{"GET * HTTP/1.1", errc::bad_target},
             row{"GET a:80 HTTP/1.1", errc::bad_target},
             row{"GET http:// HTTP/1.1", errc::bad_target},
             row{"GET http:///x HTTP/1.1", errc::bad_target},
             row{"GET http://u@h/ HTTP/1.1", errc::bad_target},
             row{"GET 1http://b/ HTTP/1.1", errc::bad_target},
             row{"GET /a#b HTTP/1.1", errc::bad_target},
             row{"GET /\x7f HTTP/1.1", errc::bad_target},
             row{"GET /\xc3\xa4 HTTP/1.1", errc::bad_target},
             row{"GET /\r HTTP/1.1", errc::bad_target},
             row{"CONNECT / HTTP/1.1", errc::bad_target},
             row{"CONNECT a HTTP/1.1", errc::bad_target},
             row{"CONNECT a: HTTP/1.1", errc::bad_target},
             row{"HTTP/1.1 200 OK", errc::bad_method},
         }) {
        const std::string text = std::string{each.line} + "\r\nHost: a\r\n\r\n";
        const outcome all = requests(text);
        EXPECT_EQ(all.error, each.error) << text;
        EXPECT_TRUE(all.messages.empty()) << text;
    }
}

TEST(RequestParser, RefusesMalformedFields) {
    struct row {
        std::string_view line;
        errc error;
    };
    for (const row& each : {
             row{"X : a", errc::space_before_colon},
             row{"X\t: a", errc::space_before_colon},
             row{"X", errc::bad_field_name},
             row{": a", errc::bad_field_name},
             row{"X Y: a", errc::bad_field_name},
             row{"X(: a", errc::bad_field_name},
             row{"\xc3: a", errc::bad_field_name},
             row{"X\r: a", errc::bad_field_name},
             row{"Connection: close, a b", errc::bad_field_value},
             row{"X: a\r\n b", errc::folded_line},
             row{"X: a\r\n\tb: c", errc::folded_line},
             row{" X: a", errc::folded_line},
             row{"X: a\nY: b", errc::bad_line_end},
             row{"X: a\rY: b", errc::bad_field_value},
             row{"X: a\x01", errc::bad_field_value},
             row{"X: a\x7f", errc::bad_field_value},
             row{"X: a\r\r", errc::bad_field_value},
             row{std::string_view{"X: \0", 4}, errc::bad_field_value},
             row{std::string_view{"X\0: a", 5}, errc::bad_field_name},
         }) {
        EXPECT_EQ(requests(with_line(each.line)).error, each.error) << each.line;
    }
    EXPECT_EQ(one_request(with_line("X: \xc3\xa4\ta")).lines, "Host: a\r\nX: \xc3\xa4\ta\r\n");
    EXPECT_EQ(requests("GET / HTTP/1.1\nHost: a\n\n").error, errc::bad_line_end);
    EXPECT_EQ(requests("GET / HTTP/1.1\r\nHost: a\r\n\n").error, errc::bad_line_end);
}

TEST(RequestParser, WantsOneHost) {
    const auto error_of = [](std::string_view hosts) {
        return requests("GET / HTTP/1.1\r\n" + std::string{hosts} + "\r\n").error;
    };
    EXPECT_EQ(error_of(""), errc::bad_host);
    EXPECT_EQ(error_of("Host: a\r\nHost: a\r\n"), errc::bad_host);
    EXPECT_EQ(error_of("Host: a\r\nhost: b\r\n"), errc::bad_host);
    for (const std::string_view bad :
         {"", "a b", "a/b", "a@b", "a:b", "a:99999", "a:1:2", ":80", "[::1", "[]", "[x]", "[::1]x",
          "a%", "a%2", "a%zz", "a\\b", "a?b", "\xc3\xa4"}) {
        EXPECT_EQ(error_of("Host: " + std::string{bad} + "\r\n"), errc::bad_host) << bad;
    }
    for (const std::string_view good : {"a", "a.b-c", "127.0.0.1:80", "[::1]", "[::1]:80",
                                        "a:", "[::ffff:127.0.0.1]:8080", "a%20b", "A_1~", "a,b"}) {
        EXPECT_EQ(error_of("Host: " + std::string{good} + "\r\n"), errc::none) << good;
    }
    EXPECT_EQ(one_request("GET / HTTP/1.0\r\n\r\n").host, "");
    EXPECT_EQ(requests("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n").error, errc::bad_host);
}

TEST(RequestParser, SaysWhetherTheConnectionStays) {
    const auto stays = [](std::string_view version, std::string_view lines) {
        return one_request("GET / HTTP/" + std::string{version} + "\r\nHost: a\r\n" +
                           std::string{lines} + "\r\n")
            .keep_alive;
    };
    EXPECT_TRUE(stays("1.1", ""));
    EXPECT_FALSE(stays("1.1", "Connection: close\r\n"));
    EXPECT_FALSE(stays("1.1", "Connection: x , CLOSE,\r\n"));
    EXPECT_FALSE(stays("1.1", "Connection: close\r\nConnection: keep-alive\r\n"));
    EXPECT_TRUE(stays("1.1", "Connection: closed, not-close\r\n"));
    EXPECT_TRUE(stays("1.1", "Connection:\r\n"));
    EXPECT_FALSE(stays("1.0", ""));
    EXPECT_TRUE(stays("1.0", "Connection: Keep-Alive\r\n"));
    EXPECT_FALSE(stays("1.0", "Connection: keep-alive, close\r\n"));
}

TEST(RequestParser, KnowsOneExpectation) {
    const auto expect = [](std::string_view value) {
        return requests(with_line("Expect: " + std::string{value}));
    };
    EXPECT_TRUE(one_request(with_line("Expect: 100-Continue")).expects_continue);
    EXPECT_EQ(expect("200-ok").error, errc::unknown_expectation);
    EXPECT_EQ(expect("").error, errc::unknown_expectation);
    EXPECT_EQ(expect("100-continue\r\nExpect: 100-continue").error, errc::unknown_expectation);
    const seen old = one_request("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_FALSE(old.expects_continue);
}

TEST(RequestParser, SkipsEmptyLinesBeforeARequest) {
    EXPECT_EQ(one_request("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").first, "GET /");
    EXPECT_EQ(requests("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").error, errc::bad_line_end);
    EXPECT_EQ(requests("\r\rGET / HTTP/1.1\r\nHost: a\r\n\r\n").error, errc::bad_method);
}

TEST(RequestParser, ParsesOneAfterTheOther) {
    const outcome all = requests(
        "POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        "\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
        "GET /3 HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_EQ(all.messages.size(), 3U);
    EXPECT_EQ(all.messages[0].body, "abc");
    EXPECT_EQ(all.messages[1].first, "POST /2");
    EXPECT_EQ(all.messages[1].body, "hi");
    EXPECT_EQ(all.messages[2].first, "GET /3");
    EXPECT_TRUE(all.between);
}

TEST(RequestParser, KeepsItsLimitsToTheByte) {
    const std::string line = "GET /45 HTTP/1.1\r\n";  // 18 bytes
    const std::string host = "Host: a\r\n";           // 9
    const std::string text = line + host + "\r\n";    // 29
    EXPECT_EQ(one_request(text, {.line_max = 18, .head_max = 29, .fields_max = 1}).host, "a");
    EXPECT_EQ(requests(text, {.line_max = 17}).error, errc::line_too_long);
    EXPECT_EQ(status_for(errc::line_too_long), 414);
    EXPECT_EQ(requests(text, {.line_max = 18, .head_max = 28}).error, errc::head_too_large);
    EXPECT_EQ(status_for(errc::head_too_large), 431);
    const std::string more = line + host + "X: 5678901234567\r\n\r\n";  // a field of 18 bytes
    EXPECT_EQ(one_request(more, {.line_max = 18, .fields_max = 2}).host, "a");
    EXPECT_EQ(requests(more, {.line_max = 18, .fields_max = 1}).error, errc::too_many_fields);
    const std::string longer = line + host + "X: 56789012345678\r\n\r\n";
    EXPECT_EQ(requests(longer, {.line_max = 18}).error, errc::head_too_large);
    // An unfinished line is refused as soon as it can only be too long; empty lines count.
    EXPECT_EQ(requests(std::string(18, 'x'), {.line_max = 18}).error, errc::line_too_long);
    EXPECT_EQ(requests("\r\n\r\n\r\n\r\n", {.line_max = 4, .head_max = 7}).error,
              errc::line_too_long);
}

TEST(RequestParser, AnErrorStays) {
    request_parser parser;
    const std::string bad = "GET / HTTP/1.1\r\nX : a\r\n";
    EXPECT_EQ(parser.parse(bad).error(), errc::space_before_colon);
    EXPECT_EQ(parser.parse(bad + "Host: a\r\n\r\n").error(), errc::space_before_colon);
    parser.reset();
    EXPECT_EQ(parser.parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), true);
}

}  // namespace
}  // namespace fairlead::http::request_parser_tests
