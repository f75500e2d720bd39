// A mutex that readers share and writers have alone, also over their waits.
//
//     fl::rw_mutex guards;
//     if (auto reads = co_await guards.lock_shared(deadline)) co_await send(table[key]);
//     if (auto writes = co_await guards.lock(deadline)) table[key] = co_await load(key);
//
// Fair in phases: a writer that unlocks lets in all readers that wait then, and the last reader of
// a phase lets in one writer. So a reader waits for one writer at most, and neither kind starves.
// Writers come in the order of their beginning.
//
// A task that reads and locks to read again, while a writer waits, waits for itself.
//
// Any thread. No allocation. Without waits a lock is one exchange of a word, and an unlock another;
// an unlock with waits is linear in the number of readers that it lets in. For a short section that
// does not wait inside, a mutex costs the same.
#pragma once

#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/sync/phase_line.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <utility>

namespace fairlead {

class rw_mutex;

/// Keeps a reader-writer mutex locked to read; the destructor unlocks it. It may be moved to
/// another task or thread, which unlocks then.
class rw_read_lock;

/// Keeps a reader-writer mutex locked to write; the destructor unlocks it. It may be moved to
/// another task or thread, which unlocks then.
class [[nodiscard]] rw_write_lock {
public:
    /// Nothing is locked.
    rw_write_lock() = default;
    /// `other` has nothing locked after it.
    rw_write_lock(rw_write_lock&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    /// Unlocks what was locked, and takes over.
    rw_write_lock& operator=(rw_write_lock&& other) noexcept {
        if (this != &other) {
            unlock();
            of_ = std::exchange(other.of_, nullptr);
        }
        return *this;
    }
    ~rw_write_lock() { unlock(); }

    /// Whether it keeps a mutex locked.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// Unlocks before the end of the lock. Without a locked mutex it does nothing.
    void unlock() noexcept {
        if (auto* const of = std::exchange(of_, nullptr)) {
            of->leave(sync::phase_line::entry::exclusive);
        }
    }

    /// Goes on as a reader, without a moment at which the mutex is unlocked: no writer comes in
    /// between. All readers that wait come in, too. The mutex must be locked.
    [[nodiscard]] rw_read_lock downgrade() && noexcept;

private:
    friend class rw_mutex;
    friend class rw_read_lock;

    explicit rw_write_lock(sync::phase_line& of) noexcept : of_{&of} {}

    sync::phase_line* of_ = nullptr;
};

/// Keeps a mutex locked for reading; the destructor unlocks it.
class [[nodiscard]] rw_read_lock {
public:
    /// Nothing is locked.
    rw_read_lock() = default;
    /// `other` has nothing locked after it.
    rw_read_lock(rw_read_lock&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    /// Unlocks what was locked, and takes over.
    rw_read_lock& operator=(rw_read_lock&& other) noexcept {
        if (this != &other) {
            unlock();
            of_ = std::exchange(other.of_, nullptr);
        }
        return *this;
    }
    ~rw_read_lock() { unlock(); }

    /// Whether it keeps a mutex locked.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// Unlocks before the end of the lock. Without a locked mutex it does nothing.
    void unlock() noexcept {
        if (auto* const of = std::exchange(of_, nullptr)) {
            of->leave(sync::phase_line::entry::shared);
        }
    }

    /// Goes on as the writer, without a moment at which the mutex is unlocked, and has nothing
    /// locked after that. No lock: another reader has the mutex, or a writer waits; then the mutex
    /// stays locked to read. There is no form that waits: two readers that wait for each other's
    /// end would never go on.
    [[nodiscard]] rw_write_lock try_upgrade() noexcept {
        if (of_ == nullptr || !of_->try_upgrade()) return {};
        return rw_write_lock{*std::exchange(of_, nullptr)};
    }

private:
    friend class rw_mutex;
    friend class rw_write_lock;

    explicit rw_read_lock(sync::phase_line& of) noexcept : of_{&of} {}

    sync::phase_line* of_ = nullptr;
};

inline rw_read_lock rw_write_lock::downgrade() && noexcept {
    FAIRLEAD_ASSERT(of_ != nullptr, "a lock was downgraded that has nothing locked");
    sync::phase_line& of = *std::exchange(of_, nullptr);
    of.downgrade();
    return rw_read_lock{of};
}

/// Any thread may lock; the lock may be moved to another task or thread.
class rw_mutex {
    using entry = sync::phase_line::entry;

    template <class Lock, entry Kind>
    class lock_operation : public coro::operation_on<sync::phase_line> {
    public:
        explicit lock_operation(sync::phase_line& of) noexcept : operation_on{of, Kind} {}

        // See task_wait.hpp. It is never closed.
        [[nodiscard]] bool would_end_at_once() const noexcept { return of().admits(Kind); }

        [[nodiscard]] waited<Lock> collect(std::optional<wait_error> early) noexcept {
            if (const auto ended = operation_on::collect(early); !ended) {
                return std::unexpected{ended.error()};
            }
            return Lock{of()};
        }

    protected:
        lock_operation(lock_operation&&) noexcept = default;
        ~lock_operation() {
            if (take_grant()) of().leave(Kind);  // the task was destroyed with its scheduler
        }
    };
    using writing = lock_operation<rw_write_lock, entry::exclusive>;
    using reading = lock_operation<rw_read_lock, entry::shared>;

public:
    rw_mutex() = default;
    /// The mutex must be unlocked, and nothing may wait for it. The task that was the last to lock
    /// it may destroy it at once.
    ~rw_mutex() {
        FAIRLEAD_ASSERT(!line_.is_exclusive() && line_.shared() == 0,
                        "a reader-writer mutex was destroyed while a task or a thread has it");
    }

    /// Waits to write, until `deadline` at the latest: `waited<rw_write_lock>`, which is the lock,
    /// `stopped` or `expired`.
    [[nodiscard]] auto lock(time_point deadline = never) noexcept {
        return coro::task_wait<writing>{deadline, line_};
    }

    /// Waits to read, until `deadline` at the latest: `waited<rw_read_lock>`, which is the lock,
    /// `stopped` or `expired`.
    [[nodiscard]] auto lock_shared(time_point deadline = never) noexcept {
        return coro::task_wait<reading>{deadline, line_};
    }

    /// Locks at once to write. No lock: a task or a thread has the mutex.
    [[nodiscard]] rw_write_lock try_lock() noexcept {
        return line_.try_enter(entry::exclusive) ? rw_write_lock{line_} : rw_write_lock{};
    }

    /// Locks at once to read. No lock: a writer has the mutex, or waits for it.
    [[nodiscard]] rw_read_lock try_lock_shared() noexcept {
        return line_.try_enter(entry::shared) ? rw_read_lock{line_} : rw_read_lock{};
    }

    /// The same as `lock` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<rw_write_lock> lock_blocking(time_point deadline = never) {
        return coro::wait_on_thread<writing>(deadline, line_);
    }

    /// The same as `lock_shared` on this thread, which must not be a worker's. The deadline is by
    /// the clock of the system.
    [[nodiscard]] waited<rw_read_lock> lock_shared_blocking(time_point deadline = never) {
        return coro::wait_on_thread<reading>(deadline, line_);
    }

    /// Whether a writer has the mutex. A moment later the answer may be another.
    [[nodiscard]] bool is_locked() const noexcept { return line_.is_exclusive(); }

    /// How many readers have the mutex. A moment later they may be fewer or more.
    [[nodiscard]] std::uint64_t readers() const noexcept { return line_.shared(); }

    /// How many tasks and threads wait for it, for reports. Takes a lock for some instructions.
    [[nodiscard]] std::size_t waiting() noexcept { return line_.waiting(); }

private:
    sync::phase_line line_;
};

}  // namespace fairlead
