// The options of a scheduler. Wrong values throw `std::invalid_argument`, which names the field and
// its range.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/sched/blocked_step.hpp>
#include <fairlead/sched/driver.hpp>
#include <fairlead/sched/failure_origin.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace fairlead {

struct stop_report;

/// Where an exception goes that leaves a task without a joiner. May outlive its scheduler.
class unhandled_reporter {
public:
    /// A handler: the exception, and the tasks that it has left, valid during the call. Must not
    /// throw.
    using function = std::function<void(std::exception_ptr, const failure_origin&)>;

    unhandled_reporter() = default;
    /// Calls `handler`, if there is one. Allocates one object; throws `std::bad_alloc`.
    explicit unhandled_reporter(function handler)
        : handler_{handler ? std::make_shared<const function>(std::move(handler)) : nullptr} {}

    /// Calls the handler. Without one: prints the names of the tasks and what the exception says,
    /// and ends the program.
    void operator()(std::exception_ptr failure, const failure_origin& from) const noexcept;

    /// The same, but the program goes on without a handler, too: for failures that belong to the
    /// normal course, such as work that is overdue.
    void tell(std::exception_ptr failure, const failure_origin& from) const noexcept;

private:
    std::shared_ptr<const function> handler_;
};

/// Where a plain post (one task, due at once) by a step goes. docs/internals/scheduler.md says when
/// to choose which policy.
enum class policy : std::uint8_t {
    /// Behind what is ready already: tasks start in the order in which they became ready.
    fair,
    /// To the worker that runs the step. The worker runs its newest task first, and idle workers
    /// steal the oldest. For work that divides itself: it stays in the cache, and needs little
    /// memory.
    stealing,
};

/// All have defaults: `scheduler{{.workers = 4, .name = "web"}}`. A wrong value makes the
/// constructor of the scheduler throw `std::invalid_argument`, which names the field and its range.
struct scheduler_options {
    /// Worker threads, 1 to 1,000. 0: as many as there are processors for this process, control
    /// group quotas included. More than processors is fine; it costs switches, not correctness.
    unsigned workers = 0;

    /// In which order tasks run.
    fairlead::policy policy = fairlead::policy::fair;

    /// Threads are called "<name>/0", ... The kernel keeps 15 characters.
    std::string name = "fairlead";

    /// How long IO may wait while every worker is busy with short steps, 10 us to 10 s. A lower
    /// value costs more rounds. A longer step delays IO by its own length. Due deadlines wait for a
    /// few steps.
    duration round_interval = std::chrono::milliseconds{1};

    /// How long a step may take before it is asked to give other tasks their turn, 100 us to 10 s.
    /// The step is asked at its next safepoint: each await, `checkpoint`,
    /// `scheduler::should_yield`. A thread, the monitor, looks at the workers for that, up to four
    /// times in a slice while steps are long, and not while all workers sleep. 0: no step is asked;
    /// and if no step loses its slot either (`blocked_after`), there is no monitor.
    duration slice = std::chrono::milliseconds{1};

    /// A step that has blocked in the kernel for so long, without `blocking` or `block_in_place`,
    /// loses its slot to a spare thread, so that no parallelism is lost: 1 ms to 10 s; 0: never.
    /// The monitor looks for such steps. A step keeps its slot while it computes, in
    /// `parallel_invoke`, after it has forked, and if a group is bound to its worker. Needs
    /// membarrier, which Linux has since 4.14.
    ///
    /// Without a value: 5 ms. But with one worker the step is then only reported, because steps of
    /// one worker may rely on it that no two steps run at once.
    std::optional<duration> blocked_after = std::nullopt;

    /// Called on the thread of the monitor when a step blocks, once for each name of a task, for
    /// the first 100 names. The step has lost its slot, or keeps it where no step may lose its
    /// slot. The function may post, wake and print. It must not throw, stop or destroy the
    /// scheduler, or wait for a lock that the step may hold: until it returns, no step is asked to
    /// yield, and no other step that blocks loses its slot. Default: `blocked_step::print`, to
    /// standard error.
    std::function<void(const blocked_step& step)> on_blocked = nullptr;

    /// How many calls of `blocking` may block at once, 1 to 10,000: at most so many threads are
    /// made for them. A thread ends when it has had nothing to do for 10 s.
    unsigned blocking_threads = 512;

    /// How long a worker without tasks looks on before it goes to sleep, 0 to 1 s. While a worker
    /// looks on, a post wakes no thread. That saves some microseconds and a system call if tasks
    /// come again within that time, and otherwise costs that time of a processor. A worker does not
    /// spin while no other worker can wait for events and deadlines.
    duration spin = duration::zero();

    /// How long the destructor waits for tasks that were asked to stop, before it gives them back
    /// to their owners unfinished.
    duration stop_limit = std::chrono::seconds{5};

    /// No threads: the caller runs the tasks with `run_until_idle`, one thread at a time. For tests
    /// and simulations (in virtual time it must be so: see `clock_override`), and with
    /// `run_in_loop` for foreign main loops. `workers` must be 0 or 1 then.
    bool run_on_caller = false;

    /// Null: a futex, for a scheduler without IO. See `io::epoll_driver`.
    std::unique_ptr<fairlead::driver> driver = nullptr;

    /// Called on the worker when an exception leaves a task without a joiner, a posted callable or
    /// a callback: with the tasks that it has left, the task that threw first. Default: print their
    /// names, where the first was spawned and what the exception says, and end the program.
    unhandled_reporter::function on_unhandled = nullptr;

    /// Called by the destructor, on its thread, if tasks were posted after a `stop`, and no `start`
    /// followed: they have not run. The report names the first of them. Must not throw or use the
    /// scheduler. Default: print one line to standard error.
    std::function<void(const stop_report& report)> on_late_posts = nullptr;
};

}  // namespace fairlead
