#include "savegames/http.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace savegames {
namespace {

struct outcome {
    http_parser::stage stage;
    int status;  // of the failure; 0: no failure

    bool operator==(const outcome&) const = default;
};
constexpr outcome complete{http_parser::stage::complete, 0};
constexpr outcome failed(int status) { return {http_parser::stage::failed, status}; }

// Feeds `text` to a parser in pieces of `piece` bytes. Returns how the parser ends.
outcome parse(std::string_view text, std::size_t piece) {
    using stage = http_parser::stage;
    http_parser parser{{.head_max = 100, .body_max = 10}};
    std::size_t used = 0;
    for (std::size_t seen = 0; seen < text.size() && parser.at() < stage::complete;) {
        seen = std::min(seen + piece, text.size());
        stage before = stage::complete;
        while (parser.at() != before && parser.at() < stage::complete) {
            before = parser.at();
            used += parser.feed(std::as_bytes(std::span{text.substr(used, seen - used)}));
        }
    }
    return {parser.at(), parser.at() == stage::failed ? parser.failure().status : 0};
}

std::string head_of(std::size_t size) {
    std::string head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ";
    head.resize(size - 4, 'x');
    return head + "\r\n\r\n";
}

TEST(HttpParser, LimitsTheHeadHoweverItComes) {
    for (const std::size_t piece : {1UZ, 7UZ, 64UZ, 200UZ}) {
        EXPECT_EQ(parse(head_of(100), piece), complete) << piece;
        EXPECT_EQ(parse(head_of(101), piece), failed(431)) << piece;
        EXPECT_EQ(parse("\r\n\r\n" + head_of(100), piece), complete) << piece;
    }
}

TEST(HttpParser, RefusesALineThatBeginsWithASpaceHoweverItComes) {
    const std::string_view begin = "PUT /saves/anna HTTP/1.1\r\nHost: localhost\r\n";
    for (const std::string_view rest :
         {" X: y\r\n\r\n", "\tX: y\r\n\r\n", "X:\r\n y\r\n\r\n", "X: y\r\n\t\r\n\r\n"}) {
        for (const std::size_t piece : {1UZ, 7UZ, 200UZ}) {
            EXPECT_EQ(parse(std::string{begin} + std::string{rest}, piece), failed(400))
                << rest << piece;
        }
    }
    // A line of a body may begin with a space.
    const std::string text = std::string{begin} + "Content-Length: 4\r\n\r\n\n \n ";
    for (const std::size_t piece : {1UZ, 7UZ, 200UZ}) {
        EXPECT_EQ(parse(text, piece), complete) << piece;
    }
}

TEST(HttpParser, RefusesABodyForItsLengthAlone) {
    const std::string head = "PUT /saves/anna HTTP/1.1\r\nHost: localhost\r\nContent-Length: ";
    for (const std::size_t piece : {1UZ, 7UZ, 200UZ}) {
        EXPECT_EQ(parse(head + "10\r\n\r\n0123456789", piece), complete) << piece;
        EXPECT_EQ(parse(head + "11\r\n\r\n0", piece), failed(413)) << piece;
        EXPECT_EQ(parse(head + "18446744073709551615\r\n\r\n0", piece), failed(413)) << piece;
    }
}

TEST(HttpParser, LimitsTheLinesAroundChunksHoweverTheyCome) {
    const std::string head =
        "PUT /saves/anna HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    const auto trailers = [&](std::size_t size) {
        return head + "0\r\nX: " + std::string(size - 10, 'x') + "\r\n\r\n";
    };
    const auto extension = [&](std::size_t size) {
        return head + "2;x=" + std::string(size - 6, 'y') + "\r\n{}\r\n0\r\n\r\n";
    };
    for (const std::size_t piece : {1UZ, 7UZ, 64UZ, 300UZ}) {
        EXPECT_EQ(parse(trailers(100), piece), complete) << piece;
        EXPECT_EQ(parse(trailers(101), piece), failed(431)) << piece;
        EXPECT_EQ(parse(extension(100), piece), complete) << piece;
        EXPECT_EQ(parse(extension(101), piece), failed(431)) << piece;
    }
}

}  // namespace
}  // namespace savegames
