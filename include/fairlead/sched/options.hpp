// What a scheduler can be told when it is made. Wrong values throw `std::invalid_argument`, which
// names the field and its range.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/sched/blocked_step.hpp>
#include <fairlead/sched/driver.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace fairlead {

/// Where an exception goes that leaves a task which nobody joins. May outlive its scheduler.
class unhandled_reporter {
public:
    using function = std::function<void(std::exception_ptr, const char* task_name)>;

    unhandled_reporter() = default;
    explicit unhandled_reporter(function handler)
        : handler_{handler ? std::make_shared<const function>(std::move(handler)) : nullptr} {}

    /// Calls the handler. Without one: prints the task's name and what the exception says, and ends
    /// the program.
    void operator()(std::exception_ptr failure, const char* task_name) const noexcept;

private:
    std::shared_ptr<const function> handler_;
};

/// Where a plain post (one task, due at once) by a step goes. docs/scheduler.md says when to choose which.
enum class policy : std::uint8_t {
    /// Behind what is ready already: tasks start in the order in which they became ready.
    fair,
    /// To the worker that runs the step, which runs its newest first; idle workers steal the oldest.
    /// For work that divides itself: it stays in the cache, and needs little memory.
    stealing,
};

struct scheduler_options {
    /// Worker threads, 1 to 1,000. 0: as many as there are processors for this process, control
    /// group quotas included. More than processors is fine; it costs switches, not correctness.
    unsigned workers = 0;

    /// In which order tasks run.
    fairlead::policy policy = fairlead::policy::fair;

    /// Threads are called "<name>/0", ... The kernel keeps 15 characters.
    std::string name = "fairlead";

    /// How long IO may wait while every worker is busy with short steps, 10 us to 10 s. Lower costs more rounds;
    /// a step that runs longer delays it by as much. Due deadlines wait for a few steps.
    duration round_interval = std::chrono::milliseconds{1};

    /// How long a step may take before it is asked to let others have their turn, 100 us to 10 s. It is asked at its
    /// next safepoint: each await, `checkpoint`, `scheduler::should_yield`. A thread, the monitor, looks at the workers
    /// for that, up to four times in a slice while steps are long, and not while all sleep. 0: nobody is asked; and if
    /// nobody loses its slot either (`blocked_after`), there is no such thread.
    duration slice = std::chrono::milliseconds{1};

    /// A step that has blocked in the kernel for so long, without `blocking` or `block_in_place`, loses its slot to a spare
    /// thread, so that no parallelism is lost: 1 ms to 10 s; 0: never. The monitor looks for it. A step that computes keeps its
    /// slot, and so does one that has forked, or whose worker a group is bound to. Needs membarrier, which Linux has since 4.14.
    /// Without a value: 5 ms; but with one worker the step is only reported then, as steps rely on it there that no other
    /// runs at once.
    std::optional<duration> blocked_after = std::nullopt;

    /// Called on the thread of the monitor, once for each name of a task, the first 100: a step blocks, and has lost its slot
    /// or, where none may lose it, keeps it. May post and wake, and print. Must not throw, nor stop or destroy the scheduler, nor wait for what the step
    /// may hold: until it returns nobody is asked to yield, and no other step that blocks loses its slot.
    /// Default: `blocked_step::print`, to standard error.
    std::function<void(const blocked_step& step)> on_blocked = nullptr;

    /// How many calls of `blocking` may block at once, 1 to 10,000: so many threads are made for them at most. They go when
    /// they have had nothing to do for 10 s.
    unsigned blocking_threads = 512;

    /// How long a worker that has run out of tasks looks on before it goes to sleep, 0 to 1 s. While one
    /// does, a post wakes no thread, which saves some microseconds and a system call if tasks come again
    /// within that time, and costs the processor as long if not. Events and deadlines are not waited for
    /// in this way: if there are any, a worker that nobody relieves of the wait for them does not spin.
    duration spin = duration::zero();

    /// How long the destructor waits for tasks that were asked to stop, before it gives them back to
    /// their owners unfinished.
    duration stop_limit = std::chrono::seconds{5};

    /// No threads: the caller runs the tasks with `run_until_idle`, one thread at a time. For tests and
    /// simulations (in virtual time it must be so: see `clock_override`), and with `run_in_loop` for foreign main loops. `workers` must then be 0 or 1.
    bool run_on_caller = false;

    /// Null: a futex, for a scheduler without IO. See `io::epoll_driver`.
    std::unique_ptr<fairlead::driver> driver = nullptr;

    /// Called on the worker when an exception leaves a task that nobody joins. Default: print the
    /// task's name and what the exception says, and end the program.
    unhandled_reporter::function on_unhandled = nullptr;
};

}  // namespace fairlead
