// What a round leaves where it is: the post that a step keeps for its own worker.
#include "sched/runtime/core.hpp"
#include "sched/task/task_access.hpp"

#include <fairlead/detail/sched/access.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// The parts of a scheduler with two workers, whose threads do not run. A step of the second has
// posted a task, and runs still.
class step_that_posted {
public:
    explicit step_that_posted(bool keeps) {
        sched::slot& its = *core.slots[1];
        sched::task_access::enter(posted, core, immediately);
        // It does not keep several that are due.
        const auto kind = keeps ? sched::post_kind::plain : sched::post_kind::batch;
        const sched::wake_duty duty =
            its.outbox.push(sched::lane::everyone, posted, posted, kind, its.finished.value());
        EXPECT_EQ(duty, keeps ? sched::wake_duty::watch : sched::wake_duty::wake);
    }
    ~step_that_posted() {
        EXPECT_TRUE(core.role.try_acquire());
        core.abandon_all();
    }

    // Whether a round of the first worker leaves the post where it is.
    [[nodiscard]] bool is_left(sched::occasion why) {
        EXPECT_TRUE(core.role.try_acquire());
        core.role.round(*core.slots[0], why);
        core.role.release();
        return !core.slots[1]->outbox.empty();
    }

    scheduler owner{{.run_on_caller = true}};
    sched::core core{owner, {.workers = 2}};
    callback_task posted, other;
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

TEST(Round, LetsNothingNewerOvertakeAPostThatIsKept) {
    step_that_posted step{true};
    sched::access::executor_of(step.core).post(step.other);
    EXPECT_FALSE(step.is_left(occasion::searching));
}

}  // namespace
}  // namespace fairlead
