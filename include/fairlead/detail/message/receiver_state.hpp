// What the handles and the workers of a receiver share: whether it goes on, and its failures.
//
//     running --pause--> paused --resume--> running
//        |                  |
//        +------- end ------+--> ending --the last worker goes--> ended
//
// A worker takes a message only while the receiver is running: its select asks `interrupted` first.
#pragma once

#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

namespace fairlead {

/// Where the failures of handlers go that no promise takes. Several threads may call it at once.
using failure_sink = std::function<void(std::exception_ptr)>;

/// What a receiver did so far.
struct receiver_stats {
    std::uint64_t handled = 0;  ///< messages whose handler has ended, also by a failure
    std::uint64_t failed = 0;   ///< of these, by a failure
    /// Messages that were dropped because the gate of the receiver let them in no more.
    std::uint64_t refused = 0;
};

namespace messages {

class receiver_state {
public:
    /// `workers`: how many will end. `sink`: if it is empty, a failure goes to `on_unhandled` of
    /// the scheduler.
    receiver_state(executor where, std::size_t workers, failure_sink sink)
        : workers_{workers}, where_{where}, sink_{std::move(sink)} {
        resumed.set();
    }

    void pause() noexcept {
        const std::lock_guard lock{mutex_};
        if (is_ending_) return;
        is_paused_ = true;
        resumed.reset();
        interrupted.set();
    }
    void resume() noexcept {
        const std::lock_guard lock{mutex_};
        if (is_ending_) return;
        is_paused_ = false;
        interrupted.reset();
        resumed.set();
    }
    void end() noexcept {
        const std::lock_guard lock{mutex_};
        is_ending_ = true;
        resumed.set();
        interrupted.set();
    }

    [[nodiscard]] bool is_ending() noexcept {
        const std::lock_guard lock{mutex_};
        return is_ending_;
    }
    [[nodiscard]] bool is_paused() noexcept {
        const std::lock_guard lock{mutex_};
        return is_paused_ && !is_ending_;
    }

    void worker_has_ended() noexcept {
        {
            const std::lock_guard lock{mutex_};
            if (--workers_ != 0) return;
            is_ending_ = true;
        }
        ended.set();
    }

    void count_handled() noexcept {
        const std::lock_guard lock{mutex_};
        ++stats_.handled;
    }
    /// Counts the failure, and gives it to the sink.
    void fail(std::exception_ptr why) {
        {
            const std::lock_guard lock{mutex_};
            ++stats_.failed;
        }
        give_to_sink(std::move(why));
    }
    /// The reply has told the failure.
    void count_failed() noexcept {
        const std::lock_guard lock{mutex_};
        ++stats_.failed;
    }
    void refuse(std::exception_ptr why) {
        {
            const std::lock_guard lock{mutex_};
            ++stats_.refused;
        }
        give_to_sink(std::move(why));
    }
    [[nodiscard]] receiver_stats stats() noexcept {
        const std::lock_guard lock{mutex_};
        return stats_;
    }

    event interrupted;  // set while it is paused or ending
    event resumed;      // set while it is running or ending
    event ended;

private:
    void give_to_sink(std::exception_ptr why) {
        if (sink_) return sink_(std::move(why));
        where_.post([why = std::move(why)] { std::rethrow_exception(why); });
    }

    sync::mutex mutex_;
    std::size_t workers_;  // guarded by mutex_, as the next ones
    bool is_paused_ = false;
    bool is_ending_ = false;
    receiver_stats stats_;
    const executor where_;
    const failure_sink sink_;
};

// Tells the end of a worker, also if its frame is destroyed with the scheduler.
class worker_end {
public:
    explicit worker_end(receiver_state& of) noexcept : of_{of} {}
    worker_end(const worker_end&) = delete;
    worker_end& operator=(const worker_end&) = delete;
    ~worker_end() { of_.worker_has_ended(); }

private:
    receiver_state& of_;
};

}  // namespace messages
}  // namespace fairlead
