// Forked work: what a step offers to idle workers while it goes on with something else.
//
// A fork is no task: nothing posts, admits or counts it, as the step that forked it takes it back. Only
// another worker that takes it makes a task of it; and so does the step itself, if it ends with a wait.
#pragma once

#include <fairlead/base/assert.hpp>
#include <fairlead/lockfree/fork_deque.hpp>
#include <fairlead/sched/task.hpp>

#include <cstddef>

namespace fairlead {

class scheduler;

namespace sched {

/// One piece of forked work. Whoever gets it from the deque runs it.
class forked {
public:
    /// Makes a task of it, for `home`, whose worker has taken it. Called once.
    [[nodiscard]] virtual basic_task& detach(scheduler& home) noexcept = 0;

protected:
    ~forked() = default;
};

/// The forks of the step that one worker runs. Only `steal` and `empty` are for other threads.
class offered_forks {
public:
    explicit offered_forks(std::size_t open_min) noexcept : deque_{open_min} {}

    /// The newest fork from now on, which others may take once it is open. False: there is no room.
    [[nodiscard]] bool offer(forked& work) noexcept { return deque_.push(work); }

    /// Whether `work`, the newest that was offered and not taken back, is the caller's again.
    [[nodiscard]] bool take_back(const forked& work) noexcept {
        forked* const newest = deque_.pop();
        FAIRLEAD_ASSERT(newest == nullptr || newest == &work, "forks were not taken back in order");
        return newest != nullptr;
    }

    /// Whether so little is open that idle workers may find nothing. To be asked after each of the above.
    [[nodiscard]] bool must_open() const noexcept { return deque_.must_open(); }

    /// Whether so little is open that what was offered at once had better be opened at once.
    [[nodiscard]] bool must_open_all() const noexcept { return deque_.must_open_all(); }

    /// Opens as many as must be.
    void open_some() noexcept {
        if (deque_.open()) wake_thief();
    }

    /// Others may take all that is offered.
    void open_all() noexcept {
        if (deque_.open_all()) wake_thief();
    }

    // --- for workers -----------------------------------------------------------------------------

    [[nodiscard]] forked* steal() noexcept { return deque_.steal(); }
    [[nodiscard]] bool empty() const noexcept { return deque_.empty(); }

private:
    // On the worker whose forks these are.
    static void wake_thief() noexcept;

    lockfree::fork_deque<forked> deque_;
};

}  // namespace sched
}  // namespace fairlead
