// The fair scheduler. Start here: post tasks, drain, stop.
//
//     fairlead::scheduler scheduler{{.workers = 4}};
//     scheduler.post([] { std::puts("on a worker"); });
//     scheduler.drain();
//
// Tasks start in the order in which they became ready, unless `options.policy` is `stealing`. With
// one worker the order is exact. With several, a worker claims at most 128 tasks at a time, and its
// run holds at most 256. Idle workers steal from a run, and a busy worker takes the run over if its
// owner got stuck.
// docs/internals/scheduler.md states the bound.
//
// An idle scheduler does not poll, and makes no context switch.
#pragma once

#include <fairlead/detail/sched/access.hpp>
#include <fairlead/detail/sched/blocking_job.hpp>
#include <fairlead/detail/sched/forks.hpp>
#include <fairlead/detail/sync/recycler.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/sched/options.hpp>
#include <fairlead/sched/task.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead {

/// What one worker did so far.
struct worker_stats {
    std::uint64_t steps = 0;    ///< steps that ended on this worker, and not beside it
    std::uint64_t rounds = 0;   ///< rounds; an admission of its own posts alone is none
    std::uint64_t wakeups = 0;  ///< times its thread went to sleep and was woken
    std::uint64_t stolen = 0;   ///< tasks that it took from another worker's run
};

/// What a stop left behind.
struct stop_report {
    /// A task that the stop has left.
    struct left_task {
        std::string name;   ///< the name of the task
        const char* state;  ///< "waiting", "queued", "running" or "late"
    };

    std::size_t waiting = 0;  ///< asleep
    std::size_t queued = 0;   ///< ready to run, but no longer run
    std::size_t running = 0;  ///< steps that had not ended
    /// Posted after an earlier stop had ended all steps: no worker runs them before `start`.
    std::size_t late = 0;
    /// The first 100 that are left, and 100 late ones; fewer if there is no memory for their names.
    std::vector<left_task> tasks;

    /// Whether nothing was left.
    [[nodiscard]] bool clean() const noexcept { return waiting + queued + running + late == 0; }
    /// One line for a log: "2 waiting (session, session), 1 running (upload)".
    [[nodiscard]] std::string to_string() const;
};

/// Runs tasks on its workers. A task that is posted to the scheduler itself is in its default
/// group. Converts to an `executor`.
class scheduler : public post_target {
public:
    /// Starts the workers. Throws `std::invalid_argument` for a wrong option, `std::system_error`
    /// if a thread cannot be started, and `std::bad_alloc`.
    explicit scheduler(scheduler_options options = {});
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    /// Stops with the limit of the options, waits for running steps to end, and gives tasks that
    /// are left back to their owners: coroutines are destroyed, and their joiners get
    /// `stopped_error`; callback tasks are free to be destroyed or posted elsewhere. Also waits for
    /// threads that are still inside a post, wakeup or signal. Tells `options.on_late_posts` of
    /// tasks that were posted after a stop. Must not run on one of its workers.
    ~scheduler();

    /// Where tasks of the default group are posted.
    operator executor() const noexcept { return sched::access::executor_of(home()); }

    // --- life cycle: from outside the workers --------------------------------------------------

    /// Waits until nothing is queued, runs or waits, exactly. What the tasks wrote is visible to
    /// the caller. A task that waits for ever keeps the drain waiting. With `run_on_caller` this
    /// call runs the tasks. When a stop has ended the workers it returns at once, whatever is left.
    void drain();

    /// Like `drain`, but waits at most `limit`. Returns whether everything was done. With a limit
    /// that is not positive, false may also mean that the workers had no time to answer.
    [[nodiscard]] bool drain_for(time_span limit);

    /// Asks every task to stop, wakes all sleepers, waits at most `limit` for everything to end,
    /// and then ends the workers, which takes at most 50 ms more. Tasks that are left stay inside:
    /// `start` goes on with them, and the destructor gives them back. A second call waits again. Of
    /// two calls at once, one may wait for the end of the workers as long as the limit of the other
    /// call. The report says what was left, and that of a second call also what was posted since
    /// the first. A post to a stopped scheduler does not fail: `start` runs it, or the destructor
    /// gives it back and tells `options.on_late_posts`.
    ///
    /// At the end, threads that wait for a task that is left, or for a permit, are told:
    /// `join_handle::get` and `wait_for_permit_in` throw `stopped_error`, until `start`. The thread
    /// of a `block_on` goes on waiting, because its task lives on that thread.
    stop_report stop(time_span limit);

    /// Goes on after a stop: waits for steps that the stop gave up on, and starts the workers
    /// again. Throws like the constructor. Must not run while another thread stops or starts the
    /// scheduler.
    void start();

    /// Whether `stop` was called, and `start` was not called since. Any thread. For long steps.
    [[nodiscard]] bool stopping() const noexcept;

    /// Whether a stop has told the workers to end: what is posted is kept, and does not run before
    /// `start`. Any thread. False with `run_on_caller`.
    [[nodiscard]] bool has_halted() const noexcept;

    /// How many tasks were posted after a stop had ended all steps: they wait for `start`. Zero
    /// while workers run, and with `run_on_caller`. Any thread, but not while another thread starts
    /// the scheduler. Linear in the number of tasks that are left.
    [[nodiscard]] std::size_t late_posts() const noexcept;

    // --- running on the caller -----------------------------------------------------------------

    /// Only with `run_on_caller`: runs tasks until none is ready. Returns how many steps it ran.
    std::size_t run_until_idle();

    /// Only with `run_on_caller`: if nothing is ready, sleeps in the driver until something is, or
    /// until `deadline`; then runs at most `steps_max` steps. Returns how many it ran.
    std::size_t run_until(time_point deadline, std::size_t steps_max = SIZE_MAX);

    /// Only with `run_on_caller`, for a foreign main loop: runs what is ready, at most `steps_max`
    /// steps, without sleeping. Returns when the loop must call it again at the latest:
    /// `immediately` if there is more to do. The loop calls it once to begin, and again at that
    /// time. The loop also calls it when the descriptor of the driver is readable or, without a
    /// descriptor, when `futex_driver` calls.
    time_point run_in_loop(std::size_t steps_max = 256);

    /// Whether the option `run_on_caller` is set: then there are no threads.
    [[nodiscard]] bool runs_on_caller() const noexcept;

    // --- questions: any thread -----------------------------------------------------------------

    /// `clock::now()`.
    [[nodiscard]] time_point now() const noexcept;
    /// The number of workers; 1 with `run_on_caller`.
    [[nodiscard]] unsigned workers() const noexcept;
    /// The figures of each worker, read one after the other while the workers go on. Linear in the
    /// number of workers. Allocates the vector; throws `std::bad_alloc`.
    [[nodiscard]] std::vector<worker_stats> stats() const;

    /// The driver that was passed in.
    [[nodiscard]] fairlead::driver& driver() const noexcept;

    /// Whether the step that runs on the calling thread should post itself again and end, because
    /// it has used up its slice (`options.slice`), or because a due task waits for its worker.
    /// False on other threads. Costs a few loads; with `run_on_caller` a look at the clock from the
    /// first question on. Coroutines await `checkpoint()` instead.
    [[nodiscard]] static bool should_yield() noexcept;

    /// The scheduler whose worker is the calling thread, or null.
    [[nodiscard]] static scheduler* current() noexcept;

    /// How many tasks that became ready later can start before a task, at most, if steps are short:
    /// the runs of the other workers. A worker that the kernel preempts with a task in its hands
    /// delays that task beyond the bound. With `policy::stealing` there is no bound: SIZE_MAX.
    [[nodiscard]] std::size_t order_bound() const noexcept;

private:
    friend class group;
    friend class sched::access;

    void halt() noexcept;
    stop_report end_workers(duration limit);
    void tell_late_posts(const stop_report& report) const noexcept;
    [[nodiscard]] bool on_own_worker() const noexcept;
    enum class drain_result : std::uint8_t { drained, timed_out, stopped };
    [[nodiscard]] drain_result wait_drained(duration limit);
    [[nodiscard]] bool drain_on_caller(time_point deadline);

    std::unique_ptr<sched::core> core_;
};

namespace sched {

// The task behind `scheduler::post(callable)`: runs it and frees itself.
template <class Callable>
class one_shot final : public basic_task, public sync::recycled {
public:
    template <class Source>
    explicit one_shot(Source&& callable)
        : basic_task{kind, "posted callable"}, callable_(std::forward<Source>(callable)) {}

private:
    static void run_step(basic_task& task) noexcept {
        std::unique_ptr<one_shot> self{static_cast<one_shot*>(&task)};
        try {
            self->callable_();
        } catch (...) {
            access::report_of_step(std::current_exception());
        }
    }

    static void abandon(basic_task& task) noexcept { delete static_cast<one_shot*>(&task); }

    static constexpr task_kind kind{.run = run_step, .abandon = abandon};

    Callable callable_;
};

}  // namespace sched

template <std::invocable Callable>
    requires(!std::derived_from<std::remove_cvref_t<Callable>, basic_task>)
void post_target::post(Callable&& callable) const {
    auto* task = new sched::one_shot<std::decay_t<Callable>>(std::forward<Callable>(callable));
    post(static_cast<basic_task&>(*task));
}

inline scheduler* basic_task::owner() const noexcept {
    return home_ == nullptr ? nullptr : home_->owner;
}

inline void basic_task::wakeup() noexcept {
    if (state_.wake()) home_->enqueue_woken(*this);
}

inline void basic_task::signal() noexcept {
    if (state_.signal()) home_->enqueue_woken(*this);
}

inline void basic_task::complete() noexcept {
    if (state_.complete()) home_->enqueue_woken(*this);
}

inline void basic_task::request_stop(stopped_by why) noexcept {
    if (state_.request_stop(why)) home_->enqueue_woken(*this);
}

}  // namespace fairlead
