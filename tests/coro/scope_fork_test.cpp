// Forked children of a scope: where they run, and that they behave as other children.
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>

#include "support/ending_of.hpp"
#include "support/probes.hpp"
#include "support/simulated_test.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace fairlead::scope_fork_tests {
namespace {

using namespace std::chrono_literals;
using test::counted;
using test::journal;
using test::obituary;
using test::watchdog;

task<> nothing() { co_return; }
task<> notes(int number, std::vector<int>& into) {
    into.push_back(number);
    co_return;
}
task<> yields_and_notes(int number, std::vector<int>& into) {
    co_await yield();
    into.push_back(number);
}
task<> notes_after(duration delay, int number, std::vector<int>& into) {
    co_await sleep_for(delay);
    into.push_back(number);
}
task<> notes_why(duration delay, std::vector<wake_reason>& into) {
    into.push_back(co_await test::ending_of(sleep_for(delay)));
}
task<> throws_after(duration delay, std::string what) {
    if (delay != 0h) co_await sleep_for(delay);
    throw std::runtime_error{what};
}

class scope_fork_test : public test::simulated_test {
protected:
    // Runs a coroutine with a scope in a scheduler with one worker.
    template <class Body>
    void run(Body body) {
        block_on(*simulation, with_scope(body));
    }
};

// --- where they run ------------------------------------------------------------------------------

TEST_F(scope_fork_test, those_that_nobody_takes_run_in_the_step_that_joins_them) {
    std::vector<int> seen;
    auto handle = spawn(*simulation, with_scope([&seen](scope& all) -> task<> {
        for (int i = 1; i != 4; ++i) EXPECT_TRUE(co_await all.fork(notes(i, seen)));
        seen.push_back(0);
        EXPECT_EQ(all.size(), 3U);
    }));
    EXPECT_EQ(simulation->run_until_idle(), 1U);
    EXPECT_EQ(seen, (std::vector{0, 3, 2, 1}));
    handle.get();
}

TEST(scope_fork, one_that_yields_stands_behind_what_its_step_has_posted) {
    for (const policy how : {policy::fair, policy::stealing}) {
        scheduler home{{.policy = how, .run_on_caller = true}};
        std::vector<int> seen;
        auto handle = spawn(home, with_scope([&](scope& all) -> task<> {
                                home.post([&] { seen.push_back(1); });
                                co_await all.fork(yields_and_notes(2, seen));
                            }));
        home.run_until_idle();
        EXPECT_EQ(seen, (std::vector{1, 2}));
        handle.get();
    }
}

TEST_F(scope_fork_test, what_is_not_awaited_does_not_run) {
    std::vector<int> seen;
    run([&seen](scope& all) -> task<> {
        static_cast<void>(all.fork(notes(1, seen)));
        co_return;
    });
    EXPECT_TRUE(seen.empty());
}

// The forks are posted, and have their turn before the task goes on.
TEST_F(scope_fork_test, those_that_nobody_takes_are_posted_when_their_task_waits) {
    std::vector<int> seen;
    run([&seen](scope& all) -> task<> {
        co_await all.fork(notes(1, seen));
        co_await all.fork(notes(2, seen));
        co_await yield();
        EXPECT_EQ(seen.size(), 2U);
        EXPECT_EQ(all.size(), 0U);
    });
}

TEST_F(scope_fork_test, one_that_waits_keeps_none_from_running) {
    const time_point begin = clock.now();
    std::vector<int> seen;
    run([&seen](scope& all) -> task<> {
        for (int i = 1; i != 4; ++i) co_await all.fork(notes_after(i * 1h, i, seen));
        co_await all.fork(notes(4, seen));
    });
    EXPECT_EQ(seen, (std::vector{4, 1, 2, 3}));
    EXPECT_EQ(clock.now(), begin + 3h);
}

// A tree whose nodes are all children of one scope. Only the root joins.
TEST_F(scope_fork_test, what_a_child_has_forked_runs_at_its_end) {
    struct coroutines {
        static task<> walk(scope& all, int number, int depth, std::vector<int>& into) {
            into.push_back(number);
            if (depth == 0) co_return;
            co_await all.fork(walk(all, 2 * number, depth - 1, into));
            co_await all.fork(walk(all, 2 * number + 1, depth - 1, into));
        }
    };
    std::vector<int> seen;
    auto handle = spawn(
        *simulation, with_scope([&seen](scope& all) { return coroutines::walk(all, 1, 2, seen); }));
    EXPECT_EQ(simulation->run_until_idle(), 1U);
    EXPECT_EQ(seen, (std::vector{1, 3, 7, 6, 2, 5, 4}));  // depth first
    handle.get();
}

TEST_F(scope_fork_test, more_than_there_is_room_for) {
    std::vector<int> seen;
    run([&seen](scope& all) -> task<> {
        for (int i = 0; i != 1000; ++i) co_await all.fork(notes(i, seen));
        EXPECT_EQ(all.size(), 1000U);
    });
    EXPECT_EQ(seen.size(), 1000U);
}

TEST_F(scope_fork_test, a_join_runs_what_its_task_has_forked_for_other_scopes) {
    std::vector<int> seen;
    run([&seen](scope& outer) -> task<> {
        co_await outer.fork(notes(1, seen));
        co_await with_scope([&](scope& inner) -> task<> {
            co_await inner.fork(notes(2, seen));
            co_await outer.fork(notes(3, seen));
        });
        EXPECT_EQ(seen, (std::vector{3, 2, 1}));
    });
}

// The inner join belongs to a child. It does not run the forks of the parent.
TEST_F(scope_fork_test, a_join_leaves_what_others_have_forked) {
    std::vector<int> seen;
    run([&seen](scope& outer) -> task<> {
        static constexpr auto child = [](std::vector<int>& into) -> task<> {
            co_await with_scope(
                [&into](scope& inner) -> task<> { co_await inner.fork(notes(1, into)); });
            into.push_back(2);
        };
        co_await outer.fork(notes(3, seen));
        co_await outer.fork(child(seen));
    });
    EXPECT_EQ(seen, (std::vector{1, 2, 3}));
}

// The child of the scope lies above the children of the fork_join. It is posted when these are
// taken back.
TEST_F(scope_fork_test, inside_a_fork_join) {
    static constexpr auto forks = [](scope& all, int number, std::vector<int>& into) -> task<> {
        co_await all.fork(notes(number, into));
    };
    std::vector<int> seen;
    run([&seen](scope& all) -> task<> {
        co_await all.fork(notes(0, seen));
        co_await fork_join(forks(all, 1, seen), notes(2, seen), forks(all, 3, seen));
    });
    EXPECT_EQ(seen, (std::vector{2, 3, 0, 1}));
}

// A child of a fork_join joins it; a sibling lies between.
TEST_F(scope_fork_test, a_join_inside_a_fork_join) {
    static constexpr auto joins = [](scope& all, std::vector<int>& into) -> task<> {
        co_await all.fork(notes(1, into));
        co_await all.join();
        into.push_back(4);
    };
    std::vector<int> seen;
    run([&seen](scope& all) -> task<> {
        co_await all.fork(notes(2, seen));
        co_await fork_join(joins(all, seen), notes(3, seen));
    });
    EXPECT_EQ(seen.front(), 1);
    EXPECT_EQ(seen.back(), 4);
    EXPECT_EQ(seen.size(), 4U);
}

task<int> sum_of_scopes(int depth) {
    int below = 0;
    if (depth != 0) {
        static constexpr auto child = [](int levels, int& result) -> task<> {
            result = co_await sum_of_scopes(levels);
        };
        scope all{co_await current_scheduler()};
        co_await all.fork(child(depth - 1, below));
        co_await all.join();
    }
    co_return below + 1;
}

TEST_F(scope_fork_test, nests_deeper_than_a_stack) {
    EXPECT_EQ(block_on(*simulation, sum_of_scopes(50'000)), 50'001);
}

// --- children like any other ---------------------------------------------------------------------

TEST_F(scope_fork_test, a_failure_stops_the_others_and_is_rethrown) {
    for (const duration delay : {duration{0}, duration{1h}}) {
        const time_point begin = clock.now();
        std::vector<wake_reason> seen;
        try {
            run([&](scope& all) -> task<> {
                co_await all.fork(notes_why(24h, seen));
                co_await all.fork(throws_after(delay, "it"));
                co_await all.fork(notes_why(24h, seen));
            });
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::runtime_error& caught) {
            EXPECT_STREQ(caught.what(), "it");
        }
        EXPECT_EQ(seen, (std::vector{wake_reason::stopped, wake_reason::stopped}));
        EXPECT_EQ(clock.now(), begin + delay);
    }
}

TEST_F(scope_fork_test, starts_nothing_after_a_stop) {
    std::vector<int> seen;
    run([&seen](scope& all) -> task<> {
        all.request_stop();
        EXPECT_FALSE(co_await all.fork(notes(1, seen)));
    });
    EXPECT_TRUE(seen.empty());
}

// A child is told of the stop before it begins, also if it only asks whether there is one.
TEST_F(scope_fork_test, a_stop_reaches_children_that_have_not_begun) {
    static constexpr auto asks = [](bool& answer) -> task<> { answer = co_await stop_requested(); };
    const time_point begin = clock.now();
    std::vector<wake_reason> seen;
    bool asked = false;
    run([&](scope& all) -> task<> {
        co_await all.fork(notes_why(24h, seen));
        co_await all.fork(asks(asked));
        all.request_stop();
    });
    EXPECT_EQ(seen, std::vector{wake_reason::stopped});
    EXPECT_TRUE(asked);
    EXPECT_EQ(clock.now(), begin);
}

// The stop reaches the child when it first waits.
TEST_F(scope_fork_test, a_stop_reaches_a_child_that_runs_in_the_step_of_the_join) {
    static constexpr auto stops_all = [](scope& all, std::vector<wake_reason>& into) -> task<> {
        all.request_stop();
        into.push_back(co_await test::ending_of(sleep_for(24h)));
    };
    std::vector<wake_reason> seen;
    run([&seen](scope& all) -> task<> { co_await all.fork(stops_all(all, seen)); });
    EXPECT_EQ(seen, std::vector{wake_reason::stopped});
}

// The stop comes before the first step, while the first child runs, or when all children wait.
TEST_F(scope_fork_test, a_stop_of_the_joiner_is_passed_on) {
    struct coroutines {
        static task<> stops(join_handle<void>*& parent, bool really) {
            if (really) parent->request_stop();
            co_return;
        }
        static task<> parent(join_handle<void>*& self, bool stops_itself,
                             std::vector<wake_reason>& into) {
            co_await with_scope([&](scope& all) -> task<> {
                co_await all.fork(notes_why(24h, into));
                co_await all.fork(stops(self, stops_itself));
                co_await all.fork(notes_why(24h, into));
            });
        }
    };
    const time_point begin = clock.now();
    for (const int when : {0, 1, 2}) {
        std::vector<wake_reason> seen;
        join_handle<void>* self = nullptr;
        auto handle = spawn(*simulation, coroutines::parent(self, when == 1, seen));
        self = &handle;
        if (when == 0) handle.request_stop();
        simulation->run_until_idle();
        if (when == 2) handle.request_stop();
        simulation->drain();
        handle.get();
        EXPECT_EQ(seen, (std::vector{wake_reason::stopped, wake_reason::stopped})) << when;
        EXPECT_EQ(clock.now(), begin);
    }
}

TEST_F(scope_fork_test, each_is_a_task_of_its_own) {
    struct coroutines {
        static task<> receives(basic_task*& self, wake_reason& why) {
            self = &co_await current_task();
            why = co_await receive_signal();
        }
        static task<> goes(scheduler& elsewhere, scheduler*& seen) {
            co_await resume_on(elsewhere);
            seen = &co_await current_scheduler();
        }
    };
    test::scheduler_in_real_time elsewhere{1};
    scheduler* seen = nullptr;
    wake_reason why = wake_reason::expired;
    run([&](scope& all) -> task<> {
        basic_task* receiver = nullptr;
        basic_task* self = &co_await current_task();
        co_await all.fork(coroutines::receives(receiver, why));
        co_await all.fork(coroutines::goes(*elsewhere, seen));
        co_await yield();
        EXPECT_NE(receiver, self);
        receiver->signal();
    });
    EXPECT_EQ(why, wake_reason::signalled);
    EXPECT_EQ(seen, &*elsewhere);
}

using scope_fork_death_test = scope_fork_test;

TEST_F(scope_fork_death_test, a_scope_that_was_not_joined_says_so) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    static constexpr auto forgets = []() -> task<> {
        scope all{co_await current_scheduler()};
        co_await all.fork(nothing());
    };
    EXPECT_DEATH(block_on(*simulation, forgets()), "co_await its join");
}

// --- the end of their scheduler ------------------------------------------------------------------

// The children of a forked child are deeper than the child, although all of them run in one step.
TEST_F(scope_fork_test, frames_go_with_the_scheduler_from_the_inside) {
    struct coroutines {
        static task<> sleeps(journal& into, std::string name) {
            const obituary local{into, name};
            for (;;) co_await shielded(sleep_for(1h));
        }
        static task<> child(journal& into) {
            const obituary local{into, "child"};
            spawn(co_await current_scheduler(), sleeps(into, "grandchild")).detach();
            for (;;) co_await shielded(sleep_for(1h));
        }
        static task<> parent(journal& into) {
            const obituary local{into, "parent"};
            co_await with_scope([&into](scope& all) -> task<> { co_await all.fork(child(into)); });
        }
    };
    auto options = test::simulated(clock, driver);
    options.stop_limit = 0s;
    simulation.emplace(std::move(options));
    journal log;
    auto handle = spawn(*simulation, coroutines::parent(log));
    simulation->run_until_idle();
    EXPECT_TRUE(log.entries().empty());
    simulation.reset();
    EXPECT_EQ(log.entries(), (std::vector<std::string>{"grandchild", "child", "parent"}));
    EXPECT_THROW(handle.get(), stopped_error);
}

// --- on threads ----------------------------------------------------------------------------------

task<> fib(int n, int& result) {
    if (n < 2) {
        result = n;
        co_return;
    }
    int one = 0;
    int two = 0;
    scope both{co_await current_scheduler()};
    co_await both.fork(fib(n - 1, one));
    co_await both.fork(fib(n - 2, two));
    co_await both.join();
    result = one + two;
}

task<> walk(scope& all, int depth, bool waits, std::atomic<int>& leaves) {
    if (waits) co_await yield();
    if (depth == 0) {
        ++leaves;
        co_return;
    }
    co_await all.fork(walk(all, depth - 1, waits, leaves));
    co_await all.fork(walk(all, depth - 1, !waits, leaves));
}

TEST(scope_fork_on_threads, trees_at_every_width) {
    const watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        scheduler threads{{.workers = workers}};
        for (int i = 0; i != 10; ++i) {
            int result = 0;
            block_on(threads, fib(18, result));
            EXPECT_EQ(result, 2584);
            std::atomic<int> leaves{0};
            block_on(threads,
                     with_scope([&leaves](scope& all) { return walk(all, 10, false, leaves); }));
            EXPECT_EQ(leaves, 1024);
        }
    }
}

// Each child waits until all children have begun, so they must run at the same time.
TEST(scope_fork_on_threads, idle_workers_take_what_is_forked) {
    const watchdog guard;
    static constexpr auto meets = [](std::atomic<int>& there) -> task<> {
        ++there;
        while (there != 4) std::this_thread::yield();
        co_return;
    };
    scheduler threads{{.workers = 4}};
    for (int i = 0; i != 100; ++i) {
        std::atomic<int> there{0};
        block_on(threads, with_scope([&there](scope& all) -> task<> {
                     for (int child = 0; child != 4; ++child) co_await all.fork(meets(there));
                 }));
    }
}

// The objects of a child, parameters included, are destroyed when join returns, whichever worker
// ran the child.
TEST(scope_fork_on_threads, frees_the_frames_before_join_returns) {
    const watchdog guard;
    scheduler threads{{.workers = 3}};
    static constexpr auto holds = [](counted held, bool waits) -> task<> {
        static_cast<void>(held);
        if (waits) co_await yield();
    };
    static constexpr auto repeats = [](std::atomic<int>& alive) -> task<int> {
        int left_over = 0;
        for (int i = 0; i != 5000; ++i) {
            scope all{co_await current_scheduler()};
            for (int child = 0; child != 4; ++child) {
                co_await all.fork(holds(counted{alive}, (i + child) % 5 == 0));
            }
            co_await all.join();
            left_over += alive != 0;
        }
        co_return left_over;
    };
    std::atomic<int> alive{0};
    EXPECT_EQ(block_on(threads, repeats(alive)), 0);
}

TEST(scope_fork_on_threads, a_stop_races_with_the_starts) {
    const watchdog guard;
    scheduler threads{{.workers = 3}};
    static constexpr auto sleeps_long = [](std::atomic<int>& stopped) -> task<> {
        stopped += co_await test::ending_of(sleep_for(24h)) == wake_reason::stopped;
    };
    static constexpr auto parent = [](std::atomic<int>& forked,
                                      std::atomic<int>& stopped) -> task<> {
        co_await with_scope([&](scope& all) -> task<> {
            for (int child = 0; child != 8; ++child) {
                forked += co_await all.fork(sleeps_long(stopped));
            }
        });
    };
    for (int i = 0; i != 500; ++i) {
        std::atomic<int> forked{0};
        std::atomic<int> stopped{0};
        auto handle = spawn(threads, parent(forked, stopped));
        handle.request_stop();
        handle.get();
        EXPECT_EQ(stopped, forked);
    }
}

TEST(scope_fork_on_threads, a_scheduler_ends_while_tasks_fork) {
    const watchdog guard;
    std::atomic<int> leaves{0};
    for (int i = 0; i != 200; ++i) {
        scheduler threads{{.workers = 3, .stop_limit = duration{0}}};
        for (int each = 0; each != 3; ++each) {
            spawn(threads, with_scope([&leaves](scope& all) { return walk(all, 8, true, leaves); }))
                .detach();
        }
        std::this_thread::sleep_for(i % 10 * 20us);
    }
}

}  // namespace
}  // namespace fairlead::scope_fork_tests
