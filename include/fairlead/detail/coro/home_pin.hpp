// Keeps the scheduler that a task was started on, while a thread that waits for the task looks at
// that scheduler.
//
// Question it answers: a handle may outlive the scheduler, so how does the thread know that the
// scheduler is there? A task that has neither ended nor moved to another scheduler keeps its
// scheduler. So the end and the move wait until the thread does not look any more: for some
// instructions.
//
//     looks    the thread looks, or is about to. Only the thread writes it.
//     moved    the task has moved to another scheduler, once or more. Only a step of the task
//              writes it.
//
// The end    1. The thread sets `looks`, and joins. 2. The end finds the joiner, and so sees
//            `looks`: before it tells the joiner it waits. If the end is before the join, the
//            thread does not look.
// The move   The thread sets `looks` and then reads `moved`; the step sets `moved` and then reads
//            `looks`. All four accesses are sequentially consistent, so that one of the two sees
//            what the other did [HP1].
#pragma once

#include <fairlead/detail/sync/atomic.hpp>

namespace fairlead::coro {

class home_pin {
public:
    // --- the thread that waits -----------------------------------------------------------------

    void begin_to_look() noexcept;
    // The last touch of the scheduler is before it.
    void end_to_look() noexcept;
    [[nodiscard]] bool has_moved() const noexcept;

    // --- a step of the task, or whatever ends the task -----------------------------------------

    void move() noexcept;
    void await_last_look() const noexcept;

private:
    sync::atomic<bool> looks_{false};
    sync::atomic<bool> moved_{false};
};

}  // namespace fairlead::coro
