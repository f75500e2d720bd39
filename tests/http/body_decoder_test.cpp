#include "http/expect_found.hpp"

namespace fairlead::http::body_decoder_tests {
namespace {

outcome chunked(std::string_view body, const limits& limits = {}) {
    return requests(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string{body},
        limits);
}

std::string body_of(std::string_view body, const limits& limits = {}) {
    const outcome all = chunked(body, limits);
    EXPECT_EQ(all.error, errc::none) << make_error_code(all.error).message() << "\n" << body;
    EXPECT_EQ(all.messages.size(), 1U) << body;
    EXPECT_TRUE(all.between) << body;
    return all.messages.empty() ? "" : all.messages.front().body;
}

TEST(BodyDecoder, DecodesChunks) {
    EXPECT_EQ(body_of("0\r\n\r\n"), "");
    EXPECT_EQ(body_of("5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"), "hello!");
    EXPECT_EQ(body_of("A\r\n0123456789\r\n0\r\n\r\n"), "0123456789");
    EXPECT_EQ(body_of("00a\r\n0123456789\r\n000\r\n\r\n"), "0123456789");
    EXPECT_EQ(body_of("2\r\n\r\n\r\n0\r\n\r\n"), "\r\n");
}

TEST(BodyDecoder, DropsExtensionsAndTrailers) {
    for (const std::string_view extension :
         {";a", ";a=b", ";a=\"b\"", ";a=\"\"", ";a;b", " ; a = b ; c", "\t;a", ";a=\"b\\\"c;d\"",
          ";a=\"b\" ;c", ";a ;b", ";a=b;c=\"d\""}) {
        EXPECT_EQ(body_of("1" + std::string{extension} + "\r\nx\r\n0" + std::string{extension} +
                          "\r\n\r\n"),
                  "x");
    }
    EXPECT_EQ(body_of("1\r\nx\r\n0\r\nA: b\r\nContent-Lengthy: 7\r\nC:\r\n\r\n"), "x");
    EXPECT_EQ(body_of("0\r\nTransfer-Encoding1: chunked\r\nHos: a\r\n\r\n"), "");
}

TEST(BodyDecoder, RefusesMalformedChunks) {
    struct row {
        std::string_view body;
        errc error;
    };
    for (const row& each : {
             row{"\r\n", errc::bad_chunk_size},
             row{";a\r\n", errc::bad_chunk_size},
             row{"x\r\n", errc::bad_chunk_size},
             row{"-1\r\n", errc::bad_chunk_size},
             row{"+1\r\n", errc::bad_chunk_size},
             row{" 1\r\n", errc::bad_chunk_size},
             row{"0x1\r\n", errc::bad_chunk_size},
             row{"1_0\r\n", errc::bad_chunk_size},
             row{"1,1\r\n", errc::bad_chunk_size},
             row{"00000000000000001\r\n", errc::bad_chunk_size},
             row{"1\n", errc::bad_line_end},
             row{"1\rx", errc::bad_line_end},
             row{"1\r\r\n", errc::bad_line_end},
             row{"0\n", errc::bad_line_end},
             row{"1 \r\n", errc::bad_chunk_extension},
             row{"1;\r\n", errc::bad_chunk_extension},
             row{"1; \r\n", errc::bad_chunk_extension},
             row{"1;a=\r\n", errc::bad_chunk_extension},
             row{"1;a \r\n", errc::bad_chunk_extension},
             row{"1;a b\r\n", errc::bad_chunk_extension},
             row{"1;=b\r\n", errc::bad_chunk_extension},
             row{"1;a\n", errc::bad_line_end},
             row{"1;a=b\n", errc::bad_line_end},
             row{"1;a\rx", errc::bad_line_end},
             row{"1;a=\"b\n\"\r\n", errc::bad_line_end},
             row{"1;a=\"b\r\n\"\r\n", errc::bad_chunk_extension},
             row{"1;a=\"b\"c\r\n", errc::bad_chunk_extension},
             row{"1;a=\"\\\x01\"\r\n", errc::bad_chunk_extension},
             row{"1;a\x01\r\n", errc::bad_chunk_extension},
             row{"1\r\nxy", errc::bad_chunk_end},
             row{"1\r\nx\n", errc::bad_chunk_end},
             row{"1\r\nx\r0", errc::bad_chunk_end},
             row{"1\r\nx0\r\n", errc::bad_chunk_end},
             row{"0\r\nA : b\r\n", errc::bad_trailer},
             row{"0\r\n a\r\n", errc::bad_trailer},
             row{"0\r\nA\r\n", errc::bad_trailer},
             row{"0\r\n: b\r\n", errc::bad_trailer},
             row{"0\r\nContent-Length: 1\r\n", errc::bad_trailer},
             row{"0\r\nTRANSFER-ENCODING: x\r\n", errc::bad_trailer},
             row{"0\r\nConnection: x\r\n", errc::bad_trailer},
             row{"0\r\nA: b\r\nhost: x\r\n", errc::bad_trailer},
             row{"0\r\nA: b\n", errc::bad_line_end},
             row{"0\r\nA: b\x01\r\n", errc::bad_trailer},
             row{"0\r\nA: b\r\n c\r\n", errc::bad_trailer},
             row{"0\r\n\n", errc::bad_line_end},
             row{"0\r\n\rx", errc::bad_line_end},
             row{"0\r\nA: b\rx", errc::bad_line_end},
         }) {
        EXPECT_EQ(chunked(each.body).error, each.error) << each.body;
    }
}

TEST(BodyDecoder, KeepsItsLimitsToTheByte) {
    EXPECT_EQ(body_of("2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", {.body_max = 3}), "abc");
    EXPECT_EQ(chunked("2\r\nab\r\n2\r\ncd\r\n", {.body_max = 3}).error, errc::body_too_large);
    EXPECT_EQ(chunked("ffffffffffffffff\r\n").error, errc::body_too_large);
    EXPECT_EQ(status_for(errc::body_too_large), 413);
    // Semicolon, name, and the carriage return behind: three bytes a chunk.
    EXPECT_EQ(body_of("1;a\r\nx\r\n0;b\r\n\r\n", {.extensions_max = 6}), "x");
    EXPECT_EQ(chunked("1;a\r\nx\r\n0;b\r\n\r\n", {.extensions_max = 5}).error,
              errc::extensions_too_large);
    EXPECT_EQ(body_of("0\r\nA: b\r\n\r\n", {.trailers_max = 6}), "");
    EXPECT_EQ(chunked("0\r\nA: bc\r\n\r\n", {.trailers_max = 6}).error, errc::trailers_too_large);
    EXPECT_EQ(body_of("0\r\n\r\n", {.trailers_max = 0}), "");
    const std::string by_length = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    EXPECT_EQ(one_request(by_length, {.body_max = 3}).body, "abc");
    EXPECT_EQ(requests(by_length, {.body_max = 2}).error, errc::body_too_large);
    const std::string endless = "HTTP/1.1 200 OK\r\n\r\nabc";
    EXPECT_EQ(one_response(endless, {.body_max = 3}).body, "abc");
    EXPECT_EQ(responses(endless, {.body_max = 2}).error, errc::body_too_large);
}

TEST(BodyDecoder, KnowsWhenTheEndIsTooEarly) {
    body_decoder none;
    EXPECT_TRUE(none.done());
    EXPECT_EQ(none.end_of_input(), errc::none);
    body_decoder length{{framing::kind::length, 2}};
    EXPECT_EQ(length.rest_max(), 2U);
    EXPECT_EQ(length.decode("abc")->data, "ab");
    EXPECT_TRUE(length.done());
    EXPECT_EQ(length.end_of_input(), errc::none);
    body_decoder half{{framing::kind::length, 2}};
    EXPECT_EQ(half.decode("a")->data, "a");
    EXPECT_EQ(half.end_of_input(), errc::incomplete);
    EXPECT_EQ(half.decode("b").error(), errc::incomplete);
    body_decoder chunks{{framing::kind::chunked, 0}};
    EXPECT_EQ(chunks.decode("0\r\n")->taken, 3U);
    EXPECT_EQ(chunks.end_of_input(), errc::incomplete);
    body_decoder endless{{framing::kind::until_close, 0}};
    EXPECT_EQ(endless.decode("ab")->data, "ab");
    EXPECT_FALSE(endless.done());
    EXPECT_EQ(endless.end_of_input(), errc::none);
    EXPECT_TRUE(endless.done());
}

}  // namespace
}  // namespace fairlead::http::body_decoder_tests
