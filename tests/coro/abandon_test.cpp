// A scheduler stops, or is destroyed, while coroutines are at any kind of await.
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>

#include "support/ending_of.hpp"
#include "support/probes.hpp"
#include "support/simulated.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fairlead::abandon_tests {
namespace {

using namespace std::chrono_literals;
using test::counted;
using test::journal;
using test::manual_clock;
using test::obituary;
using test::simulated_driver;
using test::watchdog;

// With `stop_limit` 0 the destructor does not wait for tasks that ignore a stop.
class abandon : public testing::Test {
protected:
    scheduler_options options() {
        scheduler_options made = test::simulated(clock, driver);
        made.stop_limit = 0s;
        return made;
    }
    ~abandon() override { EXPECT_EQ(alive, 0); }

    std::atomic<int> alive{0};
    journal log;
    manual_clock clock;
    simulated_driver* driver = nullptr;
    std::optional<scheduler> simulation{std::in_place, options()};
};

// --- tasks that wait for ever and ignore a stop --------------------------------------------------

task<> sleeps_on(counted held) {
    static_cast<void>(held);
    for (;;) co_await shielded(sleep_for(1h));
}
task<> waits_on(counted held) {
    static_cast<void>(held);
    for (;;) static_cast<void>(co_await shielded(wait_until_woken()));
}
task<> listens_on(counted held) {
    static_cast<void>(held);
    for (;;) static_cast<void>(co_await shielded(receive_signal()));
}
task<> yields_on(counted held) {
    static_cast<void>(held);
    for (;;) co_await shielded(yield());
}
task<> sleeps_below(int depth, counted held) {
    static_cast<void>(held);
    if (depth != 0) co_await sleeps_below(depth - 1, std::move(held));
    for (;;) co_await shielded(sleep_for(1h));
}

TEST_F(abandon, tasks_at_every_simple_wait_are_destroyed) {
    spawn(*simulation, sleeps_on(counted{alive})).detach();
    spawn(*simulation, waits_on(counted{alive})).detach();
    spawn(*simulation, listens_on(counted{alive})).detach();
    spawn(*simulation, sleeps_below(10, counted{alive})).detach();
    simulation->run_until_idle();
    spawn(*simulation, yields_on(counted{alive})).detach();
    simulation->run_until(immediately, 3);
    EXPECT_EQ(alive, 5);
    simulation.reset();
}

TEST_F(abandon, tasks_that_never_began_are_destroyed) {
    for (int i = 0; i != 10; ++i) spawn(*simulation, sleeps_on(counted{alive})).detach();
    auto handle = spawn(*simulation, sleeps_on(counted{alive}));
    simulation.reset();
    EXPECT_THROW(handle.get(), stopped_error);
}

task<> inner(journal& log, obituary) {
    const obituary local{log, "inner local"};
    for (;;) co_await shielded(sleep_for(1h));
}
task<> outer(journal& log, obituary) {
    const obituary local{log, "outer local"};
    co_await inner(log, obituary{log, "inner parameter"});
}

TEST_F(abandon, frames_go_from_the_inside) {
    spawn(*simulation, outer(log, obituary{log, "outer parameter"})).detach();
    simulation->run_until_idle();
    simulation.reset();
    EXPECT_EQ(log.entries(), (std::vector<std::string>{"inner local", "inner parameter",
                                                       "outer local", "outer parameter"}));
}

TEST_F(abandon, a_very_deep_stack_does_not_overflow_the_threads) {
    spawn(*simulation, sleeps_below(100'000, counted{alive})).detach();
    simulation->run_until_idle();
    simulation.reset();
}

// --- joiners -------------------------------------------------------------------------------------

TEST_F(abandon, a_handle_is_told_before_and_after) {
    auto handle = spawn(*simulation, waits_on(counted{alive}));
    simulation->run_until_idle();
    simulation.reset();
    EXPECT_TRUE(handle.ended());
    handle.request_stop();
    handle.get_task().wakeup();
    EXPECT_THROW(handle.get(), stopped_error);
}

TEST(abandon_on_threads, a_thread_that_waits_is_told) {
    const watchdog guard;
    std::atomic<int> alive{0};
    std::optional<scheduler> threads{std::in_place,
                                     scheduler_options{.workers = 1, .stop_limit = 0s}};
    auto handle = spawn(*threads, waits_on(counted{alive}));
    std::jthread waiting{[&] { EXPECT_THROW(handle.get(), stopped_error); }};
    threads.reset();
    waiting.join();
    EXPECT_EQ(alive, 0);
}

task<> joins(join_handle<void> other, counted held) {
    static_cast<void>(held);
    co_await shielded(other);
}

TEST_F(abandon, those_who_join_each_other) {
    auto last = spawn(*simulation, sleeps_on(counted{alive}));
    for (int i = 0; i != 100; ++i) {
        last = spawn(*simulation, joins(std::move(last), counted{alive}));
    }
    simulation->run_until_idle();
    EXPECT_EQ(alive, 101);
    simulation.reset();
    EXPECT_THROW(last.get(), stopped_error);
}

// --- parents and children ------------------------------------------------------------------------

// 1. Children sleep on after a stop. 2. The first child is given back. That is a failure, so its
// siblings are asked to stop. 3. The siblings are about to be given back, too: no thread may wake
// them.
TEST_F(abandon, a_when_all_with_children_that_sleep_on) {
    static constexpr auto parent = [](std::atomic<int>& count, counted held) -> task<> {
        static_cast<void>(held);
        co_await when_all(sleeps_on(counted{count}), waits_on(counted{count}),
                          sleeps_on(counted{count}), listens_on(counted{count}));
    };
    for (int i = 0; i != 10; ++i) {
        spawn(*simulation, parent(alive, counted{alive})).detach();
        spawn(*simulation, sleeps_on(counted{alive})).detach();
    }
    simulation->run_until_idle();
    EXPECT_EQ(alive, 60);
    simulation.reset();
}

task<> tree(int depth, std::atomic<int>& count) {
    const counted held{count};
    if (depth == 0) {
        while (count >= 0) co_await sleep_for(1h);  // for ever; clang must not know that
        co_return;
    }
    co_await when_all(tree(depth - 1, count), tree(depth - 1, count));
}

TEST_F(abandon, a_tree_of_when_all) {
    auto handle = spawn(*simulation, tree(8, alive));
    simulation->run_until_idle();
    EXPECT_EQ(alive, 511);
    simulation.reset();
    EXPECT_THROW(handle.get(), stopped_error);
}

TEST_F(abandon, a_tree_whose_tasks_have_not_all_begun) {
    spawn(*simulation, tree(8, alive)).detach();
    simulation->run_until(immediately, 200);
    simulation.reset();
}

TEST_F(abandon, a_scope_that_is_joined) {
    static constexpr auto parent = [](std::atomic<int>& count) -> task<> {
        scope all{co_await current_scheduler()};
        for (int i = 0; i != 10; ++i) all.spawn(sleeps_on(counted{count}));
        co_await all.join();
    };
    spawn(*simulation, parent(alive)).detach();
    simulation->run_until_idle();
    EXPECT_EQ(alive, 10);
    simulation.reset();
}

// The body of the scope waits, but not for its children, as every server does.
TEST_F(abandon, a_scope_whose_body_still_waits) {
    static constexpr auto parent = [](std::atomic<int>& count) -> task<> {
        co_await with_scope([&count](scope& all) -> task<> {
            for (int i = 0; i != 10; ++i) all.spawn(sleeps_on(counted{count}));
            for (;;) co_await shielded(sleep_for(1h));
        });
    };
    spawn(*simulation, parent(alive)).detach();
    simulation->run_until_idle();
    EXPECT_EQ(alive, 10);
    simulation.reset();
}

// Children have moved to another scheduler and use objects in the body's frames until their end.
// The destructor asks them to end. A third child is still here and waits for a child that has
// moved.
TEST_F(abandon, a_scope_whose_children_have_gone_elsewhere) {
    test::scheduler_in_real_time elsewhere{1};
    static constexpr auto goes = [](scheduler& there, journal& into) -> task<> {
        co_await resume_on(there);
        static_cast<void>(co_await as_result(sleep_for(24h)));  // until it is asked to stop
        const obituary end{into, "child"};
    };
    static constexpr auto waits_for_one = [](scheduler& there, journal& into) -> task<> {
        co_await when_all(goes(there, into));
    };
    static constexpr auto parent = [](scheduler& there, journal& into) -> task<> {
        const obituary end{into, "parent"};
        co_await with_scope([&](scope& all) -> task<> {
            all.spawn(goes(there, into));
            all.spawn(waits_for_one(there, into));
            for (;;) co_await shielded(sleep_for(1h));
        });
    };
    spawn(*simulation, parent(*elsewhere, log)).detach();
    simulation->run_until_idle();
    simulation.reset();
    EXPECT_EQ(log.entries(), (std::vector<std::string>{"child", "child", "parent"}));
}

// A child may use its parent's objects until its own end.
TEST_F(abandon, children_go_before_the_frames_that_they_refer_to) {
    static constexpr auto child = [](journal& into) -> task<> {
        const obituary local{into, "child"};
        for (;;) co_await shielded(sleep_for(1h));
    };
    static constexpr auto parent = [](journal& into) -> task<> {
        const obituary local{into, "parent"};
        co_await when_all(child(into), child(into));
    };
    spawn(*simulation, parent(log)).detach();
    simulation->run_until_idle();
    simulation.reset();
    EXPECT_EQ(log.entries(), (std::vector<std::string>{"child", "child", "parent"}));
}

// --- what destructors may do ---------------------------------------------------------------------

struct stops_another {
    explicit stops_another(join_handle<void> stopped) : other{std::move(stopped)} {}
    stops_another(const stops_another&) = delete;
    stops_another& operator=(const stops_another&) = delete;
    ~stops_another() {
        other.request_stop();
        other.get_task().wakeup();
        other.get_task().signal();
    }

    join_handle<void> other;
};
task<> holds_another(std::unique_ptr<stops_another> held) {
    static_cast<void>(held);
    for (;;) co_await shielded(sleep_for(1h));
}

TEST_F(abandon, a_destructor_that_stops_another_task) {
    for (int i = 0; i != 20; ++i) {
        auto other = spawn(*simulation, sleeps_on(counted{alive}));
        spawn(*simulation, holds_another(std::make_unique<stops_another>(std::move(other))))
            .detach();
    }
    simulation->run_until_idle();
    simulation.reset();
}

struct posts_another {
    scheduler& on;
    std::atomic<int>& count;
    ~posts_another() { spawn(on, sleeps_on(counted{count})).detach(); }
};

TEST_F(abandon, a_destructor_that_spawns) {
    static constexpr auto holds = [](std::unique_ptr<posts_another> held) -> task<> {
        static_cast<void>(held);
        for (;;) co_await shielded(sleep_for(1h));
    };
    spawn(*simulation, holds(std::unique_ptr<posts_another>(new posts_another{*simulation, alive})))
        .detach();
    simulation->run_until_idle();
    simulation.reset();
}

// --- stop ----------------------------------------------------------------------------------------

TEST_F(abandon, the_report_of_a_stop_names_what_is_left) {
    spawn(*simulation, sleeps_on(counted{alive}), {.name = "a sleeper"}).detach();
    spawn(*simulation, waits_on(counted{alive}), {.name = "a waiter"}).detach();
    auto joined = spawn(*simulation, listens_on(counted{alive}), {.name = "a listener"});
    spawn(*simulation, joins(std::move(joined), counted{alive}), {.name = "a joiner"}).detach();
    simulation->run_until_idle();
    const stop_report report = simulation->stop(1s);
    EXPECT_EQ(report.waiting, 4U);
    std::vector<std::string> names;
    for (const auto& each : report.tasks) names.push_back(each.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"a joiner", "a listener", "a sleeper", "a waiter"}));
    simulation.reset();
}

TEST_F(abandon, tasks_that_listen_to_a_stop_end_in_order) {
    static constexpr auto polite = [](counted held) -> task<> {
        static_cast<void>(held);
        while (co_await test::ending_of(sleep_for(1h)) != wake_reason::stopped) {
        }
    };
    static constexpr auto family = [](std::atomic<int>& count) -> task<> {
        co_await with_scope([&count](scope& all) -> task<> {
            for (int i = 0; i != 10; ++i) all.spawn(polite(counted{count}));
            co_await when_all(polite(counted{count}), polite(counted{count}));
        });
    };
    auto handle = spawn(*simulation, family(alive));
    simulation->run_until_idle();
    EXPECT_TRUE(simulation->stop(1s).clean());
    handle.get();
    EXPECT_EQ(alive, 0);
}

// 1. A task is ready, and has not begun. 2. The scheduler is told to stop. 3. The task runs, and
// then waits for the first time. It must be told of the stop, or the stop takes its whole limit.
TEST_F(abandon, a_stop_reaches_tasks_that_have_not_begun) {
    static constexpr auto polite = [](std::vector<wake_reason>& into) -> task<> {
        into.push_back(co_await test::ending_of(sleep_for(24h)));
    };
    const time_point now = clock.now();
    std::vector<wake_reason> seen;
    spawn(*simulation, polite(seen)).detach();
    EXPECT_TRUE(simulation->stop(1h).clean());
    EXPECT_EQ(seen, std::vector{wake_reason::stopped});
    EXPECT_EQ(clock.now(), now);
}

// The same for a task that runs for a while between two waits.
TEST_F(abandon, a_stop_reaches_tasks_that_take_turns) {
    static constexpr auto busy = [](std::vector<wake_reason>& into) -> task<> {
        for (int i = 0; i != 100; ++i) co_await shielded(yield());
        into.push_back(co_await test::ending_of(sleep_for(24h)));
    };
    std::vector<wake_reason> seen;
    spawn(*simulation, busy(seen)).detach();
    simulation->run_until(immediately, 10);
    EXPECT_TRUE(simulation->stop(1h).clean());
    EXPECT_EQ(seen.size(), 1U);
}

// --- races with wakers ---------------------------------------------------------------------------

// The scheduler is destroyed when a waker has won the duty to push the task and has not pushed it
// yet.
TEST(abandon_on_threads, wakers_race_with_the_destructor) {
    const watchdog guard;
    for (int round = 0; round != 300; ++round) {
        std::atomic<int> alive{0};
        std::optional<scheduler> threads{std::in_place,
                                         scheduler_options{.workers = 1, .stop_limit = 0s}};
        std::vector<join_handle<void>> handles;
        for (int i = 0; i != 20; ++i) handles.push_back(spawn(*threads, waits_on(counted{alive})));
        test::run_together(3, [&](std::size_t index) {
            if (index == 0) {
                threads.reset();
                return;
            }
            for (auto& each : handles) {
                if (index == 1) each.request_stop();
                if (index == 2) each.get_task().wakeup();
            }
        });
        EXPECT_EQ(alive, 0);
        for (auto& each : handles) EXPECT_THROW(each.get(), stopped_error);
    }
}

// The task that another scheduler's task joins ends while the joiner's scheduler is destroyed.
TEST(abandon_on_threads, children_go_elsewhere_while_their_scheduler_is_destroyed) {
    const watchdog guard;
    scheduler elsewhere{{.workers = 1}};
    static constexpr auto goes = [](scheduler& there, int& ends) -> task<> {
        co_await resume_on(there);
        static_cast<void>(co_await as_result(sleep_for(24h)));  // until it is asked to stop
        ++ends;
    };
    static constexpr auto parent = [](scheduler& there) -> task<> {
        int ends = 0;
        co_await with_scope([&](scope& all) -> task<> {
            for (int i = 0; i != 3; ++i) all.spawn(goes(there, ends));
            for (;;) co_await shielded(sleep_for(1h));
        });
    };
    for (int round = 0; round != 100; ++round) {
        scheduler home{{.workers = 2, .stop_limit = 0s}};
        spawn(home, parent(elsewhere)).detach();
        for (int i = 0; i != round % 30; ++i) std::this_thread::yield();
    }
}

TEST(abandon_on_threads, an_end_elsewhere_races_with_the_destructor) {
    const watchdog guard;
    scheduler elsewhere{{.workers = 1}};
    static constexpr auto ends_when_signalled = []() -> task<> {
        static_cast<void>(co_await receive_signal());
    };
    static constexpr auto joins_it = [](join_handle<void>& other) -> task<> { co_await other; };
    for (int round = 0; round != 300; ++round) {
        std::optional<scheduler> threads{std::in_place,
                                         scheduler_options{.workers = 1, .stop_limit = 0s}};
        auto other = spawn(elsewhere, ends_when_signalled());
        auto joiner = spawn(*threads, joins_it(other));
        test::run_together(2, [&](std::size_t index) {
            if (index == 0) {
                threads.reset();
            } else {
                other.get_task().signal();
            }
        });
        try {
            joiner.get();
        } catch (const stopped_error&) {
        }
        elsewhere.drain();
    }
}

}  // namespace
}  // namespace fairlead::abandon_tests
