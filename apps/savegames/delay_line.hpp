// Runs functions after a delay, on one thread of its own.
//
// A heap by time behind a mutex; the thread sleeps on a condition variable until the earliest
// entry is due, or for ever when there is none. No polling. Equal times run in order of arrival.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "savegames/model.hpp"

namespace savegames {

class delay_line {
public:
    delay_line();

    // Stops, as `stop`.
    ~delay_line();
    delay_line(const delay_line&) = delete;
    delay_line& operator=(const delay_line&) = delete;

    // Runs `then` at `when` or soon after, on the thread of the line; after `stop`, at once and
    // here. `then` must not block or throw. Any thread. O(log n).
    void run_at(time_point when, std::move_only_function<void()> then);

    // Runs everything that still waits, without waiting for its time, and ends the thread. Any
    // thread but the line's; harmless when repeated.
    void stop();

    [[nodiscard]] std::size_t waiting() const;

private:
    struct entry {
        time_point when;
        std::uint64_t number;
        std::move_only_function<void()> then;
    };
    static bool later(const entry& a, const entry& b) noexcept;

    void serve();

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<entry> heap_;  // by `later`: the earliest in front
    std::uint64_t next_number_ = 0;
    bool stopping_ = false;
    std::mutex join_mutex_;
    std::thread thread_;
};

}  // namespace savegames
