// Mutual exclusion of tasks, also over their waits.
//
//     fl::mutex guards;
//     if (auto lock = co_await guards.lock(deadline)) {
//         co_await write(state);
//     }                                    // the end of the lock unlocks
//
// The mutex goes to the tasks and threads that wait for it in the order of their beginning: an
// unlock hands it to the first one, and a later `lock` or `try_lock` does not overtake. So the wait
// is bounded by the waits before it. A task that need not wait inside is cheaper in a group with
// `max_concurrency` 1, which never blocks a task. A holder in a group that is paused, throttled, or
// of little weight holds up every other group that wants the mutex until its turn comes.
//
// Any thread. No allocation. Without a contender a lock is one exchange of a word, and an unlock
// another.
#pragma once

#include <fairlead/detail/wait/line_operations.hpp>

#include <cstddef>
#include <expected>
#include <optional>
#include <utility>

namespace fairlead {

class mutex;
class condition;

/// Keeps a mutex locked; the destructor unlocks it. It may be moved to another task or thread,
/// which unlocks then.
class [[nodiscard]] mutex_lock {
public:
    /// Nothing is locked.
    mutex_lock() = default;
    /// Takes over what `other` keeps; `other` keeps nothing afterwards.
    mutex_lock(mutex_lock&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    /// Unlocks, and takes over what `other` keeps.
    mutex_lock& operator=(mutex_lock&& other) noexcept {
        if (this != &other) {
            unlock();
            of_ = std::exchange(other.of_, nullptr);
        }
        return *this;
    }
    ~mutex_lock() { unlock(); }

    /// Whether it keeps a mutex locked.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// Unlocks before the end of the lock. Without a locked mutex it does nothing.
    void unlock() noexcept {
        if (sync::line* const of = std::exchange(of_, nullptr)) of->give_back();
    }

private:
    friend class mutex;
    friend class condition;  // unlocks during a wait, and gives the lock back

    explicit mutex_lock(sync::line& of) noexcept : of_{&of} {}

    sync::line* of_ = nullptr;
};

/// Unlocked at first. One task or thread has it at a time.
class mutex {
    class lock_operation : public wait::permits_operation {
    public:
        explicit lock_operation(sync::line& of) noexcept : permits_operation{of} {}

        [[nodiscard]] waited<mutex_lock> collect(std::optional<wait_error> early) noexcept {
            if (const auto ended = permits_operation::collect(early); !ended) {
                return std::unexpected{ended.error()};
            }
            return mutex_lock{of()};
        }

    protected:
        lock_operation(lock_operation&&) noexcept = default;
        ~lock_operation() = default;
    };

public:
    mutex() = default;
    /// The mutex must be unlocked, and nothing may wait for it. The task that was the last to lock
    /// it may destroy it at once.
    ~mutex() {
        FAIRLEAD_ASSERT(!is_locked(), "a mutex was destroyed while a task or a thread has it");
    }

    /// Waits for the mutex, until `deadline` at the latest: `waited<mutex_lock>`, which is the
    /// lock, `stopped` or `expired`. A task that has the mutex and locks it again waits for itself.
    [[nodiscard]] auto lock(time_point deadline = never) noexcept {
        return coro::task_wait<lock_operation>{deadline, line_};
    }

    /// Locks at once. No lock: a task or a thread has the mutex, or waits for it.
    [[nodiscard]] mutex_lock try_lock() noexcept {
        return line_.try_take() ? mutex_lock{line_} : mutex_lock{};
    }

    /// The same as `lock` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<mutex_lock> lock_blocking(time_point deadline = never) {
        return coro::wait_on_thread<lock_operation>(deadline, line_);
    }

    /// Whether a task or a thread has the mutex. A moment later the answer may be another.
    [[nodiscard]] bool is_locked() const noexcept { return line_.taken() != 0; }

    /// How many tasks and threads wait for it, for reports. Takes a lock for some instructions.
    [[nodiscard]] std::size_t waiting() noexcept { return line_.waiting(); }

private:
    sync::line line_{1};
};

}  // namespace fairlead
