// Runs functions after a delay, on a thread of its own.
//
// A heap, ordered by time, behind a mutex. The thread sleeps on a condition variable until the
// earliest entry is due; without entries it sleeps until the first one. Nothing polls. Entries of
// the same time run in the order of their arrival.
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

    // Stops the line, as `stop` does.
    ~delay_line();
    delay_line(const delay_line&) = delete;
    delay_line& operator=(const delay_line&) = delete;

    // Runs `then` at `when` or soon after, on the thread of the line. After `stop`: runs it before
    // the call returns. `then` must not block or throw. Any thread. O(log n).
    void run_at(time_point when, std::move_only_function<void()> then);

    // Runs all waiting functions at once, and ends the thread. Any thread but that of the line. A
    // second call does nothing.
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
    std::vector<entry> heap_;  // a heap by `later`: the earliest entry is in front
    std::uint64_t next_number_ = 0;
    bool stopping_ = false;
    std::mutex join_mutex_;
    std::thread thread_;
};

}  // namespace savegames
