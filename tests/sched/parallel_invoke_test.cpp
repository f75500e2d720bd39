// Functions that a step calls in parallel: results, failures, depth, and the workers that call
// them.
#include "support/watchdog.hpp"

#include <fairlead/sched/block_in_place.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/parallel_invoke.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead::parallel_invoke_tests {
namespace {

using namespace std::chrono_literals;
using test::watchdog;

// Runs `body` in a step and waits for its end.
template <class Body>
void in_a_step(const post_target& of, const Body& body) {
    std::latch ended{1};
    of.post([&] {
        body();
        ended.count_down();
    });
    ended.wait();
}

// Pins a function to another thread than the caller's: it begins while the first waits for it, and
// only a worker that takes it can begin it then.
class begun_elsewhere {
public:
    void wait() { begun_.wait(); }
    void begin() { begun_.count_down(); }

private:
    std::latch begun_{1};
};

// Calls both in parallel, `second` by another worker.
template <class First, class Second>
void call_on_two(const First& first, const Second& second) {
    begun_elsewhere begun;
    parallel_invoke(
        [&] {
            begun.wait();
            first();
        },
        [&] {
            begun.begin();
            second();
        });
}

constexpr auto fails = [] { throw std::runtime_error{"it"}; };
constexpr auto fails_otherwise = [] { throw std::out_of_range{"the other"}; };

std::uint64_t fib(std::uint64_t n) {
    if (n < 2) return n;
    const auto [left, right] =
        parallel_invoke([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
    return left + right;
}

TEST(ParallelInvoke, GivesATupleOfAllKindsInOrder) {
    const auto all = [] {
        return parallel_invoke([] { return 1; }, [] { return std::string{"text"}; }, [] {},
                               [] { return std::make_unique<int>(4); });
    };
    static_assert(
        std::is_same_v<decltype(all()),
                       std::tuple<int, std::string, std::monostate, std::unique_ptr<int>>>);
    const auto look = [&] {
        const auto [a, b, c, d] = all();
        EXPECT_EQ(a, 1);
        EXPECT_EQ(b, "text");
        EXPECT_EQ(*d, 4);
    };
    look();  // outside a step
    for (const unsigned workers : {1U, 2U}) {
        scheduler scheduler{{.workers = workers}};
        in_a_step(scheduler, look);
    }
}

TEST(ParallelInvoke, ResultsThatAreTuplesStayWhole) {
    const auto [a, b, c] = parallel_invoke(
        [] {
            return std::pair{1, 2};
        },
        [] {
            return std::tuple{3, 4, 5};
        },
        [] { return parallel_invoke([] {}, [] { return 6; }); });
    EXPECT_EQ(a.second, 2);
    EXPECT_EQ(std::get<2>(b), 5);
    EXPECT_EQ(std::get<1>(c), 6);
}

TEST(ParallelInvoke, TakesAnyCallable) {
    struct once {
        std::unique_ptr<int> value;
        std::unique_ptr<int> operator()() { return std::move(value); }
    };
    struct functions {
        static int seven() { return 7; }
    };
    const auto eight = [] { return 8; };
    int nine = 9;
    const auto [a, b, c, d] = parallel_invoke(once{std::make_unique<int>(6)}, functions::seven,
                                              eight, [&]() -> int& { return nine; });
    EXPECT_EQ(*a, 6);
    EXPECT_EQ(b, 7);
    EXPECT_EQ(c, 8);
    EXPECT_EQ(d, 9);
}

TEST(ParallelInvoke, OutsideAStepAllAreCalledInOrder) {
    std::vector<int> seen;
    parallel_invoke([&] { seen.push_back(1); }, [&] { seen.push_back(2); },
                    [&] { seen.push_back(3); });
    EXPECT_EQ(seen, (std::vector{1, 2, 3}));
    EXPECT_EQ(fib(10), 55U);
}

TEST(ParallelInvoke, OneWorkerCallsAllInOrder) {
    scheduler scheduler{{.workers = 1}};
    in_a_step(scheduler, [] {
        std::vector<int> seen;
        parallel_invoke([&] { seen.push_back(1); }, [&] { seen.push_back(2); },
                        [&] { seen.push_back(3); });
        EXPECT_EQ(seen, (std::vector{1, 2, 3}));
    });
}

TEST(ParallelInvoke, AnIdleWorkerCallsTheSecond) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int i = 0; i != 200; ++i) {
        in_a_step(scheduler, [] {
            begun_elsewhere second;
            const auto [here, there] = parallel_invoke(
                [&] {
                    second.wait();
                    return std::this_thread::get_id();
                },
                [&] {
                    second.begin();
                    return std::this_thread::get_id();
                });
            EXPECT_NE(here, there);
        });
    }
}

// The worker that waits calls what the other has offered meanwhile: both are needed at once.
TEST(ParallelInvoke, AWorkerThatWaitsHelpsTheOther) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (int i = 0; i != 200; ++i) {
        in_a_step(scheduler, [] {
            begun_elsewhere second;
            std::thread::id threads[2];
            parallel_invoke([&] { second.wait(); },
                            [&] {
                                second.begin();
                                std::barrier both{2};
                                parallel_invoke(
                                    [&] {
                                        threads[0] = std::this_thread::get_id();
                                        both.arrive_and_wait();
                                    },
                                    [&] {
                                        threads[1] = std::this_thread::get_id();
                                        both.arrive_and_wait();
                                    });
                            });
            EXPECT_NE(threads[0], threads[1]);
        });
    }
}

TEST(ParallelInvoke, ATreeIsCalledCompletely) {
    watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        scheduler scheduler{{.workers = workers}};
        in_a_step(scheduler, [] { EXPECT_EQ(fib(22), 17'711U); });
    }
}

TEST(ParallelInvoke, SeveralTreesAtOnce) {
    watchdog guard;
    scheduler scheduler{{.workers = 3}};
    std::latch ended{8};
    std::atomic<std::uint64_t> sum{0};
    for (int i = 0; i != 8; ++i) {
        scheduler.post([&] {
            sum += fib(18);
            ended.count_down();
        });
    }
    ended.wait();
    EXPECT_EQ(sum, 8 * 2584U);
}

// More than the deque holds: what has no room is called by its parent.
TEST(ParallelInvoke, DeeperThanTheDeque) {
    struct calls {
        static int depth(int left) {
            if (left == 0) return 0;
            const auto [below, one] =
                parallel_invoke([left] { return depth(left - 1); }, [] { return 1; });
            return below + one;
        }
    };
    watchdog guard;
    for (const unsigned workers : {1U, 3U}) {
        scheduler scheduler{{.workers = workers}};
        in_a_step(scheduler, [] { EXPECT_EQ(calls::depth(1000), 1000); });
    }
}

TEST(ParallelInvoke, AFailureKeepsThoseThatWereNotTaken) {
    scheduler scheduler{{.workers = 1}};
    in_a_step(scheduler, [] {
        bool called = false;
        EXPECT_THROW(
            parallel_invoke([] { throw std::runtime_error{"it"}; }, [&] { called = true; }),
            std::runtime_error);
        EXPECT_FALSE(called);
    });
}

TEST(ParallelInvoke, AFailureWaitsForWhatWasTaken) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    in_a_step(scheduler, [] {
        bool ended = false;
        const auto takes_long = [&] {
            std::this_thread::sleep_for(5ms);
            ended = true;
        };
        EXPECT_THROW(call_on_two(fails, takes_long), std::runtime_error);
        EXPECT_TRUE(ended);
    });
}

TEST(ParallelInvoke, TheFailureOfWhatWasTakenIsRethrown) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    in_a_step(scheduler,
              [] { EXPECT_THROW(call_on_two([] {}, fails_otherwise), std::out_of_range); });
}

TEST(ParallelInvoke, OfTwoFailuresTheFirstInOrderIsRethrown) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    in_a_step(scheduler,
              [] { EXPECT_THROW(call_on_two(fails, fails_otherwise), std::runtime_error); });
}

// It keeps its forks to itself, and no more of it run than may.
TEST(ParallelInvoke, AGroupWithALimitCallsAllItself) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    group one{scheduler, {.max_concurrency = 1}};
    in_a_step(one, [] {
        std::mutex mutex;
        std::set<std::thread::id> threads;
        std::vector<int> elements(100);
        parallel_for_each(elements, [&](int&) {
            const std::lock_guard lock{mutex};
            threads.insert(std::this_thread::get_id());
        });
        EXPECT_EQ(threads.size(), 1U);
    });
}

TEST(ParallelInvoke, AGroupWithoutALimitIsHelped) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    group some{scheduler};
    for (int i = 0; i != 50; ++i) {
        in_a_step(some, [] { call_on_two([] {}, [] {}); });
    }
    scheduler.drain();
}

TEST(ParallelInvoke, AStepThatHasLostItsSlotCallsAllItself) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    in_a_step(scheduler, [] {
        block_in_place([] {
            const auto [a, b] = parallel_invoke([] { return std::this_thread::get_id(); },
                                                [] { return std::this_thread::get_id(); });
            EXPECT_EQ(a, b);
        });
    });
}

// While it calls in parallel a step keeps its slot, but no longer.
TEST(ParallelInvoke, AStepThatBlocksAfterItsCallsLosesItsSlot) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    std::latch go{1};
    std::latch ended{2};
    for (int i = 0; i != 2; ++i) {
        scheduler.post([&] {
            parallel_invoke([] {}, [] {});
            go.wait();
            ended.count_down();
        });
    }
    scheduler.post([&] { go.count_down(); });
    ended.wait();
}

TEST(ParallelInvoke, AStopWaitsForTheTree) {
    watchdog guard;
    for (int i = 0; i != 20; ++i) {
        scheduler scheduler{{.workers = 2}};
        std::latch begun{1};
        std::atomic<std::uint64_t> found{0};
        scheduler.post([&] {
            begun.count_down();
            found = fib(18);
        });
        begun.wait();
        static_cast<void>(scheduler.stop(0ms));
        EXPECT_EQ(found, 2584U);
    }
}

TEST(ParallelForEach, CallsTheFunctionOnceForEachElement) {
    watchdog guard;
    scheduler scheduler{{.workers = 2}};
    for (const std::size_t size : {0U, 1U, 2U, 3U, 1000U}) {
        in_a_step(scheduler, [size] {
            std::vector<std::atomic<int>> calls(size);
            parallel_for_each(calls, [](std::atomic<int>& each) { ++each; });
            for (const std::atomic<int>& each : calls) EXPECT_EQ(each, 1);
        });
    }
}

TEST(ParallelForEach, AFailureIsRethrown) {
    scheduler scheduler{{.workers = 2}};
    in_a_step(scheduler, [] {
        std::vector<int> elements(100);
        std::iota(elements.begin(), elements.end(), 0);
        EXPECT_THROW(parallel_for_each(elements,
                                       [](int each) {
                                           if (each == 50) throw std::runtime_error{"it"};
                                       }),
                     std::runtime_error);
    });
}

}  // namespace
}  // namespace fairlead::parallel_invoke_tests
