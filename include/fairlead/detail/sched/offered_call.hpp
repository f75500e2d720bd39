// A call that a function offers to idle workers while it makes another one: parallel_invoke.
//
//     parent --offers the second call--> makes the first
//            it has returned: the second is taken back, and made on the same stack
//            the second is gone: the parent makes calls that its taker has offered since; if there
//                                are none it sleeps until the second has ended
//
// The parent blocks on its stack. So the call, and the task that a taker makes of it, lie in the
// frame of the parent: an offer allocates nothing and a theft cannot fail. The memory of the task
// stays untouched unless a worker takes the call.
//
// A parent finds only calls of its own tree at the taker. The taker's deque is empty when the call
// begins: a worker that searches has no forks, and a parent waits only when all of its forks are
// gone, because thieves take the oldest first. When the call has ended, the taker waits until
// parents that are stealing from it have finished. This is leapfrogging (D. Wagner and B. Calder,
// "Leapfrogging: a portable technique for implementing efficient futures", PPoPP 1993).
//
// Why nothing waits for ever: a function goes on when the functions above it on its stack have
// returned and the call that it waits for has ended. All of these have begun after it. So no chain
// of waits is a cycle.
#pragma once

#include <fairlead/detail/sched/forks.hpp>
#include <fairlead/detail/sched/step_context.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/sched/task.hpp>

#include <cstdint>
#include <exception>

namespace fairlead::sched {

/// Where the step that runs on the calling thread may offer calls.
struct step_forks {
    offered_forks* offers;  // null: the step has not forked
    step_context* context;  // null: the thread is no worker, or its scheduler has no other worker
};
[[nodiscard]] step_forks forks_of_step() noexcept;

/// While this object exists the step may offer calls, and no thread takes its slot. `forks` is
/// empty between two steps, without a slot, and in a group with a limit.
class outermost_call {
public:
    outermost_call() noexcept;
    outermost_call(const outermost_call&) = delete;
    outermost_call& operator=(const outermost_call&) = delete;
    ~outermost_call();

    [[nodiscard]] const step_forks& forks() const noexcept { return forks_; }

private:
    step_forks forks_{nullptr, nullptr};
};

class offered_call : public forked {
public:
    offered_call(const offered_call&) = delete;
    offered_call& operator=(const offered_call&) = delete;

    /// The parent takes it back before it is made. False: it is gone, and `join` must follow.
    [[nodiscard, gnu::always_inline]] bool take_back(offered_forks& from) noexcept {
        const bool is_here = from.take_back(*this);
        if (from.must_open()) [[unlikely]]
            from.open_some();
        return is_here;
    }

    /// It is gone: helps its taker until it has ended. Gives what has left it.
    [[nodiscard]] std::exception_ptr join() noexcept;

protected:
    explicit offered_call(const step_forks& here) noexcept
        : parent_{*here.context}, depth_{here.offers->depth()} {}
    ~offered_call() {}

private:
    // The call as the task of a worker that has taken it.
    struct taken_call : basic_task {
        explicit taken_call(offered_call& made) noexcept
            : basic_task{kind, "parallel_invoke", made.depth_}, of{made} {}

        static const task_kind kind;
        offered_call& of;
        std::exception_ptr failure;
    };

    virtual void call() = 0;

    [[nodiscard]] basic_task& detach() noexcept final;
    [[nodiscard]] executor target() const noexcept final {
        return access::executor_of(*parent_.of);
    }

    void run_taken() noexcept;
    void run_within() noexcept;

    const step_context& parent_;
    const std::uint32_t depth_;                 // of the parent's task
    sync::atomic<offered_forks*> at_{nullptr};  // where its taker offers
    sync::signal ended_;
    union {
        taken_call taken_;  // if it is gone
    };
};

}  // namespace fairlead::sched
