// Forked children of a scope. The end of a taken child races with a parent that waits for it, asks
// it to stop, or is destroyed. In each scenario one more thread may stop the scheduler.
#include "model/interruption.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/with_scope.hpp>
#include "support/ending_of.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

namespace fairlead::scope_fork_tests {
namespace {

using namespace std::chrono_literals;
using model::interruption;
using model::require;
using model::stops;

// Writes what its parent reads, so that the join must order the two.
task<> writes(model::plain<int>& into) {
    into = 1;
    co_return;
}
task<> waits_and_writes(model::plain<int>& into) {
    co_await shielded(yield());
    into = 1;
}

TEST(ModelScopeFork, TheParentSeesWhatItsChildrenHaveWritten) {
    static constexpr auto parent = []() -> task<> {
        model::plain<int> all[3];
        co_await with_scope([&all](scope& children) -> task<> {
            for (auto& each : all) co_await children.fork(writes(each));
        });
        for (auto& each : all) require(each == 1, "all have ended");
    };
    model::expect_ends_though_stopped(parent);
}

// Some wait, and become tasks like any other; one is spawned.
TEST(ModelScopeFork, SomeWait) {
    static constexpr auto parent = []() -> task<> {
        model::plain<int> all[4];
        co_await with_scope([&all](scope& children) -> task<> {
            co_await children.fork(writes(all[0]));
            co_await children.fork(waits_and_writes(all[1]));
            children.spawn(writes(all[2]));
            co_await children.fork(waits_and_writes(all[3]));
        });
        for (auto& each : all) require(each == 1, "all have ended");
    };
    model::expect_ends_though_stopped(parent);
}

// They are posted when their parent waits, unless they are taken before.
TEST(ModelScopeFork, TheParentWaits) {
    static constexpr auto parent = []() -> task<> {
        model::plain<int> all[2];
        co_await with_scope([&all](scope& children) -> task<> {
            for (auto& each : all) co_await children.fork(writes(each));
            co_await shielded(yield());
        });
        for (auto& each : all) require(each == 1, "all have ended");
    };
    model::expect_ends_though_stopped(parent);
}

// Every node is a child of one scope, and some fork on workers that do not join it. A stop keeps
// them from forking.
TEST(ModelScopeFork, ATreeInOneScope) {
    struct node {
        model::plain<int> started{0};
        model::plain<int> ran{0};
    };
    struct coroutines {
        static task<> walk(scope& all, node* nodes, int number, int size) {
            nodes[number].ran = 1;
            if (2 * number >= size) co_return;
            for (const int below : {2 * number, 2 * number + 1}) {
                const bool started = co_await all.fork(walk(all, nodes, below, size));
                nodes[below].started = started ? 1 : 0;
            }
        }
        static task<> parent() {
            node nodes[8];
            co_await with_scope([&nodes](scope& all) { return walk(all, nodes, 1, 8); });
            for (int i = 2; i != 8; ++i) require(nodes[i].ran == nodes[i].started, "all ended");
        }
    };
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        model::result_of(spawn(scheduler, coroutines::parent()));
    });
    model::expect_passes_by_priorities(
        [] {
            scheduler scheduler{{.workers = 3}};
            model::result_of(spawn(scheduler, coroutines::parent()));
        },
        250);
}

// Waits until it is asked to stop, and once more to clean up. Whether it was so.
task<> cleans_up(model::plain<int>& told) {
    const bool stopped = co_await receive_signal() == wake_reason::stopped;
    told = stopped && co_await shielded(test::ending_of(sleep_for(1ms))) == wake_reason::expired;
}

// It comes before a child begins, while it is taken, or when the parent waits for it.
TEST(ModelScopeFork, AStopIsPassedOn) {
    static constexpr auto parent = []() -> task<> {
        model::plain<int> told[2];
        int forked = 0;
        co_await with_scope([&](scope& children) -> task<> {
            for (auto& each : told) {
                each = 1;  // or it does not begin
                forked += co_await children.fork(cleans_up(each));
            }
        });
        require(forked == 2, "nobody has stopped it by then");
        for (auto& each : told) require(each == 1, "it is told once");
    };
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        auto handle = spawn(scheduler, parent());
        handle.request_stop();
        model::result_of(handle);
        require(clock::now() < time_point{1s}, "in time");
    });
}

TEST(ModelScopeFork, AFailureStopsTheOthers) {
    struct coroutines {
        static task<> throws() {
            throw std::runtime_error{"it"};
            co_return;
        }
        static task<> parent() {
            model::plain<int> told[2];
            for (auto& each : told) each = 1;  // or it does not begin
            try {
                co_await with_scope([&](scope& children) -> task<> {
                    co_await children.fork(cleans_up(told[0]));
                    co_await children.fork(throws());
                    co_await children.fork(cleans_up(told[1]));
                });
                require(false, "the failure is rethrown");
            } catch (const std::runtime_error&) {
            }
            for (auto& each : told) require(each == 1, "it is told once");
        }
    };
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        model::result_of(spawn(scheduler, coroutines::parent()));
        require(clock::now() < time_point{1s}, "in time");
    });
}

// The scheduler is destroyed while the body of a scope waits for something else, and a child that
// it has forked goes to another scheduler, or is about to: the body's frames stay until the child
// has ended.
TEST(ModelScopeFork, AScopeIsKeptForAChildThatIsElsewhere) {
    struct coroutines {
        static task<> child(scheduler& elsewhere, model::plain<int>& kept) {
            co_await resume_on(elsewhere);
            static_cast<void>(co_await receive_signal());
            kept = kept + 1;
        }
        static task<> parent(scheduler& elsewhere) {
            model::plain<int> kept{0};
            co_await with_scope([&](scope& children) -> task<> {
                static_cast<void>(co_await children.fork(child(elsewhere, kept)));
                static_cast<void>(co_await receive_signal());
                co_await shielded(sleep_for(1h));
            });
        }
    };
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            scheduler elsewhere{{.workers = 1}};
            scheduler home{{.workers = workers, .stop_limit = duration{0}}};
            spawn(home, coroutines::parent(elsewhere)).detach();
        });
    }
}

// A task that is no child of the scope forks into it, and what it has forked may be the last.
TEST(ModelScopeFork, AnotherTaskForks) {
    struct coroutines {
        static task<> forks(scope& children, model::plain<int>* all, basic_task& joiner) {
            co_await children.fork(writes(all[0]));
            co_await children.fork(writes(all[1]));
            joiner.signal();
        }
        static task<> parent() {
            model::plain<int> all[2];
            scheduler& home = co_await current_scheduler();
            scope children{home};
            auto other = spawn(home, forks(children, all, co_await current_task()));
            static_cast<void>(co_await receive_signal());
            co_await children.join();
            for (auto& each : all) require(each == 1, "all have ended");
            co_await other;
        }
    };
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 2}};
        model::result_of(spawn(scheduler, coroutines::parent()));
    });
}

}  // namespace
}  // namespace fairlead::scope_fork_tests
