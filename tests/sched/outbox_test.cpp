// What a push to the outbox of a slot leaves to its caller, and what comes out of it.
#include "sched/entry/outbox.hpp"

#include <fairlead/sched/callback_task.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace fairlead::sched::outbox_tests {
namespace {

class outbox_test : public testing::Test {
protected:
    outbox_test() {
        for (callback_task& each : tasks) task_access::enter(each, place, immediately);
    }
    ~outbox_test() override {
        for (callback_task& each : tasks) static_cast<void>(task_access::leave(each));
    }

    wake_duty push(outbox& to, callback_task& task, post_kind kind = post_kind::plain,
                   lane of = lane::everyone) {
        return to.push(of, task, task, kind, finished.value());
    }
    wake_duty push_leased(outbox& to, callback_task& task, post_kind kind = post_kind::plain) {
        return to.push(lane::groups, task, task, kind, finished.value(), true);
    }

    static std::vector<basic_task*> all_of(basic_task::chain taken) {
        std::vector<basic_task*> all;
        while (basic_task* const task = taken.pop_front()) all.push_back(task);
        return all;
    }

    home place{nullptr, lane::everyone};
    counter finished, direct;
    std::array<callback_task, 3> tasks;
};

TEST_F(outbox_test, keeps_one_task_that_is_to_run) {
    outbox box{true, false};
    EXPECT_EQ(push(box, tasks[0], post_kind::sleeps), wake_duty::watch);
    EXPECT_EQ(push(box, tasks[1]), wake_duty::watch);
    EXPECT_TRUE(box.keeps_post());
    EXPECT_FALSE(box.wants_round(false));
    EXPECT_TRUE(box.wants_round(true));
    EXPECT_EQ(push(box, tasks[2]), wake_duty::wake);
    EXPECT_FALSE(box.keeps_post());
    EXPECT_TRUE(box.wants_round(false));
}

TEST_F(outbox_test, counts_the_tasks_of_both_lanes) {
    outbox box{true, false};
    EXPECT_EQ(push(box, tasks[0], post_kind::plain, lane::groups), wake_duty::watch);
    EXPECT_EQ(push(box, tasks[1]), wake_duty::wake);
    EXPECT_FALSE(box.empty(lane::groups));
    EXPECT_FALSE(box.empty(lane::everyone));
}

TEST_F(outbox_test, counts_a_batch_as_two) {
    outbox box{true, false};
    EXPECT_EQ(push(box, tasks[0], post_kind::batch), wake_duty::wake);
}

TEST_F(outbox_test, begins_to_count_when_it_was_empty) {
    outbox box{true, false};
    EXPECT_EQ(push(box, tasks[0], post_kind::timed), wake_duty::watch);
    EXPECT_EQ(push(box, tasks[1], post_kind::batch), wake_duty::wake);
    EXPECT_EQ(box.kind(), post_kind::batch);
    EXPECT_EQ(box.posts(), 2U);
    EXPECT_EQ(all_of(box.take()), (std::vector<basic_task*>{&tasks[0], &tasks[1]}));
    EXPECT_EQ(push(box, tasks[2]), wake_duty::watch);
    EXPECT_EQ(box.kind(), post_kind::plain);
    EXPECT_EQ(box.posts(), 1U);
    EXPECT_TRUE(box.is_due());
}

TEST_F(outbox_test, knows_the_step_that_keeps_a_post) {
    outbox box{true, false};
    static_cast<void>(push(box, tasks[0]));
    EXPECT_TRUE(box.keeps_post_of_step(finished));
    EXPECT_FALSE(box.has_older_posts(finished));
    finished.add(1);
    EXPECT_FALSE(box.keeps_post_of_step(finished));
    EXPECT_TRUE(box.has_older_posts(finished));
}

TEST_F(outbox_test, keeps_one_task_of_each_step_for_a_lease) {
    outbox box{true, false};
    for (callback_task& each : tasks) {
        EXPECT_EQ(push_leased(box, each), wake_duty::watch);
        EXPECT_TRUE(box.keeps_lease());
        finished.add(1);
    }
    EXPECT_FALSE(box.wants_round(false));
    EXPECT_TRUE(box.keeps_post());
    EXPECT_FALSE(box.has_older_posts(finished));
    EXPECT_EQ(all_of(box.take(lane::groups)),
              (std::vector<basic_task*>{&tasks[0], &tasks[1], &tasks[2]}));
    EXPECT_FALSE(box.keeps_lease());
}

TEST_F(outbox_test, does_not_keep_two_tasks_of_a_step_for_a_lease) {
    outbox box{true, false};
    EXPECT_EQ(push_leased(box, tasks[0], post_kind::sleeps), wake_duty::watch);
    EXPECT_EQ(push_leased(box, tasks[1]), wake_duty::watch);
    EXPECT_TRUE(box.keeps_lease());
    EXPECT_EQ(push_leased(box, tasks[2]), wake_duty::wake);
    EXPECT_FALSE(box.keeps_lease());
    EXPECT_TRUE(box.wants_round(false));
}

TEST_F(outbox_test, counts_the_tasks_of_a_step_though_some_are_taken) {
    outbox box{true, false};
    EXPECT_EQ(push_leased(box, tasks[0]), wake_duty::watch);
    static_cast<void>(box.take(lane::groups));
    EXPECT_EQ(push_leased(box, tasks[1]), wake_duty::watch);
    EXPECT_FALSE(box.keeps_lease());
    finished.add(1);
    EXPECT_EQ(push_leased(box, tasks[2]), wake_duty::wake);
}

// They are older, and somewhere else.
TEST_F(outbox_test, has_no_posts_for_a_lease_after_a_round_of_another_has_taken_some) {
    const home group{nullptr, lane::groups};
    outbox box{true, false};
    arrivals arrived;
    static_cast<void>(push_leased(box, tasks[0]));
    EXPECT_TRUE(box.has_leased(group));
    box.move_to(arrived, lane::groups);
    finished.add(1);
    static_cast<void>(push_leased(box, tasks[1]));
    EXPECT_FALSE(box.has_leased(group));
    box.move_to(arrived, lane::groups);
    box.begin_anew();  // that was a round of the owner
    finished.add(1);
    static_cast<void>(push_leased(box, tasks[2]));
    EXPECT_TRUE(box.has_leased(group));
    static_cast<void>(box.take(lane::groups));
    finished.add(1);
    static_cast<void>(push_leased(box, tasks[0]));
    EXPECT_TRUE(box.has_leased(group));
}

TEST_F(outbox_test, keeps_nothing_for_a_lease_beside_other_posts) {
    for (const lane other : {lane::everyone, lane::groups}) {
        outbox box{true, false};
        EXPECT_EQ(push_leased(box, tasks[0]), wake_duty::watch);
        finished.add(1);
        EXPECT_EQ(push(box, tasks[1], post_kind::plain, other), wake_duty::wake);
        EXPECT_FALSE(box.keeps_lease());
        finished.add(1);
        EXPECT_EQ(push_leased(box, tasks[2]), wake_duty::wake);
        EXPECT_FALSE(box.keeps_lease());
    }
    outbox box{true, false};
    EXPECT_EQ(push(box, tasks[0]), wake_duty::watch);
    finished.add(1);
    EXPECT_EQ(push_leased(box, tasks[1]), wake_duty::wake);
    EXPECT_FALSE(box.keeps_lease());
}

TEST_F(outbox_test, keeps_nothing_for_a_lease_beside_what_is_open_to_thieves) {
    outbox box{true, true};
    EXPECT_EQ(push_leased(box, tasks[0]), wake_duty::watch);
    EXPECT_EQ(box.push_open(tasks[1], direct), wake_duty::wake);
    EXPECT_FALSE(box.keeps_lease());
    EXPECT_TRUE(box.wants_thief(false));
    static_cast<void>(box.take(lane::groups));
    finished.add(1);
    EXPECT_EQ(push_leased(box, tasks[2]), wake_duty::wake);
    EXPECT_FALSE(box.keeps_lease());
}

TEST_F(outbox_test, opens_its_posts_when_its_owner_parks) {
    outbox box{true, false};
    static_cast<void>(push(box, tasks[0]));
    box.open_posts();
    EXPECT_FALSE(box.keeps_post());
    EXPECT_TRUE(box.wants_round(false));
}

TEST_F(outbox_test, wakes_no_worker_where_there_is_one) {
    outbox box{false, false};
    EXPECT_EQ(push(box, tasks[0]), wake_duty::none);
    EXPECT_EQ(push(box, tasks[1], post_kind::timed), wake_duty::none);
    EXPECT_EQ(box.kind(), post_kind::timed);
    EXPECT_FALSE(box.takes(lane::groups));
    EXPECT_TRUE(box.is_due());
    EXPECT_EQ(all_of(box.take()), (std::vector<basic_task*>{&tasks[0]}));
    EXPECT_EQ(all_of(box.take()), (std::vector<basic_task*>{&tasks[1]}));
    EXPECT_TRUE(box.take().empty());
}

TEST_F(outbox_test, puts_a_batch_into_a_list_in_order) {
    outbox box{false, false};
    tasks[1].*basic_task::link = &tasks[0];
    tasks[0].*basic_task::link = nullptr;
    EXPECT_EQ(box.push(lane::everyone, tasks[1], tasks[0], post_kind::batch, 0), wake_duty::none);
    EXPECT_EQ(all_of(box.take()), (std::vector<basic_task*>{&tasks[0]}));
    EXPECT_EQ(all_of(box.take()), (std::vector<basic_task*>{&tasks[1]}));
}

TEST_F(outbox_test, is_empty_after_a_round_has_taken_all) {
    for (const bool shared : {false, true}) {
        outbox box{shared, false};
        arrivals arrived;
        static_cast<void>(push(box, tasks[0]));
        static_cast<void>(push(box, tasks[1]));
        box.move_to(arrived, lane::everyone);
        EXPECT_TRUE(box.empty());
        arrived.turn_over(2);
        EXPECT_EQ(all_of(arrived.first), (std::vector<basic_task*>{&tasks[0], &tasks[1]}));
    }
}

TEST_F(outbox_test, gives_thieves_the_oldest_and_its_owner_the_newest) {
    outbox box{true, true};
    EXPECT_EQ(box.push_open(tasks[0], direct), wake_duty::watch);
    EXPECT_FALSE(box.wants_thief(false));
    EXPECT_EQ(box.push_open(tasks[1], direct), wake_duty::wake);
    EXPECT_TRUE(box.wants_thief(false));
    EXPECT_EQ(box.push_open(tasks[2], direct), wake_duty::wake);
    EXPECT_EQ(direct.value(), 3U);
    EXPECT_EQ(all_of(box.local().steal(1)), (std::vector<basic_task*>{&tasks[0]}));
    EXPECT_EQ(box.local().pop(), &tasks[2]);
}

TEST_F(outbox_test, counts_what_is_open_to_thieves_beside_the_posts) {
    outbox box{true, true};
    EXPECT_EQ(box.push_open(tasks[0], direct), wake_duty::watch);
    EXPECT_EQ(push(box, tasks[1], post_kind::sleeps), wake_duty::watch);
    EXPECT_EQ(push(box, tasks[2]), wake_duty::wake);
}

}  // namespace
}  // namespace fairlead::sched::outbox_tests
