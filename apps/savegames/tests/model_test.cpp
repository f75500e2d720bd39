#include "savegames/model.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace savegames::model_tests {
namespace {

TEST(id, accepts_the_whole_grammar) {
    for (const std::string text : {"a", "Z9", "...", ".a", "a.b_c-d", "0"}) {
        const auto id = game_id::parse(text);
        ASSERT_TRUE(id.has_value()) << text;
        EXPECT_EQ(id->text(), text);
    }
    EXPECT_TRUE(player_id::parse(std::string(64, 'x')).has_value());
}

TEST(id, refuses_everything_else_and_says_why) {
    const std::string with_nul{"a\0b", 3};
    for (const std::string& text : {std::string{}, std::string{"."}, std::string{".."},
                                    std::string(65, 'x'), std::string{"a/b"}, std::string{"a b"},
                                    std::string{"\xc3\xa9"}, with_nul, std::string{"a%2e"}}) {
        const auto id = player_id::parse(text);
        ASSERT_FALSE(id.has_value()) << text;
        EXPECT_FALSE(id.error().empty());
    }
    EXPECT_EQ(game_id::parse("a/b").error(),
              "an id has only letters, digits, '.', '_' and '-': byte 1 is 0x2f");
}

TEST(error, has_a_status_and_a_word) {
    EXPECT_EQ(http_status(error::bad_request), 400);
    EXPECT_EQ(http_status(error::not_found), 404);
    EXPECT_EQ(http_status(error::too_large), 413);
    EXPECT_EQ(http_status(error::locked), 409);
    EXPECT_EQ(http_status(error::conflict), 409);
    EXPECT_EQ(http_status(error::lease_lost), 409);
    EXPECT_EQ(http_status(error::overloaded), 503);
    EXPECT_EQ(http_status(error::over_share), 429);
    EXPECT_EQ(http_status(error::store_failed), 503);
    EXPECT_EQ(http_status(error::corrupt), 500);
    EXPECT_EQ(http_status(error::deadline), 504);
    EXPECT_EQ(to_string(error::lease_lost), "lease_lost");
}

TEST(owner_token, is_never_drawn_twice) {
    std::set<owner_token> seen;
    for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(seen.insert(new_owner_token()).second);
}

}  // namespace
}  // namespace savegames::model_tests
