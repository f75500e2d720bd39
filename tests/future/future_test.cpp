// Promises, futures, their continuations and waits.
#include "future/failures.hpp"
#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/future/future.hpp>
#include <fairlead/future/promise.hpp>
#include <fairlead/sched/block_in_place.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/wait/event.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <expected>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::future_tests {

namespace {

using namespace std::chrono_literals;
using test::code;
using test::failure;

TEST(Future, TakesAValueThatIsThere) {
    auto it = ready(3);
    EXPECT_TRUE(it.is_ready());
    EXPECT_EQ(it.take(), 3);
    EXPECT_FALSE(it.valid());
}

TEST(Future, MovesValuesThatCannotBeCopied) {
    auto [promise, future] = make_promise<std::unique_ptr<int>>();
    EXPECT_FALSE(future.is_ready());
    promise.set(std::make_unique<int>(4));
    EXPECT_FALSE(promise.valid());
    auto plus_one = std::move(future).map([](std::unique_ptr<int> it) {
        ++*it;
        return it;
    });
    EXPECT_EQ(*plus_one.get(), 5);
}

TEST(Future, VoidIsReal) {
    auto [promise, future] = make_promise<void>();
    int calls = 0;
    auto end = std::move(future).map([&] { ++calls; }).map([&] { return ++calls; });
    EXPECT_EQ(calls, 0);
    promise.set();
    EXPECT_EQ(end.get(), 2);
}

TEST(Future, ABrokenPromiseIsAFailure) {
    auto it = std::move(make_promise<int>().future);
    try {
        static_cast<void>(it.get());
        FAIL();
    } catch (const wait_failed& failure) {
        EXPECT_EQ(failure.why(), wait_error::broken);
    }
    auto typed = std::move(make_promise<int, failure>().future);
    EXPECT_EQ(typed.get().error(), failure{"broken"});
    auto assigned = make_promise<int, failure>();
    assigned.promise = promise<int, failure>{};
    EXPECT_EQ(assigned.future.get().error(), failure{"broken"});
}

TEST(Future, ContinuationsSeeAValueOrAFailure) {
    const auto twice = [](int value) { return 2 * value; };
    EXPECT_EQ((ready<int, failure>(4)).map(twice).get(), 8);
    EXPECT_EQ((failed<int, failure>({"no"})).map(twice).get().error(), failure{"no"});
    EXPECT_EQ((failed<int, failure>({"no"}))
                  .then([](std::expected<int, failure> result) { return result.error().what; })
                  .get(),
              "no");
}

TEST(Future, AnExceptionOfAContinuationIsItsFailure) {
    const auto fails = [](int) -> int { throw std::runtime_error{"bad"}; };
    EXPECT_THROW(static_cast<void>(ready(4).map(fails).get()), std::runtime_error);
    EXPECT_EQ((ready<int, failure>(4)).map(fails).get().error(), failure{"bad"});
}

TEST(Future, AReturnedFutureIsFlattened) {
    auto [inner, inner_future] = make_promise<std::string, failure>();
    auto it = (ready<int, failure>(4)).and_then([f = std::move(inner_future)](int) mutable {
        return std::move(f);
    });
    EXPECT_FALSE(it.is_ready());
    inner.set("there");
    EXPECT_EQ(it.get(), "there");
    EXPECT_EQ((ready<int, failure>(1))
                  .and_then([](int) { return failed<std::string, code>({7}); })
                  .get()
                  .error(),
              failure{"code 7"})
        << "its failure is converted";
}

TEST(Future, AReturnedExpectedIsFlattened) {
    const auto positive = [](int value) -> std::expected<int, failure> {
        if (value < 0) return std::unexpected{failure{"negative"}};
        return value;
    };
    EXPECT_EQ((ready<int, failure>(2)).and_then(positive).get(), 2);
    EXPECT_EQ((ready<int, failure>(-2)).and_then(positive).get().error(), failure{"negative"});
}

TEST(Future, AReturnedFutureOfNothingIsBroken) {
    EXPECT_EQ(
        (ready<int, failure>(1)).and_then([](int) { return future<int, failure>{}; }).get().error(),
        failure{"broken"});
}

TEST(Future, OneOfSeveralThatSetWins) {
    for (int round = 0; round != 200; ++round) {
        auto [promise, future] = make_promise<int>();
        std::atomic<int> winners{0};
        const auto tries = [&](int value) {
            if (promise.try_set(value)) winners += value;
        };
        std::thread one{tries, 1};
        std::thread two{tries, 2};
        one.join();
        two.join();
        EXPECT_EQ(future.get(), winners.load());
    }
}

TEST(FutureDeathTest, SettingTwiceAborts) {
    auto both = make_promise<int>();
    both.promise.set(1);
    EXPECT_DEATH(both.promise.set(2), "has given its result");
}

// --- the producer learns that the future went ----------------------------------------------------

TEST(Future, APromiseKnowsWhetherItIsWanted) {
    auto both = make_promise<int>();
    EXPECT_TRUE(both.promise.is_wanted());
    both.future = {};
    EXPECT_FALSE(both.promise.is_wanted());
    both.promise.set(1);
    EXPECT_FALSE(both.promise.is_wanted());
}

TEST(Future, APromiseIsToldThatTheFutureWent) {
    std::stop_source before;
    std::stop_source after;
    auto one = make_promise<int>();
    one.promise.on_unwanted([before] { before.request_stop(); });
    EXPECT_FALSE(before.stop_requested());
    one.future = {};
    EXPECT_TRUE(before.stop_requested());

    auto two = make_promise<int>();
    two.future = {};
    two.promise.on_unwanted([after] { after.request_stop(); });
    EXPECT_TRUE(after.stop_requested());

    int calls = 0;
    {
        auto three = make_promise<int>();
        three.promise.on_unwanted([&calls] { ++calls; });
        three.promise.set(3);
    }
    EXPECT_EQ(calls, 0) << "the result was given before";
}

// The call may give the result, and go on with what it has captured.
TEST(Future, WhatIsToldThatTheFutureWentMayGiveTheResult) {
    for (const bool went_before : {false, true}) {
        auto both = make_promise<int>();
        const std::string text(100, 'x');  // too long for the object itself
        std::string seen;
        const auto give_up = [&both, &seen, text] {
            both.promise.set(1);
            seen = text;
        };
        if (went_before) both.future = {};
        both.promise.on_unwanted(give_up);
        both.future = {};
        EXPECT_EQ(seen, text);
        EXPECT_FALSE(both.promise.valid());
    }
}

// --- deep chains ---------------------------------------------------------------------------------

constexpr int deep = 1'000'000;

TEST(Future, AMillionContinuationsNeedTheStackOfOne) {
    auto [promise, future] = make_promise<int>();
    for (int i = 0; i != deep; ++i) {
        future = std::move(future).map([](int value) { return value + 1; });
    }
    promise.set(0);
    EXPECT_EQ(future.get(), deep);
}

future<int> count_down(int left) {
    if (left == 0) return ready(7);
    return ready(left - 1).and_then(count_down);
}

TEST(Future, RecursionIsAsDeepAsThereIsMemory) { EXPECT_EQ(count_down(deep).get(), 7); }

TEST(Future, AStepThatGivesResultsToManyLetsOtherTasksRun) {
    scheduler home{{.workers = 1}};
    auto [promise, future] = make_promise<int>();
    std::atomic<bool> other_ran{false};
    bool seen_in_time = false;
    for (int i = 0; i != 1000; ++i) {
        future = std::move(future).map([&, i](int value) {
            if (i == 900) seen_in_time = other_ran;
            return value + 1;
        });
    }
    home.post([&, p = std::move(promise)]() mutable {
        home.post([&] { other_ran = true; });
        p.set(0);
    });
    EXPECT_EQ(future.get(), 1000);
    EXPECT_TRUE(seen_in_time);
}

TEST(Future, TheRestOfAChainOutlivesItsScheduler) {
    auto [promise, future] = make_promise<int>();
    for (int i = 0; i != 200; ++i) {
        future = std::move(future).map([](int value) { return value + 1; });
    }
    {
        scheduler home{{.stop_limit = duration{0}, .run_on_caller = true}};
        home.post([&] { promise.set(0); });
        EXPECT_EQ(home.run_until(clock::now(), 1), 1U);
        EXPECT_FALSE(future.is_ready()) << "64 have run";
    }
    EXPECT_EQ(future.take(), 200);
}

// --- waits ---------------------------------------------------------------------------------------

TEST(FutureWait, ATaskTakesTheResult) {
    scheduler home{{.workers = 2}};
    auto [promise, future] = make_promise<int>();
    auto waiting = spawn(home, [](fairlead::future<int> it) -> task<int> {
        co_return co_await std::move(it);
    }(std::move(future)));
    promise.set(8);
    EXPECT_EQ(waiting.get(), 8);
}

TEST(FutureWait, AFailureIsThrownOrGiven) {
    scheduler home{{.run_on_caller = true}};
    const auto body = []() -> task<> {
        bool thrown = false;
        try {
            co_await failed<void>(std::make_exception_ptr(std::runtime_error{"bad"}));
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        EXPECT_TRUE(thrown);
        auto typed = failed<int, failure>({"no"});
        const auto result = co_await std::move(typed);
        EXPECT_EQ(result.error(), failure{"no"});
    };
    spawn(home, body()).get();
}

TEST(FutureWait, ADeadlineEndsTheWaitAlone) {
    scheduler home{{.run_on_caller = true}};
    const auto body = []() -> task<> {
        auto [promise, future] = make_promise<int>();
        const auto early = co_await future.wait(clock::now() + 1ms);
        EXPECT_EQ(early.error(), wait_error::expired);
        EXPECT_TRUE(promise.is_wanted());
        promise.set(9);
        const auto there = co_await future.wait(clock::now() + 1h);
        EXPECT_TRUE(there);
        EXPECT_EQ(future.take(), 9);
    };
    spawn(home, body()).get();
}

TEST(FutureWait, AStopWithdrawsTheWaitAlone) {
    scheduler home{{.workers = 1}};
    auto [promise, future] = make_promise<int>();
    auto waiting = spawn(home, [](fairlead::future<int>& it) -> task<bool> {
        try {
            static_cast<void>(co_await std::move(it));
        } catch (const stopped_error&) {
            co_return it.valid();
        }
        co_return false;
    }(future));
    waiting.request_stop();
    EXPECT_TRUE(waiting.get());
    promise.set(1);
    EXPECT_EQ(future.get(), 1);
}

TEST(FutureWait, AThreadWaitsUntilADeadline) {
    auto [promise, future] = make_promise<int>();
    EXPECT_EQ(future.wait_blocking(clock::now() + 1ms).error(), wait_error::expired);
    std::jthread gives{[&] { promise.set(2); }};
    EXPECT_TRUE(future.wait_blocking());
    EXPECT_EQ(future.take(), 2);
}

// A8: the only worker goes on while its step waits.
TEST(FutureWait, AStepThatWaitsLeavesItsWorker) {
    scheduler home{{.workers = 1}};
    auto [promise, future] = make_promise<int>();
    auto [result, result_future] = make_promise<int>();
    home.post([f = std::move(future), r = std::move(result)]() mutable { r.set(f.get()); });
    home.post([p = std::move(promise)]() mutable { p.set(6); });
    EXPECT_EQ(result_future.get(), 6);
}

// The continuation that gives the result is queued behind the continuation that waits.
int wait_for_a_later_continuation() {
    auto [first, first_future] = make_promise<int>();
    auto [second, second_future] = make_promise<int>();
    auto doubled = std::move(second_future).map([](int value) { return 2 * value; });
    auto all = std::move(first_future).map([&, p = std::move(second)](int value) mutable {
        p.set(value);
        return doubled.get();
    });
    first.set(5);
    return all.get();
}

TEST(FutureWait, AContinuationMayWaitForALaterOne) {
    EXPECT_EQ(wait_for_a_later_continuation(), 10);
}

// The only thread of a scheduler must not block, and need not: it runs the later one first.
TEST(FutureWait, AContinuationOfTheOnlyThreadMayWaitForALaterOne) {
    test::simulation sim;
    int result = 0;
    sim.scheduler.post([&] { result = wait_for_a_later_continuation(); });
    sim.scheduler.run_until_idle();
    EXPECT_EQ(result, 10);
}

// The same, by waits of other kinds.
TEST(FutureWait, AContinuationMayBlockForWhatALaterOneDoes) {
    const test::watchdog guard;
    scheduler home{{.workers = 1}};
    const auto passes = [](event& by) -> task<> { static_cast<void>(co_await by.wait()); };
    const std::vector<std::function<void(event&)>> blocks{
        [](event& by) { EXPECT_TRUE(by.wait_blocking().has_value()); },
        [&](event& by) { spawn(home, passes(by)).get(); },
        [&](event& by) { block_on(home, passes(by)); },
        [&](event& by) {
            spawn(home, passes(by)).detach();
            home.drain();
        }};
    for (const auto& block : blocks) {
        event passed;
        auto [first, first_future] = make_promise<int>();
        auto [second, second_future] = make_promise<int>();
        auto passing = std::move(second_future).map([&](int) { passed.set(); });
        auto all = std::move(first_future).map([&, p = std::move(second)](int value) mutable {
            p.set(value);
            block(passed);
        });
        first.set(5);
        all.get();
        passing.get();
    }
}

// The steps that the waiting thread runs meanwhile complete futures, too. Their continuations are
// put off, as the waiting continuation still runs.
TEST(FutureWait, AContinuationMayRunTheStepsWhoseContinuationsItWaitsFor) {
    const auto passes = [](event& by) -> task<> { static_cast<void>(co_await by.wait()); };
    const std::vector<std::function<void(test::simulation&, task<>)>> blocks{
        [](test::simulation& sim, task<> waits) {
            spawn(sim.scheduler, std::move(waits)).detach();
            EXPECT_TRUE(sim.scheduler.drain_for(1h));
        },
        [](test::simulation& sim, task<> waits) {
            auto handle = spawn(sim.scheduler, std::move(waits));
            EXPECT_TRUE(handle.get_until(sim.clock.now() + 1h).has_value());
        }};
    for (const auto& block : blocks) {
        test::simulation sim;
        event passed;
        auto [first, first_future] = make_promise<int>();
        auto [second, second_future] = make_promise<int>();
        auto passing = std::move(second_future).map([&](int) { passed.set(); });
        auto all = std::move(first_future).map([&](int) {
            sim.scheduler.post([p = std::move(second)]() mutable { p.set(1); });
            block(sim, passes(passed));
        });
        first.set(5);
        all.get();
        passing.get();
    }
}

TEST(FutureWait, AContinuationOfAStepMayBlockForWhatALaterOneDoes) {
    const test::watchdog guard;
    scheduler home{{.workers = 1}};
    std::promise<void> passed;
    auto [first, first_future] = make_promise<int>();
    auto [second, second_future] = make_promise<int>();
    auto passing = std::move(second_future).map([&](int) { passed.set_value(); });
    auto all = std::move(first_future).map([&, p = std::move(second)](int value) mutable {
        p.set(value);
        block_in_place([&] { passed.get_future().wait(); });
    });
    home.post([p = std::move(first)]() mutable { p.set(5); });
    all.get();
    passing.get();
}

TEST(FutureWait, AWaitThatIsDestroyedIsNotTold) {
    auto [promise, future] = make_promise<int>();
    {
        scheduler home{{.run_on_caller = true}};
        auto waiting = spawn(home, [](fairlead::future<int> it) -> task<int> {
            co_return co_await std::move(it);
        }(std::move(future)));
        home.run_until_idle();
        waiting.detach();
    }
    EXPECT_FALSE(promise.is_wanted());
    promise.set(1);
}

// --- executors -----------------------------------------------------------------------------------

TEST(FutureVia, AContinuationRunsWhereItIsTold) {
    scheduler home{{.workers = 1}};
    group strand{home, {.max_concurrency = 1}};
    const auto here = [](int) { return scheduler::current(); };
    EXPECT_EQ(ready(1).via(strand).map(here).get(), &home);
    EXPECT_EQ(ready(1).map(here).get(), nullptr);
    EXPECT_EQ(ready(1).via(home).map([](int value) { return value; }).get(), 1);
}

TEST(FutureVia, AContinuationOfADestroyedSchedulerFails) {
    auto it = [] {
        scheduler home{{.stop_limit = duration{0}, .run_on_caller = true}};
        group paused{home};
        paused.pause();
        return (ready<int, failure>(1)).via(paused).map([](int value) { return value; });
    }();
    EXPECT_EQ(it.get().error(), failure{"stopped"});
}

TEST(FutureLive, CountsWhatIsThere) {
    const std::size_t before = live_futures();
    {
        auto one = make_promise<int>();
        EXPECT_EQ(live_futures(), before + 1);
        auto next = std::move(one.future).map([](int value) { return value; });
        EXPECT_EQ(live_futures(), before + 2);
        one.promise.set(1);
        EXPECT_EQ(live_futures(), before + 1) << "the first was taken";
        std::thread{[it = std::move(next)]() mutable { it = {}; }}.join();
        EXPECT_EQ(live_futures(), before) << "freed by another thread";
    }
}

// More threads than have a part of the count for themselves: see live_count.cpp.
TEST(FutureLive, CountsThoseOfManyThreads) {
    const std::size_t before = live_futures();
    std::vector<future<int>> all;
    for (std::size_t threads = 1; threads <= 150; ++threads) {
        std::thread{[&] {
            all.push_back(ready(1));
            static_cast<void>(ready(2));
        }}.join();
        EXPECT_EQ(live_futures(), before + threads);
    }
    all.clear();
    EXPECT_EQ(live_futures(), before);
}

}  // namespace
}  // namespace fairlead::future_tests
