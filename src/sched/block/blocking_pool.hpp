// Threads for calls that block. The pool makes a thread when a call needs one, up to a limit, and a
// thread ends when it has had nothing to do for a while. Calls beyond the limit wait in line. Spare
// workers run on threads of the pool, too, without a limit: see handover.hpp.
//
// Each idle thread sleeps on a signal of its own. The thread that fell asleep last is woken first,
// so the threads that are not needed retire. A thread that has ended is joined by the next thread
// that submits a job or ends, or by the destructor.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/os/thread.hpp>
#include <fairlead/detail/sched/blocking_job.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/signal.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace fairlead::sched {

class blocking_pool {
public:
    blocking_pool(std::string name, unsigned callers_max)
        : name_{std::move(name)}, callers_max_{callers_max} {}
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;

    // No job may be queued or run.
    ~blocking_pool();

    // Runs the job on a thread of the pool. If no thread runs what is queued, and none can be
    // started, the calling thread runs the job. Any thread.
    void submit(blocking_job& job) noexcept;

    // Runs the job at once on a thread of the pool, whatever else is queued or runs. False: no
    // thread can be started. Any thread.
    [[nodiscard]] bool submit_now(blocking_job& job) noexcept;

    // Takes back a job that has not begun. False: it has begun, or is over.
    [[nodiscard]] bool withdraw(blocking_job& job) noexcept;

private:
    using queue = base::list<blocking_job, &blocking_job::links_>;

    struct member {
        os::thread thread;
        sync::signal wake;
        member* next = nullptr;  // in one of the lists
        // What the thread is to do: the thread that chooses it writes this before the signal.
        blocking_job* first = nullptr;  // a job to run at once
        bool calls = false;             // run what is queued; `callers_` counts the thread
    };

    [[nodiscard]] bool start_member(blocking_job* first) noexcept;
    void run(member& self) noexcept;
    void call_all(std::unique_lock<sync::mutex>& lock) noexcept;
    void call_on_caller() noexcept;
    [[nodiscard]] bool wait_idle(member& self, std::unique_lock<sync::mutex>& lock) noexcept;
    void join_all(member* ended) noexcept;
    [[nodiscard]] bool retire(member& self) noexcept;

    static constexpr duration idle_max = std::chrono::seconds{10};

    const std::string name_;
    const unsigned callers_max_;

    sync::mutex mutex_;
    // Guarded by mutex_.
    queue queue_;
    unsigned callers_ = 0;  // threads that run what is queued, or are about to
    unsigned threads_ = 0;
    member* idle_ = nullptr;   // the thread that fell asleep last is first
    member* ended_ = nullptr;  // to be joined
    bool ending_ = false;
    sync::signal all_gone_;
};

}  // namespace fairlead::sched
