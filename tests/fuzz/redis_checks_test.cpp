// The check of the parser of Redis can fail: it finds parsers with a planted mistake.
#include "fuzz/random_input.hpp"
#include "fuzz/redis_parser_check.hpp"

#include <gtest/gtest.h>

#include <random>

namespace fairlead::fuzz::redis_checks_tests {
namespace {

// Loses a line feed at the start of a piece, as a parser that looks for the end of a line in one
// piece alone.
struct parser_of_pieces : redis::parser {
    using parser::parser;

    void feed(std::string_view bytes) {
        if (bytes.starts_with('\n')) bytes.remove_prefix(1);
        parser::feed(bytes);
    }
};

// Ignores its limits where the bytes come at once.
struct parser_that_trusts : redis::parser {
    explicit parser_that_trusts(redis::parser_limits limits) : parser{limits} {}

    void feed(std::string_view bytes) {
        if (bytes.size() > 20) {
            static_cast<redis::parser&>(*this) = redis::parser{};
        }
        parser::feed(bytes);
    }
};

template <class Parser>
void check_random_inputs(int count) {
    std::mt19937 draw{7};
    constexpr std::string_view letters = "+-:$*_#,(!=%~>|0123456789tfx\r\n";
    for (int i = 0; i != count; ++i) {
        std::string bytes(2 + draw() % 3, '\0');
        bytes[0] = static_cast<char>(draw() % 2);
        bytes[1] = static_cast<char>(draw() % 2);
        for (unsigned size = draw() % 80; size != 0; --size) {
            const char c = letters[draw() % letters.size()];
            bytes += c;
            if (draw() % 2 == 0) bytes += "\r\n";
        }
        check_redis_parser<Parser>(
            input{{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}});
    }
}

TEST(RedisParserCheck, PassesTheParser) { check_random_inputs<redis::parser>(20'000); }

TEST(RedisParserCheckDeathTest, FindsAParserThatDependsOnThePieces) {
    EXPECT_DEATH(check_random_inputs<parser_of_pieces>(20'000), "redis_parser");
}

TEST(RedisParserCheckDeathTest, FindsAParserWithoutLimits) {
    EXPECT_DEATH(check_random_inputs<parser_that_trusts>(20'000), "redis_parser");
}

}  // namespace
}  // namespace fairlead::fuzz::redis_checks_tests
