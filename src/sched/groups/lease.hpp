// The lease of a turn: while a worker runs steps of the group whose turn it has, it counts them for
// itself, and tells the group once, when the lease ends. So a step of a group costs about as much
// as a step of the default group.
//
// A turn of a group without limits begins with a lease. A lease hides how many steps run, so a
// limit that is set meanwhile holds the group back until the lease has ended [GR1].
//
// Only the worker touches its lease, with one exception: when a step loses its slot, the thread
// that passes the slot on tells the group of the steps before this one, and for the group the lease
// has ended. The worker sees that under the mutex of the hand-over.
#pragma once

#include "sched/groups/group_state.hpp"

#include <cstdint>
#include <utility>

namespace fairlead::sched {

class lease {
public:
    [[nodiscard]] bool is_open() const noexcept { return group_ != nullptr; }

    // Whether the lease is for the tasks of this home: a group, or the core for the default group.
    [[nodiscard]] bool is_of(const home& tasks) const noexcept { return home_ == &tasks; }

    // Whether the lease is of a group other than the default one.
    [[nodiscard]] bool is_of_group() const noexcept { return home_ != nullptr && home_->grouped(); }

    [[nodiscard]] const home& tasks() const noexcept { return *home_; }
    [[nodiscard]] group_state& group() const noexcept { return *group_; }

    // The turn begins: with its first step, or to end without one. The round that gave the turn has
    // called `group_state::begin_lease`.
    void open(group_state& of, const home& tasks) noexcept {
        group_ = &of;
        home_ = &tasks;
    }

    // Steps begin that no turn has dealt.
    void begin_steps(std::uint64_t count) noexcept { begun_ += count; }

    // A step of the group has ended. The lease keeps the hold of its task on the group for the next
    // post; it keeps one hold at most.
    void end_step() noexcept {
        ++ended_;
        if (!home_->grouped()) return;
        if (holds_) {
            group_->let_task_go();
        } else {
            holds_ = true;
        }
    }

    // A task is posted to this home. True: the task gets the hold that the lease keeps. False: the
    // caller must hold the group for the task.
    [[nodiscard]] bool gives_hold(const home& to) noexcept {
        return home_ == &to && std::exchange(holds_, false);
    }

    // Tells the group of the steps that have ended, and how long they took. True: the role waits
    // for that, and the caller must tell it, once. Requires that the caller holds the group.
    // Touches nothing that a post of the running step looks at.
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
    group_state* group_ = nullptr;  // null: no lease is open
    const home* home_ = nullptr;
    std::uint64_t begun_ = 0;
    std::uint64_t ended_ = 0;
    bool holds_ = false;  // a hold on the group that a task had, and no task has now
};

}  // namespace fairlead::sched
