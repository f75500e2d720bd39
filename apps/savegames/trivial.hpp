// The textbook thread pool, as a baseline: one mutex, one condition variable, one queue.
//
// A function that waits blocks its thread: so many requests are under way as there are threads.
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

    // Starts the threads, at least one; throws std::system_error when it cannot.
    explicit trivial(std::size_t threads);

    // Stops at once: `stop(0ms)`.
    ~trivial();
    trivial(const trivial&) = delete;
    trivial& operator=(const trivial&) = delete;

    // Queues `work`. Any thread. After `stop` began: false, and the function is destroyed.
    bool post(function work);

    // Takes no new functions, goes on until all have run or `limit` is over. Then those that did
    // not start are destroyed, and those that run are waited for. Returns how many did not start.
    // Call it from one thread, not one of the pool.
    std::size_t stop(std::chrono::milliseconds limit);

    // How often a thread woke, so far: for a function, and in the functions as far as they tell.
    [[nodiscard]] std::uint64_t wakeups() const;

    // For functions that block: adds to the count.
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
