// What a round leaves where it is: the post that a step keeps for its own worker, and what a worker
// keeps for the lease of its turn.
#include "sched/runtime/core.hpp"
#include "sched/task/task_access.hpp"
#include "support/watchdog.hpp"

#include <fairlead/detail/sched/access.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace fairlead::round_tests {
namespace {

using namespace std::chrono_literals;

// The parts of a scheduler with two workers, whose threads do not run. A step of the second runs.
class two_workers {
public:
    ~two_workers() {
        EXPECT_TRUE(core.role.try_acquire());
        core.abandon_all();
        core.role.turns().let_all_go(core.slots);
    }

    // Whether a round of the first worker leaves the post where it is.
    [[nodiscard]] bool is_left(sched::occasion why) {
        EXPECT_TRUE(core.role.try_acquire());
        core.role.round(*core.slots[0], why);
        core.role.release();
        return !core.slots[1]->outbox.empty();
    }

    scheduler owner{{.run_on_caller = true}};
    sched::core core;
    callback_task posted, other;

protected:
    explicit two_workers(duration round_interval = 1ms)
        : core{owner, {.workers = 2, .round_interval = round_interval}} {}
    [[nodiscard]] sched::slot& its() const { return *core.slots[1]; }
};

// The step has posted a task to the default group.
struct step_that_posted : two_workers {
    explicit step_that_posted(bool keeps) {
        sched::task_access::enter(posted, core, immediately);
        // It does not keep several that are due.
        const auto kind = keeps ? sched::post_kind::plain : sched::post_kind::batch;
        const sched::wake_duty duty =
            its().outbox.push(sched::lane::everyone, posted, posted, kind, its().finished.value());
        EXPECT_EQ(duty, keeps ? sched::wake_duty::watch : sched::wake_duty::wake);
    }
};

// The step has posted a task to another group: in the turn of that group, or not.
struct step_in_turn : two_workers {
    explicit step_in_turn(bool leased, duration round_interval = 10s)
        : two_workers{round_interval} {
        group->hold_for_task();
        sched::task_access::enter(posted, *group, immediately);
        static_cast<void>(its().outbox.push(sched::lane::groups, posted, posted,
                                            sched::post_kind::plain, its().finished.value(),
                                            leased));
    }
    ~step_in_turn() { group->let_go(); }
    sched::group_state* const group = core.make_group({});
};

using sched::occasion;

TEST(Round, LeavesAStepThePostThatItKeeps) {
    EXPECT_TRUE(step_that_posted{true}.is_left(occasion::searching));
    EXPECT_TRUE(step_that_posted{true}.is_left(occasion::sleeping));
}

// So tasks that post themselves again change workers, and none waits for a long step.
TEST(Round, OfAWorkerWithTasksTakesThePostThatAStepKeeps) {
    EXPECT_FALSE(step_that_posted{true}.is_left(occasion::working));
}

TEST(Round, TakesAPostThatItsStepDoesNotKeep) {
    EXPECT_FALSE(step_that_posted{false}.is_left(occasion::searching));
}

TEST(Round, TakesAPostThatIsKeptSinceAnEarlierStep) {
    step_that_posted step{true};
    step.core.slots[1]->finished.add(1);
    EXPECT_FALSE(step.is_left(occasion::searching));
}

TEST(Round, LeavesWhatAWorkerKeepsForItsLease) {
    for (const occasion why : {occasion::working, occasion::searching, occasion::sleeping}) {
        EXPECT_TRUE(step_in_turn{true}.is_left(why));
    }
}

TEST(Round, OfAWorkerThatHasFoundALongStepTakesWhatIsKeptForALease) {
    EXPECT_FALSE(step_in_turn{true}.is_left(occasion::rescuing));
}

// Otherwise a worker might have more tasks of a group than another for ever.
TEST(Round, TakesWhatIsKeptForALeaseFromTimeToTime) {
    test::watchdog guard;
    step_in_turn step{true, 10us};
    sched::group_state* const urgent = step.core.make_group({.priority = priority::highest});
    sched::access::executor_of(*urgent).post(step.other);  // so turns are given
    urgent->let_go();
    while (step.is_left(occasion::working)) {
    }
}

TEST(Round, TakesWhatAGroupPostsOutsideItsTurn) {
    EXPECT_FALSE(step_in_turn{false}.is_left(occasion::working));
}

TEST(Round, LetsNothingNewerOvertakeWhatIsKeptForALease) {
    step_in_turn step{true};
    sched::access::executor_of(*step.group).post(step.other);
    EXPECT_FALSE(step.is_left(occasion::working));
}

TEST(Round, LetsNothingNewerOvertakeAPostThatIsKept) {
    step_that_posted step{true};
    sched::access::executor_of(step.core).post(step.other);
    EXPECT_FALSE(step.is_left(occasion::searching));
}

}  // namespace
}  // namespace fairlead::round_tests
