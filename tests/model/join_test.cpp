// Coroutines that are waited for: the end of one against whoever joins it, drops its handle, gives up, or asks
// it to stop; and a stop of its scheduler as one more thread of each.
#include "model/interruption.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/when_all.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <tuple>
#include <utility>

namespace fairlead {
namespace {

using namespace std::chrono_literals;
using model::interruption;
using model::require;
using model::stops;

task<int> number(int value) { co_return value; }
task<int> joins(join_handle<int> other) { co_return co_await other; }

TEST(ModelJoin, AThreadJoins) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        require(spawn(scheduler, number(3)).get() == 3, "the result");
    });
}

TEST(ModelJoin, ACoroutineJoins) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        require(block_on(scheduler, joins(spawn(scheduler, number(4)))) == 4, "the result");
    });
}

TEST(ModelJoin, AHandleIsDroppedWhileItsTaskEnds) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 1}};
        bool ended = false;
        const auto sets = [](bool& what) -> task<> {
            what = true;
            co_return;
        };
        {
            const interruption stop{scheduler, how};
            spawn(scheduler, sets(ended)).detach();
        }
        scheduler.drain();
        require(ended, "it has run all the same");
    });
}

TEST(ModelJoin, TheLastOfAllTellsWhoWaits) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        const auto [one, two] = block_on(scheduler, when_all(number(1), number(2)));
        require(one == 1 && two == 2, "the results, in order");
    });
}

// The scheduler is destroyed while one coroutine waits for another: both are told.
TEST(ModelJoin, AnAbandonedTaskTellsWhoJoins) {
    model::expect_passes_by_priorities([] {
        const auto forever = []() -> task<int> {
            static_cast<void>(co_await receive_signal());
            co_return 5;
        };
        join_handle<int> waiting = [&] {
            scheduler scheduler{{.workers = 1}};
            return spawn(scheduler, joins(spawn(scheduler, forever())));
        }();
        try {
            require(waiting.get() == 5, "it has seen the stop");
        } catch (const stopped_error&) {
            // or not, as it had not begun
        }
        require(clock::now() == time_point{}, "no time-out was needed");
    });
}

// Its scheduler is destroyed, which does not wait for the other one.
TEST(ModelJoin, WhoJoinsGoesAwayWhileWhatItJoinsEnds) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler elsewhere{{.workers = 1}};
        const interruption stop{elsewhere, how};
        join_handle<int> waiting = [&] {
            scheduler home{{.workers = 1, .stop_limit = duration{0}}};
            return spawn(home, joins(spawn(elsewhere, number(6))));
        }();
        try {
            require(waiting.get() == 6, "it was told before");
        } catch (const stopped_error&) {
            // or not
        }
    });
}

// The scheduler is destroyed while the body of a scope waits for something else, and a child goes to another
// scheduler, or is about to: the body's frames stay until the child has ended.
TEST(ModelJoin, AScopeIsKeptForAChildThatIsElsewhere) {
    struct coroutines {
        static task<> child(scheduler& elsewhere, model::plain<int>& kept) {
            co_await resume_on(elsewhere);
            static_cast<void>(co_await receive_signal());
            kept = kept + 1;
        }
        static task<> parent(scheduler& elsewhere) {
            model::plain<int> kept{0};
            co_await with_scope([&](scope& children) -> task<> {
                static_cast<void>(children.spawn(child(elsewhere, kept)));
                static_cast<void>(co_await receive_signal());
                co_await sleep_for(1h);
            });
        }
    };
    model::expect_passes_by_priorities([] {
        scheduler elsewhere{{.workers = 1}};
        scheduler home{{.workers = 1, .stop_limit = duration{0}}};
        spawn(home, coroutines::parent(elsewhere)).detach();
    });
    // A stop of the body wakes it when the child has just ended, and has not said so yet.
    model::expect_passes_by_priorities([] {
        scheduler elsewhere{{.workers = 1}};
        std::optional<join_handle<void>> handle;
        std::optional<model::thread> asks;
        {
            scheduler home{{.workers = 1, .stop_limit = duration{0}}};
            handle = spawn(home, coroutines::parent(elsewhere));
            asks.emplace([&] { handle->request_stop(); });
        }
        asks.reset();
    });
}

// --- a request to stop --------------------------------------------------------------------------------------

// Waits until it is asked to stop, and once more to clean up, which no stop shortens. Whether it was so.
task<bool> cleans_up() {
    const bool stopped = co_await receive_signal() == wake_reason::stopped;
    co_return stopped&& co_await sleep_for(1ms) == wake_reason::expired;
}

task<int> takes_a_turn(int value) {
    co_await yield();
    co_return value;
}

// Its handle and its scheduler ask at the same time: it is told once, and its end to who joins.
TEST(ModelJoin, ATaskIsAskedToStopAndJoined) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        join_handle<bool> handle = spawn(scheduler, cleans_up());
        handle.request_stop();
        require(handle.get(), "it is told once");
        require(clock::now() < time_point{1s}, "in time");
    });
}

TEST(ModelJoin, ATaskIsAskedToStopAndItsHandleIsDropped) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        {
            const interruption stop{scheduler, how};
            join_handle<bool> handle = spawn(scheduler, cleans_up());
            handle.request_stop();
        }
        scheduler.drain();
        require(clock::now() < time_point{1s}, "in time");
    });
}

TEST(ModelJoin, AJoinerIsAskedToStopWhileWhatItJoinsEnds) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        join_handle<int> outer = spawn(scheduler, joins(spawn(scheduler, takes_a_turn(7))));
        outer.request_stop();
        require(outer.get() == 7, "it waits for the end all the same");
        require(clock::now() == time_point{}, "no time-out was needed");
    });
}

// The stop is passed on to all children, of which some end meanwhile.
TEST(ModelJoin, AStopIsPassedOnToAll) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        auto both = spawn(scheduler, when_all(cleans_up(), takes_a_turn(2)));
        both.request_stop();
        const auto [told, value] = both.get();
        require(told && value == 2, "the results, in order");
        require(clock::now() < time_point{1s}, "in time");
    });
}

TEST(ModelJoin, AStopIsPassedOnToAScope) {
    struct coroutines {
        static task<> child(task<bool> body, model::plain<int>& ended) {
            require(co_await std::move(body), "it is told once");
            ended = 1;
        }
        static task<> parent() {
            model::plain<int> ended[2];
            co_await with_scope([&](scope& children) -> task<> {
                require(children.spawn(child(cleans_up(), ended[0])), "nobody has stopped it");
                require(children.spawn(child(ends_at_once(), ended[1])), "nobody has stopped it");
                co_return;
            });
            require(ended[0] == 1 && ended[1] == 1, "all children have ended");
        }
        static task<bool> ends_at_once() { co_return true; }
    };
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        join_handle<void> handle = spawn(scheduler, coroutines::parent());
        handle.request_stop();
        handle.get();
        require(clock::now() < time_point{1s}, "in time");
    });
}

}  // namespace
}  // namespace fairlead
