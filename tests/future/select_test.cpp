// Futures as branches of a select: the result is taken by the branch that ends, and stays with the
// future of a branch that does not.
#include "future/failures.hpp"
#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/future/promise.hpp>
#include <fairlead/future/run.hpp>
#include <fairlead/future/shared_future.hpp>

#include <gtest/gtest.h>

#include <expected>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::select_tests {
namespace {

using namespace std::chrono_literals;
using test::failure;
using test::simulation;
using test::watchdog;

// Which branch has ended, and its value.
using told = std::pair<char, int>;

task<told> first_of(future<int>& a, future<int>& b) {
    const auto selected = co_await select(on(std::move(a),
                                             [](int value) {
                                                 return told{'a', value};
                                             }),
                                          on(std::move(b), [](int value) {
                                              return told{'b', value};
                                          }));
    co_return selected ? *selected : told{'s', 0};
}

TEST(FutureSelect, AResultThatIsThereIsTaken) {
    simulation sim;
    auto [promise, empty] = make_promise<int>();
    future<int> there = ready(7);
    auto first = spawn(sim.scheduler, first_of(empty, there));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(first.get(), (told{'b', 7}));
    EXPECT_FALSE(there.valid()) << "it was taken";
    EXPECT_TRUE(empty.valid()) << "it was not";
    promise.set(3);
    EXPECT_EQ(empty.take(), 3);
}

TEST(FutureSelect, WaitsForTheFirstResultAndTheOtherFutureIsUsedAgain) {
    simulation sim;
    auto one = make_promise<int>();
    auto two = make_promise<int>();
    auto first = spawn(sim.scheduler, first_of(one.future, two.future));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(first.ended());
    two.promise.set(2);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(first.get(), (told{'b', 2}));
    EXPECT_FALSE(one.future.is_ready());
    EXPECT_TRUE(one.promise.is_wanted());

    auto three = make_promise<int>();
    auto again = spawn(sim.scheduler, first_of(one.future, three.future));
    sim.scheduler.run_until_idle();
    one.promise.set(1);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(again.get(), (told{'a', 1}));
}

TEST(FutureSelectDeathTest, AFutureInTwoBranchesAborts) {
    future<int> it;
    const auto waits_twice = [&] {
        simulation sim;
        auto both = make_promise<int>();
        it = std::move(both.future);
        spawn(sim.scheduler, first_of(it, it)).detach();
        sim.scheduler.run_until_idle();
    };
    EXPECT_DEATH(waits_twice(), "a future is awaited twice at once");
}

TEST(FutureSelect, AFutureThatHasLostIsContinuedOrDropped) {
    simulation sim;
    auto one = make_promise<int>();
    auto two = make_promise<int>();
    future<int> there = ready(3);
    for (future<int>* const each : {&one.future, &two.future}) {
        there = ready(3);
        auto first = spawn(sim.scheduler, first_of(*each, there));
        sim.scheduler.run_until_idle();
        EXPECT_EQ(first.get(), (told{'b', 3}));
    }
    int seen = 0;
    std::move(one.future).map([&](int value) { seen = value; }).detach();
    one.promise.set(5);
    EXPECT_EQ(seen, 5);
    two.future.detach();
    EXPECT_FALSE(two.promise.is_wanted());
    two.promise.set(6);
}

TEST(FutureSelect, AFailureIsThrownOrGiven) {
    simulation sim;
    static constexpr auto throws = [](future<int>& from) -> task<std::string> {
        try {
            static_cast<void>(co_await select(on(std::move(from), [](int) {})));
        } catch (const std::runtime_error& caught) {
            co_return caught.what();
        }
        co_return "nothing";
    };
    static constexpr auto gives = [](future<int, failure>& from) -> task<failure> {
        const auto given = [](const std::expected<int, failure>& it) { return it.error(); };
        co_return (co_await select(on(std::move(from), given))).value();
    };
    auto thrown = failed<int>(std::make_exception_ptr(std::runtime_error{"it"}));
    EXPECT_EQ(block_on(sim.scheduler, throws(thrown)), "it");
    auto typed = failed<int, failure>({"no"});
    EXPECT_EQ(block_on(sim.scheduler, gives(typed)), failure{"no"});
    auto broken = std::move(make_promise<int, failure>().future);
    EXPECT_EQ(block_on(sim.scheduler, gives(broken)), failure{"broken"});
}

TEST(FutureSelect, AStopOrADeadlineLeavesTheFuture) {
    simulation sim;
    auto one = make_promise<int>();
    auto two = make_promise<int>();
    auto stopped = spawn(sim.scheduler, first_of(one.future, two.future));
    sim.scheduler.run_until_idle();
    stopped.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(stopped.get(), (told{'s', 0}));

    static constexpr auto waits_a_second = [](future<int>& from) -> task<wait_error> {
        const auto why = [](waited<void> it) { return it.error(); };
        co_return (co_await select(on(from.wait(clock::now() + 1s), why))).value();
    };
    EXPECT_EQ(block_on(sim.scheduler, waits_a_second(one.future)), wait_error::expired);
    one.promise.set(1);
    two.promise.set(2);
    EXPECT_EQ(one.future.take(), 1);
    EXPECT_EQ(two.future.take(), 2);
}

// The wait for the result tells that it is there, and leaves it in the future.
TEST(FutureSelect, AWaitDoesNotTakeTheResult) {
    simulation sim;
    static constexpr auto waits = [](future<std::unique_ptr<int>>& from) -> task<bool> {
        const auto there = [](waited<void> it) { return it.has_value(); };
        co_return (co_await select(on(from.wait(), there), on(sleep_for(9s), [] { return false; })))
            .value();
    };
    auto [promise, future] = make_promise<std::unique_ptr<int>>();
    auto ended = spawn(sim.scheduler, waits(future));
    sim.scheduler.run_until_idle();
    promise.set(std::make_unique<int>(4));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(ended.get());
    EXPECT_EQ(*future.take().value(), 4);
}

TEST(FutureSelect, ASharedFutureGivesItsCopyToEach) {
    simulation sim;
    static constexpr auto one_of = [](const shared_future<int>& from,
                                      channel<int>& in) -> task<told> {
        co_return (co_await select(on(from,
                                      [](int value) {
                                          return told{'f', value};
                                      }),
                                   on(in.receive(),
                                      [](waited<int> got) {
                                          return told{'c', got.value_or(0)};
                                      })))
            .value();
    };
    channel<int> in{1};
    auto both = make_promise<int>();
    auto all = share(std::move(both.future));
    auto loses = spawn(sim.scheduler, one_of(all, in));
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(in.try_send(1));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(loses.get(), (told{'c', 1}));

    std::vector<join_handle<told>> waiting;
    for (int i = 0; i != 3; ++i) waiting.push_back(spawn(sim.scheduler, one_of(all, in)));
    sim.scheduler.run_until_idle();
    both.promise.set(8);
    sim.scheduler.run_until_idle();
    for (auto& each : waiting) EXPECT_EQ(each.get(), (told{'f', 8}));
    EXPECT_EQ(block_on(sim.scheduler, one_of(all, in)), (told{'f', 8}));

    static constexpr auto waits = [](shared_future<int> from) -> task<bool> {
        co_return (co_await select(on(from.wait(), [](waited<void> it) {
            return it.has_value();
        }))).value();
    };
    EXPECT_TRUE(block_on(sim.scheduler, waits(all)));
}

TEST(FutureSelect, ADisabledBranchMayHaveNoFuture) {
    simulation sim;
    static constexpr auto takes_all = [](future<int>& a, future<int>& b) -> task<int> {
        int sum = 0;
        const auto adds = [&](int value) { sum += value; };
        while (a.valid() || b.valid()) {
            const auto taken = co_await select(on_if(a.valid(), std::move(a), adds),
                                               on_if(b.valid(), std::move(b), adds));
            if (!taken) break;
        }
        co_return sum;
    };
    auto one = make_promise<int>();
    future<int> there = ready(20);
    auto sum = spawn(sim.scheduler, takes_all(one.future, there));
    sim.scheduler.run_until_idle();
    one.promise.set(1);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(sum.get(), 21);
}

TEST(FutureSelect, LeavesTheFutureWhenItsTaskIsDestroyed) {
    auto one = make_promise<int>();
    auto two = make_promise<int>();
    {
        simulation sim;
        spawn(sim.scheduler, first_of(one.future, two.future)).detach();
        sim.scheduler.run_until_idle();
    }
    one.promise.set(1);
    EXPECT_EQ(one.future.take(), 1);
    two.promise.set(2);
    EXPECT_EQ(two.future.take(), 2);
}

// Two results come at the same time: one is taken, and the other one is in its future.
TEST(FutureSelect, ResultsRaceOnThreads) {
    const watchdog guard;
    scheduler threads{{.workers = 4}};
    for (int round = 0; round != 2000; ++round) {
        auto one = make_promise<int>();
        auto two = make_promise<int>();
        auto gives_one = run(threads, [&] { one.promise.set(1); });
        auto gives_two = run(threads, [&] { two.promise.set(2); });
        const auto [which, value] = block_on(threads, first_of(one.future, two.future));
        EXPECT_EQ(value, which == 'a' ? 1 : 2);
        future<int>& other = which == 'a' ? two.future : one.future;
        EXPECT_FALSE((which == 'a' ? one : two).future.valid());
        EXPECT_EQ(other.get(), which == 'a' ? 2 : 1);
        gives_one.get();
        gives_two.get();
    }
}

}  // namespace
}  // namespace fairlead::select_tests
