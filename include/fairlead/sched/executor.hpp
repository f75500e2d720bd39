// Where tasks belong: each to a group of a scheduler. A task that is posted to a scheduler itself
// belongs to the default group of the scheduler.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/sched/access.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

namespace fairlead {

class basic_task;
class scheduler;

namespace sched {

class core;
struct posted;

/// Through which front a task enters. The fronts are admitted in turn, so that no task waits behind
/// a burst in another front. `none`: of an executor that refers to nothing.
enum class lane : std::uint8_t { everyone, groups, control, none };

/// The part of a group to which its tasks point. For the default group the core is that part.
struct home {
    /// Pushes a task whose sleep the caller has ended. Any thread.
    void enqueue_woken(basic_task& task) noexcept;

    /// Whether no more than so many of its steps may run at once.
    [[nodiscard]] bool is_limited() const noexcept;

    /// Whether it is no default group: its tasks are counted, and have their turn by its weight.
    [[nodiscard]] bool grouped() const noexcept { return enters_by != lane::everyone; }

    [[nodiscard]] core& in() noexcept;

    /// Keeps a group alive that may have no handle any more. The caller has a right to the group,
    /// such as a task in it.
    void hold() noexcept {
        if (grouped()) hold_group();
    }
    void let_go() noexcept {
        if (grouped()) let_group_go();
    }

    scheduler* const owner;
    const lane enters_by;

private:
    void hold_group() noexcept;
    void let_group_go() noexcept;
};

/// What an empty executor refers to. So the path of most posts need not ask whether an executor is
/// empty: only the path of posts to groups asks, which a post to this object takes.
inline constinit home nowhere{nullptr, lane::none};

}  // namespace sched

/// The verbs of posting, which a scheduler, a group and an `executor` have in common.
class post_target {
public:
    // --- posting: any thread, never blocks, never fails, unbounded, allocates nothing ------------

    /// Runs the task once, after all tasks that this thread has posted to the same group before.
    /// Tasks that other threads have posted to the group before also run before: exactly in a
    /// strand, and otherwise up to `scheduler::order_bound`. The task must not be posted anywhere.
    /// Constant time.
    void post(basic_task& task) const noexcept;

    /// Posts the tasks in order, in one exchange, so that no other task comes in between. Linear
    /// time.
    void post(std::span<basic_task* const> tasks) const noexcept;

    /// Runs the task when `deadline` has come, never before, or when it is woken or signalled.
    void post_deadline(basic_task& task, time_point deadline) const noexcept;

    /// Like `post_deadline` with `now() + delay`, by the clock of the scheduler.
    void post_delay(basic_task& task, time_span delay) const noexcept;

    /// Like `post_deadline`, as the last thing that a step does: no thread is woken to take the
    /// task from this worker, which is about to be free for it.
    void post_last(basic_task& task, time_point deadline) const noexcept;

    /// Runs the task when it is woken or signalled.
    void post_wait(basic_task& task) const noexcept { post_deadline(task, never); }

    /// Runs a copy of `callable` once. Allocates one object; throws `std::bad_alloc` if it cannot.
    /// An exception that leaves the callable goes to `on_unhandled`.
    template <std::invocable Callable>
        requires(!std::derived_from<std::remove_cvref_t<Callable>, basic_task>)
    void post(Callable&& callable) const;

    /// The scheduler of the tasks that are posted here.
    [[nodiscard]] scheduler& owner() const noexcept {
        FAIRLEAD_ASSERT(home_->owner != nullptr, "an executor refers to no scheduler");
        return *home_->owner;
    }

    /// @cond internal
protected:
    post_target() = default;
    explicit post_target(sched::home& of) noexcept : home_{&of} {}
    // Only for an executor: a copy of a scheduler or of a group would be a slice of it.
    post_target(const post_target&) = default;
    post_target& operator=(const post_target&) = default;
    ~post_target() = default;

    void refer_to(sched::home& of) noexcept { home_ = &of; }
    [[nodiscard]] sched::home& home() const noexcept { return *home_; }

    friend bool operator==(const post_target&, const post_target&) = default;
    /// @endcond

private:
    friend class sched::access;

    [[nodiscard]] bool accept(basic_task& task, time_point deadline) const noexcept;
    void submit(basic_task& task, time_point deadline, bool last) const noexcept;

    sched::home* home_ = &sched::nowhere;
};

/// Where tasks can be posted: refers to a scheduler or to a group, as a pointer does. Both convert
/// to it, and must outlive its use. A post to an executor that refers to nothing ends the program.
class executor final : public post_target {
public:
    /// Refers to nothing.
    executor() = default;

    /// Whether tasks that are posted to both go to the same place.
    friend bool operator==(executor left, executor right) noexcept {
        return static_cast<const post_target&>(left) == static_cast<const post_target&>(right);
    }

private:
    friend class sched::access;

    explicit executor(sched::home& of) noexcept : post_target{of} {}
};

/// @cond internal
inline sched::home& sched::access::home_of(const post_target& target) noexcept {
    return *target.home_;
}
inline executor sched::access::executor_of(home& of) noexcept { return executor{of}; }
/// @endcond

}  // namespace fairlead
