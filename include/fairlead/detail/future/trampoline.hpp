// Runs continuations one after the other, so that a chain of any length needs the stack of one.
//
//     settle -> tell -> trampoline::run(a)        the thread runs a; a gives a result, so
//                         a -> settle -> tell -> trampoline::run(b)       b is queued, and
//                       b                         runs when a has returned
//
// The continuations of a thread are one FIFO, which lies on its stack. A step of a task runs
// `run_max` at most: the rest goes to the scheduler, as a step of its default group, so that a long
// chain does not keep a worker. If there is no memory for that step, the thread goes on itself. A
// thread that is no worker runs all.
//
// Invariant: each continuation runs once, after those that its thread has queued before; also if
// the scheduler is destroyed before the step that has the rest.
//
// Rejected: a continuation that calls the next one, as its stack has the length of the chain; a
// task for each continuation, as a hop between tasks costs ten times the call.
#pragma once

#include <fairlead/detail/future/listener.hpp>

#include <cstddef>

namespace fairlead::futures {

class trampoline {
public:
    static constexpr std::size_t run_max = 64;

    /// Runs it now; or, if a continuation of this thread is running, after that.
    static void run(continuation& next) noexcept;

    /// Before a continuation blocks its thread, in a wait of the library: runs what the thread has
    /// queued, which may be what the block waits for.
    static void run_queued() noexcept;
};

}  // namespace fairlead::futures
