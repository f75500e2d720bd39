// The lease of a turn: while a worker runs steps of the group whose turn it has, it counts them for itself, and tells the
// group once, when the lease ends. So a step of a group costs about as much as one of the default group.
//
// A turn of a group without limits begins with a lease. A limit that is set meanwhile holds the group back until the lease
// has ended, as it hides how many steps run [GR1].
//
// The worker's own. When a step loses its slot the lease ends for the group, which is told of the steps before: by the
// thread that passes the slot on, and the worker sees that under the mutex of the hand-over.
#pragma once

#include "sched/groups/group_state.hpp"

#include <cstdint>
#include <utility>

namespace fairlead::sched {

class lease {
public:
    [[nodiscard]] bool is_open() const noexcept { return group_ != nullptr; }

    // Whether it is for the tasks of this home: a group, or the core for those of the default group.
    [[nodiscard]] bool is_of(const home& tasks) const noexcept { return home_ == &tasks; }

    // Of a group other than the default one.
    [[nodiscard]] bool is_of_group() const noexcept { return home_ != nullptr && home_->grouped(); }

    [[nodiscard]] const home& tasks() const noexcept { return *home_; }
    [[nodiscard]] group_state& group() const noexcept { return *group_; }

    // The turn's first step begins. The round that gave the turn has called `group_state::begin_lease`.
    void open(group_state& of, const home& tasks) noexcept {
        group_ = &of;
        home_ = &tasks;
    }

    // Steps begin that no turn has dealt.
    void begin_steps(std::uint64_t count) noexcept { begun_ += count; }

    // A step of the group has ended. What its task held the group by serves the next post.
    void end_step() noexcept {
        ++ended_;
        if (!home_->grouped()) return;
        if (holds_) {
            group_->let_task_go();
        } else {
            holds_ = true;
        }
    }

    // A task is posted to this home. False: it must hold its group itself.
    [[nodiscard]] bool gives_hold(const home& to) noexcept {
        return home_ == &to && std::exchange(holds_, false);
    }

    // Tells the group of the steps that have ended, which took so long. True: the role waits for that, and must be told,
    // once. The caller holds the group. It touches nothing that a post of the step looks at.
    [[nodiscard]] bool tell(duration used) noexcept {
        group_->charge(used);
        return group_->end_lease(std::exchange(begun_, 0), std::exchange(ended_, 0));
    }

    // After `tell`. The last touch of the group.
    void close() noexcept {
        home_ = nullptr;
        group_state& gone = *std::exchange(group_, nullptr);
        if (std::exchange(holds_, false)) gone.let_task_go();
    }

private:
    group_state* group_ = nullptr;  // null: there is none
    const home* home_ = nullptr;
    std::uint64_t begun_ = 0;
    std::uint64_t ended_ = 0;
    bool holds_ = false;  // what a task held, that no task holds now
};

}  // namespace fairlead::sched
