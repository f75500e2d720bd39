// Posts to a scheduler whose stop has ended the workers: they are counted, named and told to the
// owner.
#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <fairlead/sched/blocked_step.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::late_posts_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;
using names = std::vector<std::string>;

names late_names(const stop_report& report) {
    names all;
    for (const stop_report::left_task& each : report.tasks) {
        if (std::string_view{each.state} == "late") all.push_back(each.name);
    }
    return all;
}

class late_posts : public testing::Test {
protected:
    scheduler_options options(unsigned workers) {
        scheduler_options made{.workers = workers};
        made.on_late_posts = [this](const stop_report& report) { told.push_back(report); };
        return made;
    }

    const test::watchdog guard;
    std::vector<stop_report> told;
    std::optional<scheduler> stopped{std::in_place, options(2)};
};

TEST_F(late_posts, are_none_without_a_stop_or_after_a_clean_one) {
    EXPECT_EQ(stopped->late_posts(), 0U);
    stopped->post([] {});
    stopped->drain();
    EXPECT_TRUE(stopped->stop(1h).clean());
    EXPECT_EQ(stopped->late_posts(), 0U);
    stopped.reset();
    EXPECT_TRUE(told.empty());
}

TEST_F(late_posts, are_counted_and_named_in_order) {
    static_cast<void>(stopped->stop(1h));
    stopped->post([] {});
    EXPECT_EQ(stopped->late_posts(), 1U);
    callback_task named{[](callback_task&) {}, "request"};
    std::thread{[&] { stopped->post_delay(named, 1h); }}.join();
    EXPECT_EQ(stopped->late_posts(), 2U);
    const stop_report report = stopped->stop(0s);
    EXPECT_EQ(report.late, 2U);
    EXPECT_EQ(report.queued, 0U);
    EXPECT_FALSE(report.clean());
    EXPECT_EQ(late_names(report), (names{"posted callable", "request"}));
    EXPECT_EQ(report.to_string(), "2 late (posted callable, request)");
    stopped.reset();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(late_names(told.front()), (names{"posted callable", "request"}));
}

TEST_F(late_posts, of_groups_count_as_well) {
    {
        group some{*stopped, {}};
        static_cast<void>(stopped->stop(1h));
        some.post([] {});
        stopped->post([] {});
        EXPECT_EQ(stopped->late_posts(), 2U);
        stopped->start();
        stopped->drain();
    }
    stopped.reset();
    EXPECT_TRUE(told.empty());
}

// What the stop has left is no late post, whether it waits or is queued; nor is a sleeper that is
// woken.
TEST_F(late_posts, are_not_what_the_stop_has_left) {
    scripted sleeper{[this](scripted& self) { stopped->post_wait(self); }, "sleeper"};
    scripted queued{[](scripted&) {}, "queued"};
    std::atomic<bool> may_end{false};
    scripted stuck{[&](scripted&) { may_end.wait(false); }, "stuck"};
    std::optional<scheduler>& here = stopped;
    here.emplace(options(1));
    here->post_wait(sleeper);
    here->post(stuck);
    here->post(queued);
    const stop_report first = here->stop(0s);
    EXPECT_EQ(first.late, 0U);
    may_end = true;
    may_end.notify_one();
    const stop_report second = here->stop(1h);
    EXPECT_EQ(second.late, 0U) << second.to_string();
    sleeper.wakeup();
    EXPECT_EQ(here->late_posts(), 0U);
    here->post([] {});
    EXPECT_EQ(here->late_posts(), 1U);
    here.reset();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told.front().late, 1U);
}

TEST_F(late_posts, run_after_a_start_and_are_late_no_more) {
    for (int round = 0; round != 20; ++round) {
        static_cast<void>(stopped->stop(1h));
        std::atomic<int> ran{0};
        for (int i = 0; i != round; ++i) stopped->post([&] { ++ran; });
        EXPECT_EQ(stopped->late_posts(), static_cast<std::size_t>(round));
        stopped->start();
        EXPECT_EQ(stopped->late_posts(), 0U);
        stopped->drain();
        EXPECT_EQ(ran, round);
    }
    stopped.reset();
    EXPECT_TRUE(told.empty());
}

TEST_F(late_posts, of_many_tasks_name_a_hundred) {
    static_cast<void>(stopped->stop(1h));
    for (int i = 0; i != 1000; ++i) stopped->post([] {});
    stopped.reset();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told.front().late, 1000U);
    EXPECT_EQ(late_names(told.front()).size(), 100U);
}

// Asked for while a stop goes on: a worker may still be before a round, which takes what was left.
TEST_F(late_posts, are_asked_for_while_a_stop_goes_on) {
    for (int round = 0; round != 10; ++round) {
        std::deque<callback_task> tasks;
        stopped.emplace(options(2));
        for (int i = 0; i != 600; ++i) {
            tasks.emplace_back(
                [this](callback_task& self) { stopped->post_deadline(self, clock::now()); },
                task_name{"again"});
            stopped->post(tasks.back());
        }
        std::atomic<bool> has_stopped{false};
        std::jthread asks{[&] {
            while (!has_stopped) EXPECT_EQ(stopped->late_posts(), 0U);
        }};
        static_cast<void>(stopped->stop(0s));
        has_stopped = true;
        asks.join();
        EXPECT_EQ(stopped->late_posts(), 0U);
        stopped.reset();
    }
    EXPECT_TRUE(told.empty());
}

// 1. The stop gives up on a step, which has lost its slot. 2. The step posts its task again.
TEST_F(late_posts, are_not_what_a_step_posts_that_the_stop_gave_up_on) {
    std::atomic<bool> runs{false};
    std::atomic<bool> lost{false};
    std::atomic<bool> may_end{false};
    scripted stuck{[&](scripted& self) {
                       runs = true;
                       runs.notify_one();
                       may_end.wait(false);
                       stopped->post_delay(self, 1h);
                   },
                   "stuck"};
    scheduler_options wanted = options(2);
    wanted.blocked_after = 1ms;
    wanted.on_blocked = [&](const blocked_step&) {
        lost = true;
        lost.notify_one();
    };
    stopped.emplace(std::move(wanted));
    stopped->post(stuck);
    runs.wait(false);
    lost.wait(false);
    EXPECT_EQ(stopped->stop(0s).running, 1U);
    may_end = true;
    may_end.notify_one();
    while (stopped->stop(0s).running != 0) std::this_thread::yield();
    EXPECT_EQ(stopped->late_posts(), 0U);
    stopped.reset();
    EXPECT_TRUE(told.empty());
}

// The names of late posts do not depend on how many tasks the stop has left.
TEST_F(late_posts, are_named_beside_many_that_are_left) {
    std::atomic<bool> runs{false};
    std::atomic<bool> may_end{false};
    scheduler_options wanted = options(1);
    wanted.blocked_after = 0ns;
    stopped.emplace(std::move(wanted));
    stopped->post([&] {
        runs = true;
        runs.notify_one();
        may_end.wait(false);
    });
    runs.wait(false);
    for (int i = 0; i != 150; ++i) stopped->post([] {});
    static_cast<void>(stopped->stop(0s));
    may_end = true;
    may_end.notify_one();
    EXPECT_EQ(stopped->stop(1h).queued, 150U);
    callback_task named{[](callback_task&) {}, "request"};
    stopped->post(named);
    EXPECT_EQ(late_names(stopped->stop(0s)), (names{"request"}));
    stopped.reset();
}

TEST_F(late_posts, run_on_the_caller_and_are_none) {
    scheduler_options wanted = options(1);
    wanted.run_on_caller = true;
    stopped.emplace(std::move(wanted));
    static_cast<void>(stopped->stop(1h));
    bool ran = false;
    stopped->post([&] { ran = true; });
    EXPECT_EQ(stopped->late_posts(), 0U);
    stopped->run_until_idle();
    EXPECT_TRUE(ran);
}

TEST(late_posts_by_default, are_printed_by_the_destructor) {
    testing::internal::CaptureStderr();
    {
        scheduler stopped{{.workers = 1}};
        static_cast<void>(stopped.stop(1h));
        stopped.post([] {});
    }
    EXPECT_EQ(
        testing::internal::GetCapturedStderr(),
        "fairlead: a scheduler ends with tasks that were posted after its stop and did not run: "
        "1 late (posted callable)\n");
}

}  // namespace
}  // namespace fairlead::late_posts_tests
