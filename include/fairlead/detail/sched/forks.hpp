// Forked work: what a step offers to idle workers while it goes on with something else.
//
// A fork is no task: the scheduler does not post, admit or count it, because the step that offered
// it usually takes it back. A fork becomes a task if another worker takes it, or if the step ends
// with a wait.
//
// A step takes most of its forks back in order. A loose fork is different: no task waits for one
// loose fork in particular, so the step runs or posts the loose forks that it finds.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/lockfree/fork_deque.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/sched/task.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace fairlead {

namespace sched {

/// One piece of forked work. The worker that gets it from the deque runs it.
class forked {
public:
    /// Makes a task of it, for the worker that has taken it. Called once.
    [[nodiscard]] virtual basic_task& detach() noexcept = 0;

    /// Where its task is to be.
    [[nodiscard]] virtual executor target() const noexcept = 0;

    [[nodiscard]] virtual bool is_loose() const noexcept { return false; }

protected:
    ~forked() = default;
};

/// The forks of the step that one worker runs. Only `thief_comes`, `thief_goes`, `steal` and
/// `empty` are for other threads.
class offered_forks {
public:
    explicit offered_forks(std::size_t open_min) noexcept : deque_{open_min}, open_min_{open_min} {}

    /// Makes `work` the newest fork. Thieves may take it once it is open. False: there is no room.
    [[nodiscard]] bool offer(forked& work) noexcept { return deque_.push(work); }

    /// Whether `work`, the newest that was offered and not taken back, is the caller's again. Loose
    /// forks that lie above it are posted.
    [[nodiscard]] bool take_back(const forked& work) noexcept {
        forked* const newest = deque_.pop();
        if (newest == &work) [[likely]]
            return true;
        return newest != nullptr && take_back_below(*newest, work);
    }

    /// The newest, if it is loose, and an offer of the task that runs. Null: there is none.
    [[nodiscard]] forked* take_loose() noexcept {
        if (deque_.bottom() == running_.base) return nullptr;
        forked* const newest = deque_.pop();
        if (newest == nullptr || newest->is_loose()) return newest;
        put_back(*newest);
        return nullptr;
    }

    /// Posts all loose forks that the running task has offered. No other forks may lie above them.
    void post_loose() noexcept {
        while (forked* const newest = take_loose()) post(*newest);
    }

    /// Call it before this worker runs several forks one after the other: while the first runs,
    /// no call would open the forks above it.
    void open_if_several() noexcept {
        if (deque_.bottom() - running_.base > 2 && must_open_all()) open_all();
    }

    // --- tasks that run within a step ------------------------------------------------------------

    /// The task that runs has offered only what lies at `base` or above.
    struct running_task {
        std::uint64_t base = 0;
        std::uint32_t depth = 0;
    };

    /// The task of the step, which was posted to `of`, begins to fork.
    void begin(const home& of) noexcept {
        running_.base = deque_.bottom();
        if (of.grouped()) begin_in_group(of);
    }

    /// A loose fork, or a call, of this depth begins here. Gives the task that it interrupts.
    [[nodiscard]] running_task enter(std::uint32_t depth) noexcept {
        return std::exchange(running_, {deque_.bottom(), depth});
    }
    /// It has ended or was posted: that task goes on.
    void leave(running_task outer) noexcept { running_ = outer; }

    /// How deep the task is that runs.
    [[nodiscard]] std::uint32_t depth() const noexcept { return running_.depth; }

    /// Whether so little is open that idle workers may find nothing. To be asked after each of the
    /// above.
    [[nodiscard]] bool must_open() const noexcept { return deque_.must_open(); }

    /// Whether so little is open that what was offered at once had better be opened at once.
    [[nodiscard]] bool must_open_all() const noexcept { return deque_.must_open_all(); }

    /// Opens as many as must be. Rare: not in the function that forks.
    [[gnu::noinline]] void open_some() noexcept {
        if (deque_.open()) wake_thief();
    }

    /// Thieves may take all that is offered.
    void open_all() noexcept {
        if (!closed_ && deque_.open_all()) wake_thief();
    }

    // --- for workers -----------------------------------------------------------------------------

    /// A step begins, of a task of this depth.
    void begin_step(std::uint32_t depth) noexcept { running_.depth = depth; }

    /// A step of a group has ended, and has no forks any more. Waits for thieves that are about to
    /// say what they have taken.
    void end_forking() noexcept {
        if (of_group_) end_in_group();
    }

    /// A thief comes, before `steal`; and has counted what it took. Workers that search say so if
    /// there are groups; functions that wait for a call always do.
    void thief_comes() noexcept;
    void thief_goes() noexcept;

    /// The owner waits until each thief that has come is gone. A thief that comes later sees all
    /// that the owner did before.
    void wait_for_thieves() noexcept;

    [[nodiscard]] forked* steal() noexcept { return deque_.steal(); }
    [[nodiscard]] bool empty() const noexcept { return deque_.empty(); }

private:
    void begin_in_group(const home& of) noexcept;
    void end_in_group() noexcept;

    // On the worker whose forks these are.
    static void wake_thief() noexcept;
    static void post(forked& work) noexcept;

    [[nodiscard]] bool take_back_below(forked& newest, const forked& work) noexcept;
    void put_back(forked& newest) noexcept;

    lockfree::fork_deque<forked> deque_;
    running_task running_;
    const std::size_t open_min_;
    bool closed_ = false;    // no thief may take what this step forks
    bool of_group_ = false;  // the step that has begun to fork
    sync::atomic<unsigned> thieves_{0};
};

}  // namespace sched
}  // namespace fairlead
