#include "savegames/budget.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>

namespace savegames::budget_tests {
namespace {

// How much `taker` gets, one by one, until it is refused.
std::size_t fill(budget::share& taker) {
    std::size_t taken = 0;
    while (taker.try_grow(1) == grant::granted) ++taken;
    return taken;
}

TEST(budget, gives_back_what_was_taken) {
    budget all{100};
    budget::account game;
    {
        budget::share first{all, game};
        budget::share second{all, game};
        EXPECT_EQ(first.try_grow(30), grant::granted);
        EXPECT_EQ(second.try_grow(20), grant::granted);
        EXPECT_EQ(first.try_grow(10), grant::granted);
        EXPECT_EQ(all.used(), 60U);
        EXPECT_EQ(all.count(game).used, 60U);
    }
    EXPECT_EQ(all.used(), 0U);
    EXPECT_EQ(all.count(game).used, 0U);
    EXPECT_EQ(all.count(game).granted, 3U);
}

TEST(budget, a_refusal_takes_nothing) {
    budget all{100};
    budget::account game;
    budget::share taker{all, game};
    EXPECT_EQ(taker.try_grow(101), grant::exhausted);
    EXPECT_EQ(taker.try_grow(static_cast<std::size_t>(-1)), grant::exhausted);
    EXPECT_EQ(all.used(), 0U);
    EXPECT_EQ(all.count(game).refused, 2U);
    EXPECT_EQ(taker.try_grow(1), grant::granted);
}

TEST(budget, a_noisy_game_does_not_fill_it_for_others) {
    budget all{9'000};
    budget::account noisy;
    budget::account quiet;
    budget::share noise{all, noisy};
    EXPECT_NEAR(static_cast<double>(fill(noise)), 8'000, 8);
    EXPECT_EQ(noise.try_grow(1), grant::over_share);
    budget::share wanted{all, quiet};
    EXPECT_EQ(wanted.try_grow(500), grant::granted);
    EXPECT_EQ(noise.try_grow(1), grant::over_share);
    EXPECT_EQ(wanted.try_grow(1'000), grant::exhausted);
}

TEST(budget, many_noisy_games_leave_some) {
    budget all{9'000};
    std::array<budget::account, 5> noisy;
    std::array<std::optional<budget::share>, 5> noise;
    for (std::size_t i = 0; i != noisy.size(); ++i) noise[i].emplace(all, noisy[i]);
    std::size_t refusals = 0;
    while (refusals != noisy.size()) {  // they take turns
        refusals = 0;
        for (auto& each : noise) refusals += each->try_grow(1) != grant::granted ? 1 : 0;
    }
    for (const auto& each : noisy) EXPECT_NEAR(static_cast<double>(all.count(each).used), 1'756, 8);
    budget::account quiet;
    budget::share wanted{all, quiet};
    EXPECT_EQ(wanted.try_grow(200), grant::granted);
}

TEST(budget, a_small_one_is_for_one_game) {
    budget all{8};
    budget::account game;
    budget::share taker{all, game};
    EXPECT_EQ(fill(taker), 8U);
    EXPECT_EQ(taker.try_grow(1), grant::exhausted);
}

TEST(budget, each_may_have_its_least) {
    budget all{60, 50};
    budget::account game;
    budget::account other;
    budget::share taker{all, game};
    EXPECT_NEAR(static_cast<double>(fill(taker)), 53, 3);
    EXPECT_GE(all.count(game).used, 50U);
    budget::share rest{all, other};
    EXPECT_EQ(fill(rest), 60 - all.count(game).used);
}

TEST(budget, a_bound_of_its_own_holds) {
    budget all{1'000, 64};
    budget::account game;
    all.limit(game, 3);
    budget::share taker{all, game};
    EXPECT_EQ(fill(taker), 3U);
    EXPECT_EQ(taker.try_grow(1), grant::over_share);
    all.limit(game, 5);
    EXPECT_EQ(fill(taker), 2U);
    all.limit(game, 1);  // the game keeps what it has
    EXPECT_EQ(all.count(game).used, 5U);
}

TEST(budget, what_must_be_held_is_held) {
    budget all{10};
    budget::account game;
    {
        budget::share taker{all, game};
        taker.grow(50);
        EXPECT_EQ(all.used(), 50U);
        EXPECT_EQ(taker.try_grow(0), grant::exhausted);
    }
    EXPECT_EQ(all.used(), 0U);
}

}  // namespace
}  // namespace savegames::budget_tests
