// What the handles and the workers of a receiver share: whether it goes on, and its failures.
//
//     running --pause--> paused --resume--> running
//        |                  |
//        +------- end ------+--> ending --the last worker goes--> ended
//
// A worker takes a message only while the receiver is running: its select asks `interrupted` first.
#pragma once

#include <fairlead/coro/stopped.hpp>
#include <fairlead/detail/coro/error_sink.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sched/access.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/sched/failure_origin.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
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
    /// Messages that were dropped because the deadline of their sender had passed.
    std::uint64_t overdue = 0;
};

namespace messages {

class receiver_state {
public:
    /// `workers`: how many will end. `sink`: see `report`.
    receiver_state(std::size_t workers, failure_sink sink)
        : workers_{workers}, sink_{std::move(sink)} {
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
    void fail(std::exception_ptr why, const coro::root& worker) {
        count_failed();
        report(std::move(why), worker);
    }
    /// The reply has told the failure.
    void count_failed() noexcept {
        const std::lock_guard lock{mutex_};
        ++stats_.failed;
    }
    void refuse(std::exception_ptr why, const coro::root& worker) {
        {
            const std::lock_guard lock{mutex_};
            ++stats_.refused;
        }
        report(std::move(why), worker);
    }
    void count_overdue() noexcept {
        const std::lock_guard lock{mutex_};
        ++stats_.overdue;
    }
    [[nodiscard]] receiver_stats stats() noexcept {
        const std::lock_guard lock{mutex_};
        return stats_;
    }

    event interrupted;  // set while it is paused or ending
    event resumed;      // set while it is running or ending
    event ended;

private:
    // To the sink of the receiver. Without one, as of a task that is not joined: to the error sink
    // of the sender of the message, or to `on_unhandled` of the scheduler. There goes also what the
    // sink of the receiver throws.
    void report(std::exception_ptr why, const coro::root& worker) {
        if (sink_) {
            try {
                return sink_(why);
            } catch (...) {
                why = std::current_exception();
            }
        }
        if (coro::is_stop(why)) return;
        const failed_task self = worker.as_failed();
        coro::report_unjoined(std::move(why), failure_origin{std::span{&self, 1}}, worker.context(),
                              sched::access::reporter_of(worker.home()));
    }

    sync::mutex mutex_;
    std::size_t workers_;  // guarded by mutex_, as the next ones
    bool is_paused_ = false;
    bool is_ending_ = false;
    receiver_stats stats_;
    const failure_sink sink_;
};

// Tells the end of a worker, of which it is the first parameter: so also if the task never begins,
// or is destroyed with the scheduler.
class worker_end {
public:
    explicit worker_end(std::shared_ptr<receiver_state> of) noexcept : of_{std::move(of)} {}
    worker_end(worker_end&&) noexcept = default;
    worker_end& operator=(worker_end&&) = delete;
    ~worker_end() {
        if (of_ != nullptr) of_->worker_has_ended();
    }

    [[nodiscard]] const std::shared_ptr<receiver_state>& of() const noexcept { return of_; }

private:
    std::shared_ptr<receiver_state> of_;
};

}  // namespace messages
}  // namespace fairlead
