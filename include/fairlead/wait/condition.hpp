// A condition: tasks and threads that have a mutex wait until what it guards is as they need it.
//
//     fl::mutex guards;  fl::condition filled;
//     auto lock = *co_await guards.lock();
//     if (co_await filled.wait(lock, [&] { return !items.empty(); }, deadline)) take(items);
//
//     items.push_back(item);     // of a task that has the mutex
//     filled.notify_one();
//
// A notification moves a wait to the FIFO of the mutex, and wakes nothing before the mutex is free.
// For messages between tasks a channel says the same with less.
//
// Any thread. No allocation. A notification takes a lock for some instructions; `notify_all` is
// linear in the number of waits.
#pragma once

#include <fairlead/detail/wait/condition_wait.hpp>
#include <fairlead/wait/mutex.hpp>

#include <concepts>
#include <cstddef>
#include <expected>
#include <optional>
#include <utility>

namespace fairlead {

/// Tasks and threads wait until a predicate over what a mutex guards holds. Any thread.
class condition {
    template <class Predicate>
    class [[nodiscard]] predicate_wait final : public wait::condition_wait {
    public:
        predicate_wait(sync::notify_list& of, mutex_lock& lock, Predicate&& predicate,
                       time_point deadline)
            : condition_wait{of, line_of(lock), deadline},
              owner_{lock},
              predicate_{std::move(predicate)} {}

        [[nodiscard]] waited<void> await_resume() {
            if (take_lock()) owner_.of_ = &lock();
            if (const auto error = ended()) return std::unexpected{*error};
            return {};
        }

    private:
        [[nodiscard]] bool holds() override { return predicate_(); }
        void on_unlock() noexcept override { owner_.of_ = nullptr; }

        mutex_lock& owner_;
        Predicate predicate_;
    };

public:
    condition() = default;

    /// Waits until `predicate()` holds, until `deadline` at the latest: `waited<void>`, which may
    /// be `stopped` or `expired`. `lock` must be locked. When the wait has ended `lock` is locked
    /// again in every case: this takes as long as another has the mutex, and ends neither by a stop
    /// nor by the deadline. While the task waits, `lock` has nothing locked.
    ///
    /// `predicate` is called with the mutex locked, on the worker of the task: at first, after each
    /// notification, and once more when the deadline has passed. What it throws, the wait throws,
    /// with `lock` locked. After `expired` it did not hold. A stop that came before the wait ends
    /// the wait without a look.
    template <std::predicate Predicate>
    [[nodiscard]] predicate_wait<Predicate> wait(mutex_lock& lock, Predicate predicate,
                                                 time_point deadline = never) {
        return {waiting_, lock, std::move(predicate), deadline};
    }

    /// The same on this thread, which must not be a worker's. The deadline is by the clock of the
    /// system.
    template <std::predicate Predicate>
    [[nodiscard]] waited<void> wait_blocking(mutex_lock& lock, Predicate predicate,
                                             time_point deadline = never) {
        sync::line& of = line_of(lock);
        std::optional<wait_error> early;
        while (!predicate()) {
            if (early) return std::unexpected{*early};
            lock.of_ = nullptr;
            early = wait::wait_for_notification_on_thread(waiting_, of, deadline);
            lock.of_ = &of;
        }
        return {};
    }

    /// Moves the oldest wait to the mutex; the caller need not have the mutex. False: there is no
    /// wait. A notification is not kept for later waits. A task that goes on may destroy the
    /// condition at once.
    bool notify_one() noexcept { return waiting_.notify_one(); }

    /// Moves all waits to the mutex, which they get in the order of their beginning. How many.
    std::size_t notify_all() noexcept { return waiting_.notify_all(); }

    /// How many tasks and threads wait for a notification, for reports.
    [[nodiscard]] std::size_t waiting() noexcept { return waiting_.waiting(); }

private:
    static sync::line& line_of(const mutex_lock& lock) noexcept {
        FAIRLEAD_ASSERT(static_cast<bool>(lock),
                        "a wait for a condition needs a lock that has its mutex locked");
        return *lock.of_;
    }

    sync::notify_list waiting_;
};

}  // namespace fairlead
