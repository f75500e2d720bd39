// The scheduler that the first seed replaced, as a baseline: threads that poll their own tasks.
//
// Tasks are dealt round-robin and never change their thread. Each thread wakes once in a period
// and calls `update` of every task it holds, whether the task can go on or not. So a task that
// waits for four answers takes four periods, and threads wake for nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "savegames/model.hpp"

namespace savegames {

struct updater_options {
    std::size_t threads = 4;
    std::chrono::milliseconds period{100};
};

class updater {
public:
    // One call of a task: true when it is done. The function is destroyed after that.
    using update_function = std::move_only_function<bool()>;

    // Starts the threads; throws std::system_error when it cannot.
    explicit updater(updater_options options);

    // Stops at once: `stop(0ms)`.
    ~updater();
    updater(const updater&) = delete;
    updater& operator=(const updater&) = delete;

    // Gives the task to the next thread, which calls it first at its next period. Any thread, tasks
    // included. After `stop` began: false, and the function is destroyed.
    bool post(update_function update);

    // Takes no new tasks, goes on until every task is done or `limit` is over, ends the threads.
    // Returns how many tasks were not done; they are destroyed. Call it from one thread, not a
    // task.
    std::size_t stop(std::chrono::milliseconds limit);

    // How often a thread woke, so far.
    [[nodiscard]] std::uint64_t wakeups() const;

    // Tasks that are not done.
    [[nodiscard]] std::size_t size() const;

private:
    // One thread and what it is given. mutex guards all but `held`, which is the thread's own.
    struct poller {
        mutable std::mutex mutex;
        std::condition_variable told_to_stop;
        std::vector<update_function> arrived;
        std::vector<update_function> held;
        std::size_t unfinished = 0;
        std::uint64_t wakeups = 0;
        time_point end = time_point::max();  // when to end with tasks undone
        bool stopping = false;
        std::thread thread;
    };

    void serve(poller& self) const;
    static void update_all(poller& self);

    const updater_options options_;
    std::vector<std::unique_ptr<poller>> pollers_;
    std::mutex next_mutex_;
    std::size_t next_ = 0;
};

}  // namespace savegames
