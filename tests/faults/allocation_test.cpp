// Each allocation of a scenario fails: first alone, then together with all later ones. The library
// reports std::bad_alloc or std::errc::not_enough_memory. Inside a round it works without the
// memory.
#include "faults/sweep.hpp"
#include "sched/groups/group_queue.hpp"
#include "sched/slot/sleeper_table.hpp"
#include "support/simulated.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/detail/lockfree/block_queue.hpp>
#include <fairlead/detail/timer/deadline_heap.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/wait/single_flight.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace fairlead::test::allocation_tests {
namespace {

using namespace std::chrono_literals;

constexpr fault no_memory{};

scheduler_options of_workers(unsigned workers) {
    scheduler_options options;
    options.workers = workers;
    return options;
}

class allocations : public testing::Test {
protected:
    const watchdog guard;
};

// --- structures ----------------------------------------------------------------------------------

TEST_F(allocations, a_queue_without_memory_keeps_its_order) {
    using queue = lockfree::block_queue<int, 4>;
    std::vector<int> items(40);
    std::vector<int*> pointers;
    pointers.reserve(items.size());
    for (int& each : items) pointers.push_back(&each);
    const std::span<int* const> all{pointers};
    queue ready;
    queue::consumer consumer{ready};
    std::array<int*, 40> out{};
    std::size_t pushed = 0;
    {
        const armed plan{no_memory, call_range{3, 1000}};
        pushed = ready.push(all);
        EXPECT_EQ(pushed, 11U);  // three blocks, without the item that would need a fourth
        EXPECT_EQ(ready.push(all.subspan(pushed)), 0U);
        EXPECT_EQ(consumer.claim(out), 4U);
        EXPECT_EQ(consumer.claim(out), 4U);  // the first block is free again
        const std::size_t more = ready.push(all.subspan(pushed));
        EXPECT_EQ(more, 4U);
        pushed += more;
    }
    pushed += ready.push(all.subspan(pushed));
    EXPECT_EQ(pushed, 40U);
    for (std::size_t seen = 8; seen != 40;) {
        const std::size_t count = consumer.claim(out);
        ASSERT_NE(count, 0U);
        for (std::size_t i = 0; i != count; ++i) ASSERT_EQ(out[i], pointers[seen++]);
    }
}

TEST_F(allocations, indices_that_there_is_no_memory_for_change_nothing) {
    sched::sleeper_table table;
    struct node {
        std::int32_t index = -1;
    };
    timer::deadline_heap<node, &node::index> heap;
    std::vector<node> nodes(100);
    std::vector<callback_task> tasks(100);
    std::size_t inserted = 0;
    {
        const armed plan{no_memory, call_range::from(5)};
        while (inserted != 100 &&
               heap.push(nodes[inserted], time_point{} + 1s * static_cast<int>(inserted)) &&
               table.insert(tasks[inserted]) != nullptr) {
            ++inserted;
        }
        EXPECT_TRUE(plan.hit());
    }
    EXPECT_NE(inserted, 0U);
    std::set<basic_task*> visited;
    table.for_each([&](basic_task& each) { visited.insert(&each); });
    EXPECT_EQ(visited.size(), inserted);
    for (std::size_t i = 0; i != inserted; ++i) {
        EXPECT_EQ(&heap.top(), &nodes[i]);
        heap.erase(nodes[i]);
    }
}

// A task with a deadline.
class dated final : public basic_task {
public:
    explicit dated(int day) noexcept : basic_task{kind, "dated"}, due_{24h * day} {}

private:
    static time_point due(const basic_task& task) noexcept {
        return static_cast<const dated&>(task).due_;
    }
    static constexpr task_kind kind{
        .run = [](basic_task&) noexcept {}, .abandon = [](basic_task&) noexcept {}, .due = due};

    const time_point due_;
};

// A task for which the heap has no memory is in the FIFO. No task is lost.
TEST_F(allocations, a_queue_by_deadline_without_memory_loses_no_task) {
    constexpr int count = 40;
    for (int fails_at = 1; fails_at != 9; ++fails_at) {
        std::deque<dated> tasks;
        for (int i = 0; i != count; ++i) tasks.emplace_back(count - i);
        sched::group_queue queue{true};
        std::vector<basic_task*> taken;
        taken.reserve(2 * count);
        {
            const armed plan{no_memory, call_range::from(fails_at)};
            for (dated& each : tasks) queue.add(each, false);
            EXPECT_EQ(queue.size(), std::size_t{count});
            for (int i = 0; i != count / 2; ++i) taken.push_back(&queue.take());
            for (int i = 0; i != count / 4; ++i) {
                queue.put_back(*taken.back());
                taken.pop_back();
            }
            while (!queue.empty()) taken.push_back(&queue.take());
            EXPECT_EQ(plan.hit(),
                      fails_at < 8);  // the array has 64 entries after seven allocations
        }
        EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), std::size_t{count});
        EXPECT_EQ(taken.size(), std::size_t{count});
    }
}

// --- life cycle ----------------------------------------------------------------------------------

TEST_F(allocations, making_a_scheduler) {
    for (const unsigned workers : {1U, 3U}) {
        sweep(no_memory, outcome::reported, [=] { scheduler{of_workers(workers)}.drain(); });
        sweep(no_memory, outcome::reported, [=] { scheduler{with_epoll(workers)}.drain(); });
    }
}

// A scheduler that could not start again is stopped, and can be started later.
TEST_F(allocations, starting_again) {
    for (const unsigned workers : {1U, 3U}) {
        scheduler home{of_workers(workers)};
        std::atomic<int> runs{0};
        callback_task task{[&runs](callback_task&) { ++runs; }};
        sweep(no_memory, outcome::reported, [&] {
            EXPECT_TRUE(home.stop(10s).clean());
            home.start();
            const int before = runs;
            home.post(task);
            home.drain();
            EXPECT_EQ(runs, before + 1);
        });
    }
}

// A stop reports the remaining tasks, without names if there is no memory for them. The destructor
// gives the tasks back.
TEST_F(allocations, stopping_with_tasks_left) {
    static constexpr auto stays = [](std::shared_ptr<int>) -> task<> {
        for (;;) static_cast<void>(co_await wait_until_woken());
    };
    const auto held = std::make_shared<int>();
    sweep(no_memory, outcome::maybe_reported, [&] {
        std::vector<callback_task> waiting(100);
        for (auto& each : waiting)
            each.set_callback([](callback_task& self) { scheduler::current()->post_wait(self); });
        {
            scheduler_options options = of_workers(2);
            options.stop_limit = 0s;
            scheduler home{std::move(options)};
            for (auto& each : waiting) home.post_wait(each);
            for (int i = 0; i != 20; ++i) spawn(home, stays(held)).detach();
            const stop_report left = home.stop(0s);
            EXPECT_EQ(left.waiting + left.queued + left.running, 120U);
            EXPECT_LE(left.tasks.size(), 100U);
        }
        EXPECT_EQ(held.use_count(), 1);
    });
    EXPECT_EQ(held.use_count(), 1);
}

// --- tasks ---------------------------------------------------------------------------------------

TEST_F(allocations, posting_callables) {
    sweep(no_memory, outcome::maybe_reported, [] {
        std::atomic<int> runs{0};
        int posted = 0;
        {
            scheduler home{of_workers(2)};
            for (; posted != 5; ++posted) home.post([&runs] { ++runs; });
        }
        EXPECT_EQ(runs, posted);
    });
}

// Two callers share a flight, whose memory is missing in each place. No caller waits for ever, and
// the key is free again.
TEST_F(allocations, sharing_a_flight) {
    static constexpr auto make = [](const int& key) -> task<int> {
        co_await yield();
        co_return key;
    };
    sweep(no_memory, outcome::maybe_reported, [] {
        std::optional<single_flight<int, int>> all;
        const auto gets = [&]() -> task<> {
            const waited<int> result = co_await all->get(7, make);
            EXPECT_TRUE(result ? *result == 7 : result.error() == wait_error::closed);
        };
        scheduler home{of_workers(1)};
        all.emplace(home);
        std::exception_ptr failure;
        const auto keeps_failure = [&failure](const auto& body) {
            try {
                body();
            } catch (...) {
                failure = std::current_exception();
            }
        };
        // A spawn without memory must not destroy the scheduler under the other caller.
        std::array<std::optional<join_handle<void>>, 2> callers;
        for (auto& each : callers) keeps_failure([&] { each = spawn(home, gets()); });
        for (auto& each : callers) {
            if (each) keeps_failure([&] { each->get(); });
        }
        home.drain();
        EXPECT_EQ(all->flights(), 0U);
        if (failure) std::rethrow_exception(failure);
    });
}

// In simulated time: there is no memory to register a sleeper. It sleeps at least as long as it
// must, and no thread spins meanwhile.
TEST_F(allocations, a_sleeper_without_a_place_costs_a_look_each_millisecond) {
    manual_clock clock;
    simulated_driver* driver = nullptr;
    scheduler home{simulated(clock, driver)};
    const time_point begin = clock.now();
    time_point ran{};
    struct {
        manual_clock& clock;
        time_point& ran;
    } seen{clock, ran};
    callback_task task{[&seen](callback_task&) { seen.ran = seen.clock.now(); }};
    driver->waits.reserve(1000);
    {
        const armed plan{no_memory, call_range::from(1)};
        home.post_deadline(task, begin + 100ms);
        home.drain();
        EXPECT_TRUE(plan.hit());
    }
    EXPECT_GE(ran, begin + 100ms);
    EXPECT_LE(ran, begin + 102ms);
    EXPECT_LE(driver->waits.size(), 102U);
}

// The same for a wait for a source.
TEST_F(allocations, a_source_fires_without_a_place) {
    for (const bool has_memory_at_last : {true, false}) {
        manual_clock clock;
        simulated_driver* driver = nullptr;
        scheduler home{simulated(clock, driver)};
        driver->waits.reserve(1000);
        fake_source source;
        int runs = 0;
        callback_task task{[&runs](callback_task&) { ++runs; }};
        {
            const armed plan{no_memory, call_range::from(1)};
            task.wait_for(source);
            home.post_wait(task);
            home.run_until_idle();
            home.run_until(clock.now() + 10ms);
            EXPECT_TRUE(plan.hit());
            EXPECT_EQ(runs, 0);
            if (!has_memory_at_last) {
                source.ready = true;
                home.drain();
            }
        }
        if (has_memory_at_last) {
            home.run_until(clock.now() + 10ms);
            EXPECT_EQ(source.armed, &task);
            driver->will_fire.push_back(&source);
            driver->sources = true;
            home.drain();
        }
        EXPECT_EQ(runs, 1);
        EXPECT_EQ(source.armed, nullptr);
        EXPECT_EQ(source.arms - source.disarms,
                  has_memory_at_last ? 0 : 1);  // the last one was refused
        EXPECT_FALSE(source.mismatched);
    }
}

// A stop reaches tasks that have no place, and a stop that leaves them names them.
TEST_F(allocations, a_task_without_a_place_is_stopped_and_reported) {
    std::atomic<int> stopped{0};
    std::atomic<bool> stays{true};
    struct {
        std::atomic<int>& stopped;
        std::atomic<bool>& stays;
    } told{stopped, stays};
    callback_task task{[&told](callback_task& self) {
                           told.stopped += self.stop_requested() ? 1 : 0;
                           if (told.stays) scheduler::current()->post_wait(self);
                       },
                       "stubborn"};
    scheduler_options options = of_workers(1);
    options.stop_limit = 0s;
    scheduler home{std::move(options)};
    const armed plan{no_memory, call_range::from(1)};
    home.post_wait(task);
    const stop_report left = home.stop(100ms);
    EXPECT_TRUE(plan.hit());
    EXPECT_EQ(left.waiting, 1U);
    EXPECT_EQ(stopped, 1);
}

// --- coroutines ----------------------------------------------------------------------------------

task<int> adds(int a, int b) {
    co_await yield();
    co_return a + b;
}

task<int> sleeps_and_adds(int a, int b) {
    co_await sleep_for(100us);
    co_return co_await adds(a, b);
}

task<int> sums() {
    const auto [one, two] = co_await when_all(adds(1, 2), sleeps_and_adds(3, 4));
    std::vector<task<int>> many;
    for (int i = 0; i != 5; ++i) many.push_back(adds(i, i));
    int sum = one + two;
    for (const int each : co_await when_all(std::move(many))) sum += each;
    co_return sum;
}

TEST_F(allocations, spawning_coroutines) {
    for (const unsigned workers : {1U, 3U}) {
        sweep(no_memory, outcome::maybe_reported, [=] {
            scheduler_options options = of_workers(workers);
            options.on_unhandled = [](const std::exception_ptr&, const failure_origin&) {
            };  // one was dropped
            scheduler home{std::move(options)};
            auto first = spawn(home, sums());
            auto second =
                spawn(home, sleeps_and_adds(1, 1), {.stop = std::stop_source{}.get_token()});
            EXPECT_EQ(first.get(), 30);
            EXPECT_EQ(second.get(), 2);
        });
    }
}

// In turns of a chunk each: fewer helpers run, and every element is visited.
TEST_F(allocations, a_loop_needs_no_helpers) {
    static constexpr auto loop = [](std::vector<std::atomic<int>>& seen) -> task<> {
        co_await for_each(seen, [](std::atomic<int>& each) { ++each; }, {.slice = duration{0}});
    };
    for (const unsigned workers : {1U, 2U, 4U}) {
        sweep(no_memory, outcome::maybe_reported, [=] {
            std::vector<std::atomic<int>> seen(100);
            scheduler home{of_workers(workers)};
            block_on(home, loop(seen));
            for (const auto& each : seen) EXPECT_EQ(each, 1);
        });
    }
}

TEST_F(allocations, a_scope_joins_its_children) {
    static constexpr auto child = [](std::atomic<int>& ended) -> task<> {
        struct at_end {
            std::atomic<int>& ended;
            ~at_end() { ++ended; }
        } const counted{ended};
        static_cast<void>(co_await adds(1, 1));
        co_await sleep_for(50us);
    };
    static constexpr auto parent = [](std::atomic<int>& started,
                                      std::atomic<int>& ended) -> task<> {
        co_await with_scope([&](scope& children) -> task<> {
            for (int i = 0; i != 5; ++i) {
                children.spawn(child(ended));
                ++started;
                co_await children.fork(child(ended));
                ++started;
            }
        });
        EXPECT_EQ(ended, started);
    };
    sweep(no_memory, outcome::maybe_reported, [] {
        std::atomic<int> started{0};
        std::atomic<int> ended{0};
        scheduler home{of_workers(2)};
        block_on(home, parent(started, ended));
        EXPECT_EQ(ended, 10);
    });
}

}  // namespace
}  // namespace fairlead::test::allocation_tests
