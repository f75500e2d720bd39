// A baseline: the scheduler that Fairlead's first prototype replaced. Threads poll their tasks.
//
// Tasks are dealt to the threads in turn, and never change their thread. Each thread wakes once in
// a period and calls `update` of each of its tasks, whether the task can go on or not. So a task
// that waits for four answers takes four periods, and threads wake in vain.
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
    // One call of a task. True: the task is done, and the function is destroyed.
    using update_function = std::move_only_function<bool()>;

    // Starts the threads. Throws std::system_error if it cannot.
    explicit updater(updater_options options);

    // Stops at once, as `stop(0ms)` does.
    ~updater();
    updater(const updater&) = delete;
    updater& operator=(const updater&) = delete;

    // Gives the task to the next thread, which first calls it in its next period. Any thread, also
    // from a task. After `stop` began: returns false, and destroys the function.
    bool post(update_function update);

    // Takes no more tasks, polls its tasks until all are done or `limit` has passed, and ends
    // the threads. Destroys the tasks that are not done, and returns their number. Call it on one
    // thread, and not from a task.
    std::size_t stop(std::chrono::milliseconds limit);

    // How often the threads woke so far.
    [[nodiscard]] std::uint64_t wakeups() const;

    // How many tasks are not done.
    [[nodiscard]] std::size_t size() const;

private:
    // One thread and its tasks. `mutex` guards every member but `held`, which only the thread uses.
    struct poller {
        mutable std::mutex mutex;
        std::condition_variable told_to_stop;
        std::vector<update_function> arrived;
        std::vector<update_function> held;
        std::size_t unfinished = 0;
        std::uint64_t wakeups = 0;
        time_point end = time_point::max();  // when to end even if tasks are not done
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
