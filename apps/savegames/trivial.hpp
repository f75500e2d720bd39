// A baseline: the textbook thread pool. One mutex, one condition variable, one queue.
//
// A function that waits blocks its thread, so at most as many requests run as there are threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace savegames {

class trivial {
public:
    using function = std::move_only_function<void()>;

    // Starts the threads, at least one. Throws std::system_error if it cannot.
    explicit trivial(std::size_t threads);

    // Stops at once, as `stop(0ms)` does.
    ~trivial();
    trivial(const trivial&) = delete;
    trivial& operator=(const trivial&) = delete;

    // Queues `work`. Any thread. After `stop` began: returns false, and destroys the function.
    bool post(function work);

    // Takes no more functions, and goes on until all have run or `limit` has passed. Then destroys
    // the functions that did not start, waits for those that run, and ends the threads. Returns how
    // many did not start. Call it on one thread, and not on a thread of the pool.
    std::size_t stop(std::chrono::milliseconds limit);

    // How often the threads woke so far: for a function, and as `add_wakeups` says.
    [[nodiscard]] std::uint64_t wakeups() const;

    // Called by functions that block their thread: adds how often that thread woke.
    void add_wakeups(std::uint64_t count);

private:
    void serve();

    mutable std::mutex mutex_;
    std::condition_variable filled_;
    std::condition_variable idle_;
    std::deque<function> queue_;
    std::size_t running_ = 0;
    std::uint64_t wakeups_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace savegames
