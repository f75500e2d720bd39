// The schedulable unit. The library's own kinds are `callback_task`, the one-shot behind
// `scheduler::post(callable)`, and the root of a coroutine; each derives from `basic_task`.
//
// A task is owned by its user: the scheduler links it, runs it, and never frees it. Between a post
// and the start of the step that it causes, the fields below belong to the scheduler; during a step
// and otherwise they belong to the user. Only the state word is shared.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/base/chain.hpp>
#include <fairlead/detail/sched/task_state.hpp>
#include <fairlead/sched/stopped_by.hpp>
#include <fairlead/sched/task_name.hpp>

#include <cstdint>

namespace fairlead {

class basic_task;
class scheduler;

namespace sched {
class task_access;
struct home;
using sleeper_place = sync::atomic<basic_task*>;
}  // namespace sched

/// What a kind of task does. One constant object for each kind.
struct task_kind {
    /// Runs one step. The last thing that it does with the task is to post it again, or to leave
    /// it; after it the scheduler does not touch the task, so it may free itself. Must not throw.
    void (*run)(basic_task& task) noexcept;

    /// Gives the task back without a run, because the scheduler is destroyed, or the group drops
    /// the task. May free the task.
    void (*abandon)(basic_task& task) noexcept;

    /// Whether the task can be given back now. False: it waits for an operation of its own that
    /// will end and `complete` it, and is asked again after that. Null: always.
    bool (*can_abandon)(basic_task& task) noexcept = nullptr;

    /// Until when the work of the task is wanted; `never`: it has no deadline. A group with
    /// `earliest_deadline_first` asks, while the task is ready to run. Null: `never`.
    time_point (*due)(const basic_task& task) noexcept = nullptr;
};

/// Something other than a deadline that a task can wait for inside the scheduler, such as a
/// descriptor that becomes readable. Only the holder of the role calls it, so it needs no lock.
class wait_source {
public:
    /// The task is about to sleep. False: what it waits for is there already, so it runs.
    [[nodiscard]] virtual bool arm(basic_task& task) noexcept = 0;

    /// The task leaves its sleep, for whatever reason. Forget it.
    virtual void disarm(basic_task& task) noexcept = 0;

protected:
    ~wait_source() = default;
};

/// What a scheduler runs, step by step. A program uses `callback_task`, a callable or a coroutine,
/// which derive from it, and meets this class as the thing to wake, to signal and to stop.
class basic_task {
public:
    /// `name`: for reports. `depth`: see sched::access::depth_of_new_task.
    basic_task(const task_kind& kind, task_name name, std::uint32_t depth = 0) noexcept
        : kind_{&kind}, name_{name.c_str()}, depth_{depth} {}
    basic_task(const basic_task&) = delete;
    basic_task& operator=(const basic_task&) = delete;

    ~basic_task() {
        FAIRLEAD_ASSERT(home_ == nullptr, "a task was destroyed while a scheduler holds it");
    }

    // --- any thread, while the task cannot have been freed --------------------------------------

    /// The task runs at least once more, and that run sees what was written before this call. If it
    /// sleeps it is queued at once; if it runs or is queued, or was not posted yet, the wake-up is
    /// remembered. Never blocks. The task may have run and freed itself before this returns, and a
    /// second waker may then touch freed memory: use `signal` when the task frees itself.
    void wakeup() noexcept;

    /// Sets the task's signal and wakes it, in one step. Once the task has received the signal, the
    /// sender does not touch it any more: the receiver may free itself. Signals do not count.
    void signal() noexcept;

    /// Asks the task to end early. For good: `stop_requested` stays true. Wakes it. The first
    /// request counts, with its reason or without one.
    void request_stop(stopped_by why = stopped_by::unsaid) noexcept;

    /// Whether a signal was sent that was not received yet.
    [[nodiscard]] bool signalled() const noexcept { return state_.is_signalled(); }

    /// Whether it or its scheduler was asked to stop.
    [[nodiscard]] bool stop_requested() const noexcept { return state_.is_stopping(); }

    /// Why: the reason of the first request. `unsaid`: it gave none, or there was none.
    [[nodiscard]] stopped_by stop_reason() const noexcept { return state_.stop_reason(); }

    // --- the task itself, during a step, or its user before the first post ----------------------

    /// Takes the signal; true if there was one.
    [[nodiscard]] bool receive_signal() noexcept { return state_.take_signal(); }

    /// Whether this step runs because the deadline of the last post had passed. Also true after a
    /// plain post, whose deadline is "now". May be true together with a signal: look at it first.
    [[nodiscard]] bool expired() const noexcept { return expired_; }

    /// How deep it is among the tasks that have started each other.
    [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }

    /// The name, for reports.
    [[nodiscard]] const char* name() const noexcept { return name_; }

    /// Where it was posted last, while it is there; null while it runs or is with its user.
    [[nodiscard]] scheduler* owner() const noexcept;

    // --- for awaits of the library: set before a post, used up by it -----------------------------

    /// Also wait for `source`.
    void wait_for(wait_source& source) noexcept { source_ = &source; }

    /// Sleep through signals; they are remembered.
    void ignore_signals() noexcept { deaf_ = true; }

    /// The operation that the task awaits has ended: like `signal`, on a flag of the library's own.
    void complete() noexcept;

    /// Takes that flag; true if it was set. After it the completer does not touch the task.
    [[nodiscard]] bool take_completed() noexcept { return state_.take_completed(); }

protected:
    /// Sets the name. The task itself during a step, or its user while it is not posted.
    void set_name(task_name name) noexcept { name_ = name.c_str(); }

private:
    friend class sched::task_access;

    // Where the role keeps the task.
    enum : std::int32_t {
        not_waiting = -1,   // fresh from a post, or in ready
        in_transit = -2,    // it slept, and its waker brings it through the front
        dealt_before = -3,  // it was ready before, and is dealt again
        in_table = -4,      // it sleeps until it is woken, in `place_`
    };                      // >= 0: its index among the sleepers with a deadline

    // For a task that was posted with a permit in the queue of its group, until its step begins.
    enum : std::uint8_t {
        needs_none,
        has_permit,
        dropped,  // its step is to give it back
    };

    basic_task* next_ = nullptr;  // in the front, and in chains
    task_state state_;
    std::int32_t index_ = not_waiting;
    sched::home* home_ = nullptr;  // where it was posted, while it is there
    union {
        time_point deadline_ = immediately;
        sched::sleeper_place* place_;  // `in_table`: it has no deadline
    };
    const task_kind* kind_;
    const char* name_;
    wait_source* source_ = nullptr;
    std::uint32_t depth_;
    bool deaf_ = false;
    bool expired_ = false;
    bool deferred_ : 1 = false;  // could not be given back yet
    std::uint8_t standing_ : 2 = needs_none;
    bool only_woken_ : 1 = false;  // it sleeps in a table, and for nothing but a wake-up
    std::uint8_t told_ = 0;  // the stop during which its last step began, see role::stop_number

public:
    /// @cond internal
    /// Tasks in a row.
    using chain = base::chain<basic_task, &basic_task::next_>;
    static constexpr auto link = &basic_task::next_;
    /// @endcond
};

static_assert(sizeof(basic_task) <= 64 ||
              sizeof(task_state) != 4);  // larger atomics: a checked build

}  // namespace fairlead
