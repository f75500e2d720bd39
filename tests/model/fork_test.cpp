// Forks that are joined. The end of a taken fork races with a parent that waits for it, asks it to
// stop, or is destroyed. In each scenario one more thread may stop the scheduler.
#include "model/interruption.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include "support/ending_of.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fairlead::fork_tests {
namespace {

using namespace std::chrono_literals;
using model::interruption;
using model::require;
using model::stops;

task<int> number(int value) { co_return value; }
task<int> takes_a_turn(int value) {
    co_await shielded(yield());
    co_return value;
}

// Writes a value that its parent reads, so the join must order the two.
task<> writes(model::plain<int>& into, int value) {
    into = value;
    co_return;
}
task<> waits_and_writes(model::plain<int>& into, int value) {
    co_await shielded(yield());
    into = value;
}

TEST(ModelFork, TheParentSeesWhatItsChildrenHaveWritten) {
    static constexpr auto parent = []() -> task<> {
        model::plain<int> one{0};
        model::plain<int> two{0};
        co_await fork_join(writes(one, 1), writes(two, 2));
        require(one == 1 && two == 2, "both have ended");
    };
    model::expect_ends_though_stopped(parent);
}

// The first child waits. Then the parent posts the other children that no worker has taken.
TEST(ModelFork, TheOthersArePostedWhenTheFirstWaits) {
    static constexpr auto parent = []() -> task<> {
        model::plain<int> all[3];
        co_await fork_join(waits_and_writes(all[0], 1), writes(all[1], 2),
                           waits_and_writes(all[2], 3));
        require(all[0] == 1 && all[1] == 2 && all[2] == 3, "all have ended");
    };
    model::expect_ends_though_stopped(parent);
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 1}};
        model::result_of(spawn(scheduler, parent()));
    });
}

task<int> tree(int depth) {
    if (depth == 0) co_return 1;
    const auto [left, right] = co_await fork_join(tree(depth - 1), tree(depth - 1));
    co_return left + right;
}

TEST(ModelFork, ATreeOfForks) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        require(model::result_of(spawn(scheduler, tree(2))) == 4, "all leaves are counted");
    });
}

TEST(ModelFork, TwoTasksForkAndWait) {
    static constexpr auto parent = [](int from) -> task<int> {
        const auto [one, two] = co_await fork_join(takes_a_turn(from), takes_a_turn(from + 1));
        co_return one + two;
    };
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        auto first = spawn(scheduler, parent(1));
        auto second = spawn(scheduler, parent(10));
        require(model::result_of(first) == 3 && model::result_of(second) == 21, "each has its own");
    });
}

// Waits until it is asked to stop, then waits once more to clean up. Returns whether both happened.
task<bool> cleans_up() {
    const bool stopped = co_await receive_signal() == wake_reason::stopped;
    co_return stopped&& co_await shielded(test::ending_of(sleep_for(1ms))) == wake_reason::expired;
}

// The stop comes before a worker takes the child, meanwhile, or when the parent waits for the
// child.
TEST(ModelFork, AStopIsPassedOnToWhatWasTaken) {
    static constexpr auto parent = []() -> task<bool> {
        const auto [one, told] = co_await fork_join(takes_a_turn(1), cleans_up());
        co_return one == 1 && told;
    };
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        auto handle = spawn(scheduler, parent());
        handle.request_stop();
        require(model::result_of(handle), "it is told once");
        require(clock::now() < time_point{1s}, "in time");
    });
}

TEST(ModelFork, AFailureStopsTheOthers) {
    struct coroutines {
        static task<bool> throws() {
            co_await shielded(yield());
            throw std::runtime_error{"it"};
        }
        static task<> parent() {
            try {
                co_await fork_join(throws(), cleans_up());
            } catch (const std::runtime_error&) {
                co_return;
            }
            require(false, "the failure is rethrown");
        }
    };
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        model::result_of(spawn(scheduler, coroutines::parent()));
        require(clock::now() < time_point{1s}, "in time");
    });
}

// --- other schedulers, and the end of their own --------------------------------------------------

task<int> goes(scheduler& elsewhere) {
    co_await resume_on(elsewhere);
    co_return 1;
}
task<> waits_and_cleans_up() {
    static_cast<void>(co_await receive_signal());
    co_await shielded(sleep_for(1h));
}
task<> uses_there(scheduler& elsewhere, model::plain<int>& kept) {
    co_await resume_on(elsewhere);
    static_cast<void>(co_await receive_signal());
    kept = kept + 1;
}
// A parent whose frame holds an object that a child on another scheduler uses.
task<> holds_for_a_child(scheduler& elsewhere) {
    model::plain<int> kept{0};
    co_await fork_join(waits_and_cleans_up(), uses_there(elsewhere, kept));
}

// The scheduler is destroyed while the first child waits. No worker has taken the second child, or
// it waits, too, or it has moved to another scheduler, where it uses the parent's frame.
TEST(ModelFork, AParentIsKeptForAChildThatIsElsewhere) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            scheduler elsewhere{{.workers = 1}};
            scheduler home{{.workers = workers, .stop_limit = duration{0}}};
            spawn(home, holds_for_a_child(elsewhere)).detach();
        });
    }
    // A stop wakes the parent when the child has just ended and has not reported it yet.
    model::expect_passes_by_priorities([] {
        scheduler elsewhere{{.workers = 1}};
        std::optional<join_handle<void>> handle;
        std::optional<model::thread> asks;
        {
            scheduler home{{.workers = 1, .stop_limit = duration{0}}};
            handle = spawn(home, holds_for_a_child(elsewhere));
            asks.emplace([&] { handle->request_stop(); });
        }
        asks.reset();
    });
}

// The first child moves to another scheduler, and the parent with it. The forks that the parent has
// offered are posted, and their scheduler ends.
TEST(ModelFork, AParentIsElsewhereWhenItsForksAreGivenBack) {
    static constexpr auto parent = [](scheduler& elsewhere) -> task<int> {
        try {
            const auto [one, two] = co_await fork_join(goes(elsewhere), number(2));
            co_return one + two;
        } catch (const stopped_error&) {
            co_return -1;
        }
    };
    model::expect_passes_by_priorities([] {
        scheduler elsewhere{{.workers = 1}};
        join_handle<int> handle = [&] {
            scheduler home{{.workers = 1, .stop_limit = duration{0}}};
            return spawn(home, parent(elsewhere));
        }();
        try {
            const int sum = model::result_of(handle);
            require(sum == 3 || sum == -1, "both have ended, or one was given back");
        } catch (const stopped_error&) {
            // the parent had not gone
        }
    });
}

// A stop with a long limit waits for them.
TEST(ModelFork, AStopWaitsForForksWhoseParentIsElsewhere) {
    static constexpr auto parent = [](scheduler& elsewhere) -> task<int> {
        const auto [one, two] = co_await fork_join(goes(elsewhere), number(2));
        co_return one + two;
    };
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            scheduler elsewhere{{.workers = 1}};
            join_handle<int> handle = [&] {
                scheduler home{{.workers = workers, .stop_limit = 1h}};
                return spawn(home, parent(elsewhere));
            }();
            require(model::result_of(handle) == 3, "both have ended");
        });
    }
}

// The outer fork asks the inner parent to stop. The inner parent is kept for its child: the stop
// must not end that wait.
TEST(ModelFork, AParentThatIsKeptIsAskedToStop) {
    static constexpr auto outer = [](scheduler& elsewhere) -> task<> {
        co_await fork_join(waits_and_cleans_up(), holds_for_a_child(elsewhere));
    };
    model::expect_passes_by_priorities([] {
        scheduler elsewhere{{.workers = 1}};
        scheduler home{{.workers = 1, .stop_limit = duration{0}}};
        spawn(home, outer(elsewhere)).detach();
    });
}

// A stop that comes after the first child's step has begun still ends the wait of that child. The
// other child must be told of the stop, too: the first child may wait for its reaction.
TEST(ModelFork, AStopThatComesLateReachesAll) {
    struct coroutines {
        static task<bool> first(basic_task*& self) {
            self = &co_await current_task();
            const wake_reason why = co_await test::ending_of(sleep_until(immediately));
            if (why != wake_reason::stopped) co_return true;
            co_return co_await shielded(receive_signal(time_point{1h})) == wake_reason::signalled;
        }
        static task<> second(basic_task*& first) {
            const wake_reason why = co_await test::ending_of(sleep_until(never));
            if (why == wake_reason::stopped) first->signal();
        }
        static task<bool> parent() {
            basic_task* of_first = nullptr;
            const auto [signalled, none] = co_await fork_join(first(of_first), second(of_first));
            co_return signalled;
        }
    };
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            scheduler scheduler{{.workers = workers}};
            auto handle = spawn(scheduler, coroutines::parent());
            handle.request_stop();
            require(model::result_of(handle), "the other was told");
        });
    }
}

// A taken fork counts as a task from that moment, though nothing else shows that it exists.
TEST(ModelFork, DrainWaitsForWhatWasTaken) {
    struct coroutines {
        static task<> waits_and_sets(sync::atomic<bool>& flag) {
            co_await shielded(yield());
            flag.store(true, sync::relaxed);
        }
        static task<> parent(scheduler& elsewhere, sync::atomic<bool>& flag) {
            co_await fork_join(goes(elsewhere), waits_and_sets(flag));
        }
    };
    model::expect_passes_by_priorities(
        [] {
            scheduler elsewhere{{.workers = 1}};
            scheduler home{{.workers = 2}};
            sync::atomic<bool> flag{false};
            auto handle = spawn(home, coroutines::parent(elsewhere, flag));
            home.drain();
            require(flag.load(sync::relaxed), "it has ended");
            model::result_of(handle);
        },
        3000);
}

}  // namespace
}  // namespace fairlead::fork_tests
