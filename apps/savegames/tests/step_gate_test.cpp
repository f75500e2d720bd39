#include "savegames/step_gate.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <vector>

#include "savegames/runner.hpp"
#include "savegames/tests/memory_store.hpp"
#include "savegames/tests/support.hpp"

namespace savegames::step_gate_tests {
namespace {

namespace fl = fairlead;

class step_gate_test : public testing::Test {
protected:
    static fl::scheduler_options on_caller() {
        fl::scheduler_options options;
        options.run_on_caller = true;
        return options;
    }

    // Waits for a turn, and keeps it until the task is asked to stop.
    fl::task<> visit(std::string game, time_point deadline = time_point::max()) {
        fl::basic_task& self = co_await fl::current_task();
        latest = &self;
        step_gate::turn turn{gate};
        const bool granted = co_await turn.wait(game, deadline);
        order.push_back(granted ? game : "not " + game);
        if (!granted) co_return;
        fl::wake_reason reason = fl::wake_reason::woken;
        while (reason != fl::wake_reason::stopped) reason = co_await fl::receive_signal();
    }

    auto begin(std::string game, time_point deadline = time_point::max()) {
        auto begun = fl::spawn(home, visit(std::move(game), deadline));
        home.run_until_idle();
        return begun;
    }

    void end(fl::join_handle<void>& task) {
        task.request_stop();
        home.run_until_idle();
    }

    fl::scheduler home{on_caller()};
    step_gate gate{2};
    std::vector<std::string> order;
    fl::basic_task* latest = nullptr;  // the task that came latest
};

using names = std::vector<std::string>;

TEST_F(step_gate_test, games_have_their_turn) {
    std::vector<fl::join_handle<void>> tasks;
    for (const char* const game : {"noisy", "noisy", "noisy", "noisy", "quiet"}) {
        tasks.push_back(begin(game));
    }
    EXPECT_EQ(order, (names{"noisy", "noisy"}));
    EXPECT_EQ(gate.count().waiting, 3U);
    for (auto& task : tasks) end(task);
    EXPECT_EQ(order, (names{"noisy", "noisy", "quiet", "noisy", "noisy"}));
    EXPECT_EQ(gate.count().running, 0U);
    EXPECT_EQ(gate.count().running_max, 2U);
}

TEST_F(step_gate_test, a_signal_of_the_store_is_no_turn) {
    auto first = begin("chess");
    auto second = begin("chess");
    auto third = begin("chess");
    latest->signal();
    home.run_until_idle();
    EXPECT_EQ(order, (names{"chess", "chess"}));
    end(first);
    EXPECT_EQ(order, (names{"chess", "chess", "chess"}));
    end(second);
    end(third);
}

TEST_F(step_gate_test, a_task_that_gives_up_leaves_the_line) {
    auto first = begin("chess");
    auto second = begin("chess");
    auto stopped = begin("chess");
    auto late = begin("go", fl::clock::now());
    end(stopped);
    EXPECT_EQ(order, (names{"chess", "chess", "not go", "not chess"}));
    EXPECT_EQ(gate.count().waiting, 0U);
    end(first);
    end(second);
    EXPECT_EQ(gate.count().running, 0U);
    EXPECT_TRUE(late.ended());
}

fl::task<int> status_of(runner& run, std::unique_ptr<job> work) {
    const std::unique_ptr<job> finished = co_await run.run(std::move(work));
    co_return finished->answer().status;
}

// A job that is stopped while it waits for the turn of a long step has an answer, gives its lock
// back, and leaves its place to the next job.
TEST(step_gate_on_threads, a_stopped_job_leaves_the_line) {
    memory_store store;
    const job_context context{.profiles = store, .blobs = store};
    const std::string large = R"({"a":")" + std::string(step_gate::bytes_min, 'x') + R"("})";
    fl::scheduler_options options;
    options.workers = 2;
    options.blocked_after = fl::duration::zero();  // a step that blocks keeps its worker
    fl::scheduler home{std::move(options)};
    const auto run = make_runner(scheduler_choice::fairlead, 2, 1);

    std::binary_semaphore in_long_step{0};
    std::latch may_go_on{1};
    const auto update = [&](std::string player, reserve_function reserve) {
        job_request request{.kind = job_kind::update,
                            .game = "chess",
                            .player = std::move(player),
                            .body = R"({"b":1})",
                            .reserve = std::move(reserve)};
        return fl::spawn(home, status_of(*run, std::make_unique<job>(std::move(request), context)));
    };
    for (const char* const player : {"first", "second", "third"}) {
        ASSERT_TRUE(put(store, key_of(player), packed(large)).has_value());
    }
    auto first = update("first", [&](std::size_t) -> std::expected<reservation, grant> {
        in_long_step.release();
        may_go_on.wait();
        return reservation{};
    });
    in_long_step.acquire();
    auto second = update("second", {});
    second.request_stop();
    EXPECT_EQ(second.get(), 504);
    auto third = update("third", {});
    may_go_on.count_down();
    EXPECT_EQ(first.get(), 200);
    EXPECT_EQ(third.get(), 200);
    EXPECT_EQ(update("second", {}).get(), 200);
}

// While one game runs as many long steps as may run at once, a worker is left for a short step of
// another game.
TEST(step_gate_on_threads, a_short_request_passes_long_ones) {
    memory_store store;
    const job_context context{.profiles = store, .blobs = store};
    const std::string large = R"({"a":")" + std::string(step_gate::bytes_min, 'x') + R"("})";
    ASSERT_TRUE(put(store, key_of("short"), packed("{}")).has_value());
    fl::scheduler_options options;
    options.workers = 2;
    options.blocked_after = fl::duration::zero();  // a step that blocks keeps its worker
    fl::scheduler home{std::move(options)};
    const auto run = make_runner(scheduler_choice::fairlead, 2, 1);

    constexpr int long_ones = 4;
    std::binary_semaphore in_long_step{0};
    std::latch may_go_on{1};
    std::mutex mutex;
    int inside = 0;
    int inside_max = 0;
    const auto begin = [&](job_kind what, std::string player, reserve_function reserve) {
        job_request request{.kind = what,
                            .game = "chess",
                            .player = std::move(player),
                            .body = what == job_kind::update ? R"({"b":1})" : "",
                            .reserve = std::move(reserve)};
        return fl::spawn(home, status_of(*run, std::make_unique<job>(std::move(request), context)));
    };
    const auto wait_inside = [&](std::size_t) -> std::expected<reservation, grant> {
        {
            const std::lock_guard lock{mutex};
            inside_max = std::max(inside_max, ++inside);
        }
        in_long_step.release();
        may_go_on.wait();
        const std::lock_guard lock{mutex};
        --inside;
        return reservation{};
    };
    std::vector<fl::join_handle<int>> updates;
    for (int i = 0; i != long_ones; ++i) {
        const std::string player = "long" + std::to_string(i);
        ASSERT_TRUE(put(store, key_of(player), packed(large)).has_value());
        updates.push_back(begin(job_kind::update, player, wait_inside));
    }
    in_long_step.acquire();
    EXPECT_EQ(begin(job_kind::get, "short", {}).get(), 200);
    may_go_on.count_down();
    for (auto& each : updates) EXPECT_EQ(each.get(), 200);
    EXPECT_EQ(inside_max, 1);
}

}  // namespace
}  // namespace savegames::step_gate_tests
