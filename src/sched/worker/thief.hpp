// What a worker takes from the slots of other workers: a part of a run, the posts of steps, a fork.
//
// Any of these may be gone when it comes: then it finds nothing there. What it takes beyond one
// task goes to its own run, from which other workers can take it again.
#pragma once

#include "sched/slot/slot.hpp"

#include <fairlead/sched/task.hpp>

#include <cstddef>

namespace fairlead::sched {

class core;

class thief {
public:
    thief(core& in, slot& own) noexcept : core_{in}, slot_{own}, victim_{own.index} {}
    thief(const thief&) = delete;
    thief& operator=(const thief&) = delete;

    // From the first slot that has something, beginning behind the last victim. Null: none has.
    [[nodiscard]] basic_task* steal() noexcept;

    // The older half of its run, or else of the posts of the steps there.
    [[nodiscard]] basic_task* steal_from(slot& victim) noexcept;

    // With policy::stealing, the oldest posts of the steps there: many, if there are many.
    [[nodiscard]] basic_task* steal_posts(slot& victim) noexcept;

private:
    [[nodiscard]] basic_task* steal_run(slot& victim) noexcept;
    // The oldest fork of the step that runs there.
    [[nodiscard]] basic_task* steal_fork(slot& victim) noexcept;

    core& core_;
    slot& slot_;
    std::size_t victim_;
};

}  // namespace fairlead::sched
