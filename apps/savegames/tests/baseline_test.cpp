// The two baseline schedulers, and jobs on them.
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "savegames/flaky_store.hpp"
#include "savegames/latency_store.hpp"
#include "savegames/run_job.hpp"
#include "savegames/sqlite_store.hpp"
#include "savegames/tests/memory_store.hpp"
#include "savegames/tests/support.hpp"

namespace savegames::baseline_tests {
namespace {

using namespace std::chrono_literals;

TEST(updater, calls_each_task_until_it_is_done) {
    updater on{{.threads = 3, .period = 1ms}};
    std::latch all{30};
    for (int i = 0; i < 30; ++i) {
        EXPECT_TRUE(on.post([&all, left = i % 5]() mutable {
            if (left-- > 0) return false;
            all.count_down();
            return true;
        }));
    }
    all.wait();
    EXPECT_EQ(on.stop(1h), 0U);
    EXPECT_EQ(on.size(), 0U);
    EXPECT_GE(on.wakeups(), 5U);
    EXPECT_FALSE(on.post([] { return true; }));
}

TEST(updater, pins_tasks_to_threads_in_turn) {
    updater on{{.threads = 3, .period = 1ms}};
    std::vector<std::set<std::thread::id>> seen(9);
    for (std::size_t i = 0; i < seen.size(); ++i) {
        on.post([mine = &seen[i], left = 3]() mutable {
            mine->insert(std::this_thread::get_id());
            return --left == 0;
        });
    }
    EXPECT_EQ(on.stop(1h), 0U);
    for (std::size_t i = 0; i < seen.size(); ++i) {
        EXPECT_EQ(seen[i].size(), 1U);
        EXPECT_EQ(seen[i], seen[i % 3]);
    }
    EXPECT_NE(seen[0], seen[1]);
    EXPECT_NE(seen[1], seen[2]);
    EXPECT_NE(seen[0], seen[2]);
}

TEST(updater, wakes_once_a_period) {
    const time_point begin = clock::now();
    updater on{{.threads = 1, .period = 20ms}};
    std::vector<time_point> calls;
    on.post([&] {
        calls.push_back(clock::now());
        return calls.size() == 4;
    });
    const time_point start = clock::now();
    EXPECT_EQ(on.stop(1h), 0U);
    EXPECT_GE(calls.at(3) - start, 60ms);
    EXPECT_GE(on.wakeups(), 4U);
    EXPECT_LE(on.wakeups(), static_cast<std::uint64_t>((clock::now() - begin) / 20ms) + 2);
}

TEST(updater, stop_reports_and_destroys_what_is_not_done) {
    auto token = std::make_shared<int>(0);
    updater on{{.threads = 2, .period = 1ms}};
    std::latch running{3};
    for (int i = 0; i < 3; ++i) {
        on.post([&running, token, first = true]() mutable {
            if (std::exchange(first, false)) running.count_down();
            return false;
        });
    }
    running.wait();
    EXPECT_EQ(on.stop(0ms), 3U);
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_EQ(on.stop(0ms), 0U);
}

TEST(trivial, runs_everything_in_order) {
    trivial on{1};
    std::vector<int> order;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(on.post([&order, i] { order.push_back(i); }));
    EXPECT_EQ(on.stop(1h), 0U);
    ASSERT_EQ(order.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    EXPECT_FALSE(on.post([] {}));
}

TEST(trivial, runs_in_parallel) {
    trivial on{4};
    std::latch together{4};
    for (int i = 0; i < 4; ++i) on.post([&] { together.arrive_and_wait(); });
    EXPECT_EQ(on.stop(1h), 0U);
}

TEST(trivial, stop_reports_and_destroys_what_did_not_start) {
    trivial on{1};
    auto token = std::make_shared<int>(0);
    std::latch entered{1};
    std::latch leave{1};
    on.post([&] {
        entered.count_down();
        leave.wait();
    });
    entered.wait();
    for (int i = 0; i < 5; ++i) on.post([token] { FAIL(); });
    std::jthread release{[&] {
        while (on.post([token] {})) std::this_thread::yield();
        leave.count_down();
    }};
    EXPECT_GE(on.stop(0ms), 5U);
    release.join();
    EXPECT_EQ(token.use_count(), 1);
}

// The interface of the two baselines.
struct runner {
    virtual ~runner() = default;
    virtual void run(std::unique_ptr<job> work, job_done done) = 0;
    virtual std::size_t stop(std::chrono::milliseconds limit) = 0;
};

struct on_updater final : runner {
    void run(std::unique_ptr<job> work, job_done done) override {
        run_on_updater(on, std::move(work), std::move(done));
    }
    std::size_t stop(std::chrono::milliseconds limit) override { return on.stop(limit); }
    updater on{{.threads = 4, .period = 1ms}};
};

struct on_trivial final : runner {
    void run(std::unique_ptr<job> work, job_done done) override {
        run_on_trivial(on, std::move(work), std::move(done));
    }
    std::size_t stop(std::chrono::milliseconds limit) override { return on.stop(limit); }
    trivial on{4};
};

class run_job_test : public testing::TestWithParam<std::string> {
protected:
    static std::unique_ptr<runner> make_runner() {
        if (GetParam() == "updater") return std::make_unique<on_updater>();
        return std::make_unique<on_trivial>();
    }
};

INSTANTIATE_TEST_SUITE_P(baselines, run_job_test, testing::Values("updater", "trivial"),
                         [](const auto& name) { return name.param; });

TEST_P(run_job_test, updates_of_one_profile_are_all_applied) {
    constexpr std::size_t updates = 40;
    const temporary_folder folder;
    auto sqlite = sqlite_store::open({.path = folder / "saves.db"}).value();
    latency_store store{*sqlite, *sqlite, {.median = 100us, .sigma = 0.5}};
    const job_context context{store, store};
    const profile_key key = key_of("p");
    ASSERT_EQ(put(*sqlite, key, packed("{}")), 1U);
    std::latch all{updates};
    const auto runner = make_runner();
    for (std::size_t i = 0; i < updates; ++i) {
        const std::string patch = "{\"field" + std::to_string(i) + "\":1}";
        runner->run(
            std::make_unique<job>(
                job_request{job_kind::update, "chess", "p", patch, clock::now() + 1h}, context),
            [&](std::unique_ptr<job> work) {
                EXPECT_TRUE(work->finished());
                EXPECT_EQ(work->answer().status, 200) << work->answer().body;
                all.count_down();
            });
    }
    all.wait();
    EXPECT_EQ(runner->stop(1h), 0U);
    const save last = get(*sqlite, key).value();
    EXPECT_EQ(last.version, 1U + updates);
    EXPECT_EQ(nlohmann::json::parse(unpack(last, 10'000).value()).size(), updates);
    EXPECT_TRUE(acquire(*sqlite, key, new_owner_token()).value().granted);
}

TEST_P(run_job_test, deadline_ends_a_job_whose_store_is_silent) {
    memory_store inner;
    flaky_store store{inner, inner, [](auto, auto&) { return fault{fault::kind::hold}; }};
    const job_context context{store, store};
    std::latch done{1};
    const auto runner = make_runner();
    runner->run(std::make_unique<job>(
                    job_request{job_kind::put, "chess", "p", "{}", clock::now() + 20ms}, context),
                [&](std::unique_ptr<job> work) {
                    EXPECT_EQ(work->answer().status, 504);
                    done.count_down();
                });
    done.wait();
    store.set_plan({});
    EXPECT_LE(store.release_held(), 1U);  // 0 if a slow machine did not begin in time
    EXPECT_EQ(inner.leases.size(), 0U);
}

TEST_P(run_job_test, done_is_called_also_when_the_scheduler_stops) {
    memory_store store;
    const job_context context{store, store};
    const auto runner = make_runner();
    runner->stop(0ms);
    int told = 0;
    runner->run(std::make_unique<job>(job_request{job_kind::get, "chess", "p", {}}, context),
                [&](std::unique_ptr<job> work) {
                    EXPECT_EQ(work->answer().status, 504);
                    ++told;
                });
    EXPECT_EQ(told, 1);
}

// Runs the race between the store's notify, the driver's step and expire many times. Another thread
// gives the answer as soon as it can. The sanitizers detect what goes wrong.
TEST(job_race, notify_against_step_and_expire) {
    memory_store inner;
    {
        latency_store store{inner, inner, {.median = 1us, .sigma = 1}};
        const job_context context{store, store, {}, {}, 1, 10s, 1ms, 2ms};
        std::mt19937_64 random{1};
        for (int i = 0; i < 3000; ++i) {
            // As a task of a scheduler: destroyed as soon as its job has finished.
            struct task {
                std::mutex mutex;
                std::uint64_t signals = 0;
            };
            auto driver = std::make_unique<task>();
            job work{{job_kind::put, "chess", "p" + std::to_string(i % 3), "{}"}, context};
            work.on_notify([driver = driver.get()] {
                const std::lock_guard lock{driver->mutex};
                ++driver->signals;
            });
            const std::uint64_t steps_max = random() % 200;
            bool finished = false;
            for (std::uint64_t steps = 0; !finished && steps < steps_max; ++steps) {
                finished = work.step(clock::now()).what == step_result::kind::finished;
            }
            if (!finished) work.expire();
            driver.reset();
            EXPECT_TRUE(work.finished());
        }
    }
    EXPECT_EQ(inner.leases.size(), 0U);
}

}  // namespace
}  // namespace savegames::baseline_tests
