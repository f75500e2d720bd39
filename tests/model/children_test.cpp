// Children with a bound: ends start the next children, and race with each other, with the end that
// decides, and with a stop of the scheduler.
#include "model/explore.hpp"
#include "model/interruption.hpp"

#include <fairlead/combine/when_all_settled.hpp>
#include <fairlead/combine/when_any.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace fairlead::children_tests {
namespace {

using model::interruption;
using model::require;
using model::stops;

// What the children of one scenario have done.
struct seen {
    sync::atomic<int> begun{0};
    sync::atomic<int> running{0};
};

// In a child, as long as that runs.
class running_child {
public:
    running_child(seen& by, int bound) : by_{by} {
        by_.begun.fetch_add(1, sync::relaxed);
        require(by_.running.fetch_add(1, sync::relaxed) < bound, "no more at once than the bound");
    }
    running_child(const running_child&) = delete;
    running_child& operator=(const running_child&) = delete;
    ~running_child() { by_.running.fetch_sub(1, sync::relaxed); }

private:
    seen& by_;
};

task<int> child_of(seen& by, int bound, int value) {
    const running_child here{by, bound};
    co_await yield();
    co_return value;
}

std::vector<task<int>> children(seen& by, int bound, int count) {
    std::vector<task<int>> bodies;
    for (int i = 0; i != count; ++i) bodies.push_back(child_of(by, bound, i));
    return bodies;
}

task<std::size_t> all_have_results(seen& by) {
    const auto all = co_await when_all_settled(children(by, 2, 4), max_concurrency{2});
    std::size_t results = 0;
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (!all[i]) continue;
        require(*all[i] == static_cast<int>(i), "its result");
        ++results;
    }
    co_return results;
}

TEST(ModelChildren, TwoEndsStartTwoChildren) {
    model::expect_passes_though_stopped([](stops how) {
        seen by;
        std::size_t results = 0;
        {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            results = model::result_of(spawn(scheduler, all_have_results(by)));
        }
        require(by.running.load(sync::relaxed) == 0, "all that have begun have ended");
        require(how != stops::none || results == 4, "each has begun");
    });
}

task<int> fails_of(seen& by) {
    const running_child here{by, 2};
    co_await yield();
    throw 1;
    co_return 0;
}

// Whether the first failure was given; not: a stop has ended all.
task<bool> fails_at_once(std::vector<task<int>> bodies) {
    try {
        static_cast<void>(co_await when_all(std::move(bodies), max_concurrency{2}));
    } catch (const stopped_error&) {
        co_return false;
    } catch (int) {
        co_return true;
    }
    require(false, "a child has failed");
    co_return false;
}

void expect_first_failure(stops how, int begins_at_most, seen& by, std::vector<task<int>> bodies) {
    bool failed = false;
    {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        failed = model::result_of(spawn(scheduler, fails_at_once(std::move(bodies))));
    }
    require(by.running.load(sync::relaxed) == 0, "all that have begun have ended");
    require(by.begun.load(sync::relaxed) <= begins_at_most, "none begins after the stop");
    require(how != stops::none || failed, "the first failure");
}

// The child that is started in the same moment as the stop begins, and hears it; or it never does.
TEST(ModelChildren, AnEndStartsTheNextWhileAnotherStopsTheRest) {
    model::expect_passes_though_stopped([](stops how) {
        seen by;
        std::vector<task<int>> bodies;
        bodies.push_back(fails_of(by));
        for (int i = 0; i != 3; ++i) bodies.push_back(child_of(by, 2, i));
        expect_first_failure(how, 4, by, std::move(bodies));
    });
}

// Two that fail at once subtract the rest, which never begin, once.
TEST(ModelChildren, ChildrenThatNeverBeginAreNotWaitedFor) {
    model::expect_passes_though_stopped([](stops how) {
        seen by;
        std::vector<task<int>> bodies;
        for (int i = 0; i != 4; ++i) bodies.push_back(fails_of(by));
        expect_first_failure(how, 2, by, std::move(bodies));
    });
}

task<bool> first_has_a_result(seen& by) {
    const auto first = co_await when_any(children(by, 2, 4), max_concurrency{2});
    require(!first.result || *first.result == static_cast<int>(first.index), "its result");
    co_return first.result.has_value();
}

TEST(ModelChildren, OneOfTwoEndsDecides) {
    model::expect_passes_though_stopped([](stops how) {
        seen by;
        bool has_result = false;
        {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            has_result = model::result_of(spawn(scheduler, first_has_a_result(by)));
        }
        require(by.running.load(sync::relaxed) == 0, "all that have begun have ended");
        require(by.begun.load(sync::relaxed) <= 2, "none begins after the first end");
        require(how != stops::none || has_result, "the first end");
    });
}

}  // namespace
}  // namespace fairlead::children_tests
