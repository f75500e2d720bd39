// Coroutines that are joined. The end of a coroutine races with a thread that joins it, drops its
// handle, gives up, or asks it to stop. In each scenario one more thread may stop the scheduler.
#include "model/interruption.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>
#include "support/ending_of.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <tuple>
#include <utility>

namespace fairlead::join_tests {
namespace {

using namespace std::chrono_literals;
using model::interruption;
using model::require;
using model::stops;

task<int> number(int value) { co_return value; }
task<int> joins(join_handle<int> other) { co_return co_await shielded(other); }

TEST(ModelJoin, AThreadJoins) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        require(model::result_of(spawn(scheduler, number(3))) == 3, "the result");
    });
}

TEST(ModelJoin, ACoroutineJoins) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        require(model::result_of(spawn(scheduler, joins(spawn(scheduler, number(4))))) == 4,
                "the result");
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
        const auto [one, two] = model::result_of(spawn(scheduler, when_all(number(1), number(2))));
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
            require(model::result_of(waiting) == 5, "it has seen the stop");
        } catch (const stopped_error&) {
            // or it had not begun
        }
        require(clock::now() == time_point{}, "no time-out was needed");
    });
}

// The joiner's scheduler is destroyed. Its destructor does not wait for the joined task.
TEST(ModelJoin, WhoJoinsGoesAwayWhileWhatItJoinsEnds) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler elsewhere{{.workers = 1}};
        const interruption stop{elsewhere, how};
        join_handle<int> waiting = [&] {
            scheduler home{{.workers = 1, .stop_limit = duration{0}}};
            return spawn(home, joins(spawn(elsewhere, number(6))));
        }();
        try {
            require(model::result_of(waiting) == 6, "it was told before");
        } catch (const stopped_error&) {
            // or not
        }
    });
}

// The scheduler is destroyed while the body of a scope waits for another event. A child has moved
// to another scheduler, or is about to. The body's frames stay until the child has ended.
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
                co_await shielded(sleep_for(1h));
            });
        }
    };
    model::expect_passes_by_priorities([] {
        scheduler elsewhere{{.workers = 1}};
        scheduler home{{.workers = 1, .stop_limit = duration{0}}};
        spawn(home, coroutines::parent(elsewhere)).detach();
    });
    // A stop wakes the body when the child has just ended and has not reported it yet.
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

// --- a request to stop ---------------------------------------------------------------------------

// Waits until it is asked to stop, then waits once more to clean up, which no stop shortens.
// Returns whether both happened.
task<bool> cleans_up() {
    const bool stopped = co_await receive_signal() == wake_reason::stopped;
    co_return stopped&& co_await shielded(test::ending_of(sleep_for(1ms))) == wake_reason::expired;
}

task<int> takes_a_turn(int value) {
    co_await shielded(yield());
    co_return value;
}

// The handle and the scheduler ask the task to stop at the same time. The task is told once, and
// the joiner learns of its end.
TEST(ModelJoin, ATaskIsAskedToStopAndJoined) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        join_handle<bool> handle = spawn(scheduler, cleans_up());
        handle.request_stop();
        require(model::result_of(handle), "it is told once");
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

// A stop ends the first wait, unless the end of the task is faster. The second wait is shielded.
task<int> joins_twice(join_handle<int>& other) {
    const auto first = co_await other.join();
    if (first) co_return *first;
    co_return co_await shielded(other);
}

TEST(ModelJoin, AJoinerIsAskedToStopWhileWhatItJoinsEnds) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        join_handle<int> inner = spawn(scheduler, takes_a_turn(7));
        join_handle<int> outer = spawn(scheduler, joins_twice(inner));
        outer.request_stop();
        require(model::result_of(outer) == 7,
                "it is told once, by the end or by the stop, and joins again");
        require(!inner.valid(), "the result was taken once");
        require(clock::now() == time_point{}, "no time-out was needed");
    });
}

// The deadline has passed when the wait begins. So the wait ends when the joiner runs next, unless
// the end of the task is faster.
TEST(ModelJoin, ADeadlineOfAJoinerRacesWithTheEnd) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        join_handle<int> inner = spawn(scheduler, takes_a_turn(7));
        const auto asks = [&]() -> task<int> {
            const auto in_time = co_await shielded(inner.join_until(immediately));
            if (in_time) co_return *in_time;
            require(in_time.error() == wait_error::expired, "nothing else ends it");
            co_return co_await shielded(inner);
        };
        join_handle<int> outer = spawn(scheduler, asks());
        require(model::result_of(outer) == 7, "the result comes with the first wait or the second");
        require(!inner.valid(), "it was taken once");
        require(clock::now() == time_point{}, "no time-out was needed");
    });
}

// The same for the wait of a thread; and a wait whose deadline comes while the thread sleeps.
TEST(ModelJoin, ADeadlineOfAThreadRacesWithTheEnd) {
    for (const time_point deadline : {immediately, time_point{1us}}) {
        model::expect_passes_though_stopped([deadline](stops how) {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            join_handle<int> inner = spawn(scheduler, takes_a_turn(7));
            const waited<int> in_time = inner.get_until(deadline);
            require(in_time.has_value() != inner.valid(), "the handle has what was not taken");
            require(in_time || in_time.error() == wait_error::expired || how != stops::none,
                    "nothing else ends it");
            require((in_time ? *in_time : model::result_of(inner)) == 7, "the result of the task");
        });
    }
}

// The workers end while a thread waits, or before it does. What is left is given back.
TEST(ModelJoin, AStopTellsAThreadThatWaits) {
    model::expect_passes_by_priorities([] {
        std::optional<join_handle<int>> left;
        {
            scheduler scheduler{{.workers = 1}};
            join_handle<int> handle = spawn(scheduler, takes_a_turn(7));
            const model::thread stops{[&] { static_cast<void>(scheduler.stop(duration{0})); }};
            const waited<int> result = handle.get_until(never);
            require(result.has_value() != handle.valid(), "the handle has what was not taken");
            require(result ? *result == 7 : result.error() == wait_error::stopped, "one of both");
            if (!result) left.emplace(std::move(handle));
        }
        if (!left) return;
        require(left->ended(), "the destructor gives back what a stop has left");
        try {
            static_cast<void>(left->get());
            require(false, "no worker has run it");
        } catch (const stopped_error&) {
            require(!left->valid(), "its handle is used up");
        }
    });
}

// The task leaves the scheduler that is destroyed or stopped while a thread begins to wait for it.
TEST(ModelJoin, AThreadWaitsForATaskThatMoves) {
    struct coroutines {
        static task<int> moves(scheduler& elsewhere) {
            co_await shielded(resume_on(elsewhere));
            co_await shielded(yield());
            co_return 7;
        }
    };
    model::expect_passes_by_priorities([] {
        scheduler elsewhere{{.workers = 1}};
        std::optional<scheduler> home{std::in_place, scheduler_options{.workers = 1}};
        join_handle<int> handle = spawn(*home, coroutines::moves(elsewhere));
        const model::thread destroys{[&] { home.reset(); }};
        try {
            require(handle.get() == 7, "it has moved, or was told to stop");
        } catch (const stopped_error&) {
            // or it was stopped, and moved no more
        }
    });
    model::expect_passes_by_priorities([] {
        scheduler elsewhere{{.workers = 1}};
        scheduler home{{.workers = 1}};
        join_handle<int> handle = spawn(home, coroutines::moves(elsewhere));
        const model::thread stops{[&] { static_cast<void>(home.stop(duration{0})); }};
        const waited<int> result = handle.get_until(never);
        require(result ? *result == 7 : result.error() == wait_error::stopped, "one or the other");
    });
}

TEST(ModelJoin, ADeadlineOfAScopeRacesWithTheLastEnd) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        const auto parent = [&]() -> task<> {
            model::plain<int> ended{0};
            const auto child = [&]() -> task<> {
                co_await shielded(yield());
                ended = ended + 1;
            };
            scope all{scheduler};
            require(all.spawn(child()), "nothing has stopped it");
            const auto in_time = co_await shielded(all.join_until(immediately));
            if (!in_time) co_await shielded(all.join());
            require(ended == 1, "the child has ended, and its writes are seen");
        };
        join_handle<void> handle = spawn(scheduler, parent());
        model::result_of(handle);
        require(clock::now() == time_point{}, "no time-out was needed");
    });
}

// A foreign thread resumes the handle while the task goes to sleep, or before.
TEST(ModelJoin, AForeignResumeRacesWithTheSuspension) {
    struct resumed_by_a_thread {
        std::optional<model::thread>& thread;
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> handle) const {
            thread.emplace([handle] { handle.resume(); });
        }
        [[nodiscard]] int await_resume() const noexcept { return 3; }
    };
    model::expect_passes_though_stopped([](stops how) {
        std::optional<model::thread> other;
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        const auto waits = [&]() -> task<int> {
            co_return co_await shielded(resumed_by_a_thread{other});
        };
        join_handle<int> handle = spawn(scheduler, waits());
        require(model::result_of(handle) == 3, "the task goes on after the resume");
        require(clock::now() == time_point{}, "no time-out was needed");
    });
}

// All children get the stop, while some of them end.
TEST(ModelJoin, AStopIsPassedOnToAll) {
    model::expect_passes_though_stopped([](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        auto both = spawn(scheduler, when_all(cleans_up(), takes_a_turn(2)));
        both.request_stop();
        const auto [told, value] = model::result_of(both);
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
        model::result_of(handle);
        require(clock::now() < time_point{1s}, "in time");
    });
}

}  // namespace
}  // namespace fairlead::join_tests
