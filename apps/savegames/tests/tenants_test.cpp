#include "savegames/tenants.hpp"

#include <gtest/gtest.h>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>

#include <algorithm>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "savegames/routes.hpp"
#include "savegames/service_stats.hpp"

namespace savegames::tenants_tests {
namespace {

namespace fl = fairlead;
using namespace std::chrono_literals;

game_id id(std::string_view text) { return game_id::parse(text).value(); }

class tenants_test : public testing::Test {
protected:
    static fl::scheduler_options on_caller() {
        fl::scheduler_options options;
        options.run_on_caller = true;
        return options;
    }

    tenant_table& make(tenant_options options = {}, std::string_view settings = {}) {
        options.now = [this] { return now; };
        return table.emplace(scheduler, game_settings::parse(settings, "settings").value(),
                             options);
    }

    const tenant_usage& usage(std::string_view game) {
        report = table->report(1'000);
        return *std::ranges::find(report.most, game, &tenant_usage::game);
    }

    time_point now{1000h};
    fl::scheduler scheduler{on_caller()};
    std::optional<tenant_table> table;
    tenant_report report;
};

TEST(routes, name_a_game_or_the_default_one) {
    const auto game_of = [](std::string_view method, std::string_view target) {
        return find_route(method, target).value().game;
    };
    EXPECT_EQ(game_of("GET", "/games/chess/saves/anna"), "chess");
    EXPECT_EQ(game_of("POST", "/games/ch%65ss/saves/anna/update"), "chess");
    EXPECT_EQ(game_of("GET", "/saves/anna"), "default");
    EXPECT_EQ(game_of("POST", "/saves/anna/update?x=1"), "default");
    EXPECT_EQ(find_route("PUT", "/saves/anna").value().player, "anna");
    EXPECT_EQ(find_route("GET", "/saves").error().status, 404);
    EXPECT_EQ(find_route("GET", "/saves/anna/other").error().status, 404);
    EXPECT_EQ(find_route("GET", "/chess/saves/anna").error().status, 404);
    EXPECT_EQ(find_route("GET", "/saves/anna/update").error().status, 405);
}

TEST_F(tenants_test, a_game_is_made_at_its_first_connection) {
    make();
    EXPECT_EQ(table->report(10).known, 0U);
    const auto first = table->enter(id("chess"));
    const auto second = table->enter(id("chess"));
    const auto other = table->enter(id("go"));
    EXPECT_EQ(first.game(), "chess");
    EXPECT_EQ(first.where(), second.where());
    EXPECT_NE(first.where(), other.where());
    EXPECT_NE(first.where(), fl::executor{scheduler});
    EXPECT_EQ(table->report(10).made, 2U);
    EXPECT_EQ(table->report(10).idle, 0U);
    EXPECT_EQ(usage("chess").connections, 2U);
}

TEST_F(tenants_test, without_groups_all_are_in_the_default_one) {
    make({.groups = false});
    EXPECT_EQ(table->enter(id("chess")).where(), fl::executor{scheduler});
    EXPECT_FALSE(table->report(1).groups);
}

TEST_F(tenants_test, an_idle_game_is_dropped_after_a_while) {
    make({.idle = 10s});
    {
        const auto stay = table->enter(id("chess"));
        now += 1h;
        EXPECT_EQ(table->sweep(), time_point::max());
        EXPECT_EQ(table->report(1).known, 1U);
    }
    EXPECT_EQ(table->sweep(), now + 10s);
    EXPECT_EQ(table->report(1).idle, 1U);
    now += 10s - 1ns;
    EXPECT_EQ(table->sweep(), now + 1ns);
    EXPECT_EQ(table->report(1).known, 1U);
    now += 1ns;
    EXPECT_EQ(table->sweep(), time_point::max());
    EXPECT_EQ(table->report(1).known, 0U);
    EXPECT_EQ(table->report(1).dropped, 1U);
    EXPECT_EQ(table->enter(id("chess")).game(), "chess");
    EXPECT_EQ(table->report(1).made, 2U);
}

TEST_F(tenants_test, a_game_that_is_asked_for_again_stays) {
    make({.idle = 10s});
    (void)table->enter(id("chess"));
    (void)table->enter(id("go"));
    now += 9s;
    { const auto again = table->enter(id("chess")); }
    now += 1s;
    EXPECT_EQ(table->sweep(), now + 9s);
    report = table->report(10);
    ASSERT_EQ(report.most.size(), 1U);
    EXPECT_EQ(report.most[0].game, "chess");
}

TEST_F(tenants_test, of_idle_ones_not_too_many_are_kept) {
    make({.idle_max = 2});
    const auto stays = table->enter(id("stays"));
    for (const char* const game : {"a", "b", "c", "d"}) (void)table->enter(id(game));
    report = table->report(10);
    EXPECT_EQ(report.known, 3U);
    EXPECT_EQ(report.dropped, 2U);
    std::vector<std::string> left;
    for (const tenant_usage& each : report.most) left.push_back(each.game);
    std::ranges::sort(left);
    EXPECT_EQ(left, (std::vector<std::string>{"c", "d", "stays"}));
}

TEST_F(tenants_test, hundreds_of_thousands_leave_nothing_behind) {
    make({.idle = 10s, .idle_max = 1'000});
    for (int i = 0; i != 200'000; ++i) {
        (void)table->enter(id("game-" + std::to_string(i)));
    }
    EXPECT_EQ(table->report(10).known, 1'000U);
    now += 10s;
    EXPECT_EQ(table->sweep(), time_point::max());
    report = table->report(10);
    EXPECT_EQ(report.known, 0U);
    EXPECT_EQ(report.made, 200'000U);
    EXPECT_EQ(report.dropped, 200'000U);
}

// Sweeps as the service does: one wakeup when the first game becomes idle, then none until it is
// due.
TEST_F(tenants_test, the_sweeper_sleeps_until_a_game_is_idle) {
    make({.idle = 10s});
    int sweeps = 0;
    const auto sweep = [&]() -> fl::task<> {
        for (;;) {
            ++sweeps;
            (void)table->sweep();
            const auto due = co_await table->wait_for_sweep(fl::never);
            if (!due) co_return;
        }
    };
    auto sweeping = fl::spawn(scheduler, sweep());
    scheduler.run_until_idle();
    EXPECT_EQ(sweeps, 1);
    auto stay = std::make_optional(table->enter(id("chess")));
    scheduler.run_until_idle();
    EXPECT_EQ(sweeps, 1);
    stay.reset();
    scheduler.run_until_idle();
    EXPECT_EQ(sweeps, 2);
    (void)table->enter(id("go"));  // the time of the next sweep is known already
    scheduler.run_until_idle();
    EXPECT_EQ(sweeps, 2);
    sweeping.request_stop();
    sweeping.get();
    (void)table->enter(id("poker"));  // no task waits
}

TEST_F(tenants_test, limits_come_from_the_settings) {
    make({}, "* max_requests=2\nchess weight=300 max_concurrency=1 max_requests=1");
    const auto chess = table->enter(id("chess"));
    const auto go = table->enter(id("go"));
    EXPECT_EQ(usage("chess").limits, (game_limits{300, 1, 1}));
    EXPECT_EQ(usage("go").limits, (game_limits{100, 0, 2}));
    budget::share first{table->requests(), chess.requests()};
    budget::share second{table->requests(), go.requests()};
    EXPECT_EQ(first.try_grow(1), grant::granted);
    EXPECT_EQ(first.try_grow(1), grant::over_share);
    EXPECT_EQ(second.try_grow(2), grant::granted);
    EXPECT_EQ(usage("chess").requests.refused, 1U);
}

TEST_F(tenants_test, other_settings_hold_at_once_for_games_that_are_there) {
    make({}, "chess max_requests=1");
    const auto chess = table->enter(id("chess"));
    table->set_settings(game_settings::parse("chess weight=7 max_requests=2", "f").value());
    EXPECT_EQ(usage("chess").limits, (game_limits{7, 0, 2}));
    budget::share taker{table->requests(), chess.requests()};
    EXPECT_EQ(taker.try_grow(2), grant::granted);
    EXPECT_EQ(taker.try_grow(1), grant::over_share);
    table->set_settings({});
    EXPECT_EQ(taker.try_grow(1), grant::granted);
}

TEST_F(tenants_test, a_noisy_game_does_not_fill_the_admission_of_others) {
    make({.requests_max = 900, .memory_max = 9'000});
    const auto noisy = table->enter(id("noisy"));
    const auto quiet = table->enter(id("quiet"));
    budget::share noise{table->requests(), noisy.requests()};
    budget::share noise_bytes{table->memory(), noisy.memory()};
    while (noise.try_grow(1) == grant::granted) continue;
    while (noise_bytes.try_grow(1) == grant::granted) continue;
    EXPECT_EQ(noise.try_grow(1), grant::over_share);
    budget::share wanted{table->requests(), quiet.requests()};
    budget::share wanted_bytes{table->memory(), quiet.memory()};
    EXPECT_EQ(wanted.try_grow(1), grant::granted);
    EXPECT_EQ(wanted_bytes.try_grow(500), grant::granted);
}

// The steps of a game are charged to that game alone.
TEST_F(tenants_test, count_what_each_game_used) {
    make();
    const auto busy = table->enter(id("busy"));
    const auto idle = table->enter(id("idle"));
    const auto work = [](fl::executor where) -> fl::task<> {
        co_await fl::resume_on(where);
        for (int i = 0; i != 9; ++i) co_await fl::yield();
    };
    fl::spawn(scheduler, work(busy.where())).detach();
    scheduler.run_until_idle();
    EXPECT_EQ(usage("busy").group.steps, 10U);
    EXPECT_GT(usage("busy").group.used, 0ns);
    EXPECT_EQ(usage("busy").group.tasks, 0U);
    EXPECT_EQ(usage("idle").group.steps, 0U);
}

TEST_F(tenants_test, reports_are_bounded_and_lose_nothing) {
    make({.idle = 10s});
    const auto run = [&](const std::string& game, std::size_t requests) {
        const auto stay = table->enter(id(game));
        for (std::size_t i = 0; i != requests; ++i) {
            budget::share one{table->requests(), stay.requests()};
            EXPECT_EQ(one.try_grow(1), grant::granted);
        }
    };
    run("gone", 1'000);
    now += 10s;
    (void)table->sweep();
    for (std::size_t i = 1; i <= 100; ++i) run("game-" + std::to_string(i), i);
    report = table->report(3);
    ASSERT_EQ(report.most.size(), 3U);
    EXPECT_EQ(report.most[0].game, "game-100");
    EXPECT_EQ(report.most[1].game, "game-99");
    EXPECT_EQ(report.most[2].game, "game-98");
    EXPECT_EQ(report.others.requests.granted, 97U * 98U / 2U);
    EXPECT_EQ(report.gone.requests.granted, 1'000U);
    EXPECT_EQ(report.known, 100U);
    EXPECT_EQ(report.idle, 100U);
}

TEST_F(tenants_test, the_statistics_tell_of_them) {
    make({}, "chess weight=300");
    const auto chess = table->enter(id("chess"));
    budget::share one{table->requests(), chess.requests()};
    EXPECT_EQ(one.try_grow(1), grant::granted);
    stats_report told;
    told.games = table->report(20);
    const auto games = nlohmann::json::parse(told.to_json()).at("games");
    EXPECT_EQ(games.at("known"), 1);
    const auto& first = games.at("most").at(0);
    EXPECT_EQ(first.at("game"), "chess");
    EXPECT_EQ(first.at("limits").at("weight"), 300);
    EXPECT_EQ(first.at("requests").at("under_way"), 1);
    EXPECT_EQ(first.at("steps"), 0);
    EXPECT_TRUE(first.contains("used_s"));
    EXPECT_FALSE(games.at("others").contains("game"));
}

// Two steps of the game block two workers. A third step must not begin, although workers are free.
TEST(tenants_on_threads, the_limit_of_a_game_holds) {
    fl::scheduler scheduler{{.workers = 4}};
    tenant_table table{scheduler, game_settings::parse("chess max_concurrency=2", "f").value(), {}};
    const auto chess = table.enter(id("chess"));
    std::latch both{2};
    std::latch leave{1};
    std::latch third_begun{1};
    const auto block = [&]() -> fl::task<> {
        both.count_down();
        leave.wait();
        co_return;
    };
    const auto begin = [&]() -> fl::task<> {
        third_begun.count_down();
        co_return;
    };
    const auto nothing = []() -> fl::task<> { co_return; };
    auto first = fl::spawn(chess.where(), block());
    auto second = fl::spawn(chess.where(), block());
    both.wait();  // now as many run as may run at once
    auto third = fl::spawn(chess.where(), begin());
    for (int i = 0; i != 1'000; ++i) fl::block_on(scheduler, nothing());
    EXPECT_FALSE(third_begun.try_wait());
    leave.count_down();
    first.get();
    second.get();
    third.get();
    third_begun.wait();
}

TEST(tenants_on_threads, many_come_and_go_at_once) {
    fl::scheduler scheduler{{.workers = 4}};
    tenant_table table{scheduler, {}, {.idle = 0ms, .idle_max = 3}};
    const auto visit = [](tenant_table& games, int first) -> fl::task<> {
        for (int i = 0; i != 500; ++i) {
            const auto stay = games.enter(id("game-" + std::to_string((first + i) % 16)));
            co_await fl::resume_on(stay.where());
            budget::share one{games.requests(), stay.requests()};
            EXPECT_EQ(one.try_grow(1), grant::granted);
        }
    };
    std::vector<fl::join_handle<void>> visitors;
    for (int i = 0; i != 8; ++i) visitors.push_back(fl::spawn(scheduler, visit(table, 2 * i)));
    for (auto& each : visitors) each.get();
    const tenant_report report = table.report(16);
    EXPECT_LE(report.known, 3U);
    EXPECT_EQ(report.known, report.idle);
    EXPECT_EQ(report.made, report.dropped + report.known);
    std::uint64_t admitted = report.gone.requests.granted;
    for (const tenant_usage& each : report.most) admitted += each.requests.granted;
    EXPECT_EQ(admitted, 8U * 500U);
    EXPECT_EQ(table.requests().used(), 0U);
}

}  // namespace
}  // namespace savegames::tenants_tests
