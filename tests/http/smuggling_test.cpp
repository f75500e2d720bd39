// Requests that two programs may read in two ways. Each is a class of attacks on a proxy and the
// server behind it, of which one sees one request and the other two. All must be refused, or have
// the one reading that RFC 9112 gives.
#include "http/expect_found.hpp"

namespace fairlead::http::smuggling_tests {
namespace {

struct attack {
    std::string_view what;
    std::string_view text;
    errc error;
};

// What the attacker hides in the body.
#define HIDDEN "GET /admin HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST_LINE "POST / HTTP/1.1\r\nHost: a\r\n"

constexpr attack attacks[] = {
    {"a length beside a coding, the length first",
     POST_LINE "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN,
     errc::length_and_coding},
    {"a coding beside a length, the coding first",
     POST_LINE "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" HIDDEN,
     errc::length_and_coding},
    {"two lengths that differ", POST_LINE "Content-Length: 0\r\nContent-Length: 31\r\n\r\n" HIDDEN,
     errc::several_lengths},
    {"two equal lengths", POST_LINE "Content-Length: 0\r\ncontent-length: 0\r\n\r\n",
     errc::several_lengths},
    {"a list of lengths", POST_LINE "Content-Length: 0, 31\r\n\r\n" HIDDEN, errc::bad_length},
    {"a list of equal lengths", POST_LINE "Content-Length: 0,0\r\n\r\n", errc::bad_length},
    {"a length with a plus", POST_LINE "Content-Length: +31\r\n\r\n" HIDDEN, errc::bad_length},
    {"a length with a minus", POST_LINE "Content-Length: -31\r\n\r\n" HIDDEN, errc::bad_length},
    {"a hexadecimal length", POST_LINE "Content-Length: 0x1f\r\n\r\n" HIDDEN, errc::bad_length},
    {"a length with an underscore", POST_LINE "Content-Length: 3_1\r\n\r\n" HIDDEN,
     errc::bad_length},
    {"a length with a space inside", POST_LINE "Content-Length: 3 1\r\n\r\n" HIDDEN,
     errc::bad_length},
    {"a length with a form feed",
     POST_LINE "Content-Length: \x0c"
               "31\r\n\r\n" HIDDEN,
     errc::bad_field_value},
    {"an empty length", POST_LINE "Content-Length:\r\n\r\n" HIDDEN, errc::bad_length},
    {"a length that wraps around 64 bits",
     POST_LINE "Content-Length: 18446744073709551616\r\n\r\n" HIDDEN, errc::bad_length},
    {"a length with digits that are no ASCII",
     POST_LINE "Content-Length: \xd9\xa3\xd9\xa1\r\n\r\n" HIDDEN, errc::bad_length},
    {"a space before the colon of the length", POST_LINE "Content-Length : 31\r\n\r\n" HIDDEN,
     errc::space_before_colon},
    {"a tab before the colon of the coding",
     POST_LINE "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n" HIDDEN, errc::space_before_colon},
    {"a space before the name", POST_LINE " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN,
     errc::folded_line},
    {"a coding in a folded line",
     POST_LINE "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" HIDDEN, errc::folded_line},
    {"a coding hidden by a folded line",
     POST_LINE "X: y\r\n\tTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" HIDDEN,
     errc::folded_line},
    {"a name with a NUL",
     {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length\0: 31\r\n\r\n", 49},
     errc::bad_field_name},
    {"a carriage return inside a name",
     POST_LINE "X\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN, errc::bad_field_name},
    {"a carriage return inside a value",
     POST_LINE "X: y\rTransfer-Encoding: chunked\r\n\r\n" HIDDEN, errc::bad_field_value},
    {"a line feed alone inside the head",
     POST_LINE "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN, errc::bad_line_end},
    {"a head that ends with a line feed alone", "GET / HTTP/1.1\r\nHost: a\r\n\n" HIDDEN,
     errc::bad_line_end},
    {"two codings", POST_LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n" HIDDEN,
     errc::bad_coding},
    {"two equal codings",
     POST_LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     errc::bad_coding},
    {"identity before chunked",
     POST_LINE "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" HIDDEN,
     errc::unknown_coding},
    {"identity", POST_LINE "Transfer-Encoding: identity\r\n\r\n" HIDDEN, errc::unknown_coding},
    {"chunked before another coding",
     POST_LINE "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n" HIDDEN, errc::unknown_coding},
    {"a list of chunked", POST_LINE "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
     errc::unknown_coding},
    {"chunked with a parameter", POST_LINE "Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n",
     errc::unknown_coding},
    {"chunked with an x before it", POST_LINE "Transfer-Encoding: xchunked\r\n\r\n" HIDDEN,
     errc::unknown_coding},
    {"chunked in quotes", POST_LINE "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
     errc::unknown_coding},
    {"chunked with a vertical tab",
     POST_LINE "Transfer-Encoding: \x0b"
               "chunked\r\n\r\n" HIDDEN,
     errc::bad_field_value},
    {"chunked after a comma", POST_LINE "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n",
     errc::unknown_coding},
    {"an empty coding beside a length",
     POST_LINE "Transfer-Encoding:\r\nContent-Length: 31\r\n\r\n" HIDDEN, errc::length_and_coding},
    {"chunks with HTTP/1.0",
     "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN,
     errc::bad_coding},
    {"a chunk size that ends with a line feed alone",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n0\n\r\n" HIDDEN, errc::bad_line_end},
    {"a chunk extension that ends with a line feed alone",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n2;\n1f\r\n0\r\n\r\n", errc::bad_line_end},
    {"a carriage return inside a chunk extension",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n2;a\rxx\r\n0\r\n\r\n", errc::bad_line_end},
    {"a line feed inside a quoted extension",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n2;a=\"\n0\r\n\r\n\"" HIDDEN, errc::bad_line_end},
    {"data of a chunk that ends with a line feed alone",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\n", errc::bad_chunk_end},
    {"data of a chunk that is longer than its size",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n", errc::bad_chunk_end},
    {"two bytes between chunks that are no line end",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n1\r\nxXX0\r\n\r\n", errc::bad_chunk_end},
    {"a chunk size that wraps around 64 bits",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\nx\r\n0\r\n\r\n",
     errc::bad_chunk_size},
    {"a chunk size that wraps around 32 bits",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n100000001\r\nx\r\n0\r\n\r\n",
     errc::body_too_large},
    {"a chunk size with 0x", POST_LINE "Transfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
     errc::bad_chunk_size},
    {"a chunk size after a space", POST_LINE "Transfer-Encoding: chunked\r\n\r\n 1\r\nx\r\n",
     errc::bad_chunk_size},
    {"a chunk size before a space", POST_LINE "Transfer-Encoding: chunked\r\n\r\n1 \r\nx\r\n",
     errc::bad_chunk_extension},
    {"a trailer that ends with a line feed alone",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\n\r\n" HIDDEN, errc::bad_line_end},
    {"an end of the trailers that is a line feed alone",
     POST_LINE "Transfer-Encoding: chunked\r\n\r\n0\r\n\n" HIDDEN, errc::bad_line_end},
    {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", errc::bad_host},
    {"a host with a path", "GET / HTTP/1.1\r\nHost: a/../b\r\n\r\n", errc::bad_host},
    {"a host with a user", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", errc::bad_host},
    {"a target with a space", "GET /a HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n", errc::bad_target},
    {"a request of HTTP/0.9", "GET /\r\n\r\n", errc::bad_start_line},
    {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", errc::bad_version},
    {"a line that begins with a colon", POST_LINE ":authority: a\r\n\r\n", errc::bad_field_name},
};

TEST(Smuggling, EachAttackIsRefused) {
    for (const attack& each : attacks) {
        const outcome all = requests(each.text);
        EXPECT_EQ(all.error, each.error)
            << each.what << ": " << make_error_code(all.error).message();
        EXPECT_TRUE(all.messages.empty()) << each.what;
        const int status = status_for(each.error);
        EXPECT_TRUE(status >= 400 && status < 600) << each.what;
    }
}

TEST(Smuggling, ABodyIsNoRequest) {
    const outcome hidden = requests(POST_LINE "Content-Length: 32\r\n\r\n" HIDDEN);
    ASSERT_EQ(hidden.messages.size(), 1U);
    EXPECT_EQ(hidden.messages[0].body, HIDDEN);
    // A GET may have a body, too: it is not the next request.
    const outcome of_get =
        requests("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 32\r\n\r\n" HIDDEN);
    ASSERT_EQ(of_get.messages.size(), 1U);
    EXPECT_EQ(of_get.messages[0].body, HIDDEN);
    const outcome in_chunk =
        requests(POST_LINE "Transfer-Encoding: chunked\r\n\r\n20\r\n" HIDDEN "\r\n0\r\n\r\n");
    ASSERT_EQ(in_chunk.messages.size(), 1U);
    EXPECT_EQ(in_chunk.messages[0].body, HIDDEN);
}

TEST(Smuggling, TheHostOfAnAbsoluteTargetCounts) {
    EXPECT_EQ(one_request("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n").host, "b");
}

}  // namespace
}  // namespace fairlead::http::smuggling_tests
