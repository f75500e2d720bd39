// Coroutines in groups: a coroutine starts its children in its own group.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/sched/group.hpp>

#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>

namespace fairlead::group_tests {
namespace {

using namespace std::chrono_literals;

task<> yields(int times) {
    for (int i = 0; i != times; ++i) co_await yield();
}

std::uint64_t steps_in_group(auto start) {
    test::simulation sim;
    group one{sim.scheduler};
    block_on(one, start());
    EXPECT_EQ(sim.scheduler.stats()[0].steps, one.stats().steps) << "some ran elsewhere";
    EXPECT_EQ(one.stats().tasks, 0U);
    return one.stats().steps;
}

TEST(GroupOfCoroutines, HasTheirSteps) {
    EXPECT_EQ(steps_in_group([] { return yields(9); }), 10U);
}

TEST(GroupOfCoroutines, HasWhatTheyStart) {
    EXPECT_EQ(steps_in_group([]() -> task<> { co_await when_all(yields(1), yields(1)); }), 6U);
    EXPECT_EQ(steps_in_group([]() -> task<> { co_await fork_join(yields(1), yields(1)); }), 5U);
    EXPECT_EQ(steps_in_group([]() -> task<> {
                  co_await with_scope([](scope& all) -> task<> {
                      all.spawn(yields(1));
                      co_await all.fork(yields(1));
                  });
              }),
              5U);
    EXPECT_GE(steps_in_group([]() -> task<> { co_await for_each_index(100, [](std::size_t) {}); }),
              1U);
}

task<> spawns_beside_itself() {
    join_handle<void> beside = spawn(co_await current_executor(), yields(1));
    co_await beside;
}

TEST(GroupOfCoroutines, HasWhatTheySpawnOnTheirExecutor) {
    EXPECT_GE(steps_in_group(spawns_beside_itself), 4U);
}

TEST(GroupOfCoroutines, TheyMayMoveToAnother) {
    test::simulation sim;
    group one{sim.scheduler};
    group other{sim.scheduler};
    const auto moves = [&]() -> task<> {
        co_await yields(3);
        co_await resume_on(other);
        co_await yields(2);
        co_await resume_on(sim.scheduler);
        co_await yield();
    };
    block_on(one, moves());
    EXPECT_EQ(one.stats().steps, 4U);
    EXPECT_EQ(other.stats().steps, 3U);
    EXPECT_EQ(sim.scheduler.stats()[0].steps, 9U);
}

task<> tree(int depth, std::atomic<int>& leaves) {
    if (depth == 0) {
        ++leaves;
        co_return;
    }
    co_await fork_join(tree(depth - 1, leaves), tree(depth - 1, leaves));
}

// Forks of a group on several workers: a worker that steals a fork charges the group.
TEST(GroupOfCoroutines, ForksThatAreTakenAreCharged) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 3}};
    group one{scheduler};
    std::atomic<int> leaves{0};
    for (int i = 0; i != 20; ++i) block_on(one, tree(12, leaves));
    EXPECT_EQ(leaves, 20 * 4096);
    scheduler.drain();
    std::uint64_t steps = 0;
    for (const worker_stats& each : scheduler.stats()) steps += each.steps;
    EXPECT_EQ(one.stats().steps, steps);
    EXPECT_EQ(one.stats().tasks, 0U);
}

// A group is charged for its forks on idle workers, too.
TEST(GroupOfCoroutines, TheTimeOfForksThatAreTakenIsCharged) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler};
    std::atomic<std::int64_t> computed{0};
    const auto computes = [&]() -> task<> {
        const time_point begin = clock::now();
        while (clock::now() - begin < 3ms) {
        }
        computed += (clock::now() - begin).count();
        co_return;
    };
    const auto both = [&]() -> task<> { co_await fork_join(computes(), computes()); };
    for (int i = 0; i != 10; ++i) block_on(one, both());
    scheduler.drain();
    EXPECT_GE(one.stats().used, duration{computed.load()});
}

// A scope starts its children in the group that its owner had when it made the scope, though the
// handle of that group is gone.
TEST(GroupOfCoroutines, AScopeKeepsItsGroup) {
    test::simulation sim;
    std::optional<group> own{std::in_place, sim.scheduler};
    group other{sim.scheduler};
    bool ran = false;
    const auto child = [&]() -> task<> {
        ran = true;
        co_return;
    };
    const auto parent = [&]() -> task<> {
        co_await with_scope([&](scope& all) -> task<> {
            co_await resume_on(sim.scheduler);
            own.reset();
            for (int i = 0; i != 10; ++i) {  // the other group has turns meanwhile
                other.post([] {});
                co_await sleep_for(1ms);
            }
            all.spawn(child());
        });
    };
    spawn(*own, parent()).detach();
    sim.scheduler.drain();
    EXPECT_TRUE(ran);
}

// Counts the steps that run at once: no more than the limit, whatever the coroutines start.
class counted_runs {
public:
    explicit counted_runs(int most) : most_{most} {}
    void run() {
        if (running_.fetch_add(1) >= most_) exceeded_ = true;
        if (count_.fetch_add(1) % 16 == 0) std::this_thread::yield();
        running_.fetch_sub(1);
    }
    [[nodiscard]] bool exceeded() const { return exceeded_; }
    [[nodiscard]] int count() const { return count_; }

private:
    const int most_;
    std::atomic<int> running_{0};
    std::atomic<int> count_{0};
    std::atomic<bool> exceeded_{false};
};

task<> leaf(counted_runs& runs) {
    runs.run();
    co_return;
}

// Nested loops, forks, children and joins.
task<> nested(int depth, counted_runs& runs) {
    if (depth == 0) {
        co_await for_each_index(50, [&](std::size_t) { runs.run(); }, {.slice = 10us});
        co_return;
    }
    co_await fork_join(nested(depth - 1, runs), nested(depth - 1, runs), leaf(runs));
    co_await when_all(nested(depth - 1, runs), leaf(runs));
    co_await with_scope([&](scope& all) -> task<> {
        all.spawn(nested(depth - 1, runs));
        co_await all.fork(leaf(runs));
    });
}

TEST(GroupOfCoroutines, NestedLoopsAndForksInAFullOneEndAndKeepItsLimit) {
    test::watchdog guard;
    for (const policy policy : {policy::fair, policy::stealing}) {
        for (const int most : {1, 2}) {
            SCOPED_TRACE(most);
            scheduler scheduler{{.workers = 4, .policy = policy}};
            group limited{scheduler, {.max_concurrency = static_cast<unsigned>(most)}};
            counted_runs runs{most};
            for (int i = 0; i != 30; ++i) spawn(limited, nested(3, runs)).detach();
            scheduler.drain();
            EXPECT_EQ(runs.count(), 30 * (64 * 50 + 3 * (1 + 4 + 16)));
            EXPECT_FALSE(runs.exceeded());
        }
    }
}

}  // namespace
}  // namespace fairlead::group_tests
