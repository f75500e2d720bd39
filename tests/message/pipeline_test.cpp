// Pipelines: order, bounds, failures, ends and progress.
#include <fairlead/context/context.hpp>
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/message/pipeline.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::pipeline_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

std::string text_of(const std::exception_ptr& failure) {
    if (!failure) return "none";
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& known) {
        return known.what();
    }
}

template <class Out>
task<> collect(pipeline<int, Out>& from, std::vector<Out>& all) {
    for (;;) {
        auto next = co_await from.receive();
        if (!next) break;
        all.push_back(*next);
    }
}

// Sends 0, 1, 2, ... and closes; how many the pipeline took.
template <class Out>
task<> send_numbers(pipeline<int, Out>& to, int count, int& sent) {
    for (; sent != count; ++sent) {
        const auto ended = co_await to.send(int{sent});
        if (!ended) co_return;
    }
    to.close();
}

// Item 0 takes longest.
task<int> slow_first(int item) {
    co_await sleep_for((10 - item % 10) * 1ms);
    co_return item;
}

TEST(Pipeline, ResultsComeInTheOrderOfTheItems) {
    for (const std::size_t at_most : {1U, 2U, 3U, 7U}) {
        simulation sim;
        auto line = pipeline_from<int>(sim.scheduler)
                        .then(slow_first, {.at_most = at_most, .capacity = 2})
                        .then([](int item) { return std::to_string(item); }, {.at_most = at_most})
                        .then([](std::string item) -> task<std::string> {
                            co_await yield();
                            co_return item + "!";
                        })
                        .start(1);
        std::vector<std::string> all;
        int sent = 0;
        spawn(sim.scheduler, send_numbers(line, 40, sent)).detach();
        spawn(sim.scheduler, collect(line, all)).detach();
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        std::vector<std::string> expected;
        for (int i = 0; i != 40; ++i) expected.push_back(std::to_string(i) + "!");
        EXPECT_EQ(all, expected);
        EXPECT_TRUE(line.has_ended());
        EXPECT_EQ(line.failure(), nullptr);
    }
}

TEST(Pipeline, AtMostSoManyCallsRun) {
    simulation sim;
    std::size_t inside = 0;
    std::size_t most = 0;
    auto line = pipeline_from<int>(sim.scheduler)
                    .then(
                        [&](int item) -> task<int> {
                            most = std::max(most, ++inside);
                            co_await sleep_for(1ms);
                            --inside;
                            co_return item;
                        },
                        {.at_most = 3})
                    .start();
    std::vector<int> all;
    int sent = 0;
    spawn(sim.scheduler, send_numbers(line, 9, sent)).detach();
    spawn(sim.scheduler, collect(line, all)).detach();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(most, 3U);
    EXPECT_EQ(all.size(), 9U);
}

// Nothing receives: the source is held back by the bounds, and by nothing else.
TEST(Pipeline, TheBoundsHoldTheSourceBack) {
    simulation sim;
    auto line = pipeline_from<int>(sim.scheduler)
                    .then([](int item) { return item; }, {.at_most = 3, .capacity = 4, .name = "a"})
                    .then([](int item) { return item; }, {.at_most = 2, .capacity = 5, .name = "b"})
                    .start(6);
    int sent = 0;
    spawn(sim.scheduler, send_numbers(line, 100, sent)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sent, 4 + 3 + 5 + 2 + 6);
    const auto held = line.progress();
    ASSERT_EQ(held.size(), 2U);
    EXPECT_STREQ(held[0].name.c_str(), "a");
    EXPECT_EQ(held[0].in, 16U);
    EXPECT_EQ(held[0].out, 13U);
    EXPECT_EQ(held[0].in_flight, 3U);
    EXPECT_EQ(held[0].waiting, 4U);
    EXPECT_EQ(held[1].in, 8U);
    EXPECT_EQ(held[1].out, 6U);
    EXPECT_EQ(held[1].in_flight, 2U);
    EXPECT_EQ(held[1].waiting, 5U);
    EXPECT_EQ(line.try_send(7).error(), wait_error::would_wait);
    EXPECT_EQ(line.try_receive().value(), 0);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sent, 21);
    std::vector<int> all;
    spawn(sim.scheduler, collect(line, all)).detach();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(all.size(), 99U);
    for (const stage_progress& each : line.progress()) {
        EXPECT_EQ(each.in, 100U);
        EXPECT_EQ(each.out, 100U);
        EXPECT_EQ(each.in_flight, 0U);
        EXPECT_EQ(each.dropped, 0U);
    }
}

// The receiver sees all items before the failed one, whichever failed first in time.
TEST(Pipeline, AFailureIsThatOfTheEarliestItem) {
    for (const std::size_t at_most : {1U, 2U, 4U}) {
        simulation sim;
        auto line = pipeline_from<int>(sim.scheduler)
                        .then(slow_first, {.at_most = at_most})
                        .then(
                            [](int item) -> task<int> {
                                if (item == 6) co_await sleep_for(5ms);
                                if (item == 6 || item == 8)
                                    throw std::runtime_error{std::to_string(item)};
                                co_return item;
                            },
                            {.at_most = at_most})
                        .then(
                            [](int item) -> task<int> {
                                co_await sleep_for(20ms);
                                co_return item;
                            },
                            {.at_most = at_most})
                        .start();
        std::vector<int> all;
        int sent = 0;
        spawn(sim.scheduler, send_numbers(line, 1000, sent)).detach();
        spawn(sim.scheduler, collect(line, all)).detach();
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_EQ(all, (std::vector{0, 1, 2, 3, 4, 5})) << at_most;
        EXPECT_EQ(text_of(line.failure()), "6");
        EXPECT_LT(sent, 1000) << "the source was told";
        EXPECT_EQ(line.try_send(1).error(), wait_error::closed);
        EXPECT_TRUE(line.has_ended());
        for (const stage_progress& each : line.progress()) {
            EXPECT_EQ(each.in, each.out + each.dropped);
            EXPECT_EQ(each.waiting, 0U);
        }
    }
}

// A later item fails first, in an earlier stage; then an earlier item fails behind it.
TEST(Pipeline, AnEarlierItemThatFailsLaterCounts) {
    simulation sim;
    auto line = pipeline_from<int>(sim.scheduler)
                    .then([](int item) {
                        if (item == 3) throw std::runtime_error{"three"};
                        return item;
                    })
                    .then([](int item) -> task<int> {
                        co_await sleep_for(1ms);
                        if (item == 1) throw std::runtime_error{"one"};
                        co_return item;
                    })
                    .start();
    std::vector<int> all;
    int sent = 0;
    spawn(sim.scheduler, send_numbers(line, 9, sent)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(text_of(line.failure()), "three");
    spawn(sim.scheduler, collect(line, all)).detach();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(all, std::vector{0});
    EXPECT_EQ(text_of(line.failure()), "one");
}

TEST(Pipeline, TheLastStageMayGiveNothing) {
    simulation sim;
    std::vector<int> written;
    auto line = pipeline_from<int>(sim.scheduler)
                    .then(slow_first, {.at_most = 4})
                    .then([&](int item) -> task<> {
                        co_await sleep_for(1ms);
                        written.push_back(item);
                    })
                    .start();
    int sent = 0;
    bool is_over = false;
    const auto waits = [&]() -> task<> {
        const auto ended = co_await line.ended();
        is_over = ended.has_value();
    };
    spawn(sim.scheduler, waits()).detach();
    spawn(sim.scheduler, send_numbers(line, 12, sent)).detach();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_TRUE(is_over);
    ASSERT_EQ(written.size(), 12U);
    EXPECT_TRUE(std::ranges::is_sorted(written));
    EXPECT_EQ(line.progress().back().out, 12U);
}

TEST(Pipeline, AnEndDropsWhatIsInside) {
    simulation sim;
    auto value = std::make_shared<int>(1);
    auto line = pipeline_from<std::shared_ptr<int>>(sim.scheduler)
                    .then(
                        [](std::shared_ptr<int> item) -> task<std::shared_ptr<int>> {
                            co_await sleep_for(1ms);
                            co_return item;
                        },
                        {.at_most = 2})
                    .start();
    for (int i = 0; i != 5; ++i) EXPECT_TRUE(line.try_send(std::shared_ptr<int>{value}));
    sim.scheduler.run_until_idle();
    line.end();
    EXPECT_EQ(line.try_receive().error(), wait_error::closed);
    EXPECT_EQ(value.use_count(), 3) << "two calls run";
    EXPECT_FALSE(line.has_ended());
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_TRUE(line.has_ended());
    EXPECT_EQ(value.use_count(), 1);
    EXPECT_EQ(line.failure(), nullptr);
}

// Whatever each worker does when the end comes, it hears of the end.
TEST(Pipeline, AnEndReachesAllWorkers) {
    for (int received = 0; received != 12; ++received) {
        for (const int late : {0, 1, 5, 8}) {
            simulation sim;
            auto line = pipeline_from<int>(sim.scheduler)
                            .then(
                                [late](int item) -> task<int> {
                                    if (item % 3 == 0) co_await sleep_for(late * 1ms);
                                    co_return item;
                                },
                                {.at_most = 3, .capacity = 1})
                            .then(
                                [](int item) -> task<int> {
                                    co_await yield();
                                    co_return item;
                                },
                                {.at_most = 2, .capacity = 1})
                            .start(1);
            int sent = 0;
            spawn(sim.scheduler, send_numbers(line, 100, sent)).detach();
            const auto ends = [&]() -> task<> {
                for (int i = 0; i != received; ++i) {
                    const auto next = co_await line.receive();
                    EXPECT_EQ(next, i);
                }
                line.end();
            };
            spawn(sim.scheduler, ends()).detach();
            EXPECT_TRUE(sim.scheduler.drain_for(1h)) << received << ' ' << late;
            EXPECT_TRUE(line.has_ended());
            EXPECT_LT(sent, 100);
        }
    }
}

TEST(Pipeline, ADestroyedSchedulerIsAStop) {
    auto sim = std::make_unique<simulation>();
    auto value = std::make_shared<int>(1);
    auto line = pipeline_from<std::shared_ptr<int>>(sim->scheduler)
                    .then(
                        [](std::shared_ptr<int> item) -> task<std::shared_ptr<int>> {
                            co_await sleep_for(1h);
                            co_return item;
                        },
                        {.at_most = 2})
                    .then([](std::shared_ptr<int> item) { return *item; }, {.at_most = 3})
                    .start();
    for (int i = 0; i != 5; ++i) EXPECT_TRUE(line.try_send(std::shared_ptr<int>{value}));
    sim->scheduler.run_until_idle();
    sim.reset();
    EXPECT_TRUE(line.has_ended());
    EXPECT_THROW(std::rethrow_exception(line.failure()), stopped_error);
    EXPECT_EQ(line.try_receive().error(), wait_error::closed);
    EXPECT_EQ(value.use_count(), 1);
}

// --- the context of an item ----------------------------------------------------------------------

constexpr context_key<int> source_of{inherit::messages};

TEST(Pipeline, AnItemKeepsTheContextOfItsSenderInAllStages) {
    simulation sim;
    const auto sees = [](int item) -> task<int> {
        const context here = co_await current_context();
        const int* const from = here.get(source_of);
        co_return item + (from != nullptr ? *from : 0);
    };
    auto line = pipeline_from<int>(sim.scheduler).then(sees, {.at_most = 2}).then(sees).start();
    const auto sends = [&](int item) -> task<> {
        const auto sent = co_await line.send(std::move(item));
        EXPECT_TRUE(sent.has_value());
    };
    spawn(sim.scheduler, with_value(source_of, 10, sends(1))).detach();
    spawn(sim.scheduler, sends(2)).detach();
    spawn(sim.scheduler, with_value(source_of, 20, sends(3))).detach();
    std::vector<int> all;
    spawn(sim.scheduler, collect(line, all)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all, (std::vector{21, 2, 43}));
    line.close();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
}

TEST(Pipeline, AnOverdueItemIsDroppedAndTheRestGoOn) {
    for (const std::size_t at_most : {1U, 3U}) {
        simulation sim;
        const time_point begin = sim.clock.now();
        auto line = pipeline_from<int>(sim.scheduler)
                        .then(
                            [](int item) -> task<int> {
                                co_await sleep_for(item * 1ms);
                                co_return item;
                            },
                            {.at_most = at_most})
                        .start();
        const auto sends = [&](int item) -> task<int> {
            const auto sent = co_await line.send(std::move(item));
            EXPECT_TRUE(sent.has_value());
            co_return 0;
        };
        spawn(sim.scheduler, sends(1)).detach();
        spawn(sim.scheduler, with_deadline(5ms, sends(1000))).detach();
        spawn(sim.scheduler, sends(2)).detach();
        std::vector<int> all;
        spawn(sim.scheduler, collect(line, all)).detach();
        sim.scheduler.run_until_idle();
        line.close();
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_EQ(all, (std::vector{1, 2}));
        EXPECT_EQ(line.failure(), nullptr);
        EXPECT_EQ(line.progress()[0].dropped, 1U);
        EXPECT_LT(sim.clock.now() - begin, 1s) << "the call has ended at the deadline";
    }
}

TEST(Pipeline, OutlivesTheDeadlineOfTheTaskThatStartsIt) {
    for (const std::size_t at_most : {1U, 3U}) {
        simulation sim;
        std::optional<pipeline<int, int>> line;
        const auto starts = [&]() -> task<int> {
            line.emplace(pipeline_from<int>(sim.scheduler)
                             .then([](int item) { return item; }, {.at_most = at_most})
                             .start());
            co_return 0;
        };
        auto started = starts();
        spawn(sim.scheduler, with_deadline(5ms, std::move(started))).detach();
        EXPECT_FALSE(sim.scheduler.drain_for(1s));
        std::vector<int> all;
        int sent = 0;
        spawn(sim.scheduler, collect(*line, all)).detach();
        spawn(sim.scheduler, send_numbers(*line, 4, sent)).detach();
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_EQ(all, (std::vector{0, 1, 2, 3}));
    }
}

// --- threads -------------------------------------------------------------------------------------

TEST(Pipeline, OnThreadsTheOrderHolds) {
    constexpr int count = 5'000;
    for (const policy order : {policy::fair, policy::stealing}) {
        scheduler pool{{.workers = 3, .policy = order}};
        auto line = pipeline_from<int>(pool)
                        .then(
                            [](int item) -> task<int> {
                                if (item % 3 == 0) co_await yield();
                                co_return item;
                            },
                            {.at_most = 4, .capacity = 3})
                        .then([](int item) { return item * 2; }, {.at_most = 3, .capacity = 2})
                        .start(4);
        std::thread source{[&] {
            for (int i = 0; i != count; ++i) EXPECT_TRUE(line.send_blocking(int{i}).has_value());
            line.close();
        }};
        int next = 0;
        for (;;) {
            const auto got = line.receive_blocking();
            if (!got) break;
            ASSERT_EQ(*got, next * 2);
            ++next;
        }
        source.join();
        EXPECT_EQ(next, count);
        EXPECT_TRUE(line.ended_blocking().has_value());
        EXPECT_EQ(line.failure(), nullptr);
    }
}

}  // namespace
}  // namespace fairlead::pipeline_tests
