#include "savegames/http.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace savegames {
namespace {

// Where the parser is after `text`, of which it sees `piece` more bytes each time.
http_parser::stage stage_after(std::string_view text, std::size_t piece) {
    http_parser parser{{.head_max = 100, .body_max = 10}};
    std::size_t used = 0;
    for (std::size_t seen = 0; seen < text.size() && parser.at() == http_parser::stage::head;) {
        seen = std::min(seen + piece, text.size());
        used += parser.feed(std::as_bytes(std::span{text.substr(used, seen - used)}));
    }
    return parser.at();
}

std::string head_of(std::size_t size) {
    std::string head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ";
    head.resize(size - 4, 'x');
    return head + "\r\n\r\n";
}

TEST(HttpParser, LimitsTheHeadHoweverItComes) {
    for (const std::size_t piece : {1UZ, 7UZ, 64UZ, 200UZ}) {
        EXPECT_EQ(stage_after(head_of(100), piece), http_parser::stage::complete) << piece;
        EXPECT_EQ(stage_after(head_of(101), piece), http_parser::stage::failed) << piece;
        EXPECT_EQ(stage_after("\r\n\r\n" + head_of(100), piece), http_parser::stage::complete)
            << piece;
    }
}

}  // namespace
}  // namespace savegames
