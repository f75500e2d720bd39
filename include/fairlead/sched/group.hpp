// Groups: classes of tasks that share the workers by weight, such as the tenants of a service.
//
//     fl::group game{scheduler, {.name = "game 7", .weight = 200, .max_concurrency = 2}};
//     game.post([] { ... });
//     fl::spawn(game, session(std::move(stream))).detach();
//
// A group is charged the measured time of its steps, on any worker. Groups with tasks have their
// turn by what they are owed: see docs/manual/groups.md. A task that is posted to the scheduler
// itself is in the default group, of weight 100 and normal priority. While there is no other group,
// groups cost nothing.
#pragma once

#include <fairlead/sched/executor.hpp>
#include <fairlead/sched/permit.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace fairlead {

namespace sched {
class group_state;
}  // namespace sched

/// Which groups go first. Priorities are strict: a group has its turn when no group of a higher
/// priority has something to run. But if no group of a priority had a turn for 100 ms, one of them
/// has a turn all the same. The same holds among groups that are bound to one worker.
enum class priority : std::uint8_t { low, normal, high, highest };

/// All have defaults. A wrong value makes the constructor of the group throw
/// `std::invalid_argument`, which names the field and its range.
struct group_options {
    /// For reports.
    std::string name = "group";

    /// Its share of the workers, beside other groups of its priority with tasks to run: 1 to
    /// 10,000.
    unsigned weight = 100;

    /// Whether it goes before or after groups of another priority: see `fairlead::priority`.
    fairlead::priority priority = fairlead::priority::normal;

    /// How many of its steps may run at once. 1: a strand, whose steps run one after the other, on
    /// any worker, in the order of all posts. 0: as many as there are workers. A task that sleeps
    /// does not count.
    unsigned max_concurrency = 0;

    /// How much time it asks for in one turn, 10 us to 1 s. A group with shorter slices waits less
    /// for its turn, and has turns more often.
    duration slice = std::chrono::milliseconds{1};

    /// How many tasks that were posted with a permit may wait for their first step: see `try_post`.
    /// 0: any number.
    std::size_t queue_max = 0;

    /// A post beyond `queue_max` is not refused. Instead the round that admits the post drops the
    /// oldest task that no worker has taken. That task is given back to its owner as if the
    /// scheduler were destroyed: a callable is destroyed, and a coroutine that awaits a dropped one
    /// gets `stopped_error`. This happens at once, in a step before all other tasks: also while
    /// this group is paused or full, beside the steps of a strand, and on any worker even if the
    /// group is bound.
    bool drop_oldest = false;

    /// How many tasks that were posted with a permit may begin in a second: 1/3600 to 10^9; 0: any
    /// number. A task that is too early stays in the queue and keeps its permit, so `queue_max`
    /// says what happens to further posts. A task that was posted without a permit, or that has
    /// begun, is not held up, and takes turns with the rest of its group.
    double rate_max = 0;

    /// How many of these tasks may begin at once after a pause, 1 to 1,000,000.
    unsigned rate_burst = 1;

    /// Its tasks go in the order of the deadlines in their context (`with_deadline`), the earliest
    /// first. Tasks without a deadline, such as callables, keep the order of their posts; while one
    /// waits, at most 16 tasks with a deadline go before it. Tasks that wait for `rate_max` keep
    /// their order. Not with `drop_oldest`. A task with a deadline costs 24 bytes while it is ready
    /// to run; without memory for them the task goes behind those without a deadline.
    bool earliest_deadline_first = false;

    /// Whether it is bound to a worker from the start, as by `group::bind`. The library picks the
    /// worker.
    bool bound = false;
};

/// What a group did so far.
struct group_stats {
    std::size_t tasks = 0;    ///< posted and not ended: queued, asleep, or in a step
    std::size_t queued = 0;   ///< of these, ready to run, when the holder of the role looked last
    std::uint64_t steps = 0;  ///< steps that have run
    duration used{};          ///< the time of these steps
    std::uint64_t turns = 0;  ///< given to it
    /// The time of all waits for a turn: from when it had something that could run, or from its
    /// turn before.
    duration waited{};
    duration waited_most{};  ///< the longest of these waits
    /// How often its next task had to wait for the end of a step, because of `max_concurrency` or
    /// `bind`.
    std::uint64_t throttled = 0;
    std::uint64_t delayed = 0;         ///< tasks that had to wait because of `rate_max`
    std::uint64_t refused = 0;         ///< permits that `try_permit` and `try_post` did not get
    std::uint64_t dropped = 0;         ///< tasks, because of `drop_oldest`
    std::size_t waiting_posts = 0;     ///< waits for a permit now
    std::optional<unsigned> bound_to;  ///< the number of the worker
};

/// A class of tasks with a share of the workers and with limits. The object is a handle: the
/// constructor makes the group, and the destructor drops it, at any time and on any thread. The
/// tasks of a dropped group go on in it. A handle must be destroyed before the scheduler. It can be
/// moved.
class group : public post_target {
public:
    /// Where tasks of the group are posted. An executor does not keep the group: use it while the
    /// group has a handle or a task.
    operator executor() const noexcept { return sched::access::executor_of(home()); }

    /// Makes a group of `owner`. Allocates it, some 700 bytes. Throws `std::invalid_argument` for a
    /// wrong option, and `std::bad_alloc`.
    explicit group(scheduler& owner, group_options options = {});
    /// Takes over the group of `other`, which has none afterwards: it may only be destroyed or
    /// assigned.
    group(group&& other) noexcept;
    /// Drops its own group, and takes over that of `other`.
    group& operator=(group&& other) noexcept;
    /// Drops the group, which goes on until its last task has ended. Does not wait.
    ~group();

    // --- posting with a bound: any thread, never blocks ----------------------------------------

    /// A permit in the queue. No permit if `queue_max` permits are taken, or if a `permit_in`
    /// waits. With `drop_oldest` there always is a permit.
    [[nodiscard]] permit try_permit() noexcept;

    /// Posts the task, if there is a permit. Returns whether there was one.
    [[nodiscard]] bool try_post(basic_task& task) noexcept;

    /// The same for a copy of `callable`. Allocates one object; throws `std::bad_alloc`.
    template <std::invocable Callable>
        requires(!std::derived_from<std::remove_cvref_t<Callable>, basic_task>)
    [[nodiscard]] bool try_post(Callable&& callable) {
        permit one = try_permit();
        if (!one) return false;
        std::move(one).post(std::forward<Callable>(callable));
        return true;
    }

    // --- any thread ----------------------------------------------------------------------------

    /// Sets the weight, from the next turn on. Throws `std::invalid_argument` outside 1 to 10,000.
    void set_weight(unsigned weight);

    /// Sets how many steps may run at once; 0: no limit. When the number is lowered, steps that run
    /// go on, and other workers may take what these fork. When it changes from 1 or to 1, the order
    /// of each post is that of the number at the time of the post.
    void set_max_concurrency(unsigned count) noexcept;

    /// Sets the bound of the queue; 0: no bound. When it is raised, waits for a permit get one.
    /// When it is lowered, no permit is taken back; with `drop_oldest` the next post drops the
    /// surplus.
    void set_queue_max(std::size_t count) noexcept;

    /// Sets the rate, from the next turn on. Tasks that have begun count, unless the limit was
    /// lifted meanwhile. Throws `std::invalid_argument`.
    void set_rate_max(double per_second);

    /// No more of its steps begin until `resume`. Posts are kept, and tasks go on sleeping. While
    /// the group has tasks, a `drain` waits, and a `stop` takes its whole limit and reports the
    /// tasks.
    void pause() noexcept;
    /// Ends a `pause`: steps begin again.
    void resume() noexcept;

    /// From now on its steps run on the thread of one worker, one at a time, in the order of all
    /// posts, until `release`; `max_concurrency` counts again then. For objects that belong to a
    /// thread, or data that is to stay in one cache. The worker runs other tasks as well, but is
    /// never taken off its thread: a step that blocks there blocks the worker
    /// (docs/manual/blocking.md). The thread changes only with a `stop` and a `start`, which makes
    /// new threads.
    ///
    /// Steps that run at the time of the call go on where they are, with all that they have forked.
    /// The first step on the worker begins when these have ended. Tasks that were posted before the
    /// call may have been dealt already, and then count as such steps. Tasks that the caller posts
    /// after the call run on the worker.
    ///
    /// The library picks the worker with the fewest groups. A group that is bound stays where it
    /// is.
    void bind() noexcept;
    /// The same, to the worker with this number, counted from 0. A group that is bound to another
    /// worker moves. Throws `std::invalid_argument` if there is no such worker.
    void bind(unsigned worker);

    /// Its tasks run on any worker again. A step that runs goes on; the next may run elsewhere.
    void release() noexcept;

    /// What the group did so far. The figures are read while its tasks go on. Constant time;
    /// allocates nothing.
    [[nodiscard]] group_stats stats() const noexcept;
    /// The name of the options. Valid as long as the group has a handle.
    [[nodiscard]] const std::string& name() const noexcept;

private:
    void drop() noexcept;

    sched::group_state* state_;
};

}  // namespace fairlead
