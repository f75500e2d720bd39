// Groups: classes of tasks that share the workers by weight, such as the tenants of a service.
//
//     fl::group game{scheduler, {.name = "game 7", .weight = 200, .max_concurrency = 2}};
//     game.post([] { ... });
//     fl::spawn(game, session(std::move(stream)));
//
// A group is charged the measured time of its tasks' steps, whichever worker runs them, and those with tasks have
// their turn by what they are owed: see docs/manual/groups.md. What is posted to the scheduler itself is in its default group,
// of weight 100 and normal priority. Until the first other one is made, that costs nothing.
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

/// Who goes first. Strict: a group has its turn when none of a higher priority has something to run; but if none of a
/// priority had one for 100 ms, one of them has one all the same; likewise of those that are bound to the same worker.
enum class priority : std::uint8_t { low, normal, high, highest };

/// Wrong values throw `std::invalid_argument`, which names the field and its range.
struct group_options {
    /// For reports.
    std::string name = "group";

    /// Its share of the workers, against those of other groups of its priority with tasks to run: 1 to 10,000.
    unsigned weight = 100;

    /// Whether it goes before or after groups of another priority: see `fairlead::priority`.
    fairlead::priority priority = fairlead::priority::normal;

    /// How many of its steps may run at once; 1: one after the other, on any worker, in the order of their posts by
    /// whomever. 0: as many as there are workers.
    /// A task that sleeps does not count.
    unsigned max_concurrency = 0;

    /// How much it wants to be served at a time, 10 us to 1 s. A group with shorter slices waits less for its turn,
    /// and has turns more often.
    duration slice = std::chrono::milliseconds{1};

    /// How many tasks may be posted with a permit in its queue, and not have begun: see `try_post`. 0: any number.
    std::size_t queue_max = 0;

    /// A post beyond that is not refused: a round that admits it drops the oldest that no worker has taken instead, which is given
    /// back to its owner as if the scheduler were destroyed: a callable is destroyed, and who awaits a coroutine gets
    /// `stopped_error`. That is done at once, in a step before all others: also while this group is paused or full, and beside the
    /// steps of a strand; and on any worker, though it is bound to one.
    bool drop_oldest = false;

    /// How many tasks that were posted with a permit may begin in a second: 1/3600 to 10^9; 0: any number. Those that are
    /// too early stay in the queue, where they keep their permits: so `queue_max` says what happens to the posts of who sends more.
    /// What is posted without a permit, and a task that has begun, is not held up, and takes turns with them.
    double rate_max = 0;

    /// How many of them may begin at once after a pause, 1 to 1,000,000.
    unsigned rate_burst = 1;

    /// Whether it is bound to a worker from the start, which the library picks: as by `group::bind`.
    bool bound = false;
};

/// What a group did so far.
struct group_stats {
    std::size_t tasks = 0;    ///< posted and not ended: queued, asleep, or in a step
    std::size_t queued = 0;   ///< of these, ready to run, when the holder of the role looked last
    std::uint64_t steps = 0;  ///< run
    duration used{};          ///< the time of these steps
    std::uint64_t turns = 0;  ///< given to it
    duration
        waited{};  ///< until they were, from when it had something that could run, or from its turn before
    duration waited_most{};  ///< of these waits, the longest
    std::uint64_t throttled =
        0;  ///< times its next task had to wait for the end of another, because of `max_concurrency`, or a `bind`
    std::uint64_t delayed = 0;      ///< tasks that had to wait because of `rate_max`
    std::uint64_t refused = 0;      ///< permits that were not there for `try_permit` and `try_post`
    std::uint64_t dropped = 0;      ///< tasks, because of `drop_oldest`
    std::size_t waiting_posts = 0;  ///< how many wait for a permit now
    std::optional<unsigned> bound_to;  ///< which worker
};

/// Made by its constructor, and dropped by its destructor, at any time and on any thread. Tasks that it has then go on
/// in it. A group must be destroyed before its scheduler. It can be moved from one handle to another, and its address
/// means nothing.
class group : public post_target {
public:
    /// Where tasks of the group are posted. An executor does not keep the group: use it while the group has a handle
    /// or a task.
    operator executor() const noexcept { return executor{home()}; }

    /// Throws `std::invalid_argument` for a wrong option, `std::bad_alloc`.
    explicit group(scheduler& owner, group_options options = {});
    /// Takes over the group of `other`, which has none afterwards and may only be destroyed or assigned to.
    group(group&& other) noexcept;
    /// Drops its own group, and takes over that of `other`.
    group& operator=(group&& other) noexcept;
    /// Drops the group, which goes on until its last task has ended. Does not wait.
    ~group();

    // --- posting with a bound: any thread, never blocks ---------------------------------------------

    /// A permit for the queue. None if as many as `queue_max` are taken, or others wait for one: `permit_in`. With `drop_oldest`
    /// there always is one.
    [[nodiscard]] permit try_permit() noexcept;

    /// Posts the task, if there is a permit.
    [[nodiscard]] bool try_post(basic_task& task) noexcept;

    /// Likewise. Throws `std::bad_alloc`.
    template <std::invocable Callable>
        requires(!std::derived_from<std::remove_cvref_t<Callable>, basic_task>)
    [[nodiscard]] bool try_post(Callable&& callable) {
        permit one = try_permit();
        if (!one) return false;
        std::move(one).post(std::forward<Callable>(callable));
        return true;
    }

    // --- any thread -------------------------------------------------------------------------------

    /// Throws `std::invalid_argument`. From its next turn on.
    void set_weight(unsigned weight);

    /// 0: no limit. When lowered, steps that run go on, and others may take what they fork. From 1 to another or back, the
    /// order of posts is that of the number at the time of each.
    void set_max_concurrency(unsigned count) noexcept;

    /// When raised, those that wait for a permit get one. When lowered, nothing is taken back; what is too much is dropped, if it
    /// may be, at the next post.
    void set_queue_max(std::size_t count) noexcept;

    /// From its next turn on. What has begun counts, unless the limit was lifted meanwhile. Throws `std::invalid_argument`.
    void set_rate_max(double per_second);

    /// No more of its steps begin until `resume`. Posts are kept, and tasks go on sleeping. While it has tasks, a `drain`
    /// waits, and a `stop` takes its whole limit and reports them.
    void pause() noexcept;
    /// Ends a `pause`: steps begin again.
    void resume() noexcept;

    /// From now on its steps run on the thread of one worker, one at a time, in the order of posts by whomever, until it
    /// is released; a `max_concurrency` counts again then. For what belongs to a thread, or data that is to stay in one
    /// cache. The worker goes on with other tasks beside them, but is never taken off its thread: what blocks there
    /// blocks it (docs/manual/blocking.md). The thread changes only with a `stop` and a `start`, which make new ones.
    ///
    /// Steps that run at the time of the call go on where they are, and what they have forked with them; the first on the
    /// worker begins when they have ended. What was posted before the call may have been dealt, and count to them; what
    /// the caller posts after it runs on the worker.
    ///
    /// Without a number the library picks the worker with the fewest groups; a group that is bound stays where it is. With
    /// another number than before it moves. Throws `std::invalid_argument` if there is no such worker.
    void bind() noexcept;
    /// The same, to the worker of this number, from 0.
    void bind(unsigned worker);

    /// Its tasks run on any worker again. A step that runs goes on; the next may run elsewhere.
    void release() noexcept;

    /// What the group did so far. The figures are read while its tasks go on. Constant time, allocates nothing.
    [[nodiscard]] group_stats stats() const noexcept;
    /// The name of the options. Valid as long as the group has a handle.
    [[nodiscard]] const std::string& name() const noexcept;

private:
    void drop() noexcept;

    sched::group_state* state_;
};

}  // namespace fairlead
