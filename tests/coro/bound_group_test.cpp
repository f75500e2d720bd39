// Coroutines in a group that is bound to a worker.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/sched/group.hpp>

#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <thread>
#include <utility>

namespace fairlead::bound_group_tests {
namespace {

using namespace std::chrono_literals;

// Counts runs, which must all be on one thread, without a lock.
class runs_there {
public:
    explicit runs_there(std::thread::id where) : where_{where} {}
    void run() {
        ++count_;
        elsewhere_ += std::this_thread::get_id() != where_;
    }
    [[nodiscard]] int count() const { return count_; }
    [[nodiscard]] int elsewhere() const { return elsewhere_; }

private:
    const std::thread::id where_;
    int count_ = 0;
    int elsewhere_ = 0;
};

task<std::thread::id> asks() { co_return std::this_thread::get_id(); }

task<> leaf(runs_there& runs) {
    runs.run();
    co_await yield();
    runs.run();
}

// Nested loops, forks, children, joins, sleeps and blocking calls.
task<int> nested(int depth, runs_there& runs) {
    runs.run();
    if (depth == 0) {
        co_await for_each_index(50, [&](std::size_t) { runs.run(); }, {.slice = 10us});
        co_await blocking([] {});
        runs.run();
        co_return 1;
    }
    auto [left, right] = co_await fork_join(nested(depth - 1, runs), nested(depth - 1, runs));
    runs.run();
    co_await when_all(nested(depth - 1, runs), leaf(runs));
    runs.run();
    int more = 0;
    co_await with_scope([&](scope& all) -> task<> {
        runs.run();
        all.spawn(leaf(runs));
        co_await all.fork(leaf(runs));
        more = co_await nested(depth - 1, runs);
        co_await sleep_for(10us);
        runs.run();
    });
    runs.run();
    co_return left + right + more;
}

TEST(BoundGroupOfCoroutines, WhateverTheyStartRunsOnItsThreadAndEnds) {
    test::watchdog guard;
    for (const policy policy : {policy::fair, policy::stealing}) {
        scheduler scheduler{{.workers = 4, .policy = policy}};
        group bound{scheduler, {.bound = true}};
        runs_there runs{block_on(bound, asks())};
        int leaves = 0;  // not atomic: all steps run on one thread
        const auto adds = [&]() -> task<> { leaves += co_await nested(3, runs); };
        for (int i = 0; i != 10; ++i) spawn(bound, adds()).detach();
        scheduler.drain();
        EXPECT_EQ(leaves, 10 * 27);
        EXPECT_GE(runs.count(), 10 * 64 * 50);
        EXPECT_EQ(runs.elsewhere(), 0);
        EXPECT_EQ(bound.stats().tasks, 0U);
    }
}

// Coroutines move from group to group and back, while other tasks keep the workers busy.
TEST(BoundGroupOfCoroutines, TheyComeAndGo) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    std::deque<group> bound;
    std::deque<runs_there> runs;
    for (unsigned i = 0; i != 3; ++i) {
        bound.emplace_back(scheduler).bind(i);
        runs.emplace_back(block_on(bound[i], asks()));
    }
    std::atomic<bool> goes_on{true};
    const auto busy = [&]() -> task<> {
        while (goes_on) co_await yield();
    };
    for (int i = 0; i != 4; ++i) spawn(scheduler, busy()).detach();
    const auto travels = [&](std::size_t first) -> task<> {
        for (std::size_t i = 0; i != 100; ++i) {
            const std::size_t to = (first + i) % 3;
            co_await resume_on(bound[to]);
            runs[to].run();
            co_await yield();
            runs[to].run();
            if (i % 10 == 0) co_await resume_on(scheduler);
        }
    };
    std::deque<join_handle<void>> all;
    for (std::size_t i = 0; i != 12; ++i) all.push_back(spawn(scheduler, travels(i)));
    for (join_handle<void>& each : all) std::move(each).get();
    goes_on = false;
    scheduler.drain();
    for (const runs_there& each : runs) {
        EXPECT_EQ(each.count(), 12 * 200 / 3);
        EXPECT_EQ(each.elsewhere(), 0);
    }
}

// A group is bound and released while its coroutines fork. Each coroutine ends once.
TEST(BoundGroupOfCoroutines, MayBeBoundWhileTheyFork) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    group one{scheduler};
    std::atomic<int> leaves{0};
    const auto tree = [&](auto& self, int depth) -> task<> {
        if (depth == 0) {
            ++leaves;
            co_return;
        }
        co_await fork_join(self(self, depth - 1), self(self, depth - 1));
        if (depth == 4) co_await yield();
    };
    for (int i = 0; i != 20; ++i) spawn(one, tree(tree, 10)).detach();
    for (unsigned i = 0; i != 1'000; ++i) {
        one.bind(i % 3);
        if (i % 4 == 0) one.release();
        std::this_thread::yield();
    }
    scheduler.drain();
    EXPECT_EQ(leaves, 20 * 1024);
}

}  // namespace
}  // namespace fairlead::bound_group_tests
