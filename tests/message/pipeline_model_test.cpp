// Pipelines against a loop that calls the same functions for one item after the other.
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/message/pipeline.hpp>

#include "support/seeds.hpp"
#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::pipeline_model_tests {
namespace {

using namespace std::chrono_literals;
using test::below;
using test::simulation;

// What a stage does with each item.
struct plan {
    stage_options options;
    std::vector<std::chrono::milliseconds> times;  // of each item, modulo
    std::set<int> fails;
};

plan draw(std::mt19937_64& random, int items) {
    plan drawn;
    drawn.options = {.at_most = 1 + below(random, 4U), .capacity = 1 + below(random, 3U)};
    for (int i = 0; i != 7; ++i) drawn.times.push_back(below(random, 4) * 1ms);
    for (int i = below(random, 3) - 1; i > 0; --i) drawn.fails.insert(below(random, items));
    return drawn;
}

int apply(const plan& stage, int item) {
    if (stage.fails.contains(item)) throw std::runtime_error{std::to_string(item)};
    return item;
}

// The functions, with their times.
auto stage_of(const plan& stage, std::size_t& inside) {
    return [&stage, &inside](int item) -> task<int> {
        EXPECT_LE(++inside, stage.options.at_most);
        const auto time = stage.times[static_cast<std::size_t>(item) % stage.times.size()];
        if (time != 0ms) static_cast<void>(co_await as_result(sleep_for(time)));
        --inside;
        co_return apply(stage, item);
    };
}

struct outcome {
    std::vector<int> out;
    std::string failure = "none";
    bool operator==(const outcome&) const = default;
};

outcome loop(const std::array<plan, 3>& stages, int items, const std::set<int>& late) {
    outcome all;
    for (int i = 0; i != items; ++i) {
        if (late.contains(i)) continue;
        try {
            int item = i;
            for (const plan& each : stages) item = apply(each, item);
            all.out.push_back(item);
        } catch (const std::runtime_error& failure) {
            all.failure = failure.what();
            break;
        }
    }
    return all;
}

TEST(PipelineModel, GivesWhatALoopGives) {
    test::for_each_seed(400, [](std::mt19937_64& random) {
        simulation sim;
        const int items = 1 + below(random, 40);
        const std::array stages{draw(random, items), draw(random, items), draw(random, items)};
        std::array<std::size_t, 3> inside{};
        // Their deadline has passed when they are sent.
        std::set<int> late;
        for (int i = below(random, 4); i > 0; --i) late.insert(below(random, items));
        const std::size_t capacity = 1 + below(random, 3U);
        auto line = pipeline_from<int>(sim.scheduler)
                        .then(stage_of(stages[0], inside[0]), stages[0].options)
                        .then(stage_of(stages[1], inside[1]), stages[1].options)
                        .then(stage_of(stages[2], inside[2]), stages[2].options)
                        .start(capacity);
        int sent = 0;
        const auto sends_late = [&](int item) -> task<int> {
            // The send waits within its deadline, and the item is overdue when it is taken.
            while (line.try_send(int{item}) ==
                   waited<void>{std::unexpect, wait_error::would_wait}) {
                co_await shielded(sleep_for(1ms));
            }
            co_return 0;
        };
        const auto sends = [&]() -> task<> {
            for (; sent != items; ++sent) {
                if (late.contains(sent)) {
                    const auto ended = co_await with_deadline(immediately, sends_late(sent));
                    EXPECT_TRUE(ended.has_value());
                    continue;
                }
                const auto ended = co_await line.send(int{sent});
                if (!ended) co_return;
            }
            line.close();
        };
        outcome got;
        const auto receives = [&]() -> task<> {
            for (;;) {
                if (got.out.size() % 5 == 3) co_await sleep_for(2ms);
                const auto next = co_await line.receive();
                if (!next) break;
                got.out.push_back(*next);
            }
        };
        spawn(sim.scheduler, sends()).detach();
        spawn(sim.scheduler, receives()).detach();
        ASSERT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_TRUE(line.has_ended());
        if (const auto why = line.failure()) {
            try {
                std::rethrow_exception(why);
            } catch (const std::runtime_error& failure) {
                got.failure = failure.what();
            }
        }
        const outcome expected = loop(stages, items, late);
        EXPECT_EQ(got.out, expected.out);
        EXPECT_EQ(got.failure, expected.failure);
        std::uint64_t came = static_cast<std::uint64_t>(sent);
        for (const stage_progress& each : line.progress()) {
            EXPECT_LE(each.in, came);
            EXPECT_EQ(each.in, each.out + each.dropped);
            EXPECT_EQ(each.waiting, 0U);
            came = each.out;
        }
        EXPECT_EQ(came, got.out.size());
    });
}

// An end at any moment: what came before are the first results, and all workers end.
TEST(PipelineModel, AnEndAtAnyMomentLeavesNothing) {
    test::for_each_seed(400, [](std::mt19937_64& random) {
        simulation sim;
        const int items = 30;
        const std::array stages{draw(random, items), draw(random, items), draw(random, items)};
        std::array<std::size_t, 3> inside{};
        auto line = pipeline_from<int>(sim.scheduler)
                        .then(stage_of(stages[0], inside[0]), stages[0].options)
                        .then(stage_of(stages[1], inside[1]), stages[1].options)
                        .then(stage_of(stages[2], inside[2]), stages[2].options)
                        .start(1);
        // A late item is dropped where it is taken or given, and its worker goes on, while a worker
        // beside it finds the link behind closed.
        const auto sends = [&]() -> task<> {
            for (int i = 0; i != items; ++i) {
                const auto one = [&](int item) -> task<waited<void>> {
                    const auto ended = co_await line.send(std::move(item));
                    co_return ended;
                };
                const std::chrono::milliseconds limit =
                    below(random, 3) == 0 ? 1ms * below(random, 5) : 1h;
                const auto ended = co_await with_deadline(limit, one(i));
                if (!ended && ended.error() == wait_error::closed) co_return;
            }
        };
        std::vector<int> out;
        const auto receives = [&]() -> task<> {
            for (;;) {
                const auto next = co_await line.receive();
                if (!next) break;
                out.push_back(*next);
            }
        };
        const auto moment = below(random, 40) * 1ms;
        const auto ends = [&]() -> task<> {
            co_await sleep_for(moment);
            line.end();
        };
        spawn(sim.scheduler, sends()).detach();
        spawn(sim.scheduler, receives()).detach();
        spawn(sim.scheduler, ends()).detach();
        ASSERT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_TRUE(line.has_ended());
        EXPECT_TRUE(std::ranges::is_sorted(out, std::ranges::less_equal{}))
            << "each once, in order";
    });
}

}  // namespace
}  // namespace fairlead::pipeline_model_tests
