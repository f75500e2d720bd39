// Loops over containers: each element is visited once; the workers and the slices; failures, stops,
// and the end of a scheduler.
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>

#include "support/ending_of.hpp"
#include "support/probes.hpp"
#include "support/simulated_test.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::for_each_tests {
namespace {

using namespace std::chrono_literals;
using test::manual_clock;
using test::watchdog;

// --- what can be divided, and by what ------------------------------------------------------------

constexpr auto takes_int = [](int) {};
constexpr auto takes_index_and_int = [](std::size_t, int) {};
constexpr auto takes_text = [](const std::string&) {};
constexpr auto changes_itself = [sum = 0](int x) mutable { return sum += x; };
constexpr auto is_coroutine = [](int) -> task<> { co_return; };

template <class Range, class Body>
concept can_loop =
    requires(Range&& range, Body body) { for_each(std::forward<Range>(range), body); };

static_assert(can_loop<std::vector<int>&, decltype(takes_int)>);
static_assert(can_loop<const std::array<int, 3>&, decltype(takes_index_and_int)>);
static_assert(can_loop<std::vector<int>, decltype(takes_int)>, "it is moved into the loop");
static_assert(!can_loop<std::list<int>&, decltype(takes_int)>, "no random access");
static_assert(!can_loop<std::vector<int>&, decltype(takes_text)>);
static_assert(!can_loop<std::vector<int>&, decltype(changes_itself)>, "a race");
static_assert(!can_loop<std::vector<int>&, decltype(is_coroutine)>, "nobody would await it");

class for_each_test : public test::simulated_test {};

TEST_F(for_each_test, gives_each_element_once) {
    static constexpr auto doubles = [](std::vector<int>& all) -> task<> {
        co_await for_each(all, [](int& each) { each *= 2; });
    };
    std::vector<int> all{3, 1, 4, 1, 5};
    block_on(*simulation, doubles(all));
    EXPECT_EQ(all, (std::vector{6, 2, 8, 2, 10}));
}

TEST_F(for_each_test, gives_the_index_too) {
    static constexpr auto numbers = [](std::vector<std::size_t>& all) -> task<> {
        co_await for_each(all, [](std::size_t index, std::size_t& each) { each += index; });
    };
    std::vector<std::size_t> all(1000, 7);
    block_on(*simulation, numbers(all));
    for (std::size_t i = 0; i != all.size(); ++i) ASSERT_EQ(all[i], i + 7);
}

TEST_F(for_each_test, of_many_sizes) {
    static constexpr auto counts = [](std::vector<int>& seen, bulk_options wanted) -> task<> {
        co_await for_each_index(
            seen.size(), [&seen](std::size_t index) { ++seen[index]; }, wanted);
    };
    for (const std::size_t size : {0U, 1U, 2U, 3U, 16U, 999U, 10'000U}) {
        for (const std::size_t grain : {0U, 1U, 3U, 10'000U}) {
            std::vector<int> seen(size);
            block_on(*simulation, counts(seen, {.grain = grain}));
            EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(size));
        }
    }
}

// A loop whose body the compiler may remove.
class longest_loop : coro::bulk {
public:
    longest_loop(bulk_options wanted, std::size_t& claimed) noexcept
        : bulk{std::numeric_limits<std::size_t>::max(), visit, wanted}, claimed_{claimed} {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <coro::on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        return start(leaf, leaf.promise());
    }
    void await_resume() { finish(); }

private:
    static void visit(const bulk& self, std::size_t begin, std::size_t end) {
        static_cast<const longest_loop&>(self).claimed_ += end - begin;
    }

    std::size_t& claimed_;
};

TEST_F(for_each_test, of_as_many_as_can_be_counted) {
    static constexpr auto body = [](std::size_t grain, std::size_t& claimed) -> task<> {
        co_await longest_loop{{.grain = grain}, claimed};
    };
    constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
    for (const std::size_t grain : {std::size_t{1}, std::size_t{3}, all / 2 + 1, all - 1, all}) {
        std::size_t claimed = 0;
        block_on(*simulation, body(grain, claimed));
        EXPECT_EQ(claimed, all);
    }
}

TEST_F(for_each_test, keeps_a_range_that_is_passed_as_a_temporary) {
    static constexpr auto sums = [](std::vector<std::unique_ptr<int>> all) -> task<int> {
        int sum = 0;
        co_await for_each(std::move(all), [&sum](const auto& each) { sum += *each; });
        co_await for_each(
            std::views::iota(0, 4) | std::views::transform([](int i) { return i * i; }),
            [&sum](int each) { sum += each; });
        co_return sum;
    };
    std::vector<std::unique_ptr<int>> all;
    for (int i = 0; i != 10; ++i) all.push_back(std::make_unique<int>(i));
    EXPECT_EQ(block_on(*simulation, sums(std::move(all))), 45 + 14);
}

TEST_F(for_each_test, what_is_not_awaited_does_not_run) {
    int runs = 0;
    static_cast<void>(for_each_index(3, [&runs](std::size_t) { ++runs; }));
    EXPECT_EQ(runs, 0);
}

TEST(for_each_death_test, is_awaited_once) {
    static constexpr auto twice = []() -> task<> {
        auto loop = for_each_index(1, [](std::size_t) {});
        co_await loop;
        co_await loop;
    };
    const auto run = [] {
        scheduler threads{{.workers = 1}};  // in the child, which has no threads of its parent
        block_on(threads, twice());
    };
    EXPECT_DEATH(run(), "awaited twice");
}

// --- turns ---------------------------------------------------------------------------------------

TEST_F(for_each_test, a_loop_within_its_slice_is_one_step) {
    static constexpr auto body = []() -> task<> {
        co_await for_each_index(1'000'000, [](std::size_t) {});
    };
    auto handle = spawn(*simulation, body());
    EXPECT_EQ(simulation->run_until_idle(), 1U);
    handle.get();
}

// Each body takes 10 us; a slice of 200 us may be exceeded by a chunk.
TEST_F(for_each_test, others_have_their_turn_after_each_slice) {
    struct coroutines {
        static task<> loops(manual_clock& clock, bool& ended) {
            co_await for_each_index(10'000, [&clock](std::size_t) { clock.advance(10us); });
            ended = true;
        }
        static task<duration> longest_wait(manual_clock& clock, const bool& ended) {
            duration longest{0};
            while (!ended) {
                const time_point before = clock.now();
                co_await yield();
                longest = std::max(longest, clock.now() - before);
            }
            co_return longest;
        }
    };
    bool ended = false;
    auto waits = spawn(*simulation, coroutines::longest_wait(clock, ended));
    auto loops = spawn(*simulation, coroutines::loops(clock, ended));
    simulation->drain();
    loops.get();
    EXPECT_LE(waits.get(), 250us);
}

// Iterations are claimed one by one, or in chunks that take an eighth of a slice.
TEST_F(for_each_test, the_claims_follow_from_how_long_the_bodies_take) {
    static constexpr auto count = [](manual_clock& time, duration each, duration slice) -> task<> {
        // gcc12: trivial
        co_await for_each_index(10'000, [&time, each](std::size_t) { time.advance(each); },
                                {.slice = slice});
    };
    const auto steps = [&](duration each, duration slice) {
        auto handle = spawn(*simulation, count(clock, each, slice));
        const std::size_t ran = simulation->run_until_idle();
        handle.get();
        return ran;
    };
    // The last step completes the parent, which has one more.
    EXPECT_EQ(steps(1ms, 1us), 10'000U + 1);
    EXPECT_LE(steps(1us, 100us), 100U + 1);
    EXPECT_GE(steps(1us, 100us), 90U);
    EXPECT_LE(steps(1us, 1ms), 10U + 1);
}

// Each slice begins with chunks of the grain. So bodies that become longer are claimed one by one.
TEST_F(for_each_test, the_claims_of_a_slice_begin_with_the_grain) {
    static constexpr auto body = [](manual_clock& time) -> task<> {
        co_await for_each_index(1100, [&time](std::size_t index) {
            time.advance(index < 1000 ? 1us : 200us);  // a slice
        });
    };
    auto handle = spawn(*simulation, body(clock));
    EXPECT_GE(simulation->run_until_idle(), 70U);
    handle.get();
}

TEST_F(for_each_test, a_slice_of_nothing_is_a_chunk) {
    static constexpr auto body = []() -> task<> {
        co_await for_each_index(10, [](std::size_t) {}, {.grain = 4, .slice = 0s});
    };
    auto handle = spawn(*simulation, body());
    EXPECT_EQ(simulation->run_until_idle(), 4U);
    handle.get();
}

// --- failures ------------------------------------------------------------------------------------

struct failed_at {
    std::size_t index;
};

TEST_F(for_each_test, a_failure_keeps_the_rest_from_running) {
    static constexpr auto body = [](std::vector<std::size_t>& seen) -> task<> {
        co_await for_each_index(1'000'000, [&seen](std::size_t index) {
            seen.push_back(index);
            if (index == 3) throw failed_at{index};
        });
    };
    std::vector<std::size_t> seen;
    EXPECT_THROW(block_on(*simulation, body(seen)), failed_at);
    EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST_F(for_each_test, a_failure_in_a_later_slice) {
    static constexpr auto body = [](manual_clock& time) -> task<> {
        co_await for_each_index(1000, [&time](std::size_t index) {
            time.advance(1ms);
            if (index == 30) throw failed_at{index};
        });
    };
    const time_point begin = clock.now();
    EXPECT_THROW(block_on(*simulation, body(clock)), failed_at);
    EXPECT_EQ(clock.now(), begin + 31ms);
}

// --- stops ---------------------------------------------------------------------------------------

// A loop that is stopped: the number of runs, whether the rest was skipped, and the result of the
// next wait.
struct stopped_loop {
    std::atomic<int> runs{0};
    std::optional<wake_reason> next;
    std::optional<wake_reason> later;
    bool was_stopped = false;

    task<> body(manual_clock& clock, int stops_at, std::size_t count) {
        basic_task& self = co_await current_task();
        try {
            // gcc12: trivial
            co_await for_each_index(count, [this, &self, &clock, stops_at](std::size_t) {
                clock.advance(100us);
                if (++runs == stops_at) self.request_stop();
            });
        } catch (const stopped_error&) {
            was_stopped = true;
        }
        next = co_await shielded(test::ending_of(sleep_for(1s)));
        later = co_await test::ending_of(sleep_for(1s));
    }
};

TEST_F(for_each_test, a_stop_before_it_keeps_all_from_running) {
    stopped_loop loop;
    auto handle = spawn(*simulation, loop.body(clock, -1, 10));
    handle.request_stop();
    simulation->drain();
    handle.get();
    EXPECT_EQ(loop.runs, 0);
    EXPECT_TRUE(loop.was_stopped);
    EXPECT_EQ(loop.next, wake_reason::expired);
    EXPECT_EQ(loop.later, wake_reason::stopped);
}

// The stop comes in the first slice, or in a later one.
TEST_F(for_each_test, a_stop_keeps_the_rest_from_running) {
    for (const int at : {1, 20, 21, 22}) {
        stopped_loop loop;
        auto handle = spawn(*simulation, loop.body(clock, at, 1000));
        simulation->drain();
        handle.get();
        // Two bodies are a slice. The parent learns of the stop in its next turn.
        EXPECT_GE(loop.runs, at);
        EXPECT_LE(loop.runs, at + 4);
        EXPECT_TRUE(loop.was_stopped);
        EXPECT_EQ(loop.next, wake_reason::expired);
    }
}

TEST_F(for_each_test, a_stop_that_comes_with_the_last_is_for_the_next_wait) {
    for (const int count : {1, 2, 20}) {
        stopped_loop loop;
        auto handle = spawn(*simulation, loop.body(clock, count, static_cast<std::size_t>(count)));
        simulation->drain();
        handle.get();
        EXPECT_EQ(loop.runs, count);
        EXPECT_FALSE(loop.was_stopped);
        EXPECT_EQ(loop.later, wake_reason::stopped);
    }
}

TEST_F(for_each_test, a_loop_that_cleans_up_is_not_stopped) {
    static constexpr auto body = [](manual_clock& time, int& runs) -> task<> {
        EXPECT_EQ(co_await test::ending_of(sleep_for(1h)), wake_reason::stopped);
        co_await shielded(for_each_index(100, [&](std::size_t) {
            time.advance(100us);
            ++runs;
        }));
    };
    int runs = 0;
    auto handle = spawn(*simulation, body(clock, runs));
    handle.request_stop();
    simulation->drain();
    handle.get();
    EXPECT_EQ(runs, 100);
}

// A stop is no failure: without a joiner, `on_unhandled` gets no exception.
TEST_F(for_each_test, a_task_that_ends_with_its_loop_when_it_is_stopped_has_not_failed) {
    static constexpr auto body = [](manual_clock& time) -> task<> {
        co_await for_each_index(1000, [&time](std::size_t) { time.advance(1ms); });
    };
    int failures = 0;
    auto options = test::simulated(clock, driver);
    options.on_unhandled = [&failures](const std::exception_ptr&, const failure_origin&) {
        ++failures;
    };
    simulation.emplace(std::move(options));
    for (const bool dropped_before : {true, false}) {
        auto handle = spawn(*simulation, body(clock));
        simulation->run_until(clock.now(), 3);
        handle.request_stop();
        if (dropped_before) handle.detach();
        simulation->drain();
    }
    EXPECT_EQ(failures, 0);
}

// --- the end of a scheduler ----------------------------------------------------------------------

TEST_F(for_each_test, a_loop_goes_with_the_scheduler) {
    static constexpr auto body = [](manual_clock& time, std::atomic<int>& alive) -> task<> {
        const test::counted here{alive};
        co_await for_each_index(1000, [&time](std::size_t) { time.advance(1ms); });
    };
    auto options = test::simulated(clock, driver);
    options.stop_limit = 0s;
    simulation.emplace(std::move(options));
    std::atomic<int> alive{0};
    auto handle = spawn(*simulation, body(clock, alive));
    simulation->run_until(clock.now(), 5);
    EXPECT_EQ(alive, 1);
    simulation.reset();
    EXPECT_EQ(alive, 0);
    EXPECT_THROW(handle.get(), stopped_error);
}

// --- on threads ----------------------------------------------------------------------------------

TEST(for_each_on_threads, at_every_width) {
    const watchdog guard;
    static constexpr auto counts = [](std::vector<int>& seen, bulk_options wanted) -> task<> {
        co_await for_each(
            seen, [](int& each) { ++each; }, wanted);
    };
    for (const unsigned workers : {1U, 2U, 3U, 5U}) {
        scheduler threads{{.workers = workers}};
        for (const duration slice : {duration{0}, duration{20us}, duration{200us}}) {
            for (const std::size_t size : {1U, 2U, 7U, 1'000U, 50'000U}) {
                const bulk_options wanted{.grain = slice == 0us ? size / 100 : 1, .slice = slice};
                std::vector<int> seen(size);
                for (int i = 0; i != 10; ++i) block_on(threads, counts(seen, wanted));
                EXPECT_EQ(std::ranges::count(seen, 10), static_cast<std::ptrdiff_t>(size));
            }
        }
    }
}

// Each body waits until all bodies have begun, so they must run at the same time.
TEST(for_each_on_threads, idle_workers_join_in) {
    const watchdog guard;
    static constexpr auto meet = [](std::size_t all) -> task<> {
        std::atomic<std::size_t> there{0};
        // gcc12: trivial
        co_await for_each_index(all, [&there, all](std::size_t) {
            ++there;
            while (there != all) std::this_thread::yield();
        });
    };
    for (const unsigned workers : {2U, 4U}) {
        scheduler threads{{.workers = workers}};
        for (int i = 0; i != 50; ++i) block_on(threads, meet(workers));
    }
}

// The other worker is in a step that waits for the loop.
TEST(for_each_on_threads, a_loop_ends_though_all_others_are_blocked) {
    const watchdog guard;
    struct coroutines {
        static task<> blocks(std::atomic<bool>& blocked, const std::atomic<bool>& ended) {
            blocked = true;
            while (!ended) std::this_thread::yield();
            co_return;
        }
        static task<> loops(const std::atomic<bool>& blocked, std::atomic<bool>& ended) {
            while (!blocked) co_await yield();
            std::atomic<int> runs{0};
            co_await for_each_index(1000, [&runs](std::size_t) { ++runs; }, {.slice = 0s});
            EXPECT_EQ(runs, 1000);
            ended = true;
        }
    };
    scheduler threads{{.workers = 2}};
    std::atomic<bool> blocked{false};
    std::atomic<bool> ended{false};
    auto blocks = spawn(threads, coroutines::blocks(blocked, ended));
    block_on(threads, coroutines::loops(blocked, ended));
    blocks.get();
}

// This holds whichever iteration throws first, and on whichever worker.
TEST(for_each_on_threads, rethrows_what_a_plain_loop_would_have_thrown) {
    const watchdog guard;
    static constexpr auto body = [](std::vector<std::atomic<bool>>& seen) -> task<> {
        co_await for_each_index(seen.size(),
                                [&seen](std::size_t index) {
                                    seen[index] = true;
                                    if (index >= 700 && index % 7 == 0) throw failed_at{index};
                                    if (index % 64 == 0) std::this_thread::yield();
                                },
                                {.grain = 16});
    };
    scheduler threads{{.workers = 3}};
    for (int i = 0; i != 300; ++i) {
        std::vector<std::atomic<bool>> seen(1000);
        try {
            block_on(threads, body(seen));
            ADD_FAILURE() << "nothing was thrown";
        } catch (const failed_at& failure) {
            ASSERT_EQ(failure.index, 700U);
        }
        for (std::size_t index = 0; index <= 700; ++index) ASSERT_TRUE(seen[index]) << index;
    }
}

// Both iterations fail at about the same time, in either order.
TEST(for_each_on_threads, rethrows_the_failure_with_the_lowest_index) {
    const watchdog guard;
    static constexpr auto body = [](std::array<int, 2> delays) -> task<> {
        std::atomic<int> there{0};
        // gcc12: trivial
        co_await for_each_index(2, [&there, delays](std::size_t index) {
            ++there;
            while (there != 2) std::this_thread::yield();
            for (int i = 0; i != delays[index]; ++i) std::this_thread::yield();
            throw failed_at{index};
        });
    };
    scheduler threads{{.workers = 2}};
    for (int i = 0; i != 300; ++i) {
        try {
            block_on(threads, body({i % 3 * 20, i % 2 * 20}));
            ADD_FAILURE() << "nothing was thrown";
        } catch (const failed_at& failure) {
            ASSERT_EQ(failure.index, 0U);
        }
    }
}

task<std::size_t> loops_in_loops(int depth, duration slice) {
    std::atomic<std::size_t> runs{0};
    const auto loop = [&](std::size_t count) {
        return for_each_index(
            count, [&runs](std::size_t) { runs.fetch_add(1, std::memory_order::relaxed); },
            {.slice = slice});
    };
    co_await loop(10);
    if (depth != 0) {
        const auto [left, right] =
            co_await fork_join(loops_in_loops(depth - 1, slice), loops_in_loops(depth - 1, slice));
        runs += left + right;
    }
    co_await loop(10);
    co_return runs;
}

TEST(for_each_on_threads, nests_in_forks_and_tasks) {
    const watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        scheduler threads{{.workers = workers}};
        for (int i = 0; i != 20; ++i) {
            const duration slice{i % 2 == 0 ? 0us : 200us};
            std::vector<task<std::size_t>> all;
            for (int each = 0; each != 5; ++each) all.push_back(loops_in_loops(4, slice));
            for (const std::size_t runs : block_on(threads, when_all(std::move(all)))) {
                EXPECT_EQ(runs, 31U * 20);
            }
        }
    }
}

TEST(for_each_on_threads, a_stop_races_with_the_end) {
    const watchdog guard;
    static constexpr auto body = [](std::atomic<int>& runs) -> task<bool> {
        try {
            co_await for_each_index(50, [&runs](std::size_t) { ++runs; }, {.slice = 1us});
        } catch (const stopped_error&) {
            co_return false;
        }
        co_return true;
    };
    scheduler threads{{.workers = 2}};
    for (int i = 0; i != 3000; ++i) {
        std::atomic<int> runs{0};
        auto handle = spawn(threads, body(runs));
        if (i % 2 == 0) std::this_thread::yield();
        handle.request_stop();
        const bool all = handle.get();
        EXPECT_EQ(all, runs == 50);
    }
}

// The scheduler is destroyed in the middle of the loops, on several workers.
TEST(for_each_on_threads, a_scheduler_ends_while_tasks_loop) {
    const watchdog guard;
    for (int i = 0; i != 200; ++i) {
        scheduler threads{{.workers = 3, .stop_limit = duration{0}}};
        for (int each = 0; each != 3; ++each) {
            spawn(threads, loops_in_loops(3, each * 1us)).detach();
        }
        std::this_thread::sleep_for(i % 10 * 20us);
    }
}

}  // namespace
}  // namespace fairlead::for_each_tests
