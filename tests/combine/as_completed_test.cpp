// as_completed, with_completed: order, bounds, stops, early ends.
#include "combine/children.hpp"
#include "support/probes.hpp"
#include "support/watchdog.hpp"

#include <fairlead/combine/as_completed.hpp>
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/spawn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::as_completed_tests {
namespace {

using namespace std::chrono_literals;
using test::fails;
using test::gives;
using test::insists;
using test::watchdog;
using test::what_of;
using ends = std::vector<std::pair<std::size_t, std::string>>;

std::string text_of(const settled<int>& ended) {
    if (ended) return std::to_string(*ended);
    return was_stopped(ended) ? "stopped" : what_of(ended.error());
}

task<ends> all_of(std::vector<task<int>> bodies, max_concurrency bound = {}) {
    ends seen;
    auto stream = as_completed(std::move(bodies), bound);
    while (const auto next = co_await stream.next()) {
        seen.emplace_back(next->index, text_of(next->result));
    }
    EXPECT_FALSE((co_await stream.next()).has_value()) << "it stays at its end";
    co_return seen;
}

class completed_test : public test::combine_test {
protected:
    static std::vector<task<int>> some() {
        std::vector<task<int>> bodies;
        bodies.push_back(gives(3h, 0));
        bodies.push_back(fails(1h, "it"));
        bodies.push_back(gives(2h, 2));
        return bodies;
    }
};

TEST_F(completed_test, gives_results_in_the_order_of_their_ends) {
    EXPECT_EQ(block_on(*simulation, all_of(some())), (ends{{1, "it"}, {2, "2"}, {0, "0"}}));
    EXPECT_EQ(block_on(*simulation, all_of({})), ends{});
}

TEST_F(completed_test, a_bound_holds) {
    const time_point begin = clock.now();
    EXPECT_EQ(block_on(*simulation, all_of(some(), max_concurrency{1})),
              (ends{{0, "0"}, {1, "it"}, {2, "2"}}));
    EXPECT_EQ(clock.now(), begin + 6h);
    EXPECT_EQ(block_on(*simulation, all_of(some(), max_concurrency{2})),
              (ends{{1, "it"}, {0, "0"}, {2, "2"}}));
}

TEST_F(completed_test, a_stop_ends_the_tasks_and_gives_each) {
    auto bodies = some();
    bodies.push_back(insists(4h, 3));
    ends seen = stopped_after(90min, all_of(std::move(bodies))).value();
    ASSERT_EQ(seen.size(), 4U);
    std::sort(seen.begin() + 1, seen.begin() + 3);  // stopped at the same time
    EXPECT_EQ(seen, (ends{{1, "it"}, {0, "stopped"}, {2, "stopped"}, {3, "3"}}));
    ends bounded = stopped_after(200min, all_of(some(), max_concurrency{1})).value();
    ASSERT_EQ(bounded.size(), 3U);
    std::sort(bounded.begin() + 1, bounded.end());
    EXPECT_EQ(bounded, (ends{{0, "0"}, {1, "stopped"}, {2, "stopped"}}));
}

TEST_F(completed_test, a_stop_before_the_first_next) {
    const auto parent = [&]() -> task<ends> {
        (co_await current_task()).request_stop();
        co_return co_await all_of(some());
    };
    const ends seen = block_on(*simulation, parent());
    ASSERT_EQ(seen.size(), 3U);
    for (const auto& [index, text] : seen) EXPECT_EQ(text, "stopped");
}

TEST_F(completed_test, finish_ends_it_early) {
    const auto parent = [&]() -> task<> {
        auto bodies = some();
        bodies.push_back(insists(5h, 3));
        auto stream = as_completed(std::move(bodies), max_concurrency{3});
        const auto first = co_await stream.next();
        EXPECT_EQ(first->index, 1U);
        co_await stream.finish();
        EXPECT_FALSE((co_await stream.next()).has_value());
    };
    const time_point begin = clock.now();
    block_on(*simulation, parent());
    EXPECT_EQ(clock.now(), begin + 6h) << "the one that insists is awaited";
}

TEST_F(completed_test, with_completed_waits_however_the_body_ends) {
    const auto leaves = [](completions<int>& stream) -> task<> {
        static_cast<void>(co_await stream.next());
        throw std::runtime_error{"enough"};
    };
    auto bodies = some();
    bodies.push_back(insists(5h, 3));
    const time_point begin = clock.now();
    try {
        block_on(*simulation, with_completed(std::move(bodies), leaves));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& caught) {
        EXPECT_STREQ(caught.what(), "enough");
    }
    EXPECT_EQ(clock.now(), begin + 5h);
}

TEST_F(completed_test, of_nothing_and_of_things_that_can_only_be_moved) {
    const auto parent = [&]() -> task<int> {
        const auto nothing = []() -> task<> { co_return; };
        const auto movable = []() -> task<test::move_only> { co_return test::move_only{4}; };
        std::vector<task<>> nothings;
        nothings.push_back(nothing());
        auto one = as_completed(std::move(nothings));
        const auto ended = co_await one.next();
        EXPECT_TRUE(ended->result.has_value());
        co_await one.finish();
        std::vector<task<test::move_only>> movables;
        movables.push_back(movable());
        auto other = as_completed(std::move(movables));
        auto moved = co_await other.next();
        co_await other.finish();
        co_return moved->result->value;
    };
    EXPECT_EQ(block_on(*simulation, parent()), 4);
}

TEST_F(completed_test, a_stream_that_is_never_asked_runs_nothing) {
    int begun = 0;
    const auto notes = [&]() -> task<int> {
        ++begun;
        co_return 1;
    };
    {
        std::vector<task<int>> bodies;
        bodies.push_back(notes());
        const auto stream = as_completed(std::move(bodies));
    }
    EXPECT_EQ(begun, 0);
}

TEST_F(completed_test, a_scheduler_is_destroyed_in_the_middle) {
    std::atomic<int> alive = 0;
    const auto keeps = [](test::counted kept) -> task<int> {
        co_await sleep_for(24h);
        static_cast<void>(kept);
        co_return 1;
    };
    for (const std::size_t bound : {1U, 2U, 8U}) {
        std::vector<task<int>> bodies;
        for (int i = 0; i != 4; ++i) bodies.push_back(keeps(test::counted{alive}));
        spawn(*simulation, all_of(std::move(bodies), max_concurrency{bound})).detach();
    }
    run_for(1h);
    EXPECT_EQ(alive, 12);
    simulation.reset();
    EXPECT_EQ(alive, 0);
}

// The deadline has passed before the tasks could begin, and the loop is shielded from it.
TEST_F(completed_test, tasks_that_a_deadline_keeps_from_beginning_are_given) {
    const auto late = [this](task<> loop) -> task<> {
        clock.advance(2h);
        co_await std::move(loop);
    };
    ends seen;
    const auto loop = [&seen](completions<int>& stream) -> task<> {
        while (const auto next = co_await shielded(stream.next())) {
            seen.emplace_back(next->index, text_of(next->result));
        }
    };
    block_on(*simulation, with_deadline(1h, late(with_completed(some(), loop))));
    EXPECT_EQ(seen, (ends{{0, "stopped"}, {1, "stopped"}, {2, "stopped"}}));
}

// Tasks have gone to another scheduler, which is destroyed: the stream ends all the same.
TEST(completed_on_threads, tasks_that_are_given_back_elsewhere_are_stopped) {
    const watchdog guard;
    scheduler home{{.workers = 2}};
    const auto moves = [](scheduler& there, std::atomic<unsigned>& arrived) -> task<int> {
        co_await resume_on(there);
        ++arrived;
        static_cast<void>(co_await receive_signal());
        static_cast<void>(co_await shielded(receive_signal()));
        co_return 1;
    };
    const auto stays = []() -> task<int> {
        static_cast<void>(co_await receive_signal());
        co_return 1;
    };
    for (int round = 0; round != 40; ++round) {
        // The tasks that begin after one was given back must not go there any more.
        const unsigned movers = round % 2 == 0 ? 1 : 3;
        std::atomic<unsigned> arrived = 0;
        join_handle<ends> all = [&] {
            scheduler there{{.workers = 1, .stop_limit = 0s}};
            std::vector<task<int>> bodies;
            while (bodies.size() != movers) bodies.push_back(moves(there, arrived));
            while (bodies.size() != 3) bodies.push_back(stays());
            auto handle = spawn(home, all_of(std::move(bodies), max_concurrency{movers}));
            while (arrived != movers) std::this_thread::yield();
            for (int i = 0; i != round / 2; ++i) std::this_thread::yield();
            handle.request_stop();
            return handle;
        }();
        EXPECT_EQ(all.get().size(), 3U);
    }
}

TEST(completed_on_threads, every_task_is_given_once) {
    const watchdog guard;
    scheduler threads{{.workers = 4}};
    for (int round = 0; round != 200; ++round) {
        std::vector<task<int>> bodies;
        for (int i = 0; i != 40; ++i) bodies.push_back(gives(i % 7 * 1us, i));
        auto handle = spawn(threads, all_of(std::move(bodies), max_concurrency{6}));
        if (round % 2 == 0) handle.request_stop();
        std::vector<int> seen(40);
        for (const auto& [index, text] : handle.get()) ++seen[index];
        EXPECT_EQ(seen, std::vector<int>(40, 1));
    }
}

}  // namespace
}  // namespace fairlead::as_completed_tests
