// Waiting for the end of a task that runs elsewhere: the interface of the waiter, and how a thread
// waits.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/sched/put_off.hpp>
#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <cstdint>

namespace fairlead::coro {

// What waits for the end of a task: a coroutine or a thread.
class joiner {
public:
    // The last touch of the joiner: it may be gone when this returns.
    virtual void tell() noexcept = 0;

protected:
    ~joiner() = default;
};

// The scheduler that a task was started on, for a thread that waits for the task.
class home_of_task {
public:
    explicit home_of_task(scheduler& of) noexcept
        : word_{reinterpret_cast<std::uintptr_t>(&of) | std::uintptr_t{of.runs_on_caller()}} {}

    // It may be gone, unless `run_here` gives it.
    [[nodiscard]] scheduler& get() const noexcept {
        return *reinterpret_cast<scheduler*>(word_ & ~std::uintptr_t{1});
    }
    // If it has no threads of its own. Then it must be there while a thread waits. Otherwise null.
    [[nodiscard]] scheduler* run_here() const noexcept {
        return (word_ & 1) != 0 ? &get() : nullptr;
    }

private:
    std::uintptr_t word_;  // the address; the lowest bit: it runs on the caller
};

// A thread that is no worker.
class waiting_thread final : public joiner {
public:
    // `run_here`: the scheduler that it runs meanwhile; null: that has threads of its own.
    explicit waiting_thread(scheduler* run_here) noexcept : run_here_{run_here} {}

    void wait() {
        while (!wait_until(never)) {
        }
    }

    // False: the deadline has passed. A `tell` may come all the same: the word of the task that is
    // joined, or the mutex of the permits, says whether it does.
    [[nodiscard]] bool wait_until(time_point deadline) {
        sched::before_block();
        if (run_here_ == nullptr) return ended_.receive_until(deadline);
        while (!ended_.try_receive()) {
            if (run_here_->now() >= deadline) return false;
            run_here_->run_until(deadline, 1);
            sched::before_block();  // for what that step has put off
        }
        return true;
    }

    void tell() noexcept override {
        if (run_here_ == nullptr || scheduler::current() == run_here_) {
            ended_.send();
        } else {
            run_here_->post(tell_there_);  // the thread may sleep in its driver
        }
    }

private:
    scheduler* const run_here_;
    sync::signal ended_;
    callback_task tell_there_{[this](callback_task&) { ended_.send(); }, "end of a task"};
};

}  // namespace fairlead::coro
