// What the parts of the library may ask of its public types, and a program may not.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>
#include <exception>

namespace fairlead {

class basic_task;
class executor;
class post_target;
class scheduler;
class unhandled_reporter;

namespace sched {

class blocking_job;
class halt_watch_owner;
class offered_forks;
struct home;

class access {
public:
    // --- where tasks are posted: any thread ----------------------------------------------------

    [[nodiscard]] static home& home_of(const post_target& target) noexcept;
    [[nodiscard]] static executor executor_of(home& of) noexcept;

    // --- exceptions that no task joins: any thread ---------------------------------------------

    /// Reports an exception that has left the step that runs on the calling thread: see
    /// `options.on_unhandled`. The task may be gone.
    static void report_of_step(std::exception_ptr failure) noexcept;

    /// What `report_of_step` calls, for tasks that may outlive the scheduler.
    [[nodiscard]] static unhandled_reporter reporter_of(const scheduler& of) noexcept;

    // --- threads that are no workers ------------------------------------------------------------

    /// What tells threads that wait for `of` of a stop.
    [[nodiscard]] static halt_watch_owner halt_watch_of(const scheduler& of) noexcept;

    // --- the step that runs on the calling thread ----------------------------------------------

    /// The depth of a task that the calling thread starts now: one more than that of the task that
    /// runs on the thread. When a scheduler is destroyed, deeper tasks are given back first, so
    /// that children go before what they refer to.
    [[nodiscard]] static std::uint32_t depth_of_new_task() noexcept;

    /// The task that runs on the calling thread and has a context, which tasks that it starts
    /// inherit. Null: there is none.
    [[nodiscard]] static basic_task* bearer() noexcept;

    /// A step says so. Before its end it takes that back: the task may free itself.
    static void set_bearer(basic_task* running) noexcept;

    /// `gone` is none any more, if it was.
    static void drop_bearer(const basic_task* gone) noexcept;

    /// The step is about to block: its worker goes on on another thread. See `block_in_place`.
    /// False: nothing was done. Then there is no step, or the step has lost its worker already or
    /// has forked, or no thread can be made.
    static bool about_to_block() noexcept;

    /// Where the step may offer forked work. Only in a step.
    [[nodiscard]] static offered_forks& current_offers() noexcept;

    // --- threads that may block: any thread ----------------------------------------------------

    /// Runs the job on a thread that may block; see `blocking`.
    static void call_blocking(scheduler& of, blocking_job& job) noexcept;

    /// Takes back a job that has not begun. False: the job has begun, or is over.
    [[nodiscard]] static bool withdraw_blocking(scheduler& of, blocking_job& job) noexcept;
};

}  // namespace sched
}  // namespace fairlead
