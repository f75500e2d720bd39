// Coroutines that are waited for: the end of one against whoever joins it, drops its handle, or gives up.
#include "model/explore.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/when_all.hpp>

#include <gtest/gtest.h>

#include <tuple>
#include <utility>

namespace fairlead {
namespace {

using model::require;

task<int> number(int value) { co_return value; }
task<int> joins(join_handle<int> other) { co_return co_await other; }

TEST(ModelJoin, AThreadJoins) {
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 2}};
        require(spawn(scheduler, number(3)).get() == 3, "the result");
    });
}

TEST(ModelJoin, ACoroutineJoins) {
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 2}};
        require(block_on(scheduler, joins(spawn(scheduler, number(4)))) == 4, "the result");
    });
}

TEST(ModelJoin, AHandleIsDroppedWhileItsTaskEnds) {
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 1}};
        bool ended = false;
        const auto sets = [](bool& what) -> task<> {
            what = true;
            co_return;
        };
        spawn(scheduler, sets(ended)).detach();
        scheduler.drain();
        require(ended, "it has run all the same");
    });
}

TEST(ModelJoin, TheLastOfAllTellsWhoWaits) {
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 2}};
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
    model::expect_passes_by_priorities([] {
        scheduler elsewhere{{.workers = 1}};
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

}  // namespace
}  // namespace fairlead
