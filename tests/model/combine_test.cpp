// Combinators. Ends of children race with each other, with the start of the next child of a bound,
// with a deadline, and with a stop: every child ends once, and what has not begun never does.
#include "model/interruption.hpp"

#include <fairlead/combine/as_completed.hpp>
#include <fairlead/combine/when_any.hpp>
#include <fairlead/combine/with_timeout.hpp>
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead::combine_tests {
namespace {

using namespace std::chrono_literals;
using model::interruption;
using model::plain;
using model::require;
using model::stops;

constexpr std::size_t count = 3;

// How often each child has begun and ended. Two at once would be a race.
struct counts {
    std::array<plain<int>, count> begun{plain<int>{0}, plain<int>{0}, plain<int>{0}};
    std::array<plain<int>, count> ended{plain<int>{0}, plain<int>{0}, plain<int>{0}};

    void check(std::size_t index) const {
        require(ended[index] == begun[index] && begun[index] < 2, "each ends that has begun");
    }
};

task<int> child(counts& of, std::size_t index) {
    of.begun[index] = of.begun[index] + 1;
    co_await shielded(yield());
    of.ended[index] = of.ended[index] + 1;
    co_return static_cast<int>(index);
}

std::vector<task<int>> children(counts& of) {
    std::vector<task<int>> all;
    for (std::size_t i = 0; i != count; ++i) all.push_back(child(of, i));
    return all;
}

task<bool> takes_any(counts& of, std::size_t bound) {
    const auto first = co_await when_any(children(of), max_concurrency{bound});
    for (std::size_t i = 0; i != count; ++i) of.check(i);
    co_return !first.result || *first.result == static_cast<int>(first.index);
}

// The end that decides races with the end that would start the next child.
TEST(ModelCombine, ABoundedGroupEndsWithEachChildThatHasBegun) {
    for (const std::size_t bound : {1U, 2U}) {
        model::expect_passes_though_stopped([bound](stops how) {
            counts of;
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            require(model::result_of(spawn(scheduler, takes_any(of, bound))), "its own result");
        });
    }
}

// A stop of the waiting task comes at any moment.
TEST(ModelCombine, AStopIsPassedOnWhileChildrenBegin) {
    model::expect_passes_by_priorities([] {
        counts of;
        scheduler scheduler{{.workers = 2}};
        auto waits = spawn(scheduler, takes_any(of, 1));
        waits.request_stop();
        require(model::result_of(waits), "its own result");
    });
}

task<std::size_t> counts_given(counts& of, std::size_t bound) {
    auto stream = as_completed(children(of), max_concurrency{bound});
    std::array<int, count> given{};
    std::size_t all = 0;
    while (const auto next = co_await stream.next()) {
        ++given[next->index];
        ++all;
    }
    for (std::size_t i = 0; i != count; ++i) {
        of.check(i);
        require(given[i] == 1, "each is given once");
    }
    co_return all;
}

TEST(ModelCombine, AStreamGivesEachOnceThoughStopped) {
    for (const std::size_t bound : {1U, 2U}) {
        model::expect_passes_though_stopped([bound](stops how) {
            counts of;
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            auto given = spawn(scheduler, counts_given(of, bound));
            if (how == stops::none) given.request_stop();
            require(model::result_of(given) == count, "all were given");
        });
    }
}

// A deadline that has passed keeps the workers of a stream from their first step, while the stream
// still makes them. A later one ends the tasks.
TEST(ModelCombine, AStreamGivesEachOnceThoughOverdue) {
    for (const time_point deadline : {immediately, time_point{1us}}) {
        model::expect_passes_by_priorities([deadline] {
            counts of;
            scheduler scheduler{{.workers = 2}};
            const auto loop = [&](completions<int>& stream) -> task<> {
                std::size_t all = 0;
                while (co_await shielded(stream.next())) ++all;
                require(all == count, "all were given");
            };
            auto body = with_completed(children(of), loop, max_concurrency{2});
            auto loops = spawn(scheduler, with_deadline(deadline, std::move(body)));
            static_cast<void>(model::result_of(loops));
            for (std::size_t i = 0; i != count; ++i) of.check(i);
        });
    }
}

// The deadline of a group comes after an inherited one. The child ends at the same time, or never.
TEST(ModelCombine, ATimeoutHoldsAfterAnInheritedDeadline) {
    for (const time_point end : {time_point{2us}, never}) {
        model::expect_passes_by_priorities([end] {
            scheduler scheduler{{.workers = 2}};
            const auto apart = [](time_point until) -> task<int> {
                co_await sleep_until(until);
                co_return 1;
            };
            const auto times = [&]() -> task<waited<int>> {
                auto ended =
                    co_await with_timeout(with_context(context{}, apart(end)), time_point{2us});
                co_return ended;
            };
            const auto ended = model::result_of(spawn(scheduler, with_deadline(1us, times())));
            require(ended || ended.error() == wait_error::expired, "by its own deadline");
            require(clock::now() < time_point{1s}, "in time");
        });
    }
}

}  // namespace
}  // namespace fairlead::combine_tests
