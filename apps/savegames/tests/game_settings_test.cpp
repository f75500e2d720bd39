#include "savegames/game_settings.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include "savegames/settings.hpp"
#include "savegames/tests/support.hpp"

namespace savegames::game_settings_tests {
namespace {

TEST(game_settings, without_a_file_all_games_are_alike) {
    const game_settings settings;
    EXPECT_EQ(settings.of("chess"), (game_limits{100, 0, 0}));
    EXPECT_EQ(settings.size(), 0U);
}

TEST(game_settings, exceptions_differ_from_all_in_what_they_say) {
    const auto settings = game_settings::parse(
        "# limits\n"
        "\n"
        "*      weight=200 max_requests=500\n"
        "chess\tmax_concurrency=2  weight=300 \r\n"
        "go max_requests=0",
        "games");
    ASSERT_TRUE(settings.has_value()) << settings.error();
    EXPECT_EQ(settings->size(), 2U);
    EXPECT_EQ(settings->of("poker"), (game_limits{200, 0, 500}));
    EXPECT_EQ(settings->of("chess"), (game_limits{300, 2, 500}));
    EXPECT_EQ(settings->of("go"), (game_limits{200, 0, 0}));
    EXPECT_EQ(settings->of("*"), (game_limits{200, 0, 500}));
}

TEST(game_settings, names_the_wrong_line) {
    const auto error_of = [](std::string_view text) {
        return game_settings::parse(text, "f").error();
    };
    EXPECT_EQ(
        error_of("# x\nchess\n"),
        "f: line 2: a line must be \"game setting=number ...\", but this line has no setting");
    EXPECT_EQ(
        error_of("chess weigth=1"),
        "f: line 1: \"weigth\" is not a setting: use weight, max_concurrency or max_requests");
    EXPECT_EQ(error_of("chess weight"),
              "f: line 1: weight must be a whole number from 1 to 10000, not \"\"");
    EXPECT_EQ(error_of("chess weight=0"),
              "f: line 1: weight must be a whole number from 1 to 10000, not \"0\"");
    EXPECT_EQ(error_of("chess weight=10001"),
              "f: line 1: weight must be a whole number from 1 to 10000, not \"10001\"");
    EXPECT_EQ(error_of("chess max_concurrency=-1"),
              "f: line 1: max_concurrency must be a whole number from 0 to 1000, not \"-1\"");
    EXPECT_EQ(error_of("chess max_requests=1e3"),
              "f: line 1: max_requests must be a whole number from 0 to 1000000, not \"1e3\"");
    EXPECT_EQ(error_of("chess weight=1 weight=2"),
              "f: line 1: weight is given twice: give it once");
    EXPECT_EQ(error_of("chess weight=1\nchess weight=2"),
              "f: line 2: the game \"chess\" has a line already: join the two");
    EXPECT_EQ(error_of("* weight=1\n* weight=2"),
              "f: line 2: there is a line for all games, *, already: join the two");
    EXPECT_EQ(error_of("chess weight=1\n* weight=2"),
              "f: line 2: the line for all games, *, must come first");
    EXPECT_TRUE(error_of("a/b weight=1").starts_with("f: line 1: game: an id has"));
}

TEST(game_settings, bounds_are_good_values) {
    const auto settings =
        game_settings::parse("a weight=1\nb weight=10000 max_concurrency=1000", "f");
    ASSERT_TRUE(settings.has_value()) << settings.error();
    EXPECT_EQ(settings->of("a").weight, 1U);
    EXPECT_EQ(settings->of("b"), (game_limits{10'000, 1'000, 0}));
}

// The settings of --games reach the server; a mistake ends the program with a sentence.
TEST(game_settings, come_from_a_file) {
    const temporary_folder folder;
    settings given;
    given.database = folder / "saves.db";
    given.games_file = folder / "games";
    try {
        complete(given);
        FAIL() << "there is no such file";
    } catch (const usage_error& wrong) {
        EXPECT_EQ(wrong.message, "--games: cannot open the file " + given.games_file);
    }
    std::ofstream{given.games_file} << "chess weight=300\n";
    complete(given);
    EXPECT_EQ(given.server.games.of("chess").weight, 300U);
    std::ofstream{given.games_file} << "chess weight=many\n";
    EXPECT_THROW(complete(given), usage_error);
}

}  // namespace
}  // namespace savegames::game_settings_tests
