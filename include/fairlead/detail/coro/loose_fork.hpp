// Tasks that run as part of the step that has forked them, unless another worker takes them first.
//
//     a task's step --forks--> each fork is offered, the last on top
//                   --joins, or ends--> the top one runs here, on a root of its own; it ends, or
//                                       waits and is posted; then the next, until there is none;
//                                       then the task goes on
//                   --waits--> they are posted
//
// The worker that runs the step does all of it, but for `become_task` of a fork that another worker
// has taken.
#pragma once

#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sched/forks.hpp>

namespace fairlead::coro {

/// A task that a step forks, which runs as part of the step unless another worker takes it first.
class loose_fork : public sched::forked {
protected:
    explicit loose_fork(root& self) noexcept : task_{self} {}
    ~loose_fork() = default;

private:
    friend class root;

    /// It is about to run as part of the step that has forked it.
    virtual void begin_here() noexcept = 0;

    /// It is taken, is posted, or waits: from now on it is a task like any other.
    virtual void become_task() noexcept = 0;

    [[nodiscard]] basic_task& detach() noexcept final {
        become_task();
        return task_;
    }
    [[nodiscard]] executor target() const noexcept final { return task_.where(); }
    [[nodiscard]] bool is_loose() const noexcept final { return true; }

    // The task that it interrupts while it runs as part of a step.
    struct interrupted {
        root* task = nullptr;
        loose_fork* fork = nullptr;  // which the task is, unless it is that of the step
        sched::offered_forks::running_task offers;
    };

    root& task_;
    interrupted outer_;
};

inline void root::offer_fork(loose_fork& work) noexcept {
    if (!has_forked()) start_forking();
    if (!offers_->offer(work)) {
        where_.post(work.detach());
    } else if (offers_->must_open()) {
        offers_->open_some();
    }
}

}  // namespace fairlead::coro
