// Waiting for the end of a task that runs elsewhere: the interface of the waiter, and how a thread
// waits.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <mutex>

namespace fairlead::coro {

// What waits for the end of a task: a coroutine or a thread.
class joiner {
public:
    // The last touch of the joiner: it may be gone when this returns.
    virtual void tell() noexcept = 0;

protected:
    ~joiner() = default;
};

// A thread that is no worker.
class waiting_thread final : public joiner {
public:
    // `run_here`: the scheduler that it runs meanwhile; null: that has threads of its own.
    explicit waiting_thread(scheduler* run_here) noexcept : run_here_{run_here} {}

    void wait() {
        if (run_here_ == nullptr) {
            ended_.receive();
            return;
        }
        while (!ended_.try_receive()) run_here_->run_until(never, 1);
    }

    // Calls `question` before the task can have told its end. So the scheduler of the task exists
    // meanwhile, unless the task had ended before.
    template <class Question>
    bool ask_before_end(Question question) {
        const std::lock_guard lock{asking_};
        return question();
    }

    void tell() noexcept override {
        { const std::lock_guard lock{asking_}; }
        if (run_here_ == nullptr || scheduler::current() == run_here_) {
            ended_.send();
        } else {
            run_here_->post(tell_there_);  // the thread may sleep in its driver
        }
    }

private:
    scheduler* const run_here_;
    sync::signal ended_;
    sync::mutex asking_;
    callback_task tell_there_{[this](callback_task&) { ended_.send(); }, "end of a task"};
};

}  // namespace fairlead::coro
