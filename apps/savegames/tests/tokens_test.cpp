#include "savegames/tokens.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "savegames/tests/support.hpp"

namespace savegames::tokens_tests {
namespace {

constexpr std::string_view good =
    "# tokens of the test\n"
    "\n"
    "chess  0123456789abcdef-chess\n"
    "\tgo\t0123456789abcdef-go \r\n"
    "poker 0123456789abcdef-poker";

TEST(token_table, opens_a_game_to_its_own_token_only) {
    const auto table = token_table::parse(good, "tokens");
    ASSERT_TRUE(table.has_value()) << table.error();
    EXPECT_EQ(table->size(), 3U);
    EXPECT_TRUE(table->warnings().empty());
    EXPECT_TRUE(table->allows("chess", "0123456789abcdef-chess"));
    EXPECT_TRUE(table->allows("go", "0123456789abcdef-go"));
    EXPECT_TRUE(table->allows("poker", "0123456789abcdef-poker"));
    EXPECT_FALSE(table->allows("chess", "0123456789abcdef-go"));
    EXPECT_FALSE(table->allows("chess", "0123456789abcdef-ches"));
    EXPECT_FALSE(table->allows("chess", "0123456789abcdef-chess0"));
    EXPECT_FALSE(table->allows("chess", ""));
    EXPECT_FALSE(table->allows("checkers", "0123456789abcdef-chess"));
    EXPECT_FALSE(table->allows("checkers", ""));
    EXPECT_FALSE(table->allows("checkers", std::string(1, '\0')));
}

TEST(token_table, names_the_wrong_line) {
    const auto error_of = [](std::string_view text) {
        return token_table::parse(text, "f").error();
    };
    EXPECT_EQ(error_of("# x\nchess\n"),
              "f: line 2: a line must be \"game token\", but this line has no token");
    EXPECT_EQ(error_of("a b c\n"),
              "f: line 1: a line must be \"game token\", but this line has more words");
    EXPECT_TRUE(error_of("a/b 0123456789abcdef").starts_with("f: line 1: game: an id has"));
    EXPECT_TRUE(error_of("a b\na c\n").starts_with("f: line 2: the game \"a\" has a token"));
    EXPECT_TRUE(error_of("a \x01").starts_with("f: line 1: a token must have"));
    EXPECT_EQ(error_of("a " + std::string(513, 'x')),
              "f: line 1: a token must have at most 512 bytes of printable ASCII, this one has 513 "
              "bytes");
    EXPECT_EQ(error_of("# nothing\n"), "f: the file has no tokens: add lines \"game token\"");
}

TEST(token_table, warns_of_a_short_token) {
    const auto table = token_table::parse("chess secret", "f");
    ASSERT_TRUE(table.has_value());
    ASSERT_EQ(table->warnings().size(), 1U);
    EXPECT_EQ(table->warnings()[0], "f: line 1: the token has 6 bytes: use 16 or more");
}

TEST(token_table, warns_of_a_file_that_others_may_open) {
    const temporary_folder folder;
    const std::string path = folder / "tokens";
    std::ofstream{path} << good;
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_TRUE(token_table::load(path).value().warnings().empty());
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    EXPECT_EQ(token_table::load(path).value().warnings().size(), 1U);
    EXPECT_TRUE(token_table::load(folder / "none").error().starts_with("cannot open"));
    EXPECT_FALSE(token_table::load(folder / "").has_value());
}

TEST(bearer_token, parses_the_header) {
    EXPECT_EQ(bearer_token("Bearer abc"), "abc");
    EXPECT_EQ(bearer_token("bEARER   abc "), "abc");
    EXPECT_FALSE(bearer_token("").has_value());
    EXPECT_FALSE(bearer_token("Bearer").has_value());
    EXPECT_FALSE(bearer_token("Bearer a b").has_value());
    EXPECT_FALSE(bearer_token("Basic abc").has_value());
    EXPECT_FALSE(bearer_token("Bearerabc").has_value());
}

TEST(equal_in_constant_time, is_equality) {
    EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
    EXPECT_TRUE(equal_in_constant_time("", ""));
    EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
    EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
    EXPECT_FALSE(equal_in_constant_time("abc", "abcabc"));
    EXPECT_FALSE(equal_in_constant_time("abc", ""));
    EXPECT_FALSE(equal_in_constant_time("", "a"));
}

}  // namespace
}  // namespace savegames::tokens_tests
