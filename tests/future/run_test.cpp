// Functions and coroutines that run as tasks and give futures.
#include "future/failures.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/future/promise.hpp>
#include <fairlead/future/run.hpp>
#include <fairlead/future/zip.hpp>
#include <fairlead/sched/group.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <expected>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::run_tests {
namespace {

using namespace std::chrono_literals;
using test::code;
using test::failure;

TEST(FutureRun, GivesAValueOrNothing) {
    scheduler home{{.workers = 2}};
    EXPECT_EQ(run(
                  home, [](int a, int b) { return a + b; }, 1, 2)
                  .get(),
              3);
    int calls = 0;
    run(home, [&] { ++calls; }).get();
    EXPECT_EQ(calls, 1);
}

TEST(FutureRun, MovesWhatCannotBeCopied) {
    scheduler home{{.workers = 1}};
    auto call = [mine = std::make_unique<int>(4)](std::unique_ptr<int> other) mutable {
        *mine += *other;
        return std::move(mine);
    };
    EXPECT_EQ(*run(home, std::move(call), std::make_unique<int>(5)).get(), 9);
}

TEST(FutureRun, AnExceptionIsAFailure) {
    scheduler home{{.workers = 1}};
    const auto fails = []() -> int { throw std::runtime_error{"bad"}; };
    EXPECT_THROW(static_cast<void>(run(home, fails).get()), std::runtime_error);
    EXPECT_EQ(run<failure>(home, fails).get().error(), failure{"bad"});
}

TEST(FutureRun, AReturnedFutureIsFlattened) {
    scheduler home{{.workers = 1}};
    auto inner = make_promise<int, code>();
    auto it = run<failure>(home, [f = std::move(inner.future)]() mutable { return std::move(f); });
    inner.promise.fail({8});
    EXPECT_EQ(it.get().error(), failure{"code 8"});
    EXPECT_EQ(run<failure>(home, [] { return std::expected<int, failure>{3}; }).get(), 3);
}

TEST(FutureRun, ATaskMayCapture) {
    scheduler home{{.workers = 1}};
    const std::string text(100, 'x');
    auto it = run(
        home,
        [text](int more) -> task<std::size_t> {
            co_await yield();
            co_return text.size() + static_cast<std::size_t>(more);
        },
        1);
    EXPECT_EQ(it.get(), 101U);
}

// A step that waits for its children holds no worker, and no place in a full pool.
TEST(FutureRun, AFullPoolCannotWaitForItself) {
    scheduler home{{.workers = 2}};
    group pool{home, {.max_concurrency = 1}};
    std::vector<future<int>> all;
    for (int i = 0; i != 20; ++i) {
        all.push_back(run(pool, [&pool, i] {
            return zip(run(pool, [i] { return i; }), run(pool, [i] { return i; }))
                .map([](std::tuple<int, int> both) {
                    return std::get<0>(both) + std::get<1>(both);
                });
        }));
    }
    int sum = 0;
    for (const int each : sequence(std::move(all)).get()) sum += each;
    EXPECT_EQ(sum, 380);
}

TEST(FutureRun, AStoppedCallIsNotMade) {
    scheduler home{{.workers = 1}};
    std::stop_source stop;
    stop.request_stop();
    bool called = false;
    auto it = run<failure>(home, {.stop = stop.get_token()}, [&] { called = true; });
    EXPECT_EQ(it.get().error(), failure{"stopped"});
    EXPECT_FALSE(called);
}

TEST(FutureRun, ACallThatIsDroppedFails) {
    auto it = [] {
        scheduler home{{.stop_limit = duration{0}, .run_on_caller = true}};
        group paused{home};
        paused.pause();
        return run<failure>(paused, [] { return 1; });
    }();
    EXPECT_EQ(it.get().error(), failure{"stopped"});
}

TEST(FutureRun, AndForgetReportsExceptions) {
    std::atomic<int> reports{0};
    {
        scheduler home{{.workers = 1, .on_unhandled = [&](auto&&...) { ++reports; }}};
        run_and_forget(
            home,
            [](int value) {
                if (value == 1) throw std::runtime_error{"x"};
            },
            1);
        run_and_forget(home, []() -> task<> {
            co_await yield();
            throw std::runtime_error{"y"};
        });
        home.drain();
    }
    EXPECT_EQ(reports, 2);
}

TEST(FutureRun, AFailurePathNeedsNoFuture) {
    scheduler home{{.workers = 1}};
    std::atomic<int> failures{0};
    run(home, [] {
        throw std::runtime_error{"x"};
    }).on_failure([&](const std::exception_ptr&) {
          ++failures;
      }).detach();
    home.drain();
    EXPECT_EQ(failures, 1);
}

task<int> number(int value) {
    co_await yield();
    if (value < 0) throw std::runtime_error{"negative"};
    co_return value;
}

TEST(FutureStart, GivesTheResultOfATask) {
    scheduler home{{.workers = 1}};
    EXPECT_EQ(start(home, number(3)).map([](int value) { return value + 1; }).get(), 4);
    EXPECT_THROW(static_cast<void>(start(home, number(-3)).get()), std::runtime_error);
    EXPECT_EQ(start<failure>(home, number(-3)).get().error(), failure{"negative"});
    const auto expected = []() -> task<std::expected<void, code>> {
        co_return std::unexpected{code{2}};
    };
    EXPECT_EQ(start<failure>(home, expected()).get().error(), failure{"code 2"});
}

TEST(FutureStart, ATokenStopsTheTask) {
    scheduler home{{.workers = 1}};
    std::stop_source stop;
    const auto sleeps = []() -> task<> { co_await sleep_for(1h); };
    auto it = start(home, sleeps(), {.stop = stop.get_token()});
    stop.request_stop();
    EXPECT_THROW(it.get(), stopped_error);
}

TEST(FutureStart, AnAbandonedTaskIsStopped) {
    auto it = [] {
        scheduler home{{.stop_limit = duration{0}, .run_on_caller = true}};
        group paused{home};
        paused.pause();
        return start<failure>(paused, number(1));
    }();
    EXPECT_EQ(it.get().error(), failure{"stopped"});
}

}  // namespace
}  // namespace fairlead::run_tests
