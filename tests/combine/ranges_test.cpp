// Combinators over ranges that make their children: nothing is read ahead, and nothing after a
// failure, a decision or a stop.
#include "combine/children.hpp"
#include "support/watchdog.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/combine/as_completed.hpp>
#include <fairlead/combine/race.hpp>
#include <fairlead/combine/when_all_ok.hpp>
#include <fairlead/combine/when_all_settled.hpp>
#include <fairlead/combine/when_any.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead::ranges_tests {
namespace {

using namespace std::chrono_literals;
using test::answer;
using test::answers;
using test::fails;
using test::gives;
using test::insists;
using test::refuses;
using test::throws_at_once;
using test::watchdog;
using test::what_of;

class ranges_test : public test::combine_test {
protected:
    // The children 0 ... count - 1, made by `make` as they are read.
    template <class T = int>
    auto children(int count, std::type_identity_t<std::function<task<T>(int)>> make) {
        read = ended = 0;
        return std::views::iota(0, count) |
               std::views::transform([this, make = std::move(make)](int index) {
                   ++read;
                   ahead = std::max(ahead, read - ended);
                   return counted(make(index));
               });
    }

    int read = 0;
    int ended = 0;
    int ahead = 0;  // how many were read and had not ended, at most

private:
    template <class T>
    task<T> counted(task<T> body) {
        const struct at_end {
            int& count;
            ~at_end() { ++count; }
        } last{ended};
        co_return co_await std::move(body);
    }
};

TEST_F(ranges_test, a_child_is_read_when_it_begins) {
    const time_point begin = clock.now();
    const auto all =
        block_on(*simulation,
                 when_all(children(20, [](int i) { return gives(1h, i); }), max_concurrency{4}));
    ASSERT_EQ(all.size(), 20U);
    for (int i = 0; i != 20; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(ahead, 4);
    EXPECT_EQ(clock.now(), begin + 5h);
    EXPECT_TRUE(block_on(*simulation, when_all(children(0, [](int i) { return gives(1h, i); }),
                                               max_concurrency{4}))
                    .empty());
}

TEST_F(ranges_test, results_are_in_the_order_of_the_range) {
    const auto later_first = [](int i) { return gives((10 - i) * 1h, i); };
    const auto all =
        block_on(*simulation, when_all(children(10, later_first), max_concurrency{100}));
    EXPECT_EQ(ahead, 10);
    EXPECT_TRUE(std::ranges::is_sorted(all));
}

TEST_F(ranges_test, nothing_is_read_after_a_failure) {
    const auto third = [](int i) { return i == 2 ? fails(1h, "third") : gives(1h, i); };
    const time_point begin = clock.now();
    EXPECT_THROW(block_on(*simulation, when_all(children(1000, third), max_concurrency{2})),
                 std::runtime_error);
    EXPECT_EQ(read, 4) << "the fourth began with the third";
    EXPECT_EQ(ended, 4);
    EXPECT_EQ(clock.now(), begin + 2h);
}

TEST_F(ranges_test, nothing_is_read_after_a_stop) {
    const auto hears = [](int i) { return gives(1h, i); };
    const auto cut = stopped_after(150min, when_all(children(1000, hears), max_concurrency{2}));
    EXPECT_TRUE(was_stopped(cut));
    EXPECT_EQ(read, 6);
    const auto settled =
        stopped_after(150min, when_all_settled(children(1000, hears), max_concurrency{2}));
    ASSERT_EQ(settled.value().size(), 6U);
    EXPECT_EQ(settled.value()[3], 3);
    EXPECT_TRUE(was_stopped(settled.value()[4]));
    EXPECT_TRUE(was_stopped(settled.value()[5]));
    // Children that have a result all the same: it is missing only if more would have begun.
    const auto late = [](int i) { return insists(1h, i); };
    EXPECT_EQ(stopped_after(30min, when_all(children(2, late), max_concurrency{2})),
              (std::vector{0, 1}));
    EXPECT_TRUE(was_stopped(stopped_after(30min, when_all(children(3, late), max_concurrency{2}))));
    EXPECT_EQ(read, 2);
}

TEST_F(ranges_test, settled_gives_failures_in_order) {
    const auto odd = [](int i) { return i % 2 == 1 ? fails(1h, "odd") : gives(1h, i); };
    const auto all = block_on(*simulation, when_all_settled(children(5, odd), max_concurrency{2}));
    ASSERT_EQ(all.size(), 5U);
    EXPECT_EQ(all[2], 2);
    EXPECT_EQ(what_of(all[3].error()), "odd");
    EXPECT_EQ(ahead, 2);
}

TEST_F(ranges_test, any_reads_no_more_than_its_bound) {
    const auto slower = [](int i) { return gives((10 - i) * 1h, i); };
    const auto first = block_on(*simulation, when_any(children(1000, slower), max_concurrency{3}));
    EXPECT_EQ(first.index, 2U);
    EXPECT_EQ(first.result, 2);
    EXPECT_EQ(read, 3);
}

TEST_F(ranges_test, a_race_reads_on_after_failures) {
    const auto fifth = [](int i) { return i == 4 ? gives(1h, i) : fails(1h, std::to_string(i)); };
    const time_point begin = clock.now();
    EXPECT_EQ(block_on(*simulation, race(children(1000, fifth), max_concurrency{2})), 4);
    EXPECT_EQ(read, 6);
    EXPECT_EQ(clock.now(), begin + 3h);
    const auto bad = [](int i) { return fails((4 - i) * 1h, std::to_string(i)); };
    try {
        block_on(*simulation, race(children(4, bad), max_concurrency{2}));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const race_error& caught) {
        ASSERT_EQ(caught.failures().size(), 4U);
        for (std::size_t i = 0; i != 4; ++i)
            EXPECT_EQ(what_of(caught.failures()[i]), std::to_string(i));
    }
    EXPECT_TRUE(was_stopped(stopped_after(30min, race(children(1000, bad), max_concurrency{1}))));
    EXPECT_EQ(read, 1);
}

// A range that is read only once, such as a stream: what is left is still there.
TEST_F(ranges_test, nothing_is_read_beyond_what_begins) {
    const auto second = [](int i) { return i == 2 ? gives(1h, i) : fails(1h, "it"); };
    std::istringstream numbers{"1 2 3 4"};
    auto raced = std::views::istream<int>(numbers) | std::views::transform(second);
    EXPECT_EQ(block_on(*simulation, race(raced, max_concurrency{1})), 2);
    int next = 0;
    EXPECT_TRUE(numbers >> next);
    EXPECT_EQ(next, 3);
    std::istringstream rest{"1 2 3 4"};
    auto all = std::views::istream<int>(rest) | std::views::transform(second);
    EXPECT_THROW(block_on(*simulation, when_all(all, max_concurrency{1})), std::runtime_error);
    EXPECT_TRUE(rest >> next);
    EXPECT_EQ(next, 2);
}

TEST_F(ranges_test, what_the_range_throws_ends_it) {
    const auto throws_at_two = [](int i) {
        if (i == 2) throw std::runtime_error{"the range"};
        return gives(1h, i);
    };
    const auto is_told = [&](auto body) {
        try {
            static_cast<void>(block_on(*simulation, std::move(body)));
        } catch (const std::runtime_error& caught) {
            return std::string{caught.what()} == "the range";
        }
        return false;
    };
    EXPECT_TRUE(is_told(when_all(children(9, throws_at_two), max_concurrency{1})));
    EXPECT_TRUE(is_told(when_all_settled(children(9, throws_at_two), max_concurrency{2})));
    EXPECT_TRUE(is_told(when_all(children(9, throws_at_two), max_concurrency{5})));
    const auto all_fail = [&](int i) {
        if (i == 2) throw std::runtime_error{"the range"};
        return fails(1h, "a child");
    };
    EXPECT_TRUE(is_told(race(children(9, all_fail), max_concurrency{1})));
    EXPECT_EQ(block_on(*simulation, race(children(9, throws_at_two), max_concurrency{1})), 0);
}

// A range without an end, of waits, and children of nothing.
TEST_F(ranges_test, of_other_awaitables_and_without_an_end) {
    channel<int> numbers{8};
    for (int i = 0; i != 3; ++i) EXPECT_TRUE(numbers.try_send(int{i}));
    numbers.close();
    const auto receives =
        std::views::iota(0, 3) | std::views::transform([&](int) { return numbers.receive(); });
    const auto got = block_on(*simulation, when_all(receives, max_concurrency{1}));
    ASSERT_EQ(got.size(), 3U);
    for (int i = 0; i != 3; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);

    int made = 0;
    const auto sleeps = std::views::iota(0) | std::views::transform([&](int i) -> task<> {
                            ++made;
                            co_await sleep_for(1h);
                            if (i == 99) throw std::runtime_error{"enough"};
                        });
    EXPECT_THROW(block_on(*simulation, when_all(sleeps, max_concurrency{1})), std::runtime_error);
    EXPECT_EQ(made, 100);
}

TEST_F(ranges_test, nothing_is_read_after_a_deadline) {
    const auto hears = [](int i) { return gives(1h, i); };
    const auto until = [&](duration limit, auto range, std::size_t bound) {
        return block_on(*simulation, when_all_until(clock.now() + limit, std::move(range),
                                                    max_concurrency{bound}));
    };
    EXPECT_EQ(until(150min, children(1000, hears), 2).error(), wait_error::expired);
    EXPECT_EQ(read, 6);
    EXPECT_EQ(ended, 6);
    EXPECT_EQ(until(3h, children(4, hears), 2), (std::vector{0, 1, 2, 3}));
    EXPECT_EQ(until(1h, children(0, hears), 2), std::vector<int>{});
    // Children that have a result all the same: it is missing only if more would have begun.
    const auto late = [](int i) { return insists(1h, i); };
    EXPECT_EQ(until(30min, children(2, late), 2), (std::vector{0, 1}));
    EXPECT_EQ(until(30min, children(3, late), 2).error(), wait_error::expired);
    EXPECT_EQ(read, 2);
    const auto bad = [](int i) { return i == 1 ? fails(1h, "it") : gives(1h, i); };
    EXPECT_THROW(until(3h, children(9, bad), 1), std::runtime_error);
    EXPECT_EQ(read, 2);
    const time_point far = clock.now() + 5h;
    const auto stopped =
        stopped_after(30min, when_all_until(far, children(9, hears), max_concurrency{1}));
    EXPECT_EQ(stopped.value().error(), wait_error::stopped);
    EXPECT_EQ(read, 1);
}

TEST_F(ranges_test, nothing_is_read_after_an_error) {
    const auto all = [&](int count, std::function<task<answer>(int)> make, std::size_t bound) {
        return block_on(*simulation, when_all_ok(children<answer>(count, std::move(make)),
                                                 max_concurrency{bound}));
    };
    const auto good = [](int i) { return answers((10 - i) * 1h, i); };
    EXPECT_EQ(all(4, good, 2).value(), (std::vector{0, 1, 2, 3}));
    EXPECT_EQ(ahead, 2);
    EXPECT_TRUE(all(0, good, 2).value().empty());
    EXPECT_EQ(all(1, good, 2).value(), std::vector{0});
    const auto third = [](int i) { return i == 2 ? refuses(1h, "third") : answers(2h, i); };
    EXPECT_EQ(all(1000, third, 2).error(), "third");
    EXPECT_EQ(read, 4) << "the fourth began with the third";
    EXPECT_EQ(ended, 4);
    const auto at_once = [](int i) { return refuses(0h, std::to_string(i)); };
    EXPECT_EQ(all(1000, at_once, 1).error(), "0");
    EXPECT_EQ(read, 1);
    // The first failure in time is an exception.
    const auto throws = [](int i) -> task<answer> {
        co_await sleep_for((3 - i) * 1h);
        if (i == 1) throw std::runtime_error{"it"};
        co_return std::unexpected{"later"};
    };
    EXPECT_THROW(static_cast<void>(all(9, throws, 2)), std::runtime_error);
    EXPECT_EQ(read, 2);
    const auto slow = [](int i) { return answers(1h, i); };
    EXPECT_TRUE(was_stopped(
        stopped_after(90min, when_all_ok(children<answer>(9, slow), max_concurrency{2}))));
    EXPECT_EQ(read, 4);
}

TEST_F(ranges_test, a_race_of_answers_reads_on_after_errors) {
    const auto first = [&](int count, std::function<task<answer>(int)> make, std::size_t bound) {
        return block_on(*simulation,
                        race_ok(children<answer>(count, std::move(make)), max_concurrency{bound}));
    };
    const auto fifth = [](int i) {
        return i == 4 ? answers(1h, i) : refuses(1h, std::to_string(i));
    };
    EXPECT_EQ(first(1000, fifth, 2), 4);
    EXPECT_EQ(read, 6);
    const auto bad = [](int i) { return refuses((4 - i) * 1h, std::to_string(i)); };
    EXPECT_EQ(first(4, bad, 2).error(), (std::vector<std::string>{"0", "1", "2", "3"}));
    EXPECT_TRUE(first(0, bad, 2).error().empty());
    EXPECT_EQ(first(1, bad, 2).error(), std::vector<std::string>{"0"});
    const auto throws = [](int i) -> task<answer> {
        co_await sleep_for(1h);
        if (i == 1) throw std::runtime_error{"it"};
        co_return std::unexpected{std::to_string(i)};
    };
    EXPECT_THROW(static_cast<void>(first(3, throws, 1)), std::runtime_error);
    EXPECT_EQ(read, 3) << "an exception is a failure";
    EXPECT_TRUE(
        was_stopped(stopped_after(30min, race_ok(children<answer>(9, bad), max_concurrency{1}))));
    EXPECT_EQ(read, 1);
}

TEST_F(ranges_test, losers_are_given_with_their_index) {
    std::vector<std::size_t> lost;
    const auto notes = [&](std::size_t index, const auto&) { lost.push_back(index); };
    const auto third = [](int i) { return i == 2 ? gives(30min, i) : fails((i + 1) * 1h, "it"); };
    EXPECT_EQ(block_on(*simulation, race(on_loser(notes), children(9, third), max_concurrency{2})),
              2);
    EXPECT_EQ(lost, (std::vector<std::size_t>{0, 1}));
    lost.clear();
    const auto all_win = [](int i) { return insists((i + 1) * 1h, i); };
    EXPECT_EQ(
        block_on(*simulation, race(on_loser(notes), children(9, all_win), max_concurrency{3})), 0);
    EXPECT_EQ(lost, (std::vector<std::size_t>{1, 2}));
    lost.clear();
    const auto second = [](int i) { return i == 1 ? answers(1h, i) : refuses(1h, "no"); };
    EXPECT_EQ(block_on(*simulation,
                       race_ok(on_loser(notes), children<answer>(9, second), max_concurrency{1})),
              1);
    EXPECT_EQ(lost, std::vector<std::size_t>{0});
    lost.clear();
    EXPECT_EQ(block_on(*simulation, race_ok(on_loser(notes), second(0), second(1))), 1);
    EXPECT_EQ(lost, std::vector<std::size_t>{0});
}

TEST_F(ranges_test, what_the_range_throws_ends_each_form) {
    const auto at_two = [](int i) -> task<answer> {
        if (i == 2) throw std::runtime_error{"the range"};
        return refuses(1h, std::to_string(i));
    };
    EXPECT_THROW(static_cast<void>(block_on(
                     *simulation, race_ok(children<answer>(9, at_two), max_concurrency{1}))),
                 std::runtime_error);
    EXPECT_EQ(read, 3);
    const auto answers_until_two = [](int i) -> task<answer> {
        if (i == 2) throw std::runtime_error{"the range"};
        return answers(1h, i);
    };
    EXPECT_THROW(
        static_cast<void>(block_on(
            *simulation, when_all_ok(children<answer>(9, answers_until_two), max_concurrency{2}))),
        std::runtime_error);
    EXPECT_EQ(read, 3);
}

// --- as_completed --------------------------------------------------------------------------------

using ends = std::vector<std::pair<std::size_t, std::string>>;

std::string text_of(const settled<int>& ended) {
    if (ended) return std::to_string(*ended);
    return was_stopped(ended) ? "stopped" : what_of(ended.error());
}

template <class Range>
task<> collect(ends& seen, Range range, std::size_t bound, duration pause = {}) {
    auto stream = as_completed(std::move(range), max_concurrency{bound});
    while (const auto next = co_await stream.next()) {
        seen.emplace_back(next->index, text_of(next->result));
        if (pause > duration{}) co_await shielded(sleep_for(pause));
    }
    const auto none = co_await stream.next();
    EXPECT_FALSE(none.has_value()) << "it stays at its end";
}

TEST_F(ranges_test, a_stream_reads_a_task_when_it_begins) {
    ends seen;
    const time_point begin = clock.now();
    const auto later_first = [](int i) {
        return i == 1 ? fails(1h, "it") : gives((4 - i) * 1h, i);
    };
    block_on(*simulation, collect(seen, children(4, later_first), 2));
    EXPECT_EQ(seen, (ends{{1, "it"}, {2, "2"}, {0, "0"}, {3, "3"}}));
    EXPECT_EQ(ahead, 2);
    EXPECT_EQ(clock.now(), begin + 4h);
    seen.clear();
    block_on(*simulation, collect(seen, children(0, later_first), 2));
    EXPECT_EQ(seen, ends{});
    block_on(*simulation, collect(seen, children(1, later_first), 5));
    EXPECT_EQ(seen, (ends{{0, "0"}}));
}

// The loop takes a result a day: no more than two tasks are begun beyond what it has taken.
TEST_F(ranges_test, a_slow_loop_holds_a_stream_up) {
    std::size_t taken = 0;
    const auto at_once = [&](int i) {
        EXPECT_LE(static_cast<std::size_t>(i), taken + 2);
        return gives(1h, i);
    };
    const auto loop = [&](auto& stream) -> task<> {
        while (taken != 100) {
            const auto next = co_await stream.next();
            EXPECT_TRUE(next->result.has_value());
            ++taken;
            co_await sleep_for(24h);
        }
    };
    const auto endless = std::views::iota(0) | std::views::transform(at_once);
    block_on(*simulation, with_completed(endless, loop, max_concurrency{2}));
    EXPECT_EQ(taken, 100U);
}

TEST_F(ranges_test, a_stopped_stream_reads_no_more) {
    ends seen;
    const auto hears = [](int i) { return gives(1h, i); };
    stopped_after(150min, collect(seen, children(1000, hears), 2));
    EXPECT_EQ(read, 6);
    ASSERT_EQ(seen.size(), 6U);
    EXPECT_EQ(seen[4].second, "stopped");
    EXPECT_EQ(seen[5].second, "stopped");
    seen.clear();
    const auto parent = [&](auto range) -> task<> {
        auto&& self = co_await current_task();
        self.request_stop();
        co_await collect(seen, std::move(range), 2);
    };
    block_on(*simulation, parent(children(1000, hears)));
    EXPECT_EQ(seen, (ends{{0, "stopped"}, {1, "stopped"}}));
    const auto finishes = [&](auto range) -> task<> {
        auto stream = as_completed(std::move(range), max_concurrency{2});
        const auto first = co_await stream.next();
        EXPECT_EQ(first->index, 0U);
        co_await stream.finish();
        const auto none = co_await stream.next();
        EXPECT_FALSE(none.has_value());
        auto other =
            as_completed(children(9, [](int i) { return gives(1h, i); }), max_concurrency{2});
        co_await other.finish();
        const auto never_begun = co_await other.next();
        EXPECT_FALSE(never_begun.has_value());
        EXPECT_EQ(read, 0);
    };
    block_on(*simulation, finishes(children(1000, [](int i) { return insists((i + 1) * 1h, i); })));
}

TEST_F(ranges_test, a_stream_throws_what_its_range_throws_at_its_end) {
    const auto throws_at_three = [](int i) {
        if (i == 3) throw std::runtime_error{"the range"};
        return gives(1h, i);
    };
    for (const std::size_t bound : {1U, 2U, 3U, 4U, 9U}) {
        ends seen;
        EXPECT_THROW(block_on(*simulation, collect(seen, children(9, throws_at_three), bound)),
                     std::runtime_error);
        EXPECT_EQ(seen.size(), 3U) << bound;
        EXPECT_EQ(read, 4);
    }
}

// The step to the next element throws, as that of a filter does.
TEST_F(ranges_test, a_range_that_throws_between_two_elements_has_ended) {
    for (const std::size_t bound : {1U, 2U, 3U, 4U, 9U}) {
        read = 0;
        const auto bodies = std::views::iota(0, 9) | std::views::filter([](int i) {
                                if (i == 3) throw std::runtime_error{"the range"};
                                return true;
                            }) |
                            std::views::transform([&](int i) {
                                ++read;
                                return gives(1h, i);
                            });
        ends seen;
        EXPECT_THROW(block_on(*simulation, collect(seen, bodies, bound)), std::runtime_error);
        EXPECT_EQ(seen.size(), 3U) << bound;
        EXPECT_EQ(read, 3) << bound;
    }
}

TEST(ranges_on_threads, a_stream_gives_each_task_once) {
    const watchdog guard;
    scheduler threads{{.workers = 4}};
    for (int round = 0; round != 100; ++round) {
        int read = 0;  // one reads at a time
        const auto bodies = std::views::iota(0, 40) | std::views::transform([&](int i) {
                                ++read;
                                return gives(i % 7 * 1us, i);
                            });
        ends seen;
        auto handle = spawn(threads, collect(seen, bodies, 6));
        if (round % 2 == 0) handle.request_stop();
        handle.get();
        std::vector<int> times(40);
        for (const auto& [index, text] : seen) ++times[index];
        for (int i = 0; i != 40; ++i) EXPECT_EQ(times[static_cast<std::size_t>(i)], i < read);
        EXPECT_TRUE(read == 40 || round % 2 == 0);
    }
}

TEST(ranges_on_threads, each_child_is_read_once_and_a_bound_holds) {
    const watchdog guard;
    scheduler threads{{.workers = 4}};
    for (int round = 0; round != 100; ++round) {
        int read = 0;  // one reads at a time
        std::atomic<int> at_once = 0;
        std::atomic<bool> exceeded = false;
        const auto body = [&](int value) -> task<int> {
            if (++at_once > 5) exceeded = true;
            co_await yield();
            --at_once;
            co_return value;
        };
        const auto bodies = std::views::iota(0, 60) | std::views::transform([&](int i) {
                                ++read;
                                return body(i);
                            });
        auto handle = spawn(threads, when_all(bodies, max_concurrency{5}));
        if (round % 4 == 0) handle.request_stop();
        try {
            const auto all = handle.get();
            for (int i = 0; i != 60; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
            EXPECT_EQ(read, 60);
        } catch (const stopped_error&) {
            EXPECT_EQ(round % 4, 0);
        }
        EXPECT_FALSE(exceeded);
    }
}

}  // namespace
}  // namespace fairlead::ranges_tests
