// Calls that are offered to other workers. The end of a taken call races with its parent, which
// takes it back, helps its taker, or sleeps. In each scenario one more thread may stop the
// scheduler.
#include "model/interruption.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/parallel_invoke.hpp>

#include <fairlead/detail/sched/forks.hpp>
#include <fairlead/detail/sync/signal.hpp>

#include <gtest/gtest.h>

namespace fairlead::parallel_invoke_tests {
namespace {

using model::interruption;
using model::require;
using model::stops;

// The parent sees what the calls have written, and each was made once.
TEST(ModelParallelInvoke, TheParentSeesWhatItsCallsHaveWritten) {
    static constexpr auto parent = []() -> task<> {
        model::plain<int> one{0};
        model::plain<int> two{0};
        parallel_invoke([&] { one = one + 1; }, [&] { two = two + 1; });
        require(one == 1 && two == 1, "both have returned");
        co_return;
    };
    model::expect_ends_though_stopped(parent);
}

int leaves(int depth) {
    if (depth == 0) return 1;
    const auto [left, right] =
        parallel_invoke([=] { return leaves(depth - 1); }, [=] { return leaves(depth - 1); });
    return left + right;
}

// A worker that waits calls what its taker has offered.
TEST(ModelParallelInvoke, ATreeOfCalls) {
    static constexpr auto parent = []() -> task<> {
        require(leaves(2) == 4, "all leaves are counted");
        co_return;
    };
    model::expect_ends_though_stopped(parent);
}

struct failure {};

TEST(ModelParallelInvoke, AFailureOfWhatWasTakenArrives) {
    static constexpr auto parent = []() -> task<> {
        model::plain<int> written{0};
        bool caught = false;
        try {
            parallel_invoke([] {},
                            [&] {
                                written = 1;
                                throw failure{};
                            });
        } catch (const failure&) {
            caught = true;
        }
        require(caught && written == 1, "the call has thrown");
        co_return;
    };
    model::expect_ends_though_stopped(parent);
}

TEST(ModelParallelInvoke, AFailureOfTheFirstWaitsForWhatWasTaken) {
    static constexpr auto parent = []() -> task<> {
        model::plain<int> written{0};
        bool caught = false;
        try {
            parallel_invoke([] { throw failure{}; }, [&] { written = 1; });
        } catch (const failure&) {
            caught = true;
        }
        require(caught, "the first has thrown");
        written = 2;  // no other worker writes it any more
        co_return;
    };
    model::expect_ends_though_stopped(parent);
}

// The protocol alone: a parent that has come sees the end, or else the taker has not gone on yet.
TEST(ModelParallelInvoke, ATakerGoesOnWhenNoParentIsAboutToSteal) {
    model::expect_passes([] {
        sched::offered_forks forks{1};
        sync::signal ended;
        model::plain<int> step{1};
        model::in_threads(
            [&] {
                ended.send();
                forks.wait_for_thieves();
                step = 2;
            },
            [&] {
                forks.thief_comes();
                if (!ended.try_receive()) require(step == 1, "a call of this step");
                forks.thief_goes();
            });
    });
}

// The taker goes on with other work when its call has ended.
task<> writes(model::plain<int>& into) {
    into = 1;
    co_return;
}
task<> forks() {
    model::plain<int> one{0};
    model::plain<int> two{0};
    co_await fork_join(writes(one), writes(two));
    require(one == 1 && two == 1, "both have ended");
}
task<> calls(int depth) {
    require(leaves(depth) == 1 << depth, "all leaves are counted");
    co_return;
}

TEST(ModelParallelInvoke, BesideForksOfAnotherTask) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        auto first = spawn(scheduler, calls(1));
        auto second = spawn(scheduler, forks());
        model::result_of(first);
        model::result_of(second);
    });
}

TEST(ModelParallelInvoke, BesideAnotherTree) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        auto first = spawn(scheduler, calls(1));
        auto second = spawn(scheduler, calls(2));
        model::result_of(first);
        model::result_of(second);
    });
}

}  // namespace
}  // namespace fairlead::parallel_invoke_tests
