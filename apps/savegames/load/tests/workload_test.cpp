#include "savegames/load/workload.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stop_token>
#include <utility>

#include "savegames/codec.hpp"
#include "savegames/load/schedule.hpp"

namespace savegames::load::workload_tests {
namespace {

using namespace std::chrono_literals;

load_options small() {
    load_options options;
    options.players = 100;
    options.pool = 8;
    options.sizes.median = 2'000;
    options.sizes.size_max = 20'000;
    return options;
}

TEST(options, only_this_machine_is_a_target) {
    EXPECT_EQ(parse_target("http://127.0.0.1:8080")->to_string(), "127.0.0.1:8080");
    EXPECT_EQ(parse_target("http://localhost:80/")->to_string(), "127.0.0.1:80");
    EXPECT_EQ(parse_target("http://127.1.2.3")->to_string(), "127.1.2.3:80");
    EXPECT_EQ(parse_target("http://[::1]:8080")->to_string(), "[::1]:8080");
    EXPECT_EQ(parse_target("http://[::1]")->port(), 80);
    for (const char* const wrong :
         {"127.0.0.1:80", "https://127.0.0.1", "http://10.0.0.1:80", "http://0.0.0.0:80",
          "http://example.org", "http://127.0.0.1:0", "http://127.0.0.1:65536",
          "http://127.0.0.1:", "http://127.0.0.1:80/games", "http://user@127.0.0.1:80",
          "http://[::2]:80", "http://", ""}) {
        EXPECT_FALSE(parse_target(wrong).has_value()) << wrong;
    }
}

TEST(options, mix) {
    const auto mix = parse_mix("10:60:29:1");
    ASSERT_TRUE(mix.has_value());
    EXPECT_EQ(mix->put, 10U);
    EXPECT_EQ(mix->get, 60U);
    EXPECT_EQ(mix->update, 29U);
    EXPECT_EQ(mix->erase, 1U);
    for (const char* const wrong :
         {"", "1", "1:2:3", "1:2:3:4:5", "1:2:3:", ":1:2:3", "0:0:0:0", "1:-2:3:4", "a:b:c:d",
          "1:2:3:4 ", "1::2:3", "99999999999:1:1:1"}) {
        EXPECT_FALSE(parse_mix(wrong).has_value()) << wrong;
    }
}

TEST(player_chooser, follows_zipf) {
    const player_chooser chooser{1000, 1.0};
    random_source random{1};
    std::array<int, 1000> seen{};
    for (int i = 0; i < 100'000; ++i) ++seen[chooser.choose(random.unit())];
    // The weights add up to 7.485.
    EXPECT_NEAR(seen[0], 100'000 / 7.485, 500);
    EXPECT_NEAR(seen[1], seen[0] / 2.0, 400);
    EXPECT_NEAR(seen[9], seen[0] / 10.0, 200);
    EXPECT_EQ(chooser.choose(0), 0U);
    EXPECT_EQ(chooser.choose(0x1.fffffffffffffp-1), 999U);
    const player_chooser alike{4, 0};
    EXPECT_EQ(alike.choose(0.49), 1U);
    EXPECT_EQ(alike.choose(0.51), 2U);
}

TEST(workload, draws_the_mix) {
    load_options options = small();
    options.mix = {1, 2, 0, 1};
    const workload work{options};
    random_source random{2};
    std::array<int, operation_kinds> seen{};
    for (int i = 0; i < 10'000; ++i) ++seen[std::to_underlying(work.draw(random).kind)];
    EXPECT_NEAR(seen[0], 2500, 200);
    EXPECT_NEAR(seen[1], 5000, 200);
    EXPECT_EQ(seen[2], 0);
    EXPECT_NEAR(seen[3], 2500, 200);
}

TEST(workload, bodies_come_with_their_checksum) {
    const workload work{small()};
    random_source random{3};
    for (int i = 0; i < 1000; ++i) {
        const request_plan plan = work.draw(random);
        ASSERT_LT(plan.player, work.players());
        const bool wants_body =
            plan.kind == operation_kind::put || plan.kind == operation_kind::update;
        ASSERT_EQ(plan.body != nullptr, wants_body);
        if (plan.kind == operation_kind::put) {
            EXPECT_EQ(checksum(*plan.body), plan.checksum);
        }
    }
    const request_plan first = work.first_save(9);
    EXPECT_EQ(first.kind, operation_kind::put);
    EXPECT_EQ(first.player, 9U);
    EXPECT_EQ(checksum(*first.body), first.checksum);
}

TEST(workload, paths) {
    const workload work{small()};  // 4 games
    EXPECT_EQ(work.path({.kind = operation_kind::get, .player = 17}),
              "/games/load-1/saves/player-17");
    EXPECT_EQ(work.path({.kind = operation_kind::update, .player = 4}),
              "/games/load-0/saves/player-4/update");
    load_options of_one_game = small();
    of_one_game.game = "chess";
    EXPECT_EQ(workload{of_one_game}.path({.kind = operation_kind::get, .player = 17}),
              "/games/chess/saves/player-17");
}

TEST(options, a_game_must_have_a_good_name) {
    const auto options_of = [](const char* game) {
        const std::array given{"savegames-load", "--game", game};
        return parse_options(given.size(), given.data());
    };
    ASSERT_TRUE(options_of("chess").has_value());
    EXPECT_EQ(options_of("chess")->game, "chess");
    EXPECT_EQ(options_of("a/b").error(), 2);
}

TEST(schedule, closed_loop_is_due_at_once_until_the_time_is_over) {
    load_options options = small();
    options.run_time = 10s;
    const fairlead::time_point begin{1h};
    schedule tickets{options, begin, {}};
    EXPECT_EQ(tickets.next(begin + 3s), begin + 3s);
    EXPECT_EQ(tickets.next(begin + 10s), std::nullopt);
}

TEST(schedule, open_loop_does_not_wait_for_the_service) {
    load_options options = small();
    options.rate = 10;
    options.requests = 3;
    const fairlead::time_point begin{1h};
    schedule tickets{options, begin, {}};
    // The caller is late; each request keeps the time at which it was due.
    EXPECT_EQ(tickets.next(begin + 5s), begin);
    EXPECT_EQ(tickets.next(begin + 5s), begin + 100ms);
    EXPECT_EQ(tickets.next(begin + 5s), begin + 200ms);
    EXPECT_EQ(tickets.next(begin + 5s), std::nullopt);
}

TEST(schedule, ends_when_interrupted) {
    std::stop_source interrupted;
    const fairlead::time_point begin{1h};
    schedule tickets{small(), begin, interrupted.get_token()};
    EXPECT_TRUE(tickets.next(begin).has_value());
    interrupted.request_stop();
    EXPECT_FALSE(tickets.next(begin).has_value());
}

}  // namespace
}  // namespace savegames::load::workload_tests
