// The check of the fuzz target of HTTP messages can fail: it finds planted mistakes.
#include "fuzz/http_messages_check.hpp"
#include "fuzz/random_input.hpp"

#include <gtest/gtest.h>

#include <expected>
#include <filesystem>
#include <string_view>

namespace fairlead::fuzz::http_checks_tests {
namespace {

template <class RequestParser>
void run_messages() {
    const std::filesystem::path corpus{FAIRLEAD_FUZZ_CORPUS "/http_messages"};
    run_with_changed_corpus(corpus, check_http_messages<RequestParser, http::response_parser>);
}

// Refuses what comes in one large piece, and accepts it in small ones.
struct parser_that_looks_at_pieces : http::request_parser {
    using request_parser::request_parser;
    std::expected<bool, http::errc> parse(std::string_view received) noexcept {
        if (received.size() > 50) return std::unexpected{http::errc::head_too_large};
        return request_parser::parse(received);
    }
};

// Accepts a message whose body has another end for Beast.
struct parser_that_forgets_the_body : http::request_parser {
    using request_parser::request_parser;
    http::request_head head(std::string_view received) const noexcept {
        http::request_head made = request_parser::head(received);
        made.body = {};
        return made;
    }
};

struct parser_that_drops_a_field : http::request_parser {
    using request_parser::request_parser;
    http::request_head head(std::string_view received) const noexcept {
        http::request_head made = request_parser::head(received);
        const std::string_view lines = made.fields.lines();
        made.fields = http::fields{lines.substr(lines.find('\n') + 1)};
        return made;
    }
};

TEST(FuzzChecks, AcceptTheParsersOfMessages) { run_messages<http::request_parser>(); }
TEST(FuzzChecksDeathTest, SeeThatPiecesOfMessagesMatter) {
    EXPECT_DEATH(run_messages<parser_that_looks_at_pieces>(),
                 "the pieces in which bytes come do not matter");
}
TEST(FuzzChecksDeathTest, SeeABodyThatEndsElsewhereForBeast) {
    EXPECT_DEATH(run_messages<parser_that_forgets_the_body>(), "for Beast|the body is the same");
}
TEST(FuzzChecksDeathTest, SeeAFieldThatIsLost) {
    EXPECT_DEATH(run_messages<parser_that_drops_a_field>(), "the fields are as many");
}

}  // namespace
}  // namespace fairlead::fuzz::http_checks_tests
